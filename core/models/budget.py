"""Limit the tokens per forward pass, and halve the limit whenever the device runs out of memory."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from core.models import parallel

log = logging.getLogger(__name__)

T = TypeVar("T")
CPU_BYTES, GPU_BYTES = 1 << 29, 1 << 32
SMALLEST, FEWEST = 64, 128


class Budget:
    """`tokens` is the number of padded or packed tokens per forward pass."""

    def __init__(self, tokens: int, device: torch.device | None = None) -> None:
        self.tokens, self.device = tokens, device or torch.device("cpu")

    def pieces(self, sizes: Sequence[int], shares: int = 1) -> Iterator[range]:
        """Yield consecutive ranges of rows whose sizes sum to the budget at most, with at least one row each.

        With `shares`, each piece gets that fraction of the budget, and there are at least `shares` pieces of similar size
        unless they were tiny. The budget may be halved between two pieces.
        """
        first, even = 0, max(FEWEST, -(-sum(sizes) // shares))
        while first < len(sizes):
            last, total = first, 0
            most = min(even, max(1, self.tokens // shares)) if shares > 1 else self.tokens
            while last < len(sizes) and (last == first or total + sizes[last] <= most):
                total += sizes[last]
                last += 1
            yield range(first, last)
            first = last

    def spend(self, sizes: Sequence[int], work: Callable[[range], T]) -> list[T]:
        """Return the results of `work` for all pieces. If memory runs out, halve the piece and all later ones.

        Raises what `work` raises if a single row is too large.
        """
        return [found for piece in self.pieces(sizes) for found in self._try(piece, work)]

    def each(self, sizes: Sequence[int], work: Callable[[range], Sequence[T]]) -> Iterator[Sequence[T]]:
        """Yield the result of `work` for each finished piece, in any order; on the CPU in several threads.

        Handles memory as `spend`. Raises what `work` raises.
        """
        shares = parallel.passes(self.device)
        pieces = self.pieces(sizes, shares)
        for found in parallel.each(pieces, lambda piece: self._try(piece, work), self.device):
            yield from found

    def _try(self, piece: range, work: Callable[[range], T]) -> list[T]:
        try:
            return [work(piece)]
        except (RuntimeError, MemoryError) as error:
            if not _out_of_memory(error) or len(piece) == 1:
                raise
            self.tokens = max(SMALLEST, self.tokens // 2)
            log.warning("out of memory: continuing with %d tokens per pass", self.tokens)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        half = len(piece) // 2
        return self._try(piece[:half], work) + self._try(piece[half:], work)


def _out_of_memory(error: BaseException) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def bytes_for(device: torch.device) -> int:
    """Return the bytes that keys and values, and activations of a pass, may use in addition to the model."""
    return GPU_BYTES if device.type == "cuda" else CPU_BYTES


def tokens_for(bytes_per_token: int, device: torch.device) -> int:
    """Return the tokens per pass for a model that needs this memory per token.

    On a CPU, a thousand tokens keep all cores busy; more would exceed its caches.
    """
    most, least = (32_768, 512) if device.type == "cuda" else (1024, 256)
    return max(least, min(most, bytes_for(device) // bytes_per_token))


def limit_threads() -> None:
    """Limit torch to the cores this process may use, which in a container may be fewer than the machine has."""
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if torch.get_num_threads() > ours:
        torch.set_num_threads(ours)

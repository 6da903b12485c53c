"""How much is computed at once: tokens a pass, halved whenever the memory of the device runs out."""

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
    """`tokens` is how many padded or packed tokens may be computed at once on the device."""

    def __init__(self, tokens: int, device: torch.device | None = None) -> None:
        self.tokens, self.device = tokens, device or torch.device("cpu")

    def pieces(self, sizes: Sequence[int], shares: int = 1) -> Iterator[range]:
        """Consecutive ranges of rows whose sizes sum up to the budget at most; at least one row each.

        With `shares`, to that part of the budget, and so that there are as many pieces of like size, unless they were tiny.
        The budget may be halved between two pieces.
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
        """`work` on every piece. A piece that runs out of memory is halved, and so is the budget from then on.

        Raises what `work` raises when a single row is still too much.
        """
        out: list[T] = []
        for piece in self.pieces(sizes):
            out += self._try(piece, work)
        return out

    def each(self, sizes: Sequence[int], work: Callable[[range], Sequence[T]]) -> Iterator[Sequence[T]]:
        """Yield what `work` gives for every piece as it is done, in any order; on a processor in several threads.

        Memory as in `spend`. Raises what `work` raises.
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
            log.warning("out of memory: going on with %d tokens a pass", self.tokens)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        half = len(piece) // 2
        return self._try(piece[:half], work) + self._try(piece[half:], work)


def _out_of_memory(error: BaseException) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def bytes_for(device: torch.device) -> int:
    """What may be kept at once, beside the model."""
    return GPU_BYTES if device.type == "cuda" else CPU_BYTES


def tokens_for(bytes_a_token: int, device: torch.device) -> int:
    """A budget for a model that keeps so many bytes for every token it decodes.

    On a processor a thousand tokens keep every core busy, and more only leave its caches.
    """
    most, least = (32_768, 512) if device.type == "cuda" else (1024, 256)
    return max(least, min(most, bytes_for(device) // bytes_a_token))


def use_the_cores_that_are_ours() -> None:
    """As many threads as this process may use cores; more of them, in a container that is given few, would only wait."""
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if torch.get_num_threads() > ours:
        torch.set_num_threads(ours)

"""Process all pairs of very many outputs in blocks that fit in the processor's cache.

A pair changes places at one ω = λ/(1+λ) only. Counting pairs by bins of ω needs no sorting and no memory per pair, and gives
the exact agreement at the ends of each bin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.correlation.pairs import Floats, Ints
from core.stats.threads import WORKERS, in_threads

BLOCK = 1 << 17


class SortedOutputs(NamedTuple):
    """Outputs sorted by explicit, then implicit distance (integers stored exactly as doubles), all of shape (n,).

    `human` is the mid-rank of the human score, `row` the original position.
    """

    exp: Floats
    imp: Floats
    human: Floats
    row: Ints


def sort_outputs(exp: Ints, imp: Ints, human: Floats) -> SortedOutputs:
    """Return the outputs sorted for the scan."""
    row = np.lexsort((imp, exp))
    return SortedOutputs(exp[row].astype(np.float64), imp[row].astype(np.float64), human[row], row)


class _Buffers:
    """Memory of one thread, reused for all blocks."""

    def __init__(self, n: int) -> None:
        size = max(BLOCK, n)
        self.first, self.second, self.whole = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)

    def shaped(self, *shape: int) -> tuple[Floats, Floats, Ints]:
        size = shape[0] * shape[1]
        return self.first[:size].reshape(shape), self.second[:size].reshape(shape), self.whole[:size].reshape(shape)


def histogram(f: SortedOutputs, bins: int, *, by_rank: bool) -> tuple[Floats, Floats]:
    """Return the gains and losses of pairs that change places in each bin of ω, ((k − 1)/bins, k/bins]: (bins,) each.

    A pair gains when it becomes concordant with the human scores: 1, or with `by_rank` the distance of their mid-ranks.
    """

    def count(blocks: Sequence[tuple[int, int]]) -> Floats:
        room, found = _Buffers(len(f.exp)), np.zeros(2 * bins + 1)
        for top, end in blocks:
            apart, at, key = _stretch(f, top, end, bins, room)
            np.subtract(f.human[top:end, None], f.human[None, top:], out=apart)
            size = np.abs(apart).ravel() if by_rank else None
            np.clip(apart, -1, 1, out=apart)
            np.multiply(at, apart, out=at)
            np.add(at, bins, out=at)
            np.copyto(key, at, casting="unsafe")
            found += np.bincount(key.ravel(), size, minlength=2 * bins + 1)
        return found

    found = sum(in_threads(count, _shares(len(f.exp))), np.zeros(2 * bins + 1))
    return found[bins + 1 :], found[bins - 1 :: -1]


def collect(
    f: SortedOutputs, wanted: npt.NDArray[np.bool_], made: Callable[[Ints, Ints, Ints], tuple[Ints, ...]]
) -> list[tuple[Ints, ...]]:
    """Return the pairs that change places within the `wanted` bins of ω, shape (bins,), in portions.

    A portion is `made(i, j, bin)`, with i and j positions in `f` such that exp[i] < exp[j].
    """
    table = np.concatenate(([False], wanted))

    def pick(blocks: Sequence[tuple[int, int]]) -> list[tuple[Ints, ...]]:
        room, found = _Buffers(len(f.exp)), []
        for top, end in blocks:
            _, at, key = _stretch(f, top, end, len(wanted), room)
            np.copyto(key, at, casting="unsafe")
            flat = key.ravel()
            there = np.flatnonzero(table.take(flat))
            if len(there):
                i, j = np.divmod(there, at.shape[1])
                found.append(made(i + top, j + top, flat[there] - 1))
        return found

    return [portion for share in in_threads(pick, _shares(len(f.exp))) for portion in share]


def _stretch(f: SortedOutputs, top: int, end: int, bins: int, room: _Buffers) -> tuple[Floats, Floats, Ints]:
    """Return the buffers with ⌈ω·bins⌉ in the second, for pairs of rows `top` to `end` with all rows from `top` on.

    It is 0 for pairs that never change places. For i < j, i is better by explicit distance; they change places only if j is
    better by implicit distance.
    """
    below, at, key = room.shaped(end - top, len(f.exp) - top)
    np.subtract(f.imp[top:end, None], f.imp[None, top:], out=at)
    at[:, : end - top][np.tril_indices(end - top)] = 0
    np.maximum(at, 0, out=at)
    np.subtract(f.exp[None, top:], f.exp[top:end, None], out=below)
    np.add(below, at, out=below)
    np.maximum(below, 1, out=below)
    np.multiply(at, bins, out=at)  # first, so that a breakpoint on the end of a stretch is a whole number
    np.divide(at, below, out=at)
    np.ceil(at, out=at)
    return below, at, key


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows that form one block with all later rows."""
    top = 0
    while top < n - 1:
        end = min(n, top + max(1, BLOCK // (n - top)))
        yield top, end
        top = end


def _shares(n: int) -> list[Sequence[tuple[int, int]]]:
    """Return the blocks of each thread."""
    blocks = list(_blocks(n))
    return [share for k in range(WORKERS) if (share := blocks[k::WORKERS])]

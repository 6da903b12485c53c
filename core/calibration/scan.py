"""All pairs of very many outputs, some hundred thousand at a time: those that stay in the processor's cache.

A pair changes places at one ω = λ/(1+λ) only. Counting the pairs by stretches of ω takes no sorting and no memory for
pairs, and gives the agreement exactly at the ends of every stretch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from core.calibration.drawn import Tell, quiet
from core.stats.pairs import Floats, Ints

BLOCK = 1 << 17
WORKERS = min(4, os.cpu_count() or 1)
Part = TypeVar("Part")
Result = TypeVar("Result")


class Field(NamedTuple):
    """Outputs by explicit, then implicit distance, ascending: both as whole numbers, held as doubles, exactly; the mid-rank
    of the human score; and which `row` it is. All of shape (n,)."""

    exp: Floats
    imp: Floats
    human: Floats
    row: Ints


def field(exp: Ints, imp: Ints, human: Floats) -> Field:
    """The outputs in the order the scan needs."""
    row = np.lexsort((imp, exp))
    return Field(exp[row].astype(np.float64), imp[row].astype(np.float64), human[row], row)


def in_threads(work: Callable[[Part], Result], parts: Sequence[Part], tell: Tell = quiet) -> list[Result]:
    """`work` on every part, in as many threads as there are processors (numpy lets them run side by side)."""
    found = []
    with ThreadPoolExecutor(WORKERS) as pool:
        try:
            for result in pool.map(work, parts):
                found.append(result)
                tell(len(found) / len(parts))
        except BaseException:  # also where who is told has the work stopped
            pool.shutdown(cancel_futures=True)
            raise
    return found


class _Room:
    """The memory of one thread, used again for every block."""

    def __init__(self, n: int) -> None:
        size = max(BLOCK, n)
        self.first, self.second, self.whole = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)

    def shaped(self, *shape: int) -> tuple[Floats, Floats, Ints]:
        size = shape[0] * shape[1]
        return self.first[:size].reshape(shape), self.second[:size].reshape(shape), self.whole[:size].reshape(shape)


def histogram(f: Field, bins: int, *, by_rank: bool) -> tuple[Floats, Floats]:
    """What pairs that change places gain and lose in each of `bins` equal stretches of ω, ((k − 1)/bins, k/bins]: (bins,) each.

    A pair that people order gains as it comes into their order: 1, or `by_rank` the distance of their mid-ranks.
    """

    def count(blocks: Sequence[tuple[int, int]]) -> Floats:
        room, found = _Room(len(f.exp)), np.zeros(2 * bins + 1)
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
    f: Field, wanted: npt.NDArray[np.bool_], made: Callable[[Ints, Ints, Ints], tuple[Ints, ...]]
) -> list[tuple[Ints, ...]]:
    """The pairs that change places within the `wanted` of equal stretches of ω, shape (bins,), in portions.

    A portion is what is `made` of: i and j, positions in the field with exp[i] < exp[j], and the number of the stretch.
    """
    table = np.concatenate(([False], wanted))

    def pick(blocks: Sequence[tuple[int, int]]) -> list[tuple[Ints, ...]]:
        room, found = _Room(len(f.exp)), []
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


def _stretch(f: Field, top: int, end: int, bins: int, room: _Room) -> tuple[Floats, Floats, Ints]:
    """The room, with ⌈ω·bins⌉ in its middle: of the pairs of rows from `top` to `end` with all rows from `top` on; 0 for
    those that never change places.

    Of i < j, i is ahead by explicit distance; they change places only if j is ahead by implicit distance.
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
    """Rows from … to …, so that with all later rows they make one block."""
    top = 0
    while top < n - 1:
        end = min(n, top + max(1, BLOCK // (n - top)))
        yield top, end
        top = end


def _shares(n: int) -> list[Sequence[tuple[int, int]]]:
    """The blocks, dealt out to the threads."""
    blocks = list(_blocks(n))
    return [share for k in range(WORKERS) if (share := blocks[k::WORKERS])]

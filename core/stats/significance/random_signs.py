"""Random signs for permutation tests (−1 swaps the two paired values), kept as bits for tests that share them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from core.stats.correlation.pairs import Floats, Ints

BITS_AT_ONCE = 1 << 31
"""Most signs that are kept at a time: 256 MB."""
ROWS_AT_ONCE = 2_000_000
CELLS_AT_ONCE = 2_000_000
SLACK = 1e-10


def random_signs(n: int, seed: int, draws: int, cells: int = 0) -> Iterator[Floats]:
    """Yield `draws` vectors of n signs, each ±1 with probability ½, in blocks of shape (some, n).

    The block size is limited by `CELLS_AT_ONCE` at `cells` numbers per draw (default n).
    """
    rng = np.random.default_rng(seed)
    step = max(1, CELLS_AT_ONCE // max(1, n, cells))
    for start in range(0, draws, step):
        bits = rng.integers(0, 2, (min(step, draws - start), n), dtype=np.int8)
        yield 2.0 * bits.astype(np.float64) - 1.0


def at_least(scores: Floats, signs: Floats, *, two_sided: bool = False) -> Floats:
    """Count the sign vectors for which system i's lead over j > i is at least the observed one; shape (n_systems, n_systems).

    `scores` has the shape (n_systems, n). A sign of −1 swaps the two systems' scores. With `two_sided`, sizes of differences are
    compared. Other cells are 0.
    """
    drawn, seen = signs @ scores.T, scores.sum(1)
    counts = np.zeros((len(scores), len(scores)))
    for i, row in enumerate(scores):
        lead, observed = drawn[:, [i]] - drawn[:, i + 1 :], seen[i] - seen[i + 1 :]
        if two_sided:
            lead, observed = np.abs(lead), np.abs(observed)
        slack = SLACK * np.abs(row - scores[i + 1 :]).sum(1)
        counts[i, i + 1 :] = np.count_nonzero(lead >= observed - slack, axis=0)
    return counts


class SignDraws:
    """Some consecutive draws of n signs. `positive` and `signs` give them in blocks, `patterns` those of groups of outputs."""

    def __init__(self, packed: npt.NDArray[np.uint8], n: int) -> None:
        self._packed, self._n = packed, n

    def __len__(self) -> int:
        return len(self._packed)

    def positive(self, draws: slice | Ints) -> npt.NDArray[np.bool_]:
        """Return which signs are +1, (n_draws, n)."""
        return np.unpackbits(self._packed[draws], axis=1, count=self._n).view(np.bool_)

    def blocks(self) -> Iterator[slice]:
        """Yield slices of draws whose signs fit in memory as numbers."""
        step = max(1, ROWS_AT_ONCE // max(1, self._n))
        yield from (slice(start, min(start + step, len(self))) for start in range(0, len(self), step))

    def times(self, coefficients: Floats) -> Floats:
        """Return the sums of sign × coefficient, (n_columns, n_draws), for coefficients (n, n_columns)."""
        sums = np.empty((coefficients.shape[1], len(self)))
        totals = coefficients.sum(0)
        for draws in self.blocks():
            sums[:, draws] = (2.0 * (self.positive(draws).astype(np.float64) @ coefficients) - totals).T
        return sums

    def patterns(self, rows: Ints) -> npt.NDArray[np.uint16]:
        """Return the signs of each group as a number, bit i set if the sign of its output i is +1: (n_groups, n_draws).

        `rows` are the outputs of the groups, (n_groups, size), size at most 16.
        """
        patterns = np.zeros((len(rows), len(self)), dtype=np.uint16)
        for draws in self.blocks():
            positive = self.positive(draws)
            for bit, of_groups in enumerate(rows.T):
                patterns[:, draws] |= positive[:, of_groups].T.astype(np.uint16) << np.uint16(bit)
        return patterns


def sign_stages(n: int, seed: int, draws: int, cells: int, ends: Sequence[int]) -> Iterator[SignDraws]:
    """Yield the draws of `random_signs` in stages that end after these numbers of draws, or sooner to bound the memory."""
    most = max(1, BITS_AT_ONCE // max(1, n))
    stops = sorted({*ends, *range(0, draws, most), draws})
    sizes = [high - low for low, high in pairwise([0, *(s for s in stops if 0 < s <= draws)])]
    blocks = (np.packbits(signs > 0, axis=1) for signs in random_signs(n, seed, draws, cells))
    kept: list[npt.NDArray[np.uint8]] = []
    for size in sizes:
        while sum(map(len, kept)) < size:
            kept.append(next(blocks))
        whole = np.concatenate(kept)
        kept = [whole[size:]]
        yield SignDraws(whole[:size], n)

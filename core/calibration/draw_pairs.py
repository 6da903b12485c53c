"""Kendall τ-b of many draws at 201 λ, from counts by pairs of units (such as segments).

A draw contains unit s w_s times, so a pair of outputs of s and t counts w_s·w_t times. The changes of all pairs within one
step of ω are summed by (s, t) once; each draw is then a matrix product. All counts are exact.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from core.calibration.bootstrap_batch import STEPS, BootstrapBatch, DrawAgreements, GroupMembers
from core.calibration.scan import SortedOutputs, collect, histogram, sort_outputs
from core.calibration.terms import start_order
from core.progress import Progress
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, dense_ranks, ratio
from core.stats.threads import in_threads

PAIRS_AT_ONCE = 15_000_000
DRAWS_AT_ONCE = 64
CELLS_AT_ONCE = 1 << 17
UNITS_AT_ONCE = 256
Singles = npt.NDArray[np.float32]


def by_pairs(d: BootstrapBatch, places: list[Ints], progress: Progress) -> DrawAgreements:
    """Return the agreement of each draw along λ, and at the three `places`, given as score ranks (n,)."""
    size = np.bincount(d.unit) @ d.weights
    total = size * (size - 1) / 2
    human = _tied(d, d.human)

    def value(ranks: Ints, apart: Floats) -> Floats:
        """Return τ-b from C − D (…, n_draws)."""
        return ratio(apart, np.broadcast_to(np.sqrt((total - _tied(d, ranks)) * (total - human)), apart.shape))

    start = start_order(d.exp, d.imp)
    zero, inf, here = (value(ranks, _apart(d, ranks)) for ranks in places)
    changes = _changes(d, progress)
    apart = _apart(d, start) + np.concatenate((np.zeros((1, len(size))), np.cumsum(changes, axis=0)))
    return DrawAgreements(value(start, apart).T, zero, inf, here)


def _tied(d: BootstrapBatch, groups: Ints) -> Floats:
    """Return the number of pairs with equal `groups` (n,) in each draw, including copies of the same output."""
    members = GroupMembers(groups, d.unit)

    def count(some: slice) -> Floats:
        size = members.sums(d.weights[:, some])
        found: Floats = np.einsum("gd,gd->d", size, size - 1) / 2
        return found

    return np.concatenate(in_threads(count, d.parts(DRAWS_AT_ONCE)))


def _apart(d: BootstrapBatch, ranks: Ints) -> Floats:
    """Return C − D of these ranks in each draw."""
    order = np.argsort(d.unit, kind="stable")
    m, h = (dense_ranks(x)[order].astype(np.float32) for x in (ranks, d.human))
    starts = np.append(np.flatnonzero(np.diff(d.unit[order], prepend=-1)), len(order))
    n, apart = len(d.weights), np.zeros(d.weights.shape[1])
    for low in range(0, n, UNITS_AT_ONCE):
        high = min(n, low + UNITS_AT_ONCE)
        pairs, own = np.zeros((high - low, n - low)), np.arange(high - low)
        rows = max(1, CELLS_AT_ONCE // int(starts[-1] - starts[low]))
        blocks = [(top, min(top + rows, int(starts[high]))) for top in range(int(starts[low]), int(starts[high]), rows)]
        for first, sums in in_threads(partial(_sums, m, h, starts, low), blocks):
            pairs[first - low : first - low + len(sums)] += sums
        pairs[:, own] = np.triu(pairs[:, own])  # count pairs of units once
        pairs[own, own] /= 2  # and pairs within a unit once
        apart += np.einsum("sd,sd->d", pairs @ d.weights[low:], d.weights[low:high])
    return apart


def _sums(m: Singles, h: Singles, starts: Ints, low: int, rows: tuple[int, int]) -> tuple[int, Floats]:
    """Return the first unit of the rows, and C − D of the rows by their unit with each unit from `low` on."""
    top, end = rows
    metric, human = (np.subtract.outer(x[top:end], x[starts[low] :]) for x in (m, h))
    signs = np.clip(metric, -1, 1, out=metric)
    signs *= np.clip(human, -1, 1, out=human)
    cuts = starts[(starts > top) & (starts < end)] - top
    if len(cuts) + 1 < len(signs):
        signs = np.add.reduceat(signs, np.append(0, cuts), axis=0)
    sums = signs.astype(np.float64)
    if len(starts) - 1 - low < sums.shape[1]:
        sums = np.add.reduceat(sums, starts[low:-1] - starts[low], axis=1)
    return int(np.searchsorted(starts, top, "right")) - 1, sums


def _changes(d: BootstrapBatch, progress: Progress) -> Floats:
    """Return the change of C − D in each step and draw, (200, n_draws)."""
    f = sort_outputs(d.exp, d.imp, mid_ranks(d.human))
    pairs = np.cumsum(np.sum(histogram(f, STEPS, by_rank=False), axis=0))
    portion = (pairs // PAIRS_AT_ONCE).astype(np.int64)
    changes = np.zeros((STEPS, d.weights.shape[1]))
    for k in np.unique(portion):
        steps = np.flatnonzero(portion == k)
        changes[steps] = _of_steps(d, f, steps, progress)
    return changes


def _of_steps(d: BootstrapBatch, f: SortedOutputs, steps: Ints, progress: Progress) -> Floats:
    """Return the same for some consecutive steps."""
    n, unit, first = len(d.weights), d.unit[f.row], int(steps[0])

    def keys(i: Ints, j: Ints, step: Ints) -> tuple[Ints]:
        """Encode step, both units and the sign of the change (1 for a gain) as one integer."""
        apart = f.human[i] - f.human[j]
        there = np.flatnonzero(apart)
        i, j, step = i[there], j[there], step[there] - first
        return ((((step * n + unit[i]) * n + unit[j]) * 2 + (apart[there] > 0)),)

    wanted = np.zeros(STEPS, dtype=np.bool_)
    wanted[steps] = True
    found = [portion[0] for portion in collect(f, wanted, keys)]
    key = np.concatenate([np.zeros(0, dtype=np.int64), *found])
    del found
    key.sort()
    ends = np.searchsorted(key, np.arange(len(steps) + 1) * (2 * n * n))

    def change(k: int) -> Floats:
        matrix = _matrix(key[ends[k] : ends[k + 1]] - k * 2 * n * n, n)
        parts = (d.weights[:, some] for some in d.parts(DRAWS_AT_ONCE))
        return np.concatenate([2 * np.einsum("sd,sd->d", np.asarray(matrix @ w), w) for w in parts])

    return np.array(in_threads(change, range(len(steps)), lambda share: progress((first + share * len(steps)) / STEPS)))


def _matrix(key: Ints, n: int) -> csr_matrix:
    """Return gains minus losses by (unit, unit), from ascending keys."""
    cell = np.flatnonzero(np.diff(key >> 1, prepend=-1))
    row, column = np.divmod(key[cell] >> 1, n)
    value = np.add.reduceat((key & 1) * 2.0 - 1, cell) if len(cell) else np.zeros(0)
    return csr_matrix((value, column, np.searchsorted(row, np.arange(n + 1))), shape=(n, n))

"""Agreement of many bootstrap draws of very many outputs, at 201 λ.

τ-b, by pairs of units (such as segments): a draw contains unit s w_s times, so a pair of outputs of s and t counts w_s·w_t times.
The changes of all pairs within one step of ω are summed by (s, t) once; each draw is then a matrix product.

Spearman's ρ, by the ranks of each draw in the order of the outputs at each λ: with c_i the number of copies of all outputs up to
i, the mid-rank of i is c_i − (w_i − 1)/2. So the sum of rank products is Σ c_i·(w_i·r_i), with r the centred human ranks of the
draw, minus a sum that does not depend on λ. All counts and sums are exact.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from core.calibration.breakpoints import start_order
from core.calibration.many_outputs import SortedOutputs, collect, histogram, sort_outputs
from core.progress import Progress
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, dense_ranks, ratio
from core.stats.threads import in_threads

Singles = npt.NDArray[np.float32]
PAIRS_AT_ONCE = 15_000_000
DRAWS_AT_ONCE = 64
CELLS_AT_ONCE = 1 << 17
UNITS_AT_ONCE = 256
RANKED_AT_ONCE = 16
STEPS = 200
"""Number of equal steps of ω = λ/(1+λ); each draw is fitted to one of their ends, 0.005 apart."""


class BootstrapBatch(NamedTuple):
    """Outputs and draws: distances and human ranks as integers, the unit of each output (such as its segment), all (n,).

    `weights` is how often each draw contains each unit, (n_units, n_draws).
    """

    exp: Ints
    imp: Ints
    human: Ints
    unit: Ints
    weights: Floats

    def parts(self, size: int) -> list[slice]:
        """Return slices of at most `size` draws."""
        return [slice(k, k + size) for k in range(0, self.weights.shape[1], size)]


class DrawAgreements(NamedTuple):
    """Agreement of each draw, NaN where undefined.

    `steps`: just above each ω = k/200, (n_draws, 201); `zero`, `inf`, `at_lam`: at λ = 0, ∞ and the chosen λ, (n_draws,).
    """

    steps: Floats
    zero: Floats
    inf: Floats
    at_lam: Floats


class GroupMembers:
    """Number of outputs of each group (ascending) in each unit, as a sparse matrix (n_groups, n_units)."""

    def __init__(self, groups: Ints, unit: Ints) -> None:
        ids = dense_ranks(groups)
        shape = (int(ids.max()) + 1, int(unit.max()) + 1)
        self._matrix = csr_matrix((np.ones(len(ids)), (ids, unit)), shape=shape)

    def sums(self, of_units: Floats) -> Floats:
        """Sum values of units (n_units, n_draws) to groups (n_groups, n_draws)."""
        return np.asarray(self._matrix @ of_units)

    def spread(self, of_groups: Floats) -> Floats:
        """Sum values of groups (n_groups, n_draws) to units (n_units, n_draws)."""
        return np.asarray(self._matrix.T @ of_groups)


def by_pairs(d: BootstrapBatch, places: list[Ints], progress: Progress) -> DrawAgreements:
    """Return the agreement of each draw along λ, and at the three `places`, given as score ranks (n,)."""
    size = np.bincount(d.unit) @ d.weights
    total = size * (size - 1) / 2
    human = _tied(d, d.human)

    def value(ranks: Ints, apart: Floats) -> Floats:
        """Return τ-b from C − D (…, n_draws)."""
        return ratio(apart, np.broadcast_to(np.sqrt((total - _tied(d, ranks)) * (total - human)), apart.shape))

    start = start_order(d.exp, d.imp)
    zero, inf, at_lam = (value(ranks, _apart(d, ranks)) for ranks in places)
    changes = _changes(d, progress)
    apart = _apart(d, start) + np.concatenate((np.zeros((1, len(size))), np.cumsum(changes, axis=0)))
    return DrawAgreements(value(start, apart).T, zero, inf, at_lam)


def _tied(d: BootstrapBatch, groups: Ints) -> Floats:
    """Return the number of pairs with equal `groups` (n,) in each draw, including copies of the same output."""
    members = GroupMembers(groups, d.unit)

    def count(some: slice) -> Floats:
        size = members.sums(d.weights[:, some])
        pair_counts: Floats = np.einsum("gd,gd->d", size, size - 1) / 2
        return pair_counts

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
        changing = np.flatnonzero(apart)
        i, j, step = i[changing], j[changing], step[changing] - first
        return ((((step * n + unit[i]) * n + unit[j]) * 2 + (apart[changing] > 0)),)

    step_mask = np.zeros(STEPS, dtype=np.bool_)
    step_mask[steps] = True
    portions = [portion[0] for portion in collect(f, step_mask, keys)]
    key = np.concatenate([np.zeros(0, dtype=np.int64), *portions])
    del portions
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


def by_ranks(d: BootstrapBatch, places: list[Ints], progress: Progress) -> DrawAgreements:
    """Return the agreement of each draw along λ, and at the three `places`, given as score ranks (n,)."""
    start, each = start_order(d.exp, d.imp), np.arange(len(d.unit))
    distinct = np.unique(start, return_index=True)[1]
    exp, imp = d.exp[distinct], d.imp[distinct]
    orders = [np.lexsort((imp, exp, k * exp + (STEPS - k) * imp))[::-1] for k in range(STEPS + 1)]
    same_human, same_start, *same = (GroupMembers(ranks, each) for ranks in (d.human, start, *places))

    def count(some: slice) -> Floats:
        w = d.weights[d.unit, some]
        size, total = same_human.sums(w), w.sum(0)
        ranked = w * same_human.spread(np.cumsum(size, axis=0) - size / 2 - total / 2)
        human = total**3 - (size**3).sum(0)

        def value(products: Floats, size: Floats) -> Floats:
            below = np.sqrt(human * (total**3 - (size**3).sum(0))) / 12
            return np.where(below > 1e-9, products / np.where(below > 1e-9, below, 1), np.nan)

        size, sums = same_start.sums(w), same_start.sums(ranked)
        products = np.array([np.einsum("gd,gd->d", sums[o], np.cumsum(size[o], axis=0)) for o in orders])
        agreements = list(value(products - np.einsum("gd,gd->d", sums, size) / 2, size))
        for members in same:
            size, sums = members.sums(w), members.sums(ranked)
            agreements.append(value(np.einsum("gd,gd->d", sums, np.cumsum(size, axis=0) - size / 2), size))
        return np.array(agreements)

    values = np.concatenate(in_threads(count, d.parts(RANKED_AT_ONCE), progress), axis=1)
    return DrawAgreements(values[: STEPS + 1].T, *values[STEPS + 1 :])

"""Breakpoints: the values of λ at which two outputs change places in the ranking, and how each rank measure changes there.

Scores fall with s(λ) = λ·Dist_exp + Dist_imp. Outputs i and j change places only at λ* = −ΔDist_imp/ΔDist_exp, if it is
above 0; at λ* they tie. Distances are rounded to twelve decimals and stored as integers, so that differences and ties are
exact. Breakpoints closer than one part in 10⁹ (means such as 1/3 have no exact decimals) are treated as one.

Each rank measure is numerator/denominator in each group of outputs. Between breakpoints the denominator is constant and the
numerator changes by a sum over the pairs that change places; on a breakpoint these pairs tie, which changes both.
`weights` are multiplicities of outputs (a bootstrap draw); results are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.calibration.curve import StepCurve
from core.errors import UserError
from core.stats.correlation.correlation import Measure, agreement_by_group
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, changes, pair_counts, ratio

DECIMALS = 12
SAME_BREAK = 1e-9
PAIRS_AT_ONCE = 4_000_000
MOST_PAIRS = 60_000_000


class Breakpoints(NamedTuple):
    """The F pairs that change places, sorted by group and breakpoint. An entry is one group at one breakpoint (E entries).

    `left`, `right` (F,) are rows; `sign` (F,) is sgn(score(left) − score(right)) before the breakpoint, negated after it.
    `start` (E,) is the first pair of each entry, `group` and `at` (E,) its group and the index of its breakpoint in `breaks`.
    """

    breaks: Floats
    left: Ints
    right: Ints
    sign: npt.NDArray[np.int8]
    start: Ints
    group: Ints
    at: Ints


_NONE = np.zeros(0, dtype=np.int64)
NO_BREAKPOINTS = Breakpoints(np.zeros(0), _NONE, _NONE, _NONE.astype(np.int8), _NONE, _NONE, _NONE)


def without_noise(distances: Floats, noise: float) -> Floats:
    """Return the distances (n,), with runs whose neighbours differ by at most `noise` made equal; others do not change.

    Each run gets its value nearest to 0: the distance of a text to itself is 0.
    """
    order = np.argsort(distances, kind="stable")
    ascending = distances[order]
    run = np.concatenate(([0], np.cumsum(np.diff(ascending) > noise))) if len(order) else order
    nearest = np.lexsort((np.abs(ascending), run))
    merged = np.empty_like(distances)
    merged[order] = ascending[nearest[np.searchsorted(run, run)]]
    return merged


def on_grid(exp: Floats, imp: Floats) -> tuple[Ints, Ints]:
    """Return both distances as integer multiples of 1e-12 (coarser above 4,000, so that doubles hold them exactly)."""
    largest = max(float(np.abs(exp).max(initial=0)), float(np.abs(imp).max(initial=0)), 1.0)
    decimals = min(DECIMALS, int(math.floor(15.6 - math.log10(largest))))
    scale = 10.0**decimals
    return np.rint(exp * scale).astype(np.int64), np.rint(imp * scale).astype(np.int64)


def find_breakpoints(exp: Ints, imp: Ints, groups: Sequence[Ints]) -> Breakpoints:
    """Return all breakpoints in (0, ∞) of pairs within each group of rows.

    Raises `UserError` above 60 million pairs, for which memory may not suffice.
    """
    n_pairs = sum(len(rows) * (len(rows) - 1) // 2 for rows in groups)
    if n_pairs > MOST_PAIRS:
        raise UserError(
            "there are too many outputs to compare all pairs",
            got=f"{n_pairs:,} pairs",
            expected=f"at most {MOST_PAIRS:,}",
            hint="Average by segment or by system, or calibrate on fewer outputs",
        )
    return breakpoints_of_pairs(
        exp, imp, ((number, *pair) for number, rows in enumerate(groups) for pair in _pairs(rows))
    )


def breakpoints_of_pairs(exp: Ints, imp: Ints, portions: Iterable[tuple[int, Ints, Ints]]) -> Breakpoints:
    """Return the breakpoints in (0, ∞) of pairs given as (group number, rows of the first, rows of the second outputs)."""
    parts: list[tuple[Ints, Ints, Ints, Floats, npt.NDArray[np.int8]]] = []
    for number, i, j in portions:
        de, di = exp[i] - exp[j], imp[i] - imp[j]
        crossing = np.flatnonzero(((de > 0) & (di < 0)) | ((de < 0) & (di > 0)))
        de, di = de[crossing], di[crossing]
        group = np.full(len(crossing), number)
        parts.append((i[crossing], j[crossing], group, -(di / de), -np.sign(di).astype(np.int8)))
    if not any(len(p[0]) for p in parts):
        return NO_BREAKPOINTS
    left, right, group, where, sign = (np.concatenate(column) for column in zip(*parts, strict=True))
    breaks, at = _distinct(where)
    order = np.lexsort((at, group)) if group.any() else np.argsort(at, kind="stable")
    group, at = group[order], at[order]
    start = np.flatnonzero(changes(group, at))
    return Breakpoints(breaks, left[order], right[order], sign[order], start, group[start], at[start])


def _distinct(where: Floats) -> tuple[Floats, Ints]:
    """Return the distinct breakpoints, ascending, and the index of each of `where` among them."""
    order = np.argsort(where, kind="stable")
    ascending = where[order]
    fresh = np.ones(len(where), dtype=bool)
    fresh[1:] = np.diff(ascending) > SAME_BREAK * ascending[1:]
    at = np.empty(len(where), dtype=np.int64)
    at[order] = np.cumsum(fresh) - 1
    return ascending[fresh], at


def _pairs(rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield all pairs of rows, some millions at a time."""
    n = len(rows)
    step = max(1, PAIRS_AT_ONCE // max(1, n))
    for top in range(0, n - 1, step):
        i, j = np.triu_indices(min(step, n - 1 - top), 1, n - top)
        yield rows[i + top], rows[j + top]


class Terms(NamedTuple):
    """Terms of a measure per group and per entry of `Breakpoints`.

    Per group (G,): numerator and denominator just above λ = 0, and the values at λ = 0 and ∞ (NaN if undefined).
    Per entry (E,): the change of the numerator on and after the breakpoint, and the denominator on it.
    """

    numerator: Floats
    denominator: Floats
    zero: Floats
    inf: Floats
    on: Floats
    after: Floats
    denominator_on: Floats


class Ties(NamedTuple):
    """Ties on breakpoints: each output (`row`) of each entry once, and the index among these of all left, then right outputs."""

    row: Ints
    entry: Ints
    number: Ints


def ties_of(f: Breakpoints, n: int) -> Ties:
    """Return the ties of all entries among n outputs."""
    entry = np.repeat(np.arange(len(f.start)), np.diff(np.append(f.start, len(f.left))))
    both = np.concatenate((entry, entry)) * n + np.concatenate((f.left, f.right))
    who, number = np.unique(both, return_inverse=True)
    return Ties(who % n, who // n, number)


class Prepared(NamedTuple):
    """Integer distances, human scores, groups of rows, breakpoints, ranks just above λ = 0, and ties (for Spearman)."""

    exp: Ints
    imp: Ints
    human: Floats
    groups: Sequence[Ints]
    breakpoints: Breakpoints
    start: Ints
    ties: Ties | None = None


def start_order(exp: Ints, imp: Ints) -> Ints:
    """Return the ranks of scores just above λ = 0: by implicit, then explicit distance; higher is better."""
    order = np.lexsort((exp, imp))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = -np.cumsum(changes(exp[order], imp[order]), dtype=np.int64)
    return ranks


def terms(measure: Measure, p: Prepared, weights: Floats) -> Terms:
    """Return the terms of Kendall τ-b, Spearman, or acc_eq with ε = 0 (for systems' means)."""
    f = p.breakpoints
    pair = weights[f.left] * weights[f.right]
    entry_sum = (lambda x: np.add.reduceat(x, f.start)) if len(f.start) else (lambda x: np.zeros(0))
    uneven = weights if (weights != 1).any() else None
    zero, inf = (agreement_by_group(measure, -d, p.human, p.groups, uneven) for d in (p.imp, p.exp))
    if measure == "spearman":
        return _spearman(p, weights, pair, zero, inf)
    counts = [pair_counts(p.start[rows], p.human[rows], weights[rows]) for rows in p.groups]
    c, d, human, metric, both = (np.array(column, dtype=np.float64) for column in zip(*counts, strict=True))
    agrees = f.sign * np.sign(p.human[f.left] - p.human[f.right])  # +1: concordant before the breakpoint
    if measure == "acc_eq":
        total = c + d + human + metric + both
        on, after = entry_sum(pair * ((agrees == 0).astype(float) - (agrees > 0))), -entry_sum(pair * agrees)
        return Terms(c + both, total, zero, inf, on, after, total[f.group])
    on = -entry_sum(pair * agrees)
    metric_apart, human_apart = c + d + human, c + d + metric
    denominator_on = np.sqrt((metric_apart[f.group] - entry_sum(pair)) * human_apart[f.group])
    return Terms(c - d, np.sqrt(metric_apart * human_apart), zero, inf, on, 2 * on, denominator_on)


def _spearman(p: Prepared, weights: Floats, pair: Floats, zero: Floats, inf: Floats) -> Terms:
    """When i overtakes j its rank rises by the multiplicity of j: Σ r_m·r_h changes by ±(r_h(i) − r_h(j)) per pair of copies.

    Ties: an output with c copies that ties with `d` more (counting copies) lowers Σ(r − r̄)² by (d² + 2dc)/12. Over a block
    of ties, this adds up to the usual (t³ − Σc³)/12.
    """
    f = p.breakpoints
    ranks, copies = np.zeros(len(weights)), np.zeros(len(weights))
    sums = []
    for rows in p.groups:
        w, start = weights[rows], p.start[rows]
        m, h = mid_ranks(start, w), mid_ranks(p.human[rows], w)
        middle = (w.sum() + 1) / 2
        ranks[rows] = h
        _, same = np.unique(start, return_inverse=True)
        copies[rows] = np.bincount(same, w)[same]
        sums.append((w @ ((m - middle) * (h - middle)), w @ (m - middle) ** 2, w @ (h - middle) ** 2))
    covariance, metric, human = (np.array(column, dtype=np.float64) for column in zip(*sums, strict=True))
    on, denominator_on = np.zeros(0), np.zeros(0)
    if len(f.start):
        after = -np.add.reduceat(pair * f.sign * (ranks[f.left] - ranks[f.right]), f.start)
        on = after / 2
        row, entry, number = p.ties or ties_of(f, len(weights))
        tied = np.bincount(number, np.concatenate((weights[f.right], weights[f.left])))
        lost = np.bincount(entry, weights[row] * (tied**2 + 2 * tied * copies[row]) / 12, len(f.start))
        left = metric[f.group] - lost
        denominator_on = np.sqrt(np.where(left > 1e-9, left, 0) * human[f.group])
    return Terms(covariance, np.sqrt(metric * human), zero, inf, on, 2 * on, denominator_on)


def step_curve(f: Breakpoints, t: Terms, group_weights: Floats) -> StepCurve:
    """Return the agreement averaged over groups with these weights, leaving out groups where it is undefined."""
    usable = np.where(t.denominator > 0, group_weights, 0.0)
    below = np.where(t.denominator > 0, t.denominator, 1.0)
    total = float(usable.sum())
    if total == 0:
        nothing = np.full(len(f.breaks) + 1, np.nan)
        return StepCurve(f.breaks, nothing, nothing[1:], _mean(t.zero, group_weights), _mean(t.inf, group_weights))
    k, g, size = len(f.breaks), f.group, len(t.numerator)
    sums = np.cumsum(t.after)
    first, offset = changes(g), np.zeros(size)
    offset[g[first]] = (sums - t.after)[first]
    before = t.numerator[g] + sums - t.after - offset[g]
    on = ratio(before + t.on, t.denominator_on)
    old, new = before / below[g], (before + t.after) / below[g]
    start = t.numerator / below
    if size == 1:
        between, at = np.concatenate((start, new)), on
    else:
        steps = np.bincount(f.at, usable[g] * (new - old), k)
        between = float(usable @ start) + np.concatenate(([0.0], np.cumsum(steps)))
        missing = np.isnan(on)
        moved = np.bincount(f.at, usable[g] * (np.where(missing, 0.0, on) - old), k)
        weight = total - np.bincount(f.at, usable[g] * missing, k)
        at = ratio(between[:-1] + moved, weight)
        between = between / total
    return StepCurve(f.breaks, between, at, _mean(t.zero, group_weights), _mean(t.inf, group_weights))


def _mean(values: Floats, weights: Floats) -> float:
    usable = ~np.isnan(values) & (weights > 0)
    return float(np.average(values[usable], weights=weights[usable])) if usable.any() else float("nan")

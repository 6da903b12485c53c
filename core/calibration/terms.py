"""Changes of each rank measure when two outputs change places.

Each measure is numerator/denominator in each group of outputs. Between breakpoints the denominator is constant and the
numerator changes by a sum over the pairs that change places; on a breakpoint these pairs tie, which changes both.
`weights` are multiplicities of outputs (a bootstrap draw); results are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.calibration.breakpoints import Breakpoints
from core.calibration.curve import StepCurve
from core.stats.correlation.correlation import Measure, agreement_by_group
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, pair_counts, ratio


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
    fresh = np.ones(len(order), dtype=np.int64)
    fresh[1:] = (np.diff(exp[order]) != 0) | (np.diff(imp[order]) != 0)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = -np.cumsum(fresh)
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
    first = np.ones(len(g), dtype=bool)
    first[1:] = g[1:] != g[:-1]
    offset = np.zeros(size)
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

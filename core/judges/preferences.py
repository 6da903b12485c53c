"""Preferences of a judge that have nothing to do with quality: for a position, for long outputs, for outputs of its own model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from core.columns import Mask
from core.stats.bootstrap import Interval, statistic_interval, wilson
from core.stats.correlation.correlation import group_ids, rows_by
from core.stats.correlation.pairs import Floats, Ints, ratio

DRAWS = 1000


class Position(NamedTuple):
    """Pairwise verdicts asked in both orders: the share that depend on the order, and how often the first output wins (ties left out).

    `bias` is |p(first) − .5|; None without single verdicts.
    """

    order_dependent: Interval
    first: Interval | None
    bias: float | None


class LengthPreference(NamedTuple):
    """`slope`: change of judge − human, in standard deviations of each, per doubling of the length of outputs of one segment.

    `longer_errors`: mean length of outputs with an error minus that of the others, in characters, for the judge minus the same for the
    annotators; below 0, the judge finds errors in shorter outputs than they do. None where one side has only one class.
    """

    slope: Interval
    longer_errors: float | None
    by_judge: float | None
    by_human: float | None


class OwnPreference(NamedTuple):
    """P(judge picks own | humans do) − P(judge picks other | humans do) over pairs of an own and another output of a segment.

    A tie of the judge counts half; pairs that are tied for the humans are left out. 0: none; 1: always its own.
    """

    difference: Interval
    own_picked: float | None
    other_picked: float | None
    own_pairs: int
    other_pairs: int


def position(inconsistent: int, verdicts: int, first_wins: int = 0, decided: int = 0) -> Position:
    """Return the effect of the order, from counts of pairs asked in both orders, and of single verdicts that are no tie."""
    first = wilson(first_wins, decided) if decided else None
    bias = None if first is None or first.value is None else abs(first.value - 0.5)
    return Position(wilson(inconsistent, verdicts), first, bias)


def length_preference(
    judge: Floats, human: Floats, lengths: Floats, segments: Sequence[Hashable], units: Sequence[Hashable], seed: int,
    judge_error: Floats | None = None, human_error: Floats | None = None, draws: int = DRAWS,
) -> LengthPreference:  # fmt: skip
    """Return the preference for length; scores are higher for better outputs, errors are 1 or 0, NaN if unknown, all of shape (n,)."""
    differences = None
    if judge_error is not None and human_error is not None:
        both = ~np.isnan(judge_error) & ~np.isnan(human_error)
        sides = [_mean_difference(lengths[both], side[both] > 0) for side in (judge_error, human_error)]
        differences = sides if None not in sides else None
    by_judge, by_human = differences or (None, None)
    gap = None if by_judge is None or by_human is None else by_judge - by_human
    return LengthPreference(_slope(judge, human, lengths, segments, units, seed, draws), gap, by_judge, by_human)


def _mean_difference(lengths: Floats, positive: Mask) -> float | None:
    if not len(lengths) or positive.all() or not positive.any():
        return None
    return float(lengths[positive].mean() - lengths[~positive].mean())


def _slope(
    judge: Floats, human: Floats, lengths: Floats, segments: Sequence[Hashable], units: Sequence[Hashable], seed: int, draws: int
) -> Interval:  # fmt: skip
    at = np.flatnonzero(~np.isnan(judge) & ~np.isnan(human))
    if len(at) < 2 or judge[at].std() == 0 or human[at].std() == 0:
        return Interval(None, None, None, len(at), "the scores of one side are all equal")
    y = judge[at] / judge[at].std() - human[at] / human[at].std()
    x = np.log2(np.maximum(lengths[at], 1.0))
    of_segment = group_ids([segments[i] for i in at.tolist()])
    x, y = (values - _group_mean(values, of_segment) for values in (x, y))
    ids = group_ids([units[i] for i in at.tolist()])
    above, below = (np.bincount(ids, products).astype(np.float64) for products in (x * y, x * x))
    if below.sum() <= 0:
        return Interval(None, None, None, len(above), "no segment has two outputs of different length")
    value = float(above.sum() / below.sum())
    return statistic_interval(value, lambda d: ratio(above[d].sum(1), below[d].sum(1)), len(above), seed, draws)


def _group_mean(values: Floats, ids: Ints) -> Floats:
    means: Floats = (np.bincount(ids, values) / np.bincount(ids))[ids]
    return means


def own_preference(
    judge: Floats, human: Floats, own: Sequence[bool], segments: Sequence[Hashable], units: Sequence[Hashable], seed: int, draws: int = DRAWS
) -> OwnPreference:  # fmt: skip
    """Return the preference for outputs of the judge's own systems; scores are higher for better outputs, all of shape (n,)."""
    mine = np.asarray(own, dtype=bool)
    unit_of = group_ids(units)
    counts = np.zeros((4, int(unit_of.max(initial=-1)) + 1))  # own picked, own pairs, other picked, other pairs
    for rows in rows_by(group_ids(segments)):
        known = rows[~np.isnan(judge[rows]) & ~np.isnan(human[rows])]
        a, b = known[mine[known]], known[~mine[known]]
        if not len(a) or not len(b):
            continue
        by_human = np.sign(human[a][:, None] - human[b])
        picks_own = (np.sign(judge[a][:, None] - judge[b]) + 1) / 2
        unit = unit_of[known[0]]
        counts[:, unit] += [
            picks_own[by_human > 0].sum(), (by_human > 0).sum(), (1 - picks_own[by_human < 0]).sum(), (by_human < 0).sum()
        ]  # fmt: skip
    picked_own, own_pairs, picked_other, other_pairs = counts.sum(1).tolist()
    if not own_pairs or not other_pairs:
        reason = "humans never prefer " + ("one of its outputs" if not own_pairs else "an output of another system")
        none = Interval(None, None, None, counts.shape[1], reason)
        return OwnPreference(none, None, None, int(own_pairs), int(other_pairs))
    value = picked_own / own_pairs - picked_other / other_pairs

    def of_draws(drawn: Ints) -> Floats:
        sums = counts[:, drawn].sum(-1)
        return ratio(sums[0], sums[1]) - ratio(sums[2], sums[3])

    difference = statistic_interval(value, of_draws, counts.shape[1], seed, draws)
    return OwnPreference(
        difference, picked_own / own_pairs, picked_other / other_pairs, int(own_pairs), int(other_pairs)
    )

"""The statistics of a judge's card: its agreement with annotators beside what a constant answer and the annotators themselves reach; its agreement
with itself; and preferences that have nothing to do with quality: for a position, for long outputs, for outputs of its own model.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from core.columns import Mask
from core.judges.annotator_test import Labels, Wins
from core.stats.bootstrap import Interval, mean_interval, statistic_interval, wilson
from core.stats.correlation.agreement_interval import agreement_interval
from core.stats.correlation.correlation import Statistic, agreement, group_ids, rows_by
from core.stats.correlation.pairs import Floats, Ints, ratio

ONE_CLASS = "both give only one and the same class"


class ClassAgreement(NamedTuple):
    """A judge's classes against one reference label per output.

    `share` is p_o with Wilson's interval, `kappa` Cohen's κ with a bootstrap interval over documents. `base_rates` are the shares of
    the classes among the reference labels, `recalls` the shares of each class that the judge answers (for two classes TNR and TPR),
    with Wilson's intervals. A constant answer of the most frequent class reaches `constant` and κ = 0.
    """

    outputs: int
    share: Interval
    kappa: Interval
    base_rates: tuple[float, ...]
    recalls: tuple[Interval, ...]
    constant_class: int
    constant: float


class CeilingRow(NamedTuple):
    """The judge and one annotator against the same remaining annotators, on `outputs`: κ over all pairs of labels, or τ-b with their mean score.

    `judge_score` and `human_score` are the means of S (`core.judges.annotator_test.Wins`).
    """

    annotator: str
    outputs: int
    judge: Statistic
    human: Statistic
    judge_score: float | None
    human_score: float | None


class Ceiling(NamedTuple):
    """All annotators; `difference` is the mean of S(judge) − S(annotator), with a bootstrap interval over documents."""

    rows: tuple[CeilingRow, ...]
    difference: Interval


def confusion(first: Floats, second: Floats, n_classes: int) -> Ints:
    """Count pairs of classes, shape (n_classes, n_classes); pairs with a missing label are left out."""
    both = ~np.isnan(first) & ~np.isnan(second)
    cells = first[both].astype(np.int64) * n_classes + second[both].astype(np.int64)
    return np.bincount(cells, minlength=n_classes**2).reshape(n_classes, n_classes).astype(np.int64)


def cohens_kappa(counts: Floats | Ints) -> Floats:
    """Return κ = (p_o − p_e)/(1 − p_e) (Cohen 1960) of tables of counts, shape (…, C, C); NaN where only one class occurs."""
    total = counts.sum((-2, -1)).astype(np.float64)
    observed = np.trace(counts, axis1=-2, axis2=-1)
    expected = ratio((counts.sum(-1) * counts.sum(-2)).sum(-1).astype(np.float64), total)
    return np.asarray(ratio(observed - expected, total - expected))


def kappa(first: Floats, second: Floats, n_classes: int) -> Statistic:
    """Return Cohen's κ of two lists of classes, NaN for a missing label."""
    counts = confusion(first, second, n_classes)
    value, n = float(cohens_kappa(counts)), int(counts.sum())
    if np.isnan(value):
        return Statistic(None, ONE_CLASS if n else "there are no pairs of labels", n)
    return Statistic(value, "", n)


def kappa_interval(
    first: Floats, second: Floats, n_classes: int, units: Sequence[Hashable], seed: int, draws: int = 1000
) -> Interval:
    """Return κ with its percentile bootstrap interval over units (documents), resampled with all their outputs."""
    ids = group_ids(units)
    tables = np.zeros((int(ids.max(initial=-1)) + 1, n_classes, n_classes))
    both = ~np.isnan(first) & ~np.isnan(second)
    np.add.at(tables, (ids[both], first[both].astype(np.int64), second[both].astype(np.int64)), 1.0)
    value = kappa(first, second, n_classes)
    n = len(tables)
    if value.value is None:
        return Interval(None, None, None, n, value.reason)
    tables = tables[np.lexsort(tables.reshape(n, -1).T)]
    return statistic_interval(value.value, lambda drawn: cohens_kappa(tables[drawn].sum(1)), n, seed, draws)


def majority(human: Floats, n_classes: int) -> Floats:
    """Return the most frequent class of each output, shape (n,), NaN where several are equally frequent or there is none."""
    votes = np.stack([(human == c).sum(0) for c in range(n_classes)])
    first = votes.max(0)
    clear = (first > 0) & ((votes == first).sum(0) == 1)
    return np.where(clear, votes.argmax(0), np.nan)


def class_agreement(
    judge: Floats, reference: Floats, n_classes: int, units: Sequence[Hashable], seed: int, draws: int = 1000
) -> ClassAgreement | None:
    """Compare classes with the reference labels; outputs without one of both are left out. None if there are no others."""
    counts = confusion(judge, reference, n_classes)
    n = int(counts.sum())
    if not n:
        return None
    of_class = counts.sum(0)
    most = int(of_class.argmax())
    return ClassAgreement(
        n,
        wilson(int(np.trace(counts)), n),
        kappa_interval(judge, reference, n_classes, units, seed, draws),
        tuple((of_class / n).tolist()),
        tuple(wilson(int(counts[c, c]), int(of_class[c])) for c in range(n_classes)),
        most,
        float(of_class[most] / n),
    )


def score_agreement(judge: Floats, human: Floats, units: Sequence[Hashable], seed: int) -> Interval:
    """Return Kendall's τ-b of the judge's scores with the annotators' mean scores, and its bootstrap interval over documents."""
    means = _means(human)
    at = np.flatnonzero(~np.isnan(judge) & ~np.isnan(means))
    known = agreement("kendall", judge[at], means[at])
    of_output = [units[i] for i in at.tolist()]
    if known.value is None or len(set(of_output)) < 2:
        reason = known.reason or "an interval needs at least two documents"
        return Interval(known.value, None, None, len(set(of_output)), reason)
    return agreement_interval("kendall", judge[at], means[at], units=of_output, seed=seed, draws=300, known=known)


def ceiling(
    judge: Floats, human: Floats, compared: Wins, names: Sequence[str], labels: Labels, n_classes: int, units: Sequence[Hashable], seed: int
) -> Ceiling:  # fmt: skip
    """Return how well the judge and each annotator agree with the remaining annotators, on outputs that all of them have labelled."""
    rows = []
    for j, name in enumerate(names):
        at = np.flatnonzero(~np.isnan(compared.judge[j]) & ~np.isnan(judge))
        others = np.delete(human[:, at], j, axis=0)
        pair = [_against(own[at], others, labels, n_classes) for own in (judge, human[j])]
        scores = [
            float(side[j, at].mean()) if len(at) else None for side in (compared.judge_score, compared.human_score)
        ]
        rows.append(CeilingRow(name, len(at), pair[0], pair[1], *scores))
    gaps = np.where(np.isnan(judge), np.nan, compared.judge_score - compared.human_score)
    known = np.flatnonzero((~np.isnan(gaps)).any(0))
    means = np.nanmean(gaps[:, known], axis=0) if len(known) else np.zeros(0)
    return Ceiling(tuple(rows), mean_interval(means, seed, units=[units[i] for i in known.tolist()]))


def _against(own: Floats, others: Floats, labels: Labels, n_classes: int) -> Statistic:
    if labels == "classes":
        return kappa(np.broadcast_to(own, others.shape).ravel(), others.ravel(), n_classes)
    return agreement("kendall", own, _means(others))


def _means(human: Floats) -> Floats:
    """Return the mean score of each output, NaN without any."""
    present = ~np.isnan(human)
    return ratio(np.where(present, human, 0.0).sum(0), present.sum(0).astype(np.float64))


FEWEST_CALLS = 3
TARGETS = (3, 10)
"""Numbers of calls for which the reliability of their mean is shown."""


class Stability(NamedTuple):
    """Repeated calls: `flip_rate` and `kappa` are those of classes, `icc` that of scores; `mean_of` is the reliability of the mean of m calls."""

    outputs: int
    calls: int
    flip_rate: Statistic
    kappa: Statistic
    icc: Statistic
    mean_of: tuple[tuple[int, float | None], ...]

    @property
    def enough(self) -> bool:
        return self.calls >= FEWEST_CALLS


def stability(scores: Floats, classes: Floats, n_classes: int) -> Stability:
    """Return the stability of repeated calls; outputs with fewer than two values are left out."""
    twice = (~np.isnan(scores)).sum(1) >= 2
    scores = scores[twice]
    r = icc(scores)
    means = tuple((m, None if r.value is None else reliability(r.value, m)) for m in TARGETS)
    calls = int((~np.isnan(scores)).sum(1).max(initial=0))
    return Stability(int(twice.sum()), calls, flip_rate(classes), mean_pairwise_kappa(classes, n_classes), r, means)


def flip_rate(classes: Floats) -> Statistic:
    """Return the mean over outputs of 1 − the share of their most frequent class, in [0, 1]; 0 is best."""
    twice = classes[(~np.isnan(classes)).sum(1) >= 2]
    if not len(twice):
        return Statistic(None, "no output was judged twice")
    most = np.max([(twice == c).sum(1) for c in np.unique(twice[~np.isnan(twice)])], axis=0)
    return Statistic(float((1 - most / (~np.isnan(twice)).sum(1)).mean()), "", len(twice))


def mean_pairwise_kappa(classes: Floats, n_classes: int) -> Statistic:
    """Return the mean of Cohen's κ over the pairs of calls for which it is defined."""
    pairs = [kappa(classes[:, a], classes[:, b], n_classes) for a, b in combinations(range(classes.shape[1]), 2)]
    known = [pair.value for pair in pairs if pair.value is not None]
    if not known:
        return Statistic(None, pairs[0].reason if pairs else "no output was judged twice")
    return Statistic(float(np.mean(known)), "", len(classes), len(known), len(pairs) - len(known))


def icc(scores: Floats) -> Statistic:
    """Return the intraclass correlation of a one-way random model, r = (MS_b − MS_w)/(MS_b + (k₀ − 1)·MS_w) (Shrout and Fleiss 1979, ICC(1, 1)).

    With unequal numbers of calls k_i, k₀ = (N − Σ k_i²/N)/(n − 1). 1: calls agree; 0 or below: an output's calls differ as much as outputs do.
    """
    present = ~np.isnan(scores)
    scores, present = scores[present.any(1)], present[present.any(1)]
    k = present.sum(1).astype(np.float64)
    n, total = len(scores), float(k.sum())
    if n < 2 or total <= n:
        return Statistic(None, "at least two outputs must be judged twice", n)
    own = np.where(present, scores, 0.0).sum(1) / k
    between = float((k * (own - np.where(present, scores, 0.0).sum() / total) ** 2).sum()) / (n - 1)
    within = float((np.where(present, scores - own[:, None], 0.0) ** 2).sum()) / (total - n)
    k0 = (total - float((k**2).sum()) / total) / (n - 1)
    below = between + (k0 - 1) * within
    if below <= 0:
        return Statistic(None, "all values are equal", n)
    return Statistic((between - within) / below, "", n)


def reliability(r: float, calls: int) -> float | None:
    """Return the reliability of the mean of m calls, m·r/(1 + (m − 1)·r) (Spearman 1910, Brown 1910); None for r below 0."""
    return None if r < 0 else calls * r / (1 + (calls - 1) * r)


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

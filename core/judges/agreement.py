"""Agreement of a judge with annotators beside what a constant answer and the annotators themselves reach."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from core.judges.annotator_test import Labels, Wins
from core.stats.bootstrap import Interval, mean_interval, statistic_interval, wilson
from core.stats.correlation.agreement_interval import agreement_interval
from core.stats.correlation.correlation import Statistic, agreement, group_ids
from core.stats.correlation.pairs import Floats, Ints, ratio

Measure = Literal["kappa", "kendall"]
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


def score_agreement(judge: Floats, human: Floats, units: Sequence[Hashable], seed: int, draws: int = 300) -> Interval:
    """Return Kendall's τ-b of the judge's scores with the annotators' mean scores, and its bootstrap interval over documents."""
    means = _means(human)
    at = np.flatnonzero(~np.isnan(judge) & ~np.isnan(means))
    known = agreement("kendall", judge[at], means[at])
    of_output = [units[i] for i in at.tolist()]
    if known.value is None or len(set(of_output)) < 2:
        reason = known.reason or "an interval needs at least two documents"
        return Interval(known.value, None, None, len(set(of_output)), reason)
    return agreement_interval("kendall", judge[at], means[at], units=of_output, seed=seed, draws=draws, known=known)


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

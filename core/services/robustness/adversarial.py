"""Adversarial accuracy (Chen and Eger 2023, section 3): how often metrics prefer the right text, and the cases they fail.

Scoring and statistics are separate: the same scores give tables, intervals and lists of failures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Value
from core.formats.error_cases import FLUENCY, TYPES, AdversarialCase
from core.metrics.base import Metric, MetricSpec
from core.ports.robustness import SavedScore
from core.scoring.items import score_items
from core.scoring.values import OnScoring, ScoreCache
from core.signature import signature
from core.stats.bootstrap import DRAWS_AT_ONCE, Interval, content_order, percentiles, wilson
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints

VERSION = 2
DRAWS = 1000
ALL, ADEQUACY, FLUENT = "all", "adequacy", "fluency"
AVERAGES = (ALL, ADEQUACY, FLUENT)
TYPE = " (error type)"
"""Suffix of a phenomenon that has the name of an average."""
ADEQUATE = frozenset(TYPES.values()) - FLUENCY


class Answered(NamedTuple):
    """One metric's values for the good and the bad text of every case, in order."""

    spec: MetricSpec
    signature: str
    good: tuple[Value, ...]
    bad: tuple[Value, ...]

    def margins(self) -> Floats:
        """Return how much better the good text is, shape (n_cases,), in the metric's unit; NaN if a score is missing."""
        good, bad = (np.array([value.value for value in side], dtype=np.float64) for side in (self.good, self.bad))
        return good - bad if self.spec.higher_is_better else bad - good

    def missing(self, i: int) -> str:
        """Return why a score of case `i` is missing, or ""."""
        return next((v.reason or v.status for v in (self.good[i], self.bad[i]) if v.value is None), "")

    def kept(self, i: int) -> SavedScore:
        """Return the scores of case `i` as they are stored with a saved case."""
        higher, reason = self.spec.higher_is_better, self.missing(i)
        return SavedScore(self.spec.name, self.signature, higher, self.good[i].value, self.bad[i].value, reason)


class PhenomenonRow(NamedTuple):
    """One metric on one phenomenon, or on an average over `averaged` phenomena that have a value; the columns of the CSV file.

    `phenomenon` is one of `AVERAGES` only for an average. `accuracy` in [0, 1] is `right` / `compared` with `compared` = `cases`
    − `undefined`; right is strictly better, `tied` cases are wrong. An average is the unweighted mean over its phenomena. The
    95 % CI is Wilson's for a phenomenon, and for an average a percentile bootstrap over sources with all their cases; there is
    none with fewer than two sources.
    """

    phenomenon: str
    averaged: int
    metric: str
    signature: str
    cases: int
    compared: int
    right: int
    tied: int
    accuracy: float | None
    low: float | None
    high: float | None
    undefined: int
    reason: str


class Failure(NamedTuple):
    """A case that one metric fails, with every metric's scores of the good and the bad text (Table 10); `case` is its index."""

    metric: str
    phenomenon: str
    id: str
    anchor: str
    good: str
    bad: str
    scores: dict[str, tuple[float | None, float | None]]
    case: int


def answer(
    cases: Sequence[AdversarialCase],
    metrics: Sequence[Metric],
    on_scoring: OnScoring | None = None,
    scores: ScoreCache | None = None,
    *,
    workers: int = 1,
) -> list[Answered]:
    """Score both texts of every case with every metric; equal texts of an anchor are scored once.

    Existing values in `scores` are reused, new ones are added to it. `workers` is that of `score_dataset`. Raises `Cancelled` when
    `on_scoring` does.
    """
    if not cases:
        return [Answered(metric.spec, metric.signature(), (), ()) for metric in metrics]
    items = [item for case in cases for item in (case.good, case.bad)]
    return [
        Answered(scored.spec, scored.signature, tuple(scored.values[::2]), tuple(scored.values[1::2]))
        for scored in score_items(items, metrics, on_scoring, scores, workers=workers)
    ]


def failed(answered: Sequence[Answered]) -> bool:
    """Return whether a metric raised an error for some text, so that a retry may help."""
    return any(value.status == "error" for a in answered for value in (*a.good, *a.bad))


def accuracy_table(
    cases: Sequence[AdversarialCase], answered: Sequence[Answered], *, seed: int = 0, draws: int = DRAWS
) -> list[PhenomenonRow]:
    """Return accuracies by metric and phenomenon: phenomena in the order of the paper, then others, then averages."""
    names = order(cases)
    if not names:
        return []
    labels, rows = _labels(names), []
    for metric in answered:
        margins = metric.margins()
        rows += [_row(name, labels[name], cases, metric, margins) for name in names]
        rows += _averages(cases, metric, margins, names, seed, draws)
    return rows


def order(cases: Sequence[AdversarialCase]) -> list[str]:
    """Return the phenomena of the cases: those of the paper first, in its order."""
    phenomena = dict.fromkeys(case.phenomenon for case in cases)
    return [*(name for name in TYPES.values() if name in phenomena), *(n for n in phenomena if n not in TYPES.values())]


def _labels(names: Sequence[str]) -> dict[str, str]:
    """Return the label of each phenomenon: its name, with a suffix if it is that of an average."""
    labels = {}
    for name in names:
        label = name
        while label in AVERAGES or (label != name and label in names):
            label += TYPE
        labels[name] = label
    return labels


def members(average: str, phenomena: Sequence[str]) -> list[str]:
    """Return the phenomena of an average. Those that are neither adequacy nor fluency belong to "all" only."""
    included = {ADEQUACY: ADEQUATE, FLUENT: FLUENCY}.get(average)
    return [name for name in phenomena if included is None or name in included]


def failures(
    cases: Sequence[AdversarialCase], answered: Sequence[Answered], *, each: int = 3, solved_by: str = ""
) -> list[Failure]:
    """Return the first `each` failed cases of every metric and phenomenon; with `solved_by`, only cases that this metric
    gets right (Table 10)."""
    margins = {a.spec.name: a.margins() for a in answered}
    solved = margins.get(solved_by)
    listed, seen = [], Counter[tuple[str, str]]()
    for a in answered:
        for i, case in enumerate(cases):
            place = (a.spec.name, case.phenomenon)
            if margins[a.spec.name][i] <= 0 and seen[place] < each and (solved is None or solved[i] > 0):
                seen[place] += 1
                scores = {b.spec.name: (b.good[i].value, b.bad[i].value) for b in answered}
                texts = anchor_of(case), case.good.hypothesis, case.bad.hypothesis
                listed.append(Failure(*place, case.id, *texts, scores, i))
    return listed


def accuracy(margins: Floats, phenomena: Sequence[str]) -> float | None:
    """Return the mean over phenomena of the share of margins above 0, without NaN margins; None if none is left."""
    known = ~np.isnan(margins)
    ids = group_ids(list(phenomena))[known]
    if not known.any():
        return None
    n, right = np.bincount(ids), np.bincount(ids, margins[known] > 0)
    return float((right[n > 0] / n[n > 0]).mean())


def _row(name: str, label: str, cases: Sequence[AdversarialCase], metric: Answered, margins: Floats) -> PhenomenonRow:
    at = np.array([i for i, case in enumerate(cases) if case.phenomenon == name])
    mine = margins[at]
    known = mine[~np.isnan(mine)]
    right = int((known > 0).sum())
    share = wilson(right, len(known))._replace(reason="")
    lost = Counter(metric.missing(i) for i in at[np.isnan(mine)])
    why = [f"{n} × {reason}" for reason, n in lost.most_common()]
    return _as_row(label, 1, metric, len(at), known, share, why, "wilson:95")


def _averages(
    cases: Sequence[AdversarialCase], metric: Answered, margins: Floats, names: Sequence[str], seed: int, draws: int
) -> list[PhenomenonRow]:
    known = ~np.isnan(margins)
    phenomena, units = np.array([case.phenomenon for case in cases]), group_ids(list(map(_source, cases, count())))
    scored = [name for name in names if known[phenomena == name].any()]
    kinds = np.array([scored.index(name) if name in scored else -1 for name in phenomena])
    drawn = _drawn(group_ids(units[known].tolist()), kinds[known], margins[known] > 0, len(scored), seed, draws)
    rows = []
    for average in AVERAGES:
        over = members(average, names)
        if not over or (average != ALL and len(over) == len(names)):
            continue
        of = [name for name in over if name in scored]
        at = np.isin(phenomena, over)
        value = accuracy(margins[at], phenomena[at].tolist())
        columns = drawn[:, [scored.index(name) for name in of]]
        usable = columns[~np.isnan(columns).any(axis=1)]
        why = [f"without {name}: no case of it has a score" for name in over if name not in of] if of else []
        low = high = None
        if value is None:
            why.append("no case has a score")
        elif len(set(units[at & known].tolist())) < 2:
            why.append("an interval needs at least two sources")
        elif len(usable) < draws / 2:
            why.append("no interval: too many resamples lack a phenomenon")
        else:
            low, high = percentiles(usable.mean(axis=1))
        share = Interval(value, low, high, int((at & known).sum()))
        mine = margins[at & known]
        rows.append(_as_row(average, len(of), metric, int(at.sum()), mine, share, why, f"draws:{draws}|seed:{seed}"))
    return rows


def _source(case: AdversarialCase, place: int) -> Hashable:
    """Return the source of a case: its anchor and id (ids of several files coincide), or its place if it has neither."""
    anchor = anchor_of(case)
    return (anchor, case.id) if anchor or case.id else place


def anchor_of(case: AdversarialCase) -> str:
    """Return the anchor of a case: its first reference, or the source."""
    return case.good.references[0] if case.good.references else case.good.source or ""


def _drawn(units: Ints, kinds: Ints, right: npt.NDArray[np.bool_], n_kinds: int, seed: int, draws: int) -> Floats:
    """Return accuracies, shape (draws, phenomena), on bootstrap resamples of the sources with all their cases.

    `units`, `kinds` and `right`, shape (n_scored,), are the source, phenomenon and outcome of every case with a score. NaN
    means that a resample has no case of a phenomenon.
    """
    if not len(units):
        return np.full((0, n_kinds), np.nan)
    n_units = int(units.max()) + 1
    size, won = np.zeros((n_units, n_kinds)), np.zeros((n_units, n_kinds))
    np.add.at(size, (units, kinds), 1)
    np.add.at(won, (units, kinds), right)
    order = content_order(*size.T, *won.T)
    size, won = size[order], won[order]
    rng = np.random.default_rng(seed)
    accuracies = []
    for start in range(0, draws, step := max(1, DRAWS_AT_ONCE // n_units)):
        often = rng.multinomial(n_units, np.full(n_units, 1 / n_units), min(step, draws - start)).astype(np.float64)
        with np.errstate(invalid="ignore"):
            accuracies.append((often @ won) / (often @ size))
    return np.concatenate(accuracies)


def _as_row(
    name: str, averaged: int, metric: Answered, cases: int, known: Floats, share: Interval, why: list[str], how: str
) -> PhenomenonRow:
    signed = f"{metric.signature}|{signature('adversarial', {'v': VERSION})}|{how}"
    return PhenomenonRow(
        name, averaged, metric.spec.name, signed, cases, len(known), int((known > 0).sum()), int((known == 0).sum()),
        share.value, share.low, share.high, cases - len(known), "; ".join(why),
    )  # fmt: skip

"""Agreement at system level by text length, rank bias for systems, and disagreements on single outputs.

Source: Amplayo et al. 2022, §7, Figures 1, 3 and 4 and Table 4. Systems are ranked by their mean scores over the segments that all
systems have, for several human scores on the same outputs (`same_outputs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata

from core.data import OutputKey, SegmentKey, grouped
from core.services.evaluate.evaluate import NO_SEGMENTS, AgreementOptions
from core.services.evaluate.evaluation_data import EvaluationData, ScoredMetric
from core.services.projects.view import View
from core.stats.bootstrap import percentiles
from core.stats.buckets import Bucket, quantile_buckets
from core.stats.correlation.agreement_interval import agreement_on_draws, unit_draws
from core.stats.correlation.correlation import agreement
from core.stats.correlation.pairs import Floats
from core.stats.means import row_means
from core.stats.system_ranking import rank_bias
from core.text.words import units

By = Literal["references", "outputs", "source"]
BUCKETS = 4
ROUGE_X, ROUGES = "rouge-x", ("rouge1", "rouge2", "rougeL")


class LengthRow(NamedTuple):
    """One metric on one bucket of segments: Kendall τ-b of the systems' means, averaged over the human scores.

    `difference` is τ minus the baseline's τ, `relative` is `difference` divided by the baseline's τ. An undefined τ is None
    with a `reason` and `status` "undefined". `relative` is None if the baseline's τ is not above 0; `no_ratio` says why.
    """

    metric: str
    kind: str
    bucket: int
    shortest: float
    longest: float
    segments: int
    systems: int
    value: float | None
    low: float | None
    high: float | None
    baseline: str
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    relative: float | None
    status: str
    reason: str
    no_ratio: str
    name: str
    signature: str


class Lengths(NamedTuple):
    """All rows, by bucket from short to long; `left_out` counts segments without the text whose length is measured."""

    rows: tuple[LengthRow, ...]
    buckets: tuple[Bucket, ...]
    by: By
    left_out: int

    def of(self, name: str, bucket: int) -> LengthRow:
        return next(r for r in self.rows if r.name == name and r.bucket == bucket)


def same_outputs(of: Mapping[str, EvaluationData]) -> dict[str, EvaluationData]:
    """Restrict each human score's data to the outputs that all of them rate, in the same order.

    Only segments that every system has are kept. A metric that is undefined in one is undefined in all. ROUGE-X, the mean
    of ROUGE-1, ROUGE-2 and ROUGE-L, is added if all three are there.
    """
    if not of:
        return {}
    common = set.intersection(*(set(j.keys) for j in of.values()))
    first = next(iter(of.values()))
    keys = first.only([k in common for k in first.keys]).whole().keys
    lacks = {c.name: c.undefined for j in of.values() for c in j.scored_metrics if c.undefined}
    out = {}
    for name, joined in of.items():
        at = {k: i for i, k in enumerate(joined.keys)}
        rows = np.array([at[k] for k in keys], dtype=np.int64)
        scores = {n: v[rows] for n, v in joined.scores.items() if n not in lacks}
        scored_metrics = tuple(c._replace(undefined=lacks.get(c.name, "")) for c in joined.scored_metrics)
        cut = replace(joined, keys=keys, human=joined.human[rows], scores=scores, scored_metrics=scored_metrics)
        out[name] = _with_rouge_x(cut)
    return out


def _with_rouge_x(joined: EvaluationData) -> EvaluationData:
    if any(n not in joined.scores for n in ROUGES):
        return joined
    signed = " + ".join(joined.scored_metric(n).signature for n in ROUGES)
    mine = ScoredMetric(ROUGE_X, "ROUGE-X", f"mean of {signed}")
    mean = row_means(np.stack([joined.scores[n] for n in ROUGES], axis=1))
    at = next(i for i, c in enumerate(joined.scored_metrics) if c.name == ROUGES[-1]) + 1
    scored_metrics = (*joined.scored_metrics[:at], mine, *joined.scored_metrics[at:])
    return replace(joined, scores={**joined.scores, ROUGE_X: mean}, scored_metrics=scored_metrics)


def baseline_of(scored_metrics: Sequence[ScoredMetric]) -> str:
    """Return the default baseline: ROUGE-X, else the first ROUGE, else the first metric that has scores."""
    with_scores = [c.name for c in scored_metrics if not c.sentinel and not c.undefined]
    rouge = [n for n in with_scores if n.startswith("rouge")]
    return ROUGE_X if ROUGE_X in with_scores else next(iter(rouge or with_scores), "")


def segment_lengths(view: View, keys: Sequence[OutputKey], by: By) -> dict[SegmentKey, float]:
    """Return the length of each segment in words, without punctuation.

    It is the mean over the segment's outputs among `keys`, over its references, or the length of its source. Segments
    without such a text are left out.
    """
    words: dict[SegmentKey, list[int]] = {}
    if by == "outputs":
        for part in view.texts.item_parts(keys):
            for key, item in part.items():
                words.setdefault(key.segment, []).append(_words(item.hypothesis))
    else:
        for segment in view.texts.each_without_outputs(key.segment for key in keys):
            of = segment.references if by == "references" else () if segment.source is None else (segment.source,)
            words[segment.key] = [_words(text) for text in of]
    return {key: sum(of) / len(of) for key, of in words.items() if of}


def _words(text: str) -> int:
    return sum(unit.is_word for unit in units(text))


def by_length(
    of: Mapping[str, EvaluationData],
    lengths: Mapping[SegmentKey, float],
    by: By,
    baseline: str,
    choice: AgreementOptions,
    n_buckets: int = BUCKETS,
) -> Lengths:
    """Compute agreement in at most `n_buckets` equally large buckets of segments of increasing length.

    `of` is the result of `same_outputs`. The 95 % CIs are percentile bootstrap intervals over the bucket's segments or
    documents, with the same draws for metric and baseline. There is none with fewer than two units, or if most draws are
    undefined.
    """
    first = next(iter(of.values()))
    segments = list(dict.fromkeys(k.segment for k in first.keys))
    known = [s for s in segments if s in lengths]
    bucketing = quantile_buckets([lengths[s] for s in known], n_buckets)
    rows: list[LengthRow] = []
    for number, bucket in enumerate(bucketing.buckets):
        inside = {s for s, b in zip(known, bucketing.of.tolist(), strict=True) if b == number}
        keep = [k.segment in inside for k in first.keys]
        part = {name: joined.only(keep) for name, joined in of.items()}
        rows += _bucket(part, number, bucket, baseline, choice)
    return Lengths(tuple(rows), bucketing.buckets, by, len(segments) - len(known))


class _Agreement(NamedTuple):
    value: float | None
    drawn: Floats
    reason: str


def _bucket(
    part: Mapping[str, EvaluationData], number: int, bucket: Bucket, baseline: str, choice: AgreementOptions
) -> list[LengthRow]:
    first = next(iter(part.values()))
    table = first.table
    of_unit = [first.keys[i].doc_id if choice.unit == "document" else first.keys[i].segment for i in table.rows[0]]
    draws = choice.draws if len(set(of_unit)) > 1 else 0
    weights = unit_draws(of_unit, choice.seed, draws)
    taus = {c.name: _averaged(part, c, weights) for c in first.scored_metrics}
    base = taus[baseline] if baseline in taus else _Agreement(None, np.zeros(0), "no comparison metric was chosen")
    rows = []
    for c in first.scored_metrics:
        mine = taus[c.name]
        difference = None if mine.value is None or base.value is None else mine.value - base.value
        relative, no_ratio = None, ""
        if difference is None or base.value is None:
            no_ratio = mine.reason or f"the comparison metric is undefined: {base.reason}"
        elif base.value <= 0:
            no_ratio = "the τ-b of the comparison metric is not above 0"
        else:
            relative = difference / base.value
        apart = (None, None) if difference is None or c.name == baseline else _interval(mine.drawn - base.drawn)
        rows.append(
            LengthRow(
                c.label,
                "sentinel" if c.sentinel else "metric",
                number,
                bucket.low,
                bucket.high,
                first.n_segments,
                len(first.systems),
                mine.value,
                *_interval(mine.drawn),
                first.scored_metric(baseline).label if baseline in taus else "",
                difference,
                *apart,
                relative,
                "undefined" if mine.value is None else "ok",
                mine.reason,
                no_ratio,
                c.name,
                c.signature,
            )  # fmt: skip
        )
    return rows


def _averaged(part: Mapping[str, EvaluationData], scored_metric: ScoredMetric, weights: Floats) -> _Agreement:
    """Return the mean of τ-b over the human scores, undefined if one τ-b is, so that all means cover the same scores."""
    nothing = np.zeros(0)
    if scored_metric.undefined:
        return _Agreement(None, nothing, scored_metric.undefined)
    values, drawn = [], []
    for name, joined in part.items():
        if joined.n_segments < 2:
            return _Agreement(None, nothing, NO_SEGMENTS)
        metric, human = joined.table.of(joined.scores[scored_metric.name]), joined.table.of(joined.human)
        tau = agreement("kendall", row_means(metric), row_means(human))
        if tau.value is None:
            return _Agreement(None, nothing, f"{name}: {tau.reason}" if len(part) > 1 else tau.reason)
        values.append(tau.value)
        drawn.append(agreement_on_draws("kendall", metric, human, weights))
    return _Agreement(float(np.mean(values)), np.asarray(np.mean(drawn, axis=0)), "")


def _interval(drawn: Floats) -> tuple[float | None, float | None]:
    defined = drawn[~np.isnan(drawn)]
    return percentiles(defined) if len(defined) and len(defined) >= len(drawn) / 2 else (None, None)


MEAN = "mean"


class BiasRow(NamedTuple):
    """One metric against one human score, or the `mean` over all: Table 4 and the mean rank difference of a group of systems."""

    metric: str
    kind: str
    score: str
    systems: int
    segments: int
    deviation: float | None
    mean_absolute: float | None
    group_mean: float | None
    accuracy: float | None
    status: str
    reason: str
    name: str
    signature: str


class RankRow(NamedTuple):
    """The rank of one system by a metric and by humans (1 is best); a difference below 0 means the metric ranks it higher."""

    metric: str
    name: str
    score: str
    system: str
    human_rank: float
    metric_rank: float
    difference: float


class Bias(NamedTuple):
    """All rows; `systems` are ordered by their mean human rank, best first."""

    rows: tuple[BiasRow, ...]
    ranks: tuple[RankRow, ...]
    systems: tuple[str, ...]
    group: tuple[str, ...]

    def of(self, name: str, score: str = MEAN) -> BiasRow:
        return next(r for r in self.rows if r.name == name and r.score == score)


def bias(of: Mapping[str, EvaluationData], group: Sequence[str] = ()) -> Bias:
    """Return the ranks of the systems by humans and by every metric, with their differences.

    `of` is the result of `lengths.same_outputs`. `group` are systems of one kind (extractive, or built on one model): a
    mean difference below 0 means the metric ranks them higher than humans do. Over all systems the mean is 0.
    """
    first = next(iter(of.values()))
    rows: list[BiasRow] = []
    places: list[RankRow] = []
    for c in first.scored_metrics:
        mine, ranked = _bias_of(of, c, group)
        rows += mine
        places += ranked
    by_humans = {r.system: r.human_rank for r in places if r.score == MEAN}
    order = sorted(first.systems, key=lambda s: by_humans.get(s, 0.0))
    return Bias(tuple(rows), tuple(places), tuple(order), tuple(s for s in group if s in first.systems))


def _bias_of(
    of: Mapping[str, EvaluationData], c: ScoredMetric, group: Sequence[str]
) -> tuple[list[BiasRow], list[RankRow]]:
    rows, places = [], []
    for score, joined in of.items():
        empty = BiasRow(
            c.label, "sentinel" if c.sentinel else "metric", score, len(joined.systems), joined.n_segments,
            None, None, None, None, "undefined", c.undefined, c.name, c.signature,
        )  # fmt: skip
        if c.undefined or joined.n_segments < 2:
            rows.append(empty._replace(reason=c.undefined or NO_SEGMENTS))
            continue
        table = joined.table
        of_metric = rank_bias(row_means(table.of(joined.scores[c.name])), row_means(table.of(joined.human)))
        if of_metric.reason:
            rows.append(empty._replace(reason=of_metric.reason))
            continue
        names = [str(s) for s in table.systems]
        of_group = [d for s, d in zip(names, of_metric.differences, strict=True) if s in group]
        rows.append(
            empty._replace(
                deviation=of_metric.deviation,
                mean_absolute=of_metric.mean_absolute,
                accuracy=of_metric.accuracy,
                group_mean=float(np.mean(of_group)) if of_group else None,
                status="ok",
            )  # fmt: skip
        )
        places += [
            RankRow(c.label, c.name, score, *row)
            for row in zip(names, of_metric.human, of_metric.metric, of_metric.differences, strict=True)
        ]
    return [*rows, _mean_row(rows)], [*places, *_mean_ranks(places, rows)]


def _mean_row(rows: Sequence[BiasRow]) -> BiasRow:
    lacking = next((r for r in rows if r.status != "ok"), None)
    if lacking is not None:
        reason = lacking.reason if len(rows) == 1 else f"{lacking.score}: {lacking.reason}"
        return lacking._replace(score=MEAN, reason=reason)

    means: dict[str, Any] = {}
    for field in ("deviation", "mean_absolute", "group_mean", "accuracy"):
        values = [value for r in rows if (value := getattr(r, field)) is not None]
        means[field] = float(np.mean(values)) if values else None
    return rows[0]._replace(score=MEAN, **means)


def _mean_ranks(places: Sequence[RankRow], rows: Sequence[BiasRow]) -> list[RankRow]:
    """Average each system's differences over the human scores (Figure 4); empty unless all of them are defined."""
    if any(r.status != "ok" for r in rows):
        return []
    return [
        RankRow(of[0].metric, of[0].name, MEAN, system, *(float(v) for v in np.mean([p[4:] for p in of], axis=0)))
        for system, of in grouped((p.system, p) for p in places).items()
    ]


class MetricDisagreement(NamedTuple):
    """An output with both scores (higher is better), and the share of all outputs that are worse by each; equal ones count half."""

    key: OutputKey
    metric: float
    human: float
    worse_by_metric: float
    worse_by_human: float

    @property
    def too_high(self) -> bool:
        """Whether the metric ranks the output higher than the human scores do."""
        return self.worse_by_metric > self.worse_by_human


def disagreements(keys: Sequence[OutputKey], metric: Floats, human: Floats) -> list[MetricDisagreement]:
    """Return all outputs, the largest difference between the two shares first."""
    by_metric, by_human = ((rankdata(scores) - 0.5) / max(1, len(scores)) for scores in (metric, human))
    order = np.argsort(-np.abs(by_metric - by_human), kind="stable")
    return [
        MetricDisagreement(keys[i], float(metric[i]), float(human[i]), float(by_metric[i]), float(by_human[i]))
        for i in order.tolist()
    ]

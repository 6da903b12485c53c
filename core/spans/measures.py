"""Measures of how well predicted error spans match gold ones: mpp, exact match (em), match with any overlap (mp), WMT25 Task 2.

em, mp and mpp match predicted with gold spans one to one on the same side, so that the sum of the F of all pairs is maximal. The
F of a pair is 1 if both spans are identical (em) or overlap (mp), and 2·o/(|a| + |b|) with o common characters (mpp). A matched
pair adds 1 to precision and recall (em, mp), or o/|predicted| to precision and o/|gold| to recall (mpp). If the severities
differ, all three are multiplied by 1 − penalty (arXiv 2603.19921). Our decisions: spans without text match only spans without
text at the same place, fully, and Critical is Major.

WMT25 Task 2 compares characters of the output: with G and P spans of severity s over character i, TP = Σ_i [Σ_s min(G, P) +
½·min(Σ_s (G − P)₊, Σ_s (P − G)₊)], precision = TP/ΣP and recall = TP/ΣG. Spans of the source and spans without text are not counted.

Confidence intervals over segments and paired permutation tests between layers need the statistics of each segment (`span_statistics`,
summed): a measure is a function of their sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from core.data import Span
from core.progress import Progress, no_progress
from core.stats.bootstrap import Interval, draws_of, percentiles
from core.stats.correlation.pairs import Floats, Ints
from core.stats.significance.random_signs import SLACK, random_signs
from core.stats.significance.system_comparison import Comparison
from core.text.words import words

SpanMeasure = Literal["mpp", "em", "mp", "wmt25"]
MEASURES: Mapping[SpanMeasure, str] = {
    "mpp": "mpp (overlap of matched spans)",
    "em": "Exact match",
    "mp": "Any overlap (mp)",
    "wmt25": "WMT25 Task 2 (characters)",
}
SEVERITIES_COUNTED = ("Major", "Minor")
"""The severities that measures count. Others (Neutral, undecided) are not errors, and are left out."""
_SEVERITY = {"critical": 0, "major": 0, "minor": 1}
PAIRS_AT_ONCE = 2_000_000
PREDICTED_CREDIT, GOLD_CREDIT, PREDICTED, GOLD, F, COMPARISONS = range(6)
"""Columns of the statistics of an output: what is divided (precision, recall), by what, its own F, and its number of comparisons."""


def severity_index(severity: str) -> int | None:
    """Return the index in `SEVERITIES_COUNTED`, where Critical is Major; None if measures do not count the severity."""
    return _SEVERITY.get(severity.strip().casefold())


def category_name(category: str) -> str:
    """Return the first level of a category, in lower case: layers of different sources share no finer one."""
    return category.partition("/")[0].strip().casefold() or "no category"


class SpanColumns(NamedTuple):
    """The counted spans of a layer as arrays of one length, ordered by all columns.

    `group` is 2·row of the output, and 1 more for spans of the source. `category` is the index of a name.
    """

    group: Ints
    start: Ints
    end: Ints
    severity: Ints
    category: Ints

    def only(self, which: Ints | npt.NDArray[np.bool_]) -> SpanColumns:
        """Return some of the spans."""
        return SpanColumns(*(column[which] for column in self))

    def of_rows(self, rows: Ints) -> SpanColumns:
        """Return the spans of these outputs, which get the rows 0, 1, …"""
        index, row = _ragged(np.searchsorted(self.group, 2 * rows), np.searchsorted(self.group, 2 * rows + 2))
        spans = self.only(index)
        return spans._replace(group=2 * row + spans.group % 2)


def span_columns(spans_of_outputs: Iterable[Iterable[Span]], categories: dict[str, int]) -> SpanColumns:
    """Return the counted spans of outputs 0, 1, …; new names of categories are added to `categories`."""
    return _columns(
        (
            2 * row + (span.side == "source"),
            span.start,
            span.end,
            severity,
            categories.setdefault(category_name(span.category), len(categories)),
        )
        for row, spans in enumerate(spans_of_outputs)
        for span in spans
        if (severity := severity_index(span.severity)) is not None
    )


def whole_texts(texts: Iterable[str]) -> SpanColumns:
    """Return one Major span over each output."""
    return _columns((2 * row, 0, len(text), 0, -1) for row, text in enumerate(texts) if text)


def every_word(texts: Iterable[str]) -> SpanColumns:
    """Return a Major span over each word (`core.text.words`) of each output."""
    return _columns((2 * row, *place, 0, -1) for row, text in enumerate(texts) for place in words(text))


def _columns(rows: Iterable[tuple[int, ...]]) -> SpanColumns:
    table = np.array(list(rows), dtype=np.int64).reshape(-1, len(SpanColumns._fields))
    return SpanColumns(*table[np.lexsort(table.T[::-1])].T)


def joined(parts: Iterable[tuple[SpanColumns, int]]) -> SpanColumns:
    """Return columns one after another, each with its number of outputs."""
    moved, first = [], 0
    for columns, n in parts:
        moved.append(columns._replace(group=columns.group + 2 * first))
        first += n
    return SpanColumns(*(np.concatenate(column) for column in zip(*moved, strict=True)))


def span_statistics(
    measure: SpanMeasure, predicted: SpanColumns, gold: SpanColumns, n: int, penalty: float = 0.0
) -> Floats:
    """Return the statistics of n outputs, shape (n, 6); their sums over outputs give `rates`.

    `penalty` in [0, 1] is for pairs of different severity in em, mp and mpp.
    """
    statistics = np.ones((n, 6))
    matched = _characters(predicted, gold, n) if measure == "wmt25" else _matches(measure, predicted, gold, n, penalty)
    statistics[:, :F] = matched
    statistics[:, F] = rates(statistics)[2]
    return statistics


def rates(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and F, all in [0, 1], of sums of shape (…, 6).

    A rate with nothing to divide by is 1, as in WMT25. So F is 1 without any spans, and 0 if only one side has some.
    """
    p = np.divide(
        sums[..., PREDICTED_CREDIT],
        sums[..., PREDICTED],
        out=np.ones(sums.shape[:-1]),
        where=sums[..., PREDICTED] > 0,
    )
    r = np.divide(sums[..., GOLD_CREDIT], sums[..., GOLD], out=np.ones(sums.shape[:-1]), where=sums[..., GOLD] > 0)
    return p, r, np.divide(2 * p * r, p + r, out=np.zeros(p.shape), where=p + r > 0)


def _matches(measure: SpanMeasure, predicted: SpanColumns, gold: SpanColumns, n: int, penalty: float) -> Floats:
    """Return the credits of precision and recall, and the numbers of predicted and gold spans, shape (n, 4)."""
    i, j, shared = _overlapping(predicted, gold)
    a, b = (np.maximum(1, columns.end - columns.start) for columns in (predicted, gold))
    if measure == "em":
        same = (predicted.start[i] == gold.start[j]) & (predicted.end[i] == gold.end[j])
        i, j, shared = i[same], j[same], shared[same]
    worth = np.where(predicted.severity[i] == gold.severity[j], 1.0, 1.0 - penalty)
    pair_f = worth * (2 * shared / (a[i] + b[j]) if measure == "mpp" else 1.0)
    chosen = _best_matching(i, j, pair_f, predicted.group)
    i, j, shared, worth = i[chosen], j[chosen], shared[chosen], worth[chosen]
    to_precision, to_recall = (worth * shared / a[i], worth * shared / b[j]) if measure == "mpp" else (worth, worth)
    row = predicted.group[i] // 2
    of_row = [np.bincount(row, to_precision, n), np.bincount(row, to_recall, n)]
    of_row += [np.bincount(columns.group // 2, None, n).astype(np.float64) for columns in (predicted, gold)]
    return np.stack(of_row, axis=1)


def _overlapping(predicted: SpanColumns, gold: SpanColumns) -> tuple[Ints, Ints, Ints]:
    """Return all pairs that overlap: predicted span, gold span, and common characters (1 for two equal spans without text)."""
    low, high = (np.searchsorted(gold.group, predicted.group, side) for side in ("left", "right"))
    total = np.cumsum(high - low)
    most = int(total[-1]) if len(total) else 0
    cuts = np.searchsorted(total, np.arange(PAIRS_AT_ONCE, most, PAIRS_AT_ONCE)).tolist()
    blocks = []
    for first, last in pairwise([0, *cuts, len(total)]):
        j, i = _ragged(low[first:last], high[first:last])
        i += first
        start = np.maximum(predicted.start[i], gold.start[j])
        shared = np.minimum(predicted.end[i], gold.end[j]) - start
        same_point = (predicted.start[i] == predicted.end[i]) & (gold.start[j] == gold.end[j]) & (shared == 0)
        shared[same_point] = 1
        overlap = shared > 0
        blocks.append((i[overlap], j[overlap], shared[overlap]))
    i, j, shared = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return i, j, shared


def _best_matching(i: Ints, j: Ints, pair_f: Floats, group: Ints) -> Ints:
    """Return which of the pairs (predicted i, gold j) a one-to-one matching with the largest sum of F has."""
    worthy = np.flatnonzero(pair_f > 0)
    i, j, pair_f = i[worthy], j[worthy], pair_f[worthy]
    alone = (np.bincount(i)[i] == 1) & (np.bincount(j)[j] == 1)
    chosen, rest = [np.flatnonzero(alone)], np.flatnonzero(~alone)
    if len(rest):
        first = np.flatnonzero(np.diff(group[i[rest]], prepend=-1))
        sizes = np.diff(first, append=len(rest))
        row, column = (side[rest] - np.repeat(np.minimum.reduceat(side[rest], first), sizes) for side in (i, j))
        for low, high in pairwise([*first.tolist(), len(rest)]):
            at = row[low:high], column[low:high]
            worth = np.zeros((at[0].max() + 1, at[1].max() + 1))
            pair = np.full(worth.shape, -1)
            worth[at], pair[at] = pair_f[rest[low:high]], rest[low:high]
            picked = pair[linear_sum_assignment(worth, maximize=True)]
            chosen.append(picked[picked >= 0])
    return worthy[np.concatenate(chosen)]


def _characters(predicted: SpanColumns, gold: SpanColumns, n: int) -> Floats:
    """Return TP (twice) and the numbers of predicted and gold characters of the WMT25 measure, shape (n, 4)."""
    predicted, gold = (columns.only(columns.group % 2 == 0) for columns in (predicted, gold))
    width = 1 + max(int(columns.end.max(initial=0)) for columns in (predicted, gold))
    starts, ends = (
        np.concatenate([columns.group // 2 * width + columns[at] for columns in (predicted, gold)]) for at in (1, 2)
    )
    kind = np.concatenate([predicted.severity, gold.severity + len(SEVERITIES_COUNTED)])
    cuts, place = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    steps = np.zeros((2 * len(SEVERITIES_COUNTED), len(cuts)), dtype=np.int64)
    np.add.at(steps, (kind, place[: len(starts)]), 1)
    np.add.at(steps, (kind, place[len(starts) :]), -1)
    covering = np.cumsum(steps, axis=1)
    p, g = covering[: len(SEVERITIES_COUNTED)], covering[len(SEVERITIES_COUNTED) :]
    spare = np.minimum(np.maximum(g - p, 0).sum(0), np.maximum(p - g, 0).sum(0))
    length, row = np.diff(cuts, append=cuts[-1:]), cuts // width
    per_character = (np.minimum(p, g).sum(0) + spare / 2, p.sum(0), g.sum(0))
    true, in_predicted, in_gold = (np.bincount(row, length * times, n) for times in per_character)
    return np.stack([true, true, in_predicted, in_gold], axis=1)


def _ragged(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the numbers of all ranges [low, high) one after another, and the range that each is of."""
    sizes = high - low
    of = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(sizes) - sizes
    return np.arange(len(of)) - before[of] + low[of], of


Average = Literal["micro", "macro"]
AVERAGES: dict[Average, str] = {
    "micro": "micro: sums of all outputs",
    "macro": "macro: mean F of outputs",
}
DRAWS_AT_ONCE = 64
TOO_FEW = "at least two segments are needed"


def average_f(sums: Floats, average: Average) -> Floats:
    """Return F of summed statistics, shape (…, 6): from the sums, or the mean F of outputs. NaN without any output."""
    n = sums[..., COMPARISONS]
    value = rates(sums)[2] if average == "micro" else np.divide(sums[..., F], n, out=np.zeros(n.shape), where=n > 0)
    return np.where(n > 0, value, np.nan)


def intervals(
    statistics: Floats, average: Average, *, seed: int, draws: int, progress: Progress = no_progress
) -> list[Interval]:
    """Return F of each layer with its percentile interval from resampled segments.

    `statistics` has the shape (n_segments, n_layers, 6). All layers share the draws. Draws without any span are left out of the micro
    average, and draws without any output of a layer.
    """
    n, layers = statistics.shape[:2]
    seen = average_f(statistics.sum(0), average).tolist()
    values = [None if np.isnan(value) else float(value) for value in seen]
    if n < 2 or not draws:
        return [Interval(value, None, None, n, TOO_FEW if n < 2 else "") for value in values]
    flat, resampled, counts = statistics.reshape(n, -1), [], draws_of(n, seed, draws)
    while block := list(islice(counts, DRAWS_AT_ONCE)):
        sums = (np.stack(block) @ flat).reshape(-1, layers, 6)
        empty = (sums[..., PREDICTED] + sums[..., GOLD] == 0) & (average == "micro")
        resampled.append(np.where(empty, np.nan, average_f(sums, average)))
        progress(min(1.0, len(resampled) * DRAWS_AT_ONCE / draws))
    drawn = np.concatenate(resampled)
    ends = [percentiles(of[~np.isnan(of)]) if not np.isnan(of).all() else (None, None) for of in drawn.T]
    return [Interval(value, low, high, n) for value, (low, high) in zip(values, ends, strict=True)]


def permutation_tests(
    statistics: Floats, pairs: Sequence[tuple[int, int]], average: Average, *, seed: int, draws: int,
    progress: Progress = no_progress,
) -> list[Comparison]:  # fmt: skip
    """Return the difference in F of each pair of layers, with two-sided p = (1 + #{|δ_k| ≥ |δ|})/(draws + 1).

    δ_k is the difference after both layers have swapped their spans in each segment with probability ½ (approximate randomization,
    Noreen 1989). `statistics` has the shape (n_segments, n_layers, 6).
    """
    n = len(statistics)
    if n < 2 or not pairs:
        return [Comparison(None, None, TOO_FEW, n) for _ in pairs]
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    differences = (statistics[:, first] - statistics[:, second]).reshape(n, -1)
    total = statistics.sum(0)
    both = total[first] + total[second]
    seen = average_f(total[first], average) - average_f(total[second], average)
    reached, done = np.zeros(len(pairs), dtype=np.int64), 0
    for signs in random_signs(n, seed, draws, max(n, differences.shape[1])):
        moved = (signs @ differences).reshape(len(signs), *both.shape)
        delta = average_f((both + moved) / 2, average) - average_f((both - moved) / 2, average)
        reached += (np.abs(delta) >= np.abs(seen) - SLACK).sum(0)
        done += len(signs)
        progress(done / draws)
    p = (1 + reached) / (draws + 1)
    return [Comparison(float(d), float(q), "", n, draws) for d, q in zip(seen, p, strict=True)]

"""The spans of layers on the outputs that all of them and a gold layer have examined, and the rows and tests made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import OutputKey, in_natural_order
from core.errors import UserError
from core.formatting import format_count, format_number
from core.progress import Progress, no_progress
from core.services.evaluate.significance import draws_for
from core.spans.layers import SpanLayer
from core.spans.measures import (
    COMPARISONS,
    GOLD,
    GOLD_CREDIT,
    PREDICTED,
    PREDICTED_CREDIT,
    SEVERITIES_COUNTED,
    Average,
    F,
    SpanColumns,
    SpanMeasure,
    average_f,
    every_word,
    intervals,
    joined,
    permutation_tests,
    severity_index,
    span_columns,
    span_statistics,
    whole_texts,
)
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints
from core.stats.significance.system_comparison import holm

Mask = npt.NDArray[np.bool_]
ReadTexts = Callable[[Sequence[OutputKey]], Mapping[OutputKey, str]]
Kind = Literal["layer", "annotators", "trivial"]
Part = Literal["", "system", "severity", "category"]
SHORT: Mapping[SpanMeasure, str] = {"mpp": "mpp", "em": "em", "mp": "mp", "wmt25": "WMT25"}
ANNOTATORS = "Annotators against each other"
WHOLE, NOTHING, EVERY_WORD = "Whole text as one span", "Nothing marked", "Every word marked"
MOST_CATEGORIES = 20
"""Categories with a row of their own; the gold layers rarely have more first levels."""


class SpanChoice(NamedTuple):
    """What is computed: the measure, how outputs are averaged, the penalty for a wrong severity, and the resampling."""

    measure: SpanMeasure = "mpp"
    average: Average = "micro"
    penalty: float = 0.0
    seed: int = 0
    draws: int = 1000

    @property
    def words(self) -> str:
        """The name of the value: "mpp, micro F"."""
        penalty = f", severity penalty {self.penalty:g}" if self.penalty and self.measure != "wmt25" else ""
        return f"{SHORT[self.measure]}, {self.average} F{penalty}"


DEFAULT = SpanChoice()


class SpanRow(NamedTuple):
    """A layer on all outputs, or on a part of the data: P, R and F in [0, 1] with the 95 % CI of F, higher is better.

    By severity and category, gold and layer are reduced to spans with this label, and `found` is the recall of these gold spans by
    layer spans of any label. `f` is that of the average; `precision` and `recall` are always from sums. The totals are numbers of spans,
    of characters for WMT25. `outputs` counts the compared ones; by label, those where gold or layer have such a span. `worst` and `best`
    are F if the layer's ambiguous quotes, which are not in `f`, had the places that fit the gold worst or best; None without any.
    """

    part: Part
    part_name: str
    layer: str
    kind: Kind
    measure: SpanMeasure
    average: Average
    f: float | None
    low: float | None
    high: float | None
    precision: float | None
    recall: float | None
    found: float | None
    gold_total: float
    layer_total: float
    outputs: int
    worst: float | None = None
    best: float | None = None


class SpanTest(NamedTuple):
    """Two layers, the better one first: difference in F, p of a paired permutation test, and p adjusted by Holm over all pairs."""

    first: str
    second: str
    difference: float | None
    p: float | None
    adjusted: float | None
    reason: str
    draws: int


class ComparedLayers:
    """The spans of all layers on the compared outputs. A comparison is one output with one gold layer."""

    def __init__(
        self, gold: Sequence[SpanLayer], layers: Sequence[SpanLayer], annotators: Sequence[SpanLayer], read_texts: ReadTexts | None,
    ) -> None:  # fmt: skip
        if not gold or not layers:
            raise UserError("a gold layer and another layer are needed", got=f"{len(gold)} and {len(layers)}")
        if itself := {layer.name for layer in gold} & {layer.name for layer in layers}:
            raise UserError("a layer cannot be compared with itself", got=", ".join(sorted(itself)))
        self._gold, self._layers = gold, layers
        self._in_gold = frozenset[OutputKey]().union(*(layer.spans for layer in gold))
        common = self._in_gold.intersection(*(layer.spans for layer in layers))
        if not common:
            raise UserError(
                "no output has been examined by the gold and by every layer",
                got=", ".join(f"{layer.label}: {len(self._in_gold & layer.spans.keys()):,} of {len(self._in_gold):,}" for layer in layers),
                hint="Leave out the layers with few outputs",
            )  # fmt: skip
        self.keys = in_natural_order(common)
        segments = group_ids([key.segment for key in self.keys])
        self._starts = np.flatnonzero(np.diff(segments, prepend=-1))
        self.n_segments = len(self._starts)
        self.systems = list(dict.fromkeys(key.system for key in self.keys))
        self.system = group_ids([key.system for key in self.keys])
        self._categories: dict[str, int] = {}
        self._columns = [self._of(layer) for layer in layers]
        labels = Counter(layer.label for layer in layers)
        self.names = [layer.label if labels[layer.label] == 1 else layer.name for layer in layers]
        rows = [self._examined(layer) for layer in gold]
        self.row = np.concatenate(rows)
        golds = [self._of(layer) for layer in gold]
        self._gold_spans = joined((spans.of_rows(row), len(row)) for spans, row in zip(golds, rows, strict=True))
        self.gold_label = gold[0].label if len(gold) == 1 else f"{len(gold)} annotators"
        self._humans = self._against_gold(golds, rows, annotators)
        texts = read_texts(self.keys) if read_texts else {}
        trivial = {NOTHING: whole_texts([])}
        if read_texts:
            in_order = [texts.get(key, "") for key in self.keys]
            trivial = {WHOLE: whole_texts(in_order), EVERY_WORD: every_word(in_order)} | trivial
        self._columns += trivial.values()
        of_humans: list[Kind] = ["annotators"] if self._humans else []
        self.kinds: list[Kind] = ["layer" for _ in layers]
        self.kinds += of_humans
        self.kinds += ["trivial" for _ in trivial]
        self.names += [*(ANNOTATORS for _ in of_humans), *trivial]

    def _examined(self, layer: SpanLayer) -> Ints:
        return np.array([i for i, key in enumerate(self.keys) if key in layer.spans], dtype=np.int64)

    def _of(self, layer: SpanLayer) -> SpanColumns:
        return span_columns(([span.error for span in layer.spans.get(key, ())] for key in self.keys), self._categories)

    def _against_gold(
        self, golds: Sequence[SpanColumns], rows: Sequence[Ints], annotators: Sequence[SpanLayer]
    ) -> list[_Pair]:
        """Return each annotator with each gold layer of another name, on the outputs that both have examined."""
        pairs = []
        of = [(layer, self._of(layer), self._examined(layer)) for layer in annotators]
        for layer, spans, row in zip(self._gold, golds, rows, strict=True):
            both = [
                (other.label, theirs, np.intersect1d(row, examined)) for other, theirs, examined in of if other.name != layer.name
            ]  # fmt: skip
            times = np.bincount(np.concatenate([row, *(rows for *_, rows in both)]), minlength=len(self.keys)) - 1
            pairs += [
                _Pair(name, rows, theirs.of_rows(rows), spans.of_rows(rows), 1 / times[rows])
                for name, theirs, rows in both
                if len(rows)
            ]
        return pairs

    def _by_output(self, statistics: Floats, row: Ints) -> Floats:
        return np.stack([np.bincount(row, column, len(self.keys)) for column in statistics.T], axis=1)

    def _of_layer(self, measure: SpanMeasure, layer: SpanColumns, gold: SpanColumns, penalty: float) -> Floats:
        """Return the statistics of a layer summed by output, shape (n_outputs, 6)."""
        return self._by_output(
            span_statistics(measure, layer.of_rows(self.row), gold, len(self.row), penalty), self.row
        )

    def table(self, measure: SpanMeasure, penalty: float) -> Floats:
        """Return the statistics of all rows (`names`) by output, shape (n_outputs, n_rows, 6)."""
        tables = [self._of_layer(measure, layer, self._gold_spans, penalty) for layer in self._columns]
        if self._humans:
            of_humans = (self._by_output(pair.statistics(measure, penalty), pair.rows) for pair in self._humans)
            tables.insert(len(self._layers), sum(of_humans, np.zeros((len(self.keys), 6))))
        return np.stack(tables, axis=1)

    def rows(
        self, table: Floats, choice: SpanChoice, of_part: tuple[Part, str] = ("", ""), outputs: Mask | None = None,
        found: Floats | None = None, progress: Progress = no_progress,
    ) -> list[SpanRow]:  # fmt: skip
        """Return a row per layer of a table, for all or some of the outputs. `found` are the sums for the recall by any label."""
        if outputs is not None:
            table = np.where(outputs[:, None, None], table, 0.0)
        by_segment = np.add.reduceat(table, self._starts, axis=0)
        by_segment = by_segment[by_segment[..., COMPARISONS].any(1)]
        f = intervals(by_segment, choice.average, seed=choice.seed, draws=choice.draws, progress=progress)
        sums = table.sum(0)
        n_outputs = (table[..., COMPARISONS] > 0).sum(0).tolist()
        recalls = [None] * len(sums) if found is None else [_ratio(of[GOLD_CREDIT], of[GOLD]) for of in found]
        rows = []
        for name, kind, of_f, of, recall, n in zip(self.names, self.kinds, f, sums, recalls, n_outputs, strict=False):
            row = SpanRow(
                *of_part, name, kind, choice.measure, choice.average, of_f.value, of_f.low, of_f.high,
                _ratio(of[PREDICTED_CREDIT], of[PREDICTED]), _ratio(of[GOLD_CREDIT], of[GOLD]), recall,
                float(of[GOLD]), float(of[PREDICTED]), n,
            )  # fmt: skip
            rows.append(row if of[PREDICTED] or of[GOLD] else row._replace(f=None, low=None, high=None))
        return rows

    def with_ambiguous(self, row: SpanRow, layer: int, choice: SpanChoice) -> SpanRow:
        """Return the row of all outputs with its worst and best case.

        All ambiguous quotes of an output get their first place, then their second, …: with several quotes, not every combination is tried.
        """
        of = self._layers[layer]
        quotes = [of.ambiguous.get(key, ()) for key in self.keys]
        if not any(quotes):
            return row
        marked = [[span.error for span in of.spans[key]] for key in self.keys]
        tables = np.stack([
            self._of_layer(
                choice.measure,
                span_columns(([*spans, *(q[k % len(q)] for q in of_output)] for spans, of_output in zip(marked, quotes, strict=True)), {}),
                self._gold_spans, choice.penalty,
            )
            for k in range(max(len(q) for of_output in quotes for q in of_output))
        ])  # fmt: skip
        worst, best = (
            np.take_along_axis(tables, at[None, :, None], axis=0)[0].sum(0)
            for at in (tables[..., F].argmin(0), tables[..., F].argmax(0))
        )
        ends = (float(average_f(sums, choice.average)) for sums in (worst, best))
        return row._replace(worst=next(ends), best=next(ends))

    def rows_of_labels(self, choice: SpanChoice, progress: Progress) -> list[SpanRow]:
        """Return the rows of layers by severity and by category of the gold spans, most frequent first."""
        names = {index: name for name, index in self._categories.items()}
        severities, categories = (np.bincount(of) for of in (self._gold_spans.severity, self._gold_spans.category))
        labels: list[tuple[Part, int, str]] = [
            ("severity", k, SEVERITIES_COUNTED[k]) for k, n in enumerate(severities.tolist()) if n
        ]
        most = np.argsort(-categories, kind="stable")[:MOST_CATEGORIES].tolist()
        labels += [("category", k, names[k]) for k in most if categories[k]]
        rows, layers = [], self._columns[: len(self._layers)]
        for done, (part_name, label, words) in enumerate(labels):
            progress(done / len(labels))
            at = SpanColumns._fields.index(part_name)
            gold = self._gold_spans.only(self._gold_spans[at] == label)

            def table(of: Sequence[SpanColumns], gold: SpanColumns = gold) -> Floats:
                return np.stack([self._of_layer(choice.measure, layer, gold, choice.penalty) for layer in of], axis=1)

            same = table([layer.only(layer[at] == label) for layer in layers])
            same[same[..., PREDICTED] + same[..., GOLD] == 0] = 0.0  # outputs without such a span are not compared
            rows += self.rows(same, choice, (part_name, words), found=table(layers).sum(0))
        return rows

    def tests(
        self, table: Floats, rows: Sequence[SpanRow], choice: SpanChoice, progress: Progress
    ) -> tuple[SpanTest, ...]:
        """Test all pairs of layers, and each layer against the best trivial one."""
        f = [-1.0 if row.f is None else row.f for row in rows]
        n, trivial = len(self._layers), [k for k, kind in enumerate(self.kinds) if kind == "trivial"]
        tested = sorted([*range(n), max(trivial, key=f.__getitem__)], key=lambda k: -f[k])
        pairs = list(combinations(tested, 2))
        by_segment = np.add.reduceat(table, self._starts, axis=0)
        draws = draws_for(len(pairs))
        tests = permutation_tests(by_segment, pairs, choice.average, seed=choice.seed, draws=draws, progress=progress)
        adjusted = holm([test.p for test in tests])
        return tuple(
            SpanTest(self.names[a], self.names[b], test.difference, test.p, q, test.reason, test.draws)
            for (a, b), test, q in zip(pairs, tests, adjusted, strict=True)
        )

    def notes(self, choice: SpanChoice) -> Iterator[str]:
        """Yield what is left out, and how well single annotators agree with the others."""
        lacking = {layer.label: len(self._in_gold - layer.spans.keys()) for layer in self._layers}
        if listed := ", ".join(f"{label} {n:,}" for label, n in lacking.items() if n):
            left_out = format_count(len(self._in_gold) - len(self.keys), "output")
            yield f"{left_out} left out for all layers, because a layer has not examined them ({listed})."
        unplaced, uncounted, unseen = list[str](), list[str](), list[str]()
        for layer in {layer.name: layer for layer in (*self._gold, *self._layers)}.values():
            errors = [span.error for key in self.keys for span in layer.spans.get(key, ())]
            other = Counter(e.severity or "none" for e in errors if severity_index(e.severity) is None)
            characters_only = sum(e.side == "source" or e.start == e.end for e in errors)
            unplaced += [f"{layer.label} {_counts(layer.left_out)}"] if layer.left_out else []
            uncounted += [f"{layer.label} {_counts(other)}"] if other else []
            unseen += [f"{layer.label} {characters_only:,}"] if characters_only and choice.measure == "wmt25" else []
        if unplaced:
            yield f"Errors that a layer lacks because they have no place: {'; '.join(unplaced)}."
        if uncounted:
            yield f"Spans that are not counted because of their severity: {'; '.join(uncounted)}."
        if unseen:
            yield f"Spans of the source or without text, which WMT25 does not count: {'; '.join(unseen)}."
        if self._humans:
            of: dict[str, Floats] = {}
            for pair in self._humans:
                of[pair.name] = of.get(pair.name, np.zeros(6)) + pair.statistics(choice.measure, choice.penalty).sum(0)
            single = sorted((float(average_f(sums, choice.average)), name) for name, sums in of.items())
            (low, lowest), (high, highest) = single[0], single[-1]
            yield (
                f"{ANNOTATORS}: {format_count(len(single), 'annotator')} in place of a layer, from {format_number(low)} ({lowest}) to "
                f"{format_number(high)} ({highest}), on the compared outputs that two of them have examined."
            )
        else:
            yield "No two annotators have examined the same compared output, so the agreement among people is unknown."


class _Pair(NamedTuple):
    """An annotator in place of a layer: outputs, spans on them, gold spans, and the weight of each output.

    With k annotators in place of a layer, each counts 1/k, so that an output counts as often as for a layer.
    """

    name: str
    rows: Ints
    spans: SpanColumns
    gold: SpanColumns
    weights: Floats

    def statistics(self, measure: SpanMeasure, penalty: float) -> Floats:
        """Return the weighted statistics, shape (n_rows, 6)."""
        return span_statistics(measure, self.spans, self.gold, len(self.rows), penalty) * self.weights[:, None]


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in numbers.items())


def _ratio(credit: float, number: float) -> float | None:
    """Return a precision or recall; None without anything to divide by."""
    return float(credit / number) if number else None

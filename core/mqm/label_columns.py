"""Submitted labels of a project as arrays: about 70 bytes per error span, not the 1,000 of Python objects.

The objects are made when they are asked for. Code that needs all labels of a large project uses the arrays directly
(`core.mqm.rated_by_output`).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from core.columns import ProjectIndex
from core.data import OutputKey, RatedOutput, SegmentKey, Side, Span
from core.mqm.scores import NO_TEXT, counts_as_rated
from core.ports.labels import FoldedSegment, OutputLabels, SegmentLabels

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
ErrorKind = tuple[Side, str, str]
"""Side, severity and category of an error."""
WHOLE_TEXT: ErrorKind = (NO_TEXT.side, NO_TEXT.severity, NO_TEXT.category)
"""The kind of a non-translation."""
AT_ONCE = 2_000
V = TypeVar("V", bound=Hashable)
A = TypeVar("A", bound="_Places | _Rows | _Spans")


class Codes(Generic[V]):
    """Numbers from 0 for values, in the order in which they came. Values are never removed."""

    def __init__(self) -> None:
        self.number: dict[V, int] = {}
        self.values: list[V] = []

    def add(self, value: V) -> int:
        number = self.number.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class LabelNames:
    """What the numbers in `LabelColumns` stand for. Several columns share one object, which only grows, also while others read it."""

    def __init__(self) -> None:
        self.raters = Codes[str]()
        self.segments = Codes[SegmentKey]()
        self.systems = Codes[str]()
        self.kinds = Codes[ErrorKind]()


class _Places(NamedTuple):
    """One row per rater and segment. `rows` counts the outputs. `whole`: single outputs need no labels (`answered_without_outputs`)."""

    rater: npt.NDArray[np.int32]
    segment: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    whole: npt.NDArray[np.uint8]
    labelled_here: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.int32]


class _Rows(NamedTuple):
    """One row per output with labels. `spans` counts its error spans; `whole`: it is a non-translation."""

    system: npt.NDArray[np.int32]
    rated: npt.NDArray[np.uint8]
    answered: npt.NDArray[np.uint8]
    whole: npt.NDArray[np.uint8]
    spans: npt.NDArray[np.int32]


class _Spans(NamedTuple):
    """One row per error span. The quote and after it the note begin `at` in the texts and have so many bytes."""

    kind: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    at: npt.NDArray[np.int64]
    quote: npt.NDArray[np.int32]
    note: npt.NDArray[np.int32]


class LabelColumns(Sequence[RatedOutput]):
    """The submitted labels of raters, as a sequence of the rated outputs (`core.mqm.scores.rated_outputs`), ordered by first event;
    labels of campaigns come last.

    Labels that mean a whole text have no text (`core.mqm.scores.with_text`). An object does not change. Create it with `of`.
    """

    def __init__(self, names: LabelNames, places: _Places, rows: _Rows, spans: _Spans, texts: bytes) -> None:
        self.names = names
        self.places, self.rows, self.spans, self._texts = places, rows, spans, texts
        self.place_of_row: npt.NDArray[np.int32] = np.repeat(np.arange(len(places.rows), dtype=np.int32), places.rows)
        self.rated_rows: Ints = np.flatnonzero(rows.rated)
        self._first_row, self._first_span = _starts(places.rows), _starts(rows.spans)

    @classmethod
    def of(cls, labelled: Iterable[FoldedSegment], names: LabelNames | None = None) -> LabelColumns:
        """Return the columns of these labels, each rater and segment once; those that are not submitted are left out."""
        names = names or LabelNames()
        draft = _Draft(names)
        for one in labelled:
            draft.add(one)
        columns = cls(names, *draft.columns())
        return columns if draft.ordered else columns._take(np.argsort(columns.places.first, kind="stable"))

    def with_changes(self, changed: Iterable[FoldedSegment]) -> LabelColumns:
        """Return the columns with these labels in place of those of the same raters and segments."""
        names, numbers = self.names, array("q")

        def numbered() -> Iterator[FoldedSegment]:
            for one in changed:
                numbers.extend((names.raters.add(one.rater), names.segments.add(one.segment)))
                yield one

        new = LabelColumns.of(numbered(), names)
        both = self._without(np.array(numbers, dtype=np.int64).reshape(-1, 2)).followed_by(new)
        return both._take(np.argsort(both.places.first, kind="stable"))

    def followed_by(self, *others: LabelColumns) -> LabelColumns:
        """Return the columns of several objects with the same names. If a rater has labelled a segment in two of them, the last one counts."""
        all_of = [of for of in (self, *others) if len(of.places.rows)]
        if len(all_of) < 2:
            return all_of[0] if all_of else self
        for i in range(len(all_of) - 1):
            all_of[i] = all_of[i]._without(np.concatenate([of._numbers() for of in all_of[i + 1 :]]))
        begins = np.cumsum([0, *(len(of._texts) for of in all_of[:-1])])

        def joined(parts: Sequence[A]) -> A:
            make: Callable[..., A] = type(parts[0])
            return make(*map(np.concatenate, zip(*parts, strict=True)))

        return LabelColumns(
            self.names,
            joined([of.places for of in all_of]),
            joined([of.rows for of in all_of]),
            joined([of.spans._replace(at=of.spans.at + begin) for of, begin in zip(all_of, begins, strict=True)]),
            b"".join(of._texts for of in all_of),
        )

    def _numbers(self) -> Ints:
        """Return rater and segment of each place, shape (n_places, 2)."""
        return np.stack([self.places.rater, self.places.segment], axis=1).astype(np.int64)

    def _without(self, numbers: Ints) -> LabelColumns:
        """Return the columns without these raters and segments, shape (n, 2)."""
        n = len(self.names.segments.values)
        mine, theirs = (of[:, 0] * n + of[:, 1] for of in (self._numbers(), numbers))
        keep = ~np.isin(mine, theirs)
        return self if keep.all() else self._take(np.flatnonzero(keep))

    def _take(self, places: Ints) -> LabelColumns:
        rows = _members(self._first_row[places], self.places.rows[places])
        spans = _members(self._first_span[rows], self.rows.spans[rows])
        left, texts = _taken(self.spans, spans), self._texts
        if 2 * int(left.quote.sum() + left.note.sum()) < len(texts):  # mostly of labels that were replaced
            left, texts = _with_own_texts(left, texts)
        return LabelColumns(self.names, _taken(self.places, places), _taken(self.rows, rows), left, texts)

    # ── rated outputs ────────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self.rated_rows)

    @overload
    def __getitem__(self, at: int) -> RatedOutput: ...
    @overload
    def __getitem__(self, at: slice) -> list[RatedOutput]: ...
    def __getitem__(self, at: int | slice) -> RatedOutput | list[RatedOutput]:
        if isinstance(at, slice):
            return list(self.each(self.rated_rows[at]))
        return next(self.each(self.rated_rows[[at]]))

    def __iter__(self) -> Iterator[RatedOutput]:
        return self.each(self.rated_rows)

    def each(self, rows: Ints) -> Iterator[RatedOutput]:
        """Yield the rated outputs in these rows."""
        names = self.names
        for begin in range(0, len(rows), AT_ONCE):
            part = rows[begin : begin + AT_ONCE]
            places, counts = self.place_of_row[part], self.rows.spans[part]
            errors = iter(self._errors(_members(self._first_span[part], counts)))
            for rater, segment, system, whole, count in zip(
                self.places.rater[places].tolist(),
                self.places.segment[places].tolist(),
                self.rows.system[part].tolist(),
                self.rows.whole[part].tolist(),
                counts.tolist(),
                strict=True,
            ):
                marked = tuple(next(errors) for _ in range(count))
                key = OutputKey(names.systems.values[system], *names.segments.values[segment])
                yield RatedOutput(key, names.raters.values[rater], (NO_TEXT,) if whole else marked)

    def _errors(self, spans: Ints) -> list[Span]:
        kinds, texts = self.names.kinds.values, self._texts
        errors = []
        for kind, start, end, at, quote, note in zip(*(c[spans].tolist() for c in self.spans), strict=True):
            side, severity, category = kinds[kind]
            middle = at + quote
            said = _decoded(texts[middle : middle + note]) if note else ""
            errors.append(Span(side, start, end, _decoded(texts[at:middle]), severity, category, said))
        return errors

    # ── raters and segments ──────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def raters(self) -> tuple[str, ...]:
        """Return the raters in the order in which they appear."""
        return tuple(self.names.raters.values[i] for i in _in_order(self.places.rater))

    @cached_property
    def digest(self) -> str:
        """Return a SHA-256 (hex) that differs between different labels. Equal labels may have different ones."""
        checksum = hashlib.sha256(self._texts)
        names = self.names
        for of in (names.raters, names.segments, names.systems, names.kinds):
            checksum.update(repr(list(of.values)).encode("utf-8", "surrogatepass"))
        for column in (*self.places, *self.rows, *self.spans):
            checksum.update(column.tobytes())
        return checksum.hexdigest()

    @property
    def n_segments(self) -> int:
        """Return the number of segments with rated outputs."""
        return len(np.unique(self.places.segment[self.place_of_row[self.rated_rows]]))

    def rows_by(self, raters: Collection[str]) -> Ints:
        """Return the rows of the outputs that these raters have rated."""
        numbers = [self.names.raters.number.get(rater, -1) for rater in raters]
        return self.rated_rows[np.isin(self.places.rater[self.place_of_row[self.rated_rows]], numbers)]

    def n_rated(self) -> dict[str, int]:
        """Return the number of rated outputs of each rater, in the order in which raters appear."""
        counts = np.bincount(
            self.places.rater[self.place_of_row[self.rated_rows]], minlength=len(self.names.raters.values)
        )
        numbers = ((rater, self.names.raters.number[rater]) for rater in self.raters)
        return {rater: int(counts[number]) for rater, number in numbers if counts[number]}

    def finished_by(self, rater: str) -> dict[SegmentKey, frozenset[str] | None]:
        """Return the segments that this rater has submitted. The value has the systems whose outputs are answered; None means all."""
        mine = np.flatnonzero(self.places.rater == self.names.raters.number.get(rater, -1))
        systems, finished = self.names.systems.values, dict[SegmentKey, frozenset[str] | None]()
        for place, segment in zip(mine.tolist(), self.places.segment[mine].tolist(), strict=True):
            rows = slice(self._first_row[place], self._first_row[place] + self.places.rows[place])
            answered = self.rows.system[rows][self.rows.answered[rows] > 0].tolist()
            done = None if self.places.whole[place] else frozenset(systems[i] for i in answered)
            finished[self.names.segments.values[segment]] = done
        return finished

    def cells(self, index: ProjectIndex, rows: Ints) -> tuple[Mask, Ints, Ints]:
        """Return which of these rows are outputs of a project, and the row and column that each of those has there."""
        names = self.names
        known = np.array([index.row.get(key, -1) for key in names.segments.values], dtype=np.int64)
        columns = np.array([index.column.get(name, -1) for name in names.systems.values], dtype=np.int64)
        i, j = known[self.places.segment[self.place_of_row[rows]]], columns[self.rows.system[rows]]
        in_project: Mask = (i >= 0) & (j >= 0)
        in_project[in_project] = index.present[i[in_project], j[in_project]]
        return in_project, i[in_project], j[in_project]

    def span_rows(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the positions of the error spans of these rows, and for each the position of its row in `rows`."""
        counts = self.rows.spans[rows]
        return _members(self._first_span[rows], counts), np.repeat(np.arange(len(rows)), counts)


class _Draft:
    """Columns that are filled one segment of a rater after the other."""

    def __init__(self, names: LabelNames) -> None:
        self._names = names
        self._places, self._rows, self._spans = array("d"), array("q"), array("q")
        self._texts = bytearray()
        self._last = 0
        self.ordered = True

    def add(self, one: FoldedSegment) -> None:
        labels = one.labels
        if not labels.submitted:
            return
        self.ordered, self._last = self.ordered and one.first >= self._last, one.first
        for system, of_output in labels.outputs.items():
            self._add_output(system, of_output, labels)
        names = self._names
        whole = labels.answered_without_outputs
        values = (
            names.raters.add(one.rater), names.segments.add(one.segment), one.first, labels.seconds, whole, one.made_here,
            len(labels.outputs),
        )  # fmt: skip
        self._places.extend(values)

    def _add_output(self, system: str, of: OutputLabels, labels: SegmentLabels) -> None:
        whole = of.verdict == "non_translation"
        marks = () if whole else of.marks
        rated = counts_as_rated(system, labels)
        self._rows.extend((self._names.systems.add(system), rated, labels.answered(system), whole, len(marks)))
        for mark in marks:
            span, texts = mark.span, self._texts
            quote, note = (text.encode("utf-8", "surrogatepass") for text in (span.quote, span.note))
            kind = self._names.kinds.add((span.side, span.severity, span.category))
            self._spans.extend((kind, span.start, span.end, len(texts), len(quote), len(note)))
            texts += quote
            texts += note

    def columns(self) -> tuple[_Places, _Rows, _Spans, bytes]:
        return (
            _Places(*_columns(self._places, "i4 i4 i8 f8 u1 u1 i4")),
            _Rows(*_columns(self._rows, "i4 u1 u1 u1 i4")),
            _Spans(*_columns(self._spans, "i4 i4 i4 i8 i4 i4")),
            bytes(self._texts),
        )


def _columns(rows: Any, types: str) -> Iterator[Any]:
    """Yield the columns of a table that was written row by row."""
    kinds = types.split()
    table = np.array(rows).reshape(-1, len(kinds))
    return (table[:, k].astype(kind) for k, kind in enumerate(kinds))


def _taken(columns: A, at: Ints) -> A:
    make: Callable[..., A] = type(columns)
    return make(*(column[at] for column in columns))


def _with_own_texts(spans: _Spans, texts: bytes) -> tuple[_Spans, bytes]:
    """Return the spans with only their own texts."""
    lengths = spans.quote.astype(np.int64) + spans.note
    own = (texts[at : at + n] for at, n in zip(spans.at.tolist(), lengths.tolist(), strict=True))
    return spans._replace(at=np.cumsum(lengths) - lengths), b"".join(own)


def _starts(counts: npt.NDArray[np.int32]) -> Ints:
    """Return where each group begins."""
    ends = np.cumsum(counts, dtype=np.int64)
    return ends - counts


def _members(starts: Ints, counts: npt.NDArray[np.int32]) -> Ints:
    """Return the positions of all members of these groups, one group after the other."""
    before = _starts(counts)
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()), dtype=np.int64)


def _in_order(numbers: npt.NDArray[np.int32]) -> list[int]:
    """Return the different numbers in the order in which they appear."""
    distinct, first = np.unique(numbers, return_index=True)
    return [int(i) for i in distinct[np.argsort(first)]]


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")

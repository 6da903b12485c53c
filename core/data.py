"""The shared data types: segments, outputs, spans, scores. Plain values without storage or interface."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from core.errors import UserError

_DIGITS = re.compile(r"([0-9]+)")
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Side = Literal["output", "source"]
Severity = Literal["Major", "Minor", "Neutral"]
Verdict = Literal["no_error", "non_translation"]
Status = Literal["ok", "undefined", "needs", "error"]
SEVERITIES: tuple[Severity, ...] = ("Major", "Minor", "Neutral")


def is_storable(text: str) -> bool:
    """Return whether a file or database can hold the text, which must contain no NUL and no unpaired surrogate."""
    return (text.isascii() and "\0" not in text) or _NOT_STORABLE.search(text) is None


def storable(text: str) -> str:
    """Return the text with U+FFFD in place of every NUL and unpaired surrogate; its length does not change."""
    return text if is_storable(text) else _NOT_STORABLE.sub("\ufffd", text)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of each key, both in their order."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


class SegmentKey(NamedTuple):
    """A segment within a project."""

    doc_id: str
    segment_id: str


class OutputKey(NamedTuple):
    """An output within a project: one system, one segment."""

    system: str
    doc_id: str
    segment_id: str

    @property
    def segment(self) -> SegmentKey:
        return SegmentKey(self.doc_id, self.segment_id)


def _natural(name: str) -> tuple[list[str], list[tuple[int, str]], str]:
    """Return a key that sorts names with numbers by their size: `seg 2` before `seg 10`."""
    parts = _DIGITS.split(name)
    numbers = [digits.lstrip("0") for digits in parts[1::2]]
    return parts[::2], [(len(digits), digits) for digits in numbers], name


def in_natural_order(keys: Iterable[OutputKey]) -> list[OutputKey]:
    """Return the outputs ordered by document, segment and system, whatever their order was, numbers in names by size.

    Random draws at one seed then do not depend on the order of the rows of a file.
    """
    all_keys = list(keys)
    names = {name: _natural(name) for name in {name for key in all_keys for name in key}}
    segments = sorted({key.segment for key in all_keys}, key=lambda s: (names[s.doc_id], names[s.segment_id]))
    place = {segment: i for i, segment in enumerate(segments)}
    return sorted(all_keys, key=lambda key: (place[key.segment], names[key.system]))


@dataclass(frozen=True, slots=True)
class Segment:
    """A source text with its reference texts. `source` may be None, `references` may be empty."""

    doc_id: str
    segment_id: str
    source: str | None
    references: tuple[str, ...] = ()

    @property
    def key(self) -> SegmentKey:
        return SegmentKey(self.doc_id, self.segment_id)


@dataclass(frozen=True, slots=True)
class Output:
    """The text one system produced for one segment. The text may be empty; a missing output has no `Output`."""

    system: str
    doc_id: str
    segment_id: str
    text: str

    @property
    def key(self) -> OutputKey:
        return OutputKey(self.system, self.doc_id, self.segment_id)


class HumanScore(NamedTuple):
    """A human score imported with the data; higher is better unless its name says otherwise."""

    system: str
    doc_id: str
    segment_id: str
    name: str
    value: float


class Judgement(NamedTuple):
    """The number one rater gave one output: a score, or a rank within the segment (1 is best) if `name` says so.

    `name` is the name of the scale. There is at most one number per rater, output and name.
    """

    key: OutputKey
    rater: str
    name: str
    value: float


class SourceFile(NamedTuple):
    """The file that scores were read from: its name, the SHA-256 (hex) of its bytes, and for a table the column."""

    name: str
    sha256: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class ExternalScores:
    """The values of a metric that was computed by another program, by output and in the metric's own direction.

    The values belong to outputs, not to texts. An output whose score is missing in the file has a `Value` with a reason;
    an output that is in no file has no entry.
    """

    name: str
    higher_is_better: bool
    files: tuple[SourceFile, ...]
    values: Mapping[OutputKey, Value]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Segments in document order, outputs in segment order, and the imported human scores."""

    segments: tuple[Segment, ...]
    outputs: tuple[Output, ...]
    human_scores: tuple[HumanScore, ...] = ()

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the system names in the order of their first output."""
        return tuple(dict.fromkeys(o.system for o in self.outputs))

    def segment_of(self) -> dict[SegmentKey, Segment]:
        return {s.key: s for s in self.segments}

    def outputs_of(self) -> dict[SegmentKey, list[Output]]:
        """Return the outputs by segment; every segment has an entry."""
        out: dict[SegmentKey, list[Output]] = {s.key: [] for s in self.segments}
        for o in self.outputs:
            out[o.key.segment].append(o)
        return out

    def items(self) -> "list[tuple[OutputKey, Item]]":
        """Return the input of the metrics: one item per output."""
        of = self.segment_of()
        return [(o.key, Item(of[o.key.segment].source, o.text, of[o.key.segment].references)) for o in self.outputs]


class Item(NamedTuple):
    """The input of a segment-level metric for one output."""

    source: str | None
    hypothesis: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """An error span: half-open Unicode code point offsets into the raw output, or into the source for an omission.

    `category` is a path of the MQM tree such as "Accuracy/Mistranslation". `start == end` marks a position without text.
    """

    side: Side
    start: int
    end: int
    quote: str
    severity: str
    category: str
    note: str = ""

    def check(self, text: str) -> None:
        """Raise `UserError` unless `text[start:end] == quote` and the span lies inside the text."""
        if not 0 <= self.start <= self.end <= len(text) or text[self.start : self.end] != self.quote:
            raise UserError(
                "the marked text differs from the stored text",
                where=f"{self.side} [{self.start}, {self.end})",
                got=repr(text[max(0, self.start) : max(0, self.end)][:80]),
                expected=repr(self.quote[:80]),
                hint="Nothing was changed. Reload the page and mark the text again",
            )


@dataclass(frozen=True, slots=True)
class Value:
    """The value of one metric for one item. If `status` is not "ok", `value` is None and `reason` says why.

    `parts` are the numbers a value is computed from (dist_exp, dist_imp, …); `detail` is what a page displays (the trace).
    """

    value: float | None
    status: Status = "ok"
    reason: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    detail: Mapping[str, Any] | None = None


class Score(NamedTuple):
    """One row of a score table or file: a value with its output, metric and signature."""

    system: str
    doc_id: str
    segment_id: str
    metric: str
    signature: str
    value: float | None
    status: str
    reason: str


class RatedOutput(NamedTuple):
    """The errors one rater marked in one output; empty if the rater found no error.

    A non-translation is one error of category "Non-translation!".
    """

    key: OutputKey
    rater: str
    errors: tuple[Span, ...]


def same_error(span: Span) -> tuple[str, int, int, str, str]:
    """Return the fields in which two spans of the same error are equal."""
    return (span.side, span.start, span.end, span.severity, span.category)


def distinct_errors(errors: Iterable[Span]) -> tuple[Span, ...]:
    """Return one rater's errors in one output without exact duplicates. The first of equal ones counts, with its note."""
    distinct: dict[tuple[str, int, int, str, str], Span] = {}
    for error in errors:
        distinct.setdefault(same_error(error), error)
    return tuple(distinct.values())

"""What everything speaks: segments, outputs, spans, scores. Plain values; no storage, no screen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from core.errors import UserError

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")

Side = Literal["output", "source"]
Severity = Literal["Major", "Minor", "Neutral"]
Verdict = Literal["no_error", "non_translation"]
SEVERITIES: tuple[Severity, ...] = ("Major", "Minor", "Neutral")


def is_storable(text: str) -> bool:
    """Return whether a file or database can hold the text: no NUL and no half of a surrogate pair stands in it."""
    return _NOT_STORABLE.search(text) is None


def storable(text: str) -> str:
    """Return the text with U+FFFD in place of every NUL and every half of a surrogate pair. Its length stays."""
    return _NOT_STORABLE.sub("\ufffd", text)


class SegmentKey(NamedTuple):
    """A segment within a project."""

    doc_id: str
    segment_id: str


class OutputKey(NamedTuple):
    """What one system wrote for one segment, within a project."""

    system: str
    doc_id: str
    segment_id: str

    @property
    def segment(self) -> SegmentKey:
        return SegmentKey(self.doc_id, self.segment_id)


@dataclass(frozen=True, slots=True)
class Segment:
    """What a system was given, and what people would have written. `source` may be absent; references may be empty."""

    doc_id: str
    segment_id: str
    source: str | None
    references: tuple[str, ...] = ()

    @property
    def key(self) -> SegmentKey:
        return SegmentKey(self.doc_id, self.segment_id)


@dataclass(frozen=True, slots=True)
class Output:
    """The text one system produced for one segment. An empty text is an output; a missing one is no `Output` at all."""

    system: str
    doc_id: str
    segment_id: str
    text: str

    @property
    def key(self) -> OutputKey:
        return OutputKey(self.system, self.doc_id, self.segment_id)


class HumanScore(NamedTuple):
    """A score from people that came with an upload; higher is better unless its name says otherwise."""

    system: str
    doc_id: str
    segment_id: str
    name: str
    value: float


class Judgement(NamedTuple):
    """The number one rater gave one output, under the name of its scale: a score, or where the name says so a rank (1 is
    best, within the segment). A rater gives an output one number a name."""

    key: OutputKey
    rater: str
    name: str
    value: float


class SourceFile(NamedTuple):
    """The file that scores came from: its name, the SHA-256 (hex) of its bytes, and the column where it is a table."""

    name: str
    sha256: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class ExternalScores:
    """A metric that was computed elsewhere: its values by output, in its own direction. No human judgement.

    The values belong to outputs, not to their texts. Where a file gives none, a `Value` says so; an output that no file
    speaks of is not among them.
    """

    name: str
    higher_is_better: bool
    files: tuple[SourceFile, ...]
    values: Mapping[OutputKey, Value]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Segments in document order, outputs in segment order, and the human scores that came with them."""

    segments: tuple[Segment, ...]
    outputs: tuple[Output, ...]
    human_scores: tuple[HumanScore, ...] = ()

    @property
    def systems(self) -> tuple[str, ...]:
        """System names in the order of their first output."""
        return tuple(dict.fromkeys(o.system for o in self.outputs))

    def segment_of(self) -> dict[SegmentKey, Segment]:
        return {s.key: s for s in self.segments}

    def outputs_of(self) -> dict[SegmentKey, list[Output]]:
        """Outputs by segment; every segment has an entry."""
        out: dict[SegmentKey, list[Output]] = {s.key: [] for s in self.segments}
        for o in self.outputs:
            out[o.key.segment].append(o)
        return out

    def items(self) -> "list[tuple[OutputKey, Item]]":
        """What the metrics read, one item an output."""
        of = self.segment_of()
        return [(o.key, Item(of[o.key.segment].source, o.text, of[o.key.segment].references)) for o in self.outputs]


class Item(NamedTuple):
    """All a segment-level metric may look at."""

    source: str | None
    hypothesis: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A marked stretch of text: half-open Unicode code points into the raw output, or into the source for an omission.

    `category` is a path of the MQM tree such as "Accuracy/Mistranslation". `start == end` marks a place without text.
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
                "the marked text is not what stands there",
                where=f"{self.side} [{self.start}, {self.end})",
                got=repr(text[max(0, self.start) : max(0, self.end)][:80]),
                expected=repr(self.quote[:80]),
                hint="Reload the page and mark it again; nothing was changed",
            )


@dataclass(frozen=True, slots=True)
class Value:
    """One metric's word on one item. `value` is None unless `status` is "ok"; then `reason` says why in plain words.

    `parts` are the small numbers a value is made of (dist_exp, dist_imp, …); `detail` is what a page draws (the trace).
    """

    value: float | None
    status: Literal["ok", "undefined", "needs", "error"] = "ok"
    reason: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    detail: Mapping[str, Any] | None = None


class Score(NamedTuple):
    """A `Value` with its place and its signature: one row of a score table or file."""

    system: str
    doc_id: str
    segment_id: str
    metric: str
    signature: str
    value: float | None
    status: str
    reason: str


class RatedOutput(NamedTuple):
    """The errors one rater marked in one output; none at all means that the rater read it and found it clean.

    A non-translation is one error of category "Non-translation!".
    """

    key: OutputKey
    rater: str
    errors: tuple[Span, ...]

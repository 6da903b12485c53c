"""The texts that records of a label file repeat, and the names of files that no reader of labels knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from core.data import Dataset, HumanScore, Output, OutputKey, Segment, SegmentKey
from core.errors import Problem
from core.formats.files import Upload, beginning_text
from core.formats.parsing.cells import Meter
from core.formats.problems import Collector, OtherFormat, shown, shown_segment
from core.formats.table import header_of
from core.formatting import format_count


class TextReading:
    """Combine the texts of records into segments and outputs, in their order. Different texts under one key are a problem."""

    def __init__(self, file: str) -> None:
        self.file, self.problems, self.meter = file, Collector(), Meter(file)
        self.warnings: list[Problem] = []
        self._unread: dict[tuple[str, bool], list[int]] = {}
        self._second_tokens: list[int] = []
        self._segments: dict[SegmentKey, tuple[str | None, int]] = {}
        self._references: dict[SegmentKey, tuple[str, ...]] = {}
        self._outputs: dict[OutputKey, tuple[str, int]] = {}

    def problem(self, line: int, where: str, got: str, expected: str, todo: str) -> None:
        self.problems.add(self.file, line, where, got, expected, todo)

    def warn(self, line: int, where: str, got: str, expected: str, done: str) -> None:
        self.warnings.append(Problem(self.file, line, where, got, expected, done))

    def unread(self, line: int, what: str, *, rating: bool = False) -> None:
        """Count an answer that is not understood. `rating` is whether the other answers of the annotator are a rating all the same."""
        self._unread.setdefault((what, rating), []).append(line)

    def unread_answers(self) -> str:
        """Return what was not understood, each with its count."""
        return ", ".join(f"{len(lines):,} × {what}" for (what, _), lines in self._unread.items())

    def unread_warnings(self) -> Iterator[Problem]:
        """Yield one warning per kind of answer that was not understood."""
        for (what, rating), lines in self._unread.items():
            got = f"{what}, {format_count(len(lines), 'time')}"
            done = "Left out" if rating else "Not read: these outputs have no rating by these annotators"
            yield Problem(self.file, min(lines), "", got, "answers of this format (docs/formats.md)", done)

    def second_token(self, line: int) -> None:
        """Count an error span at Pearmut's second special token, whose name is in the file of the campaign only."""
        self._second_tokens.append(line)

    def token_warnings(self) -> Iterator[Problem]:
        """Yield the warning about the second special token."""
        if lines := self._second_tokens:
            got = f"{format_count(len(lines), 'error span')} on the second special token after the text"
            done = "Read as “Instructions fault”, the usual one. Check special_tokens in the file of the campaign"
            yield Problem(self.file, min(lines), "error spans", got, "[missing], the first token", done)

    def add_texts(self, line: int, key: OutputKey, source: str | None, text: str, refs: Sequence[str] = ()) -> None:
        """Add the texts of one output; an empty source counts as missing."""
        was, at = self._segments.setdefault(key.segment, (source or None, line))
        if was is None and source:
            self._segments[key.segment] = source, line
        elif source and source != was:
            self._differs(line, f"source of {shown_segment(key.segment)}", source, was or "", at)
        if refs:
            self._references.setdefault(key.segment, tuple(refs))
        before, at = self._outputs.setdefault(key, (text, line))
        if before != text:
            self._differs(line, f"output of {shown(key.system)}, {shown_segment(key.segment)}", text, before, at)

    def _differs(self, line: int, where: str, got: str, before: str, at: int) -> None:
        origin = f"as in line {at}" if at else "as given before"
        todo = "Keep one of the two, or split the file: an output has one text"
        self.problem(line, where, shown(got), f"{shown(before)}, {origin}", todo)

    def add_dataset(self, dataset: Dataset) -> None:
        """Add texts that do not come from this file."""
        for s in dataset.segments:
            self._segments[s.key], self._references[s.key] = (s.source, 0), s.references
        self._outputs.update({o.key: (o.text, 0) for o in dataset.outputs})

    def take_texts(self, other: TextReading) -> None:
        """Take over the texts that were read from another file."""
        self._segments, self._references, self._outputs = other._segments, other._references, other._outputs

    def output(self, key: OutputKey) -> str | None:
        return self._outputs[key][0] if key in self._outputs else None

    def source(self, key: SegmentKey) -> str | None:
        return self._segments[key][0] if key in self._segments else None

    def dataset(self, scores: Sequence[HumanScore] = ()) -> Dataset:
        """Return the texts, outputs in segment order, with these human scores."""
        order = {key: i for i, key in enumerate(self._segments)}
        outputs = sorted(self._outputs, key=lambda k: order[k.segment])
        return Dataset(
            tuple(Segment(*k, source, self._references.get(k, ())) for k, (source, _) in self._segments.items()),
            tuple(Output(*key, self._outputs[key][0]) for key in outputs),
            tuple(scores),
        )


_SHOWN = 8
_CHOOSE = "Choose the format of the file, or export it in one of those in docs/formats.md"

ITEM_TYPES = frozenset({"TGT", "REF", "CHK", "BAD"})
"""What Appraise rates: outputs, references, repetitions, and outputs with errors as attention checks."""
_APPRAISE_COLUMNS = range(9, 15)
_TYPE_AT = slice(3, 6)


_JSON: tuple[tuple[frozenset[str], OtherFormat], ...] = (
    (
        frozenset(("campaign_id", "info", "data")),
        OtherFormat(
            "the tasks of a Pearmut campaign, without answers",
            "Choose the annotations that Pearmut’s dashboard downloads, or its log in data/outputs",
        ),
    ),
    (
        frozenset(("annotations", "item", "user_id")),
        OtherFormat(
            "a log of an early version of Pearmut (annotations instead of annotation)",
            "Write its scores as a table with one row per annotator and output, and import that",
        ),
    ),
    (
        frozenset(("documentID", "targetID", "itemID", "targetText")),
        OtherFormat(
            "the texts of an Appraise campaign, without answers",
            "Import a finished campaign on Campaigns, with the CSV of its scores",
        ),
    ),
)
_WITHOUT_DOCUMENTS = OtherFormat(
    "scores of Appraise in rows without a document",
    "Write a first line such as rater,system,segment,item type,source language,target language,score,start,end, and import it as "
    "scores by annotator",
)


def described(upload: Upload) -> OtherFormat:
    """Return what a file is that no reader of labels knows."""
    head = beginning_text(upload)
    start = head.lstrip()
    if start[:1] == "<":
        return OtherFormat("XML", "XML is not read. Export it in one of the forms in docs/formats.md")
    if start[:1] in ("{", "["):
        keys = dict.fromkeys(re.findall(r'"([^"\\]+)"\s*:', start))
        known = next((form for needed, form in _JSON if needed <= keys.keys()), None)
        return known or OtherFormat(f"JSON with the keys {_listed(list(keys))}", _CHOOSE)
    columns = header_of(upload.name, head.splitlines(keepends=True))
    if len(columns) in _APPRAISE_COLUMNS and ITEM_TYPES & set(columns[_TYPE_AT]):
        return _WITHOUT_DOCUMENTS
    if len(columns) > 1:
        return OtherFormat(f"the columns {_listed(columns)}", _CHOOSE)
    return OtherFormat(f"the line {shown(start.split(chr(10), 1)[0])}" if start else "nothing", _CHOOSE)


def _listed(names: list[str]) -> str:
    return ", ".join(map(shown, names[:_SHOWN])) + (" …" if len(names) > _SHOWN else "")

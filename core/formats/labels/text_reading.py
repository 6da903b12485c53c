"""The texts of a file of labels, in which every record may repeat them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.data import Dataset, HumanScore, Output, OutputKey, Segment, SegmentKey
from core.errors import Problem
from core.formats.parsing.limits import Meter
from core.formats.problems import Collector, counted, shown, shown_segment


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

    def problem(self, line: int, where: str, found: str, expected: str, todo: str) -> None:
        self.problems.add(self.file, line, where, found, expected, todo)

    def warn(self, line: int, where: str, found: str, expected: str, done: str) -> None:
        self.warnings.append(Problem(self.file, line, where, found, expected, done))

    def unread(self, line: int, what: str, *, rating: bool = False) -> None:
        """Count an answer that is not understood. `rating` is whether the other answers of the annotator are a rating all the same."""
        self._unread.setdefault((what, rating), []).append(line)

    def unread_answers(self) -> str:
        """Return what was not understood, each with its count."""
        return ", ".join(f"{len(lines):,} × {what}" for (what, _), lines in self._unread.items())

    def unread_warnings(self) -> Iterator[Problem]:
        """Yield one warning per kind of answer that was not understood."""
        for (what, rating), lines in self._unread.items():
            found = f"{what}, {counted(len(lines), 'time')}"
            done = "Left out" if rating else "Not read: these outputs have no rating by these annotators"
            yield Problem(self.file, min(lines), "", found, "answers of this format (docs/formats.md)", done)

    def second_token(self, line: int) -> None:
        """Count an error span at Pearmut's second special token, whose name is in the file of the campaign only."""
        self._second_tokens.append(line)

    def token_warnings(self) -> Iterator[Problem]:
        """Yield the warning about the second special token."""
        if lines := self._second_tokens:
            found = f"{counted(len(lines), 'error span')} on the second special token after the text"
            done = "Read as “Instructions fault”, the usual one. Check special_tokens in the file of the campaign"
            yield Problem(self.file, min(lines), "error spans", found, "[missing], the first token", done)

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

    def _differs(self, line: int, where: str, found: str, before: str, at: int) -> None:
        there = f"as in line {at}" if at else "as given before"
        todo = "Keep one of the two, or split the file: an output has one text"
        self.problem(line, where, shown(found), f"{shown(before)}, {there}", todo)

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

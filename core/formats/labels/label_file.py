"""Shared code of the label formats: the results of readers and writers, and how records are combined.

Readers collect every problem of a file (`ImportProblems`); irregularities that can be read are warnings. Writers report what their
format cannot store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from core.data import (
    SEVERITIES,
    Dataset,
    ExternalScores,
    HumanScore,
    Judgement,
    OutputKey,
    RatedOutput,
    Segment,
    SegmentKey,
    Side,
    Span,
    distinct_errors,
    grouped,
)
from core.errors import PROGRAM, Problem, UserError
from core.formats.labels.record_texts import TextReading
from core.formats.problems import shown, shown_segment
from core.formatting import format_count
from core.stats.means import decimal_mean

UNSPECIFIED = "Unspecified"
"""The category of an error without one."""

_OURS = {s.casefold(): s for s in SEVERITIES}


class LabelFile(NamedTuple):
    """The contents of a file: texts and human scores, rated errors, warnings and judgements, or external scores."""

    dataset: Dataset
    rated: tuple[RatedOutput, ...]
    warnings: tuple[Problem, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    external: tuple[ExternalScores, ...] = ()


class Written(NamedTuple):
    """One file, or several if one cannot store all ratings of an output; `lost` says what is not stored."""

    texts: tuple[str, ...]
    lost: tuple[str, ...] = ()


class ProjectTotals(NamedTuple):
    """Counts of the outputs and references of a whole project, the names of its human scores, and scores by output and rater."""

    outputs: int
    references: int
    human_scores: tuple[str, ...]
    rater_scores: Mapping[tuple[OutputKey, str], float] = MappingProxyType({})


def totals_of(dataset: Dataset) -> ProjectTotals:
    names = tuple(dict.fromkeys(h.name for h in dataset.human_scores))
    return ProjectTotals(len(dataset.outputs), sum(len(s.references) for s in dataset.segments), names)


class Severities:
    """Map severity names in files to the severities of this program. Case and outer blanks are ignored; unknown names give None."""

    def __init__(self, renamed: Mapping[str, str] | None = None) -> None:
        self._names = dict(_OURS)
        for name, ours in (renamed or {}).items():
            if ours.strip().casefold() not in _OURS:
                raise UserError("unknown severity", got=repr(ours), expected=", ".join(SEVERITIES))
            self._names[name.strip().casefold()] = _OURS[ours.strip().casefold()]

    def find(self, name: str | None) -> str | None:
        return self._names.get((name or "").strip().casefold())


class Gatherer(TextReading):
    """Combine records into segments, outputs, ratings and scores, in their order.

    Records may repeat a text; different texts under one key are a problem, and so is a span outside its text. Two ratings of an output by
    one rater are merged, and exact duplicates of an error count once. `texts` provides the texts for formats without them.
    """

    def __init__(self, file: str, severities: Severities, texts: Dataset | None = None) -> None:
        super().__init__(file)
        self.severities, self.texts = severities, texts
        self._rated: dict[tuple[OutputKey, str], list[Span]] = {}
        self._scores: dict[tuple[OutputKey, str], list[float]] = {}
        self._judged: dict[tuple[OutputKey, str, str], float] = {}
        self._pairs: dict[str, int] = {}
        if texts:
            self.add_dataset(texts)

    def span(
        self, line: int, key: OutputKey, side: Side, start: int, end: int, severity: str | None, category: str | None,
        note: str = "",
    ) -> Span | None:  # fmt: skip
        """Return the span [start, end) in code points; None, and a problem, if it does not fit its text or severity."""
        self.meter.row(line)
        text = (self.output(key) if side == "output" else self.source(key.segment)) or ""
        known = self.severities.find(severity)
        if known is None:
            got = shown(severity) if severity else "none"
            todo = f"Use one of these, or convert the file with --severity NAME=OURS ({PROGRAM} convert)"
            self.problem(line, "severity", got, ", ".join(SEVERITIES), todo)
        if not 0 <= start <= end <= len(text):
            what = "a source" if side == "source" else "an output"
            todo = "Use the text that was annotated, and check how its offsets are counted"
            self.problem(line, f"{side} [{start}, {end})", f"{what} of {format_count(len(text), 'character')}",
                         "a span inside its text", todo)  # fmt: skip
        elif known is not None:
            return Span(side, start, end, text[start:end], known, category or UNSPECIFIED, note)
        return None

    def rating(self, line: int, key: OutputKey, rater: str | None, errors: Iterable[Span | None]) -> None:
        """Add the errors that one rater found in one output; a rating may have no errors."""
        self.meter.row(line)
        if not rater or not rater.strip():
            self.problem(line, "rater", "no rater", "the name of the rater", "Name the rater")
            return
        if (key, rater) in self._rated:
            got = f"{shown(rater)} rates {shown(key.system)}, {shown_segment(key.segment)} again"
            self.warn(line, "rater", got, "once", "The errors of both ratings are merged")
        self._rated.setdefault((key, rater), []).extend(e for e in errors if e is not None)

    def languages(self, line: int, *names: str | None) -> None:
        """Note the languages of a record; several pairs in one file are a problem."""
        if pair := "-".join(filter(None, names)):
            self._pairs.setdefault(pair, line)

    def no_output(self, line: int, key: OutputKey, what: str, done: str) -> None:
        """Add the problem of a number or rating (`what`) whose output is not there."""
        got = f"{what} of {shown(key.system)}, segment {shown(key.segment_id)}"
        self.problem(
            line,
            "",
            got,
            "an output of the project",
            f"The project has no output of this system for this segment. Choose the project whose outputs were {done}",
        )

    def score(self, key: OutputKey, name: str, value: float) -> None:
        """Add a human score; scores of several raters are averaged."""
        self._scores.setdefault((key, name), []).append(value)

    def judge(self, line: int, judgement: Judgement) -> None:
        """Add a number that one rater gave. Repeating it is allowed; another number is a problem."""
        self.meter.row(line)
        before = self._judged.setdefault(judgement[:3], judgement.value)
        if before != judgement.value:
            got = f"{judgement.value:g} by {shown(judgement.rater)} for {shown(judgement.key.system)}, {shown_segment(judgement.key.segment)}"
            self.problem(line, judgement.name, got, f"{before:g}, as before", "Keep one of the two numbers")

    def done(self) -> LabelFile:
        if len(self._pairs) > 1:
            todo = "Keep only the lines of one pair: all pairs use the same segment numbers"
            named = f"several language pairs ({', '.join(self._pairs)})"
            self.problem(list(self._pairs.values())[1], "languages", named, "one", todo)
        if not (self._rated or self._scores or self._judged or self.problems):
            unread = self.unread_answers()
            got = "no labels and no scores" + (f" that can be read; not read: {unread}" if unread else "")
            todo = (
                "Export them in one of the forms of docs/formats.md" if unread else "Check that the export has finished"
            )
            self.problem(0, "", got, "at least one rating", todo)
        self.problems.check()
        rated = tuple(RatedOutput(key, rater, distinct_errors(errors)) for (key, rater), errors in self._rated.items())
        repeated = sum(map(len, self._rated.values())) - sum(len(r.errors) for r in rated)
        scores = [HumanScore(*key, name, decimal_mean(values)) for (key, name), values in self._scores.items()]
        judgements = tuple(Judgement(*identity, value) for identity, value in self._judged.items())
        warnings = (
            *self._averaging_warnings(),
            *self.warnings,
            *self.unread_warnings(),
            *self.token_warnings(),
            *repeated_errors(self.file, repeated),
        )
        return LabelFile(self.dataset(scores), rated, warnings, judgements)

    def _averaging_warnings(self) -> Iterable[Problem]:
        for name, n in grouped((name, len(values)) for (_, name), values in self._scores.items()).items():
            if max(n) > 1:
                each = f"{max(n)}" if min(n) == max(n) else f"{min(n)} to {max(n)}"
                yield Problem(self.file, 0, name, f"{format_count(sum(n), 'score')} of {format_count(len(n), 'output')}",
                              "one per output", f"Averaged over {each} scores per output")  # fmt: skip


def repeated_errors(file: str, n: int) -> Iterable[Problem]:
    """Yield the warning about `n` exact duplicates of errors, if there are any."""
    if n:
        got = format_count(n, "exact duplicate of an error", "exact duplicates of errors")
        expected = "an error once per rater, text, offsets, severity and category"
        yield Problem(file, 0, "", got, expected, "Each error counts once (mt-metrics-eval counts every row)")


class LabelsToWrite(NamedTuple):
    """Ratings to write, those of one rater on one output merged, with the texts of the outputs, the segments, and their numbers from 0."""

    rated: list[RatedOutput]
    texts: Mapping[OutputKey, str]
    segments: Mapping[SegmentKey, Segment]
    place: Mapping[SegmentKey, int]

    @property
    def errors(self) -> list[Span]:
        return [error for r in self.rated for error in r.errors]

    def by_output(self) -> dict[OutputKey, list[RatedOutput]]:
        return grouped((r.key, r) for r in self.rated)

    def source(self, key: OutputKey) -> str:
        return self.segments[key.segment].source or ""

    def notes_kept(self, tools: str) -> list[str]:
        """Return that notes are written where these tools do not see them; empty if there are none."""
        n = sum(bool(e.note) for e in self.errors)
        return [f"{format_count(n, 'note')}: kept under a key that {tools}."] if n else []


def checked(dataset: Dataset, rated: Iterable[RatedOutput]) -> LabelsToWrite:
    """Return the ratings with their texts. Raises `UserError` for one that does not match its texts."""
    texts, segments = {o.key: o.text for o in dataset.outputs}, dataset.segment_of()
    merged: dict[tuple[OutputKey, str], list[Span]] = {}
    for r in rated:
        if r.key not in texts:
            raise UserError("labels for an unknown output", got=f"{r.key.system}, segment {r.key.segment_id}")
        for e in r.errors:
            e.check(texts[r.key] if e.side == "output" else segments[r.key.segment].source or "")
        merged.setdefault((r.key, r.rater), []).extend(r.errors)
    labels = [RatedOutput(key, rater, tuple(errors)) for (key, rater), errors in merged.items()]
    return LabelsToWrite(labels, texts, segments, {s.key: i for i, s in enumerate(dataset.segments)})


def sentences_left_out(*amounts: tuple[int, str] | tuple[int, str, str]) -> list[str]:
    """Return `Left out: 3 notes.` for each number that is not 0 with its word, and the plural if it is not regular."""
    return [f"Left out: {format_count(*amount)}." for amount in amounts if amount[0]]


def left_behind(
    project: ProjectTotals, rated: Sequence[RatedOutput], *, unrated: bool = True, references: bool = True
) -> list[str]:
    """Return what a format without human scores leaves out. `unrated` and `references` say whether it leaves these out too.

    Every rated output must belong to the project.
    """
    without = project.outputs - len({r.key for r in rated}) if unrated else 0
    lost = sentences_left_out((without, "unrated output"), (project.references if references else 0, "reference"))
    return lost + ([f"Left out: human scores ({', '.join(project.human_scores)})."] if project.human_scores else [])


def category_or_none(category: str) -> str | None:
    return None if category == UNSPECIFIED else category

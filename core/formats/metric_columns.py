"""Collect external scores from the columns of tables."""

from __future__ import annotations

from collections.abc import Collection

from core.data import ExternalScores, OutputKey, SegmentKey, SourceFile, Value
from core.formats.external import no_score
from core.formats.files import base_name
from core.formats.mapping import MetricColumn
from core.formats.parsing.cells import FilePlace
from core.formats.parsing.numbers import expected_number, is_absent, number
from core.formats.problems import Collector, shown


class MetricScores:
    """Collect the score cells of one or several tables. Problems are added to `problems`, not raised."""

    def __init__(self, problems: Collector) -> None:
        self.problems = problems
        self._columns: dict[str, tuple[MetricColumn, str]] = {}
        self._files: dict[str, dict[SourceFile, None]] = {}
        self._given: dict[str, dict[OutputKey, tuple[Value, FilePlace]]] = {}

    def column(self, file: str, metric: MetricColumn, digest: str) -> None:
        """Add a column: a metric has one column per table, and the same direction in all tables."""
        first, where = self._columns.setdefault(metric.name, (metric, file))
        self._files.setdefault(metric.name, {})[SourceFile(base_name(file), digest, metric.column)] = None
        self._given.setdefault(metric.name, {})
        if where == file and first.column != metric.column:
            found = f"a second metric named {shown(metric.name)}"
            expected = f"one metric of this name; {first.column} has it"
            self.problems.add(file, 1, metric.column, found, expected, "Give the two metrics different names")
        elif first.higher_is_better != metric.higher_is_better:
            found = f"another direction of {shown(metric.name)} than in {where}"
            self.problems.add(file, 1, metric.column, found, "one direction per metric", "Choose the same for both")

    def score(self, here: FilePlace, key: OutputKey, metric: MetricColumn, text: str | None) -> None:
        """Add a cell; an empty cell becomes a missing score with a reason."""
        given = self._given[metric.name]
        if text is None or is_absent(text):
            given.setdefault(key, (no_score(here.file), here))
            return
        value = number_in(text, here, metric.column, self.problems)
        if value is None:
            return
        old, at = given.get(key, (None, here))
        if old is None or old.value is None:
            given[key] = Value(value), here
        elif old.value != value:
            other_score(key, metric.column, value, here, old.value, at, self.problems)

    def places(self) -> list[tuple[OutputKey, str, FilePlace]]:
        found = ((name, item) for name, given in self._given.items() for item in given.items())
        return [(key, name, place) for name, (key, (value, place)) in found if value.value is not None]

    def done(self, outputs: Collection[OutputKey]) -> tuple[ExternalScores, ...]:
        """Return the metrics with their values on these outputs."""
        return tuple(
            ExternalScores(
                name, metric.higher_is_better, tuple(self._files[name]),
                {key: value for key, (value, _) in self._given[name].items() if key in outputs},
            )
            for name, (metric, _) in self._columns.items()
        )  # fmt: skip


def number_in(text: str, here: FilePlace, column: str, problems: Collector) -> float | None:
    """Return the number in a cell; None, and a problem, if it is not a number."""
    value = number(text)
    if value is None:
        todo = "Leave the cell empty where there is no score, or do not map the column as a score"
        problems.add(here.file, here.line, column, shown(text), expected_number(text), todo)
    return value


def other_score(
    key: OutputKey, column: str, value: float, here: FilePlace, old: float, at: FilePlace, problems: Collector
) -> None:
    there = at.seen_from(here.file)
    what = f"another {column} of {key.system} for segment {named(key.segment)} than in {there}: {value:g}"
    todo = "Remove one of the two, or rename the column"
    problems.add(here.file, here.line, column, what, f"{old:g}", todo)


def named(key: SegmentKey) -> str:
    return f"{key.segment_id} of {key.doc_id}" if key.doc_id else key.segment_id

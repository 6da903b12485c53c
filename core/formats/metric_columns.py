"""Collect external scores from the columns of tables."""

from __future__ import annotations

from core.data import OutputKey, SegmentKey, SourceFile
from core.formats.files import base_name
from core.formats.mapping import MetricColumn
from core.formats.parsing.cells import FilePlace
from core.formats.parsing.numbers import expected_number, is_absent, number
from core.formats.problems import Collector, shown
from core.formats.streams.stage import Stage
from core.ports.imports import StagedMetric


class MetricScores:
    """Collect the score cells of one or several tables in a stage. Problems are added to `problems`, not raised."""

    def __init__(self, problems: Collector, stage: Stage) -> None:
        self.problems, self.stage = problems, stage
        self._columns: dict[str, tuple[MetricColumn, str]] = {}
        self._files: dict[str, dict[SourceFile, None]] = {}

    def column(self, file: str, metric: MetricColumn, digest: str) -> None:
        """Add a column: a metric has one column per table, and the same direction in all tables."""
        first, where = self._columns.setdefault(metric.name, (metric, file))
        self._files.setdefault(metric.name, {})[SourceFile(base_name(file), digest, metric.column)] = None
        if where == file and first.column != metric.column:
            found = f"a second metric named {shown(metric.name)}"
            expected = f"one metric of this name; {first.column} has it"
            self.problems.add(file, 1, metric.column, found, expected, "Give the two metrics different names")
        elif first.higher_is_better != metric.higher_is_better:
            found = f"another direction of {shown(metric.name)} than in {where}"
            self.problems.add(file, 1, metric.column, found, "one direction per metric", "Choose the same for both")

    def number(self, metric: MetricColumn) -> int:
        """Return the number of a metric in the stage."""
        return list(self._columns).index(metric.name)

    def score(self, here: FilePlace, key: OutputKey, metric: MetricColumn, number: int, text: str | None) -> None:
        """Add a cell; an empty cell becomes a missing score with a reason."""
        given = self.stage.metric_scores
        if text is None or is_absent(text):
            given.setdefault((key, number), (None, here))
            return
        value = number_in(text, here, metric.column, self.problems)
        if value is None:
            return
        old, at = given.get((key, number), (None, here))
        if old is None:
            given[key, number] = value, here
        elif old != value:
            other_score(key, metric.column, value, here, old, at, self.problems)

    def metrics(self) -> tuple[StagedMetric, ...]:
        return tuple(
            StagedMetric(name, metric.higher_is_better, tuple(self._files[name]))
            for name, (metric, _) in self._columns.items()
        )


def number_in(text: str, here: FilePlace, column: str, problems: Collector) -> float | None:
    """Return the number in a cell; None, and a problem, if it is not a number."""
    value = number(text)
    if value is None:
        todo = "Leave the cell empty where there is no score, or give the column another role"
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

"""External scores (metrics computed by other programs): check their names, and say how many an import has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.data import ExternalScores
from core.errors import ImportProblems, Problem
from core.formats.external import name_problem
from core.formats.problems import counted
from core.formats.streams.staged import StagedImport
from core.ports.imports import StagedMetric

NAMED = 6
"""How many metrics a summary names."""


def name_problems(named: Iterable[tuple[str, str, str]]) -> list[Problem]:
    """Return the problems of metric names, each given with its file and column."""
    return [problem for name, file, column in named if (problem := name_problem(name, file, column))]


def check_names(metrics: Iterable[ExternalScores | StagedMetric]) -> None:
    """Raise `ImportProblems` if a metric name is not valid."""
    if problems := name_problems((m.name, ", ".join(f.name for f in m.files), "") for m in metrics):
        raise ImportProblems(problems)


def summary(given: Sequence[ExternalScores]) -> str:
    """Return `640 metric scores (COMET ↑, judge ↓)`, or "" if there are none."""
    n = sum(value.value is not None for s in given for value in s.values.values())
    return _summary(given, n)


def staged_summary(staged: StagedImport) -> str:
    """Return the summary of the external scores of an import."""
    return _summary(staged.metrics, staged.n_metric_scores() if staged.metrics else 0)


def _summary(metrics: Sequence[ExternalScores | StagedMetric], n: int) -> str:
    names = [f"{m.name} {'↑' if m.higher_is_better else '↓'}" for m in metrics]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{counted(n, 'metric score')} ({', '.join(names[:NAMED])}{more})" if metrics else ""

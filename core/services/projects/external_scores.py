"""External scores (metrics computed by other programs): check names, and compare an import with a project."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from core.data import ExternalScores
from core.errors import ImportProblems, Problem
from core.formats.external import merge, name_problem
from core.formats.problems import counted
from core.formats.streams.staged import StagedImport
from core.ports.imports import StagedMetric
from core.ports.store import Store

NAMED = 6
"""How many metrics a summary names."""


class ImportChanges(NamedTuple):
    """The effect of an import: counts of new and unchanged values, every conflict, and the names in conflict."""

    new: int = 0
    unchanged: int = 0
    problems: tuple[Problem, ...] = ()
    clashes: tuple[str, ...] = ()


def name_problems(named: Iterable[tuple[str, str, str]]) -> list[Problem]:
    """Return the problems of metric names, each given with its file and column."""
    return [problem for name, file, column in named if (problem := name_problem(name, file, column))]


def check_names(given: Sequence[ExternalScores]) -> None:
    """Raise `ImportProblems` if a metric name is not valid."""
    if problems := name_problems((s.name, ", ".join(f.name for f in s.files), "") for s in given):
        raise ImportProblems(problems)


def compare(
    store: Store, project_id: int, given: Sequence[ExternalScores], replace: Collection[str] = ()
) -> ImportChanges:
    """Return the effect of adding these scores to a project."""
    there = {m.name: m for m in store.scores.external(project_id)} if given else {}
    new = unchanged = 0
    problems, clashes = list[Problem](), list[str]()
    for scores in given:
        old = None
        if (metric := there.get(scores.name)) is not None:
            values = store.scores.table(project_id, metric.signature)
            old = ExternalScores(metric.name, metric.higher_is_better, metric.files, values)
        try:
            merged = merge(old, scores, replace=scores.name in replace)
        except ImportProblems as error:
            problems += error.problems
            clashes.append(scores.name)
            continue
        new, unchanged = new + len(merged.changed), unchanged + merged.unchanged
    return ImportChanges(new, unchanged, tuple(problems), tuple(clashes))


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

"""External scores. They belong to the outputs of a project and stay when references change."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, delete, func, insert, select, update

from core.data import ExternalScores, OutputKey, SegmentKey, SourceFile, Value
from core.errors import ImportProblems, Problem, UserError
from core.formats.external import Merged, merge
from core.ports.scores import ExternalMetric
from db.engine import inserted
from db.lookup import output_ids, parts, select_outputs
from db.tables import external_metrics, external_scores, now, outputs, segments


def record(
    connection: Connection, project_id: int, given: Sequence[ExternalScores], replace: Collection[str] = ()
) -> tuple[int, int]:
    """Record new values within the caller's transaction; return the counts of new and unchanged values.

    Raises `ImportProblems` before anything is written, for another value or direction under the same name (unless the
    metric is in `replace`) and for unknown outputs. Raises ValueError for a value that contradicts its status.
    """
    ids, problems = output_ids(connection, project_id), list[Problem]()
    there = {m.name: m for m in listed(connection, project_id)}
    merged: list[Merged] = []
    for scores in given:
        for value in scores.values.values():
            if (value.value is not None) != (value.status == "ok") or not math.isfinite(value.value or 0.0):
                raise ValueError(f"a value of status {value.status!r} cannot be {value.value}")
        if strange := [key for key in scores.values if key not in ids]:
            place, found = f"metric “{scores.name}”", f"a score of {' / '.join(strange[0])}"
            problems.append(Problem(scores.files[0].name, 0, place, found, "an output it belongs to", "Add it first"))
            continue
        old = _held(connection, project_id, there[scores.name]) if scores.name in there else None
        try:
            merged.append(merge(old, scores, replace=scores.name in replace))
        except ImportProblems as error:
            problems += error.problems
    if problems:
        raise ImportProblems(problems)
    for found_scores in merged:
        if found_scores.changed:
            _write(connection, project_id, found_scores, ids)
    return sum(len(m.changed) for m in merged), sum(m.unchanged for m in merged)


def _write(connection: Connection, project_id: int, merged: Merged, ids: dict[OutputKey, int]) -> None:
    mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == merged.scores.name)
    facts = {
        "higher_is_better": merged.scores.higher_is_better,
        "files": [list(file) for file in merged.scores.files],
        "created": now(),
    }
    metric = connection.execute(select(external_metrics.c.id).where(*mine)).scalar()
    if metric is None:
        metric = inserted(
            connection, insert(external_metrics).values(project_id=project_id, name=merged.scores.name, **facts)
        )
    else:
        connection.execute(update(external_metrics).where(external_metrics.c.id == metric).values(facts))
        old = external_scores.c.metric == metric
        if len(merged.changed) == len(merged.scores.values):
            connection.execute(delete(external_scores).where(old))
        else:
            for part in parts([ids[key] for key in merged.changed]):
                connection.execute(delete(external_scores).where(old, external_scores.c.output.in_(part)))
    rows = [
        {"metric": metric, "output": ids[key], "value": v.value, "status": v.status, "reason": v.reason}
        for key, v in merged.changed.items()
    ]
    connection.execute(insert(external_scores), rows)


def listed(connection: Connection, project_id: int) -> list[ExternalMetric]:
    found = (
        select(external_metrics, func.count(external_scores.c.output).label("n"))
        .outerjoin(external_scores)
        .where(external_metrics.c.project_id == project_id)
        .group_by(external_metrics.c.id)
        .order_by(external_metrics.c.name)
    )
    return [
        ExternalMetric(
            row.name, row.higher_is_better, tuple(SourceFile(*file) for file in row.files), row.n, row.created
        )
        for row in connection.execute(found)
    ]


def table(
    connection: Connection, project_id: int, signature: str, segment: SegmentKey | None = None
) -> dict[OutputKey, Value]:
    """Return the values with an external signature in the order of the project, of one segment if given."""
    metric = next((m for m in listed(connection, project_id) if m.signature == signature), None)
    if metric is None:
        return {}
    found = (
        select_outputs(project_id, external_scores)
        .join(external_scores)
        .join(external_metrics)
        .where(external_metrics.c.project_id == project_id, external_metrics.c.name == metric.name)
        .order_by(segments.c.position, outputs.c.position)
    )
    if segment is not None:
        found = found.where(segments.c.doc_id == segment.doc_id, segments.c.segment_id == segment.segment_id)
    return {
        OutputKey(row.system, row.doc_id, row.segment_id): Value(row.value, row.status, row.reason)
        for row in connection.execute(found)
    }


def remove(connection: Connection, project_id: int, name: str) -> None:
    """Delete an external metric and its values. Raises `UserError` if the project has none with this name."""
    mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == name)
    if not connection.execute(delete(external_metrics).where(*mine)).rowcount:
        raise UserError(f"there is no external metric “{name}”", hint="It may have been removed already")


def _held(connection: Connection, project_id: int, metric: ExternalMetric) -> ExternalScores:
    values = table(connection, project_id, metric.signature)
    return ExternalScores(metric.name, metric.higher_is_better, metric.files, values)

"""External scores. They belong to the outputs of a project and stay when references change."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterator, Mapping, Sequence

from sqlalchemy import Connection, delete, func, insert, literal, select, update

from core.data import ExternalScores, OutputKey, SegmentKey, SourceFile, Value
from core.errors import ImportProblems, Problem, UserError
from core.formats.external import Merged, merge
from core.ports.scores import ExternalMetric
from db.columns import Json, now
from db.engine import inserted
from db.imports.slices import Hidden, OneTransaction
from db.lookup import parts, require_no_import, select_outputs
from db.scores.arrays import ArraySource, Found, ProjectArrays
from db.shown import outputs, segments
from db.tables import external_metrics, external_scores


def stored(connection: Connection, project_id: int, names: Collection[str]) -> dict[str, ExternalScores]:
    """Return the external scores of a project that have one of these names, by name."""
    return {
        m.name: ExternalScores(m.name, m.higher_is_better, m.files, table(connection, project_id, m.signature))
        for m in listed(connection, project_id)
        if m.name in names
    }


def planned(
    given: Sequence[ExternalScores],
    replace: Collection[str],
    keys: Container[OutputKey],
    before: Mapping[str, ExternalScores],
) -> list[Merged]:
    """Merge `given` into the scores `before`.

    Raises `ImportProblems` for another value or direction under the same name (unless the metric is in `replace`) and for
    unknown outputs. Raises ValueError for a value that contradicts its status.
    """
    merged, problems = list[Merged](), list[Problem]()
    for scores in given:
        for value in scores.values.values():
            if (value.value is not None) != (value.status == "ok") or not math.isfinite(value.value or 0.0):
                raise ValueError(f"a value of status {value.status!r} cannot be {value.value}")
        if strange := [key for key in scores.values if key not in keys]:
            place, found = f"metric “{scores.name}”", f"a score of {' / '.join(strange[0])}"
            problems.append(Problem(scores.files[0].name, 0, place, found, "an output it belongs to", "Add it first"))
            continue
        try:
            merged.append(merge(before.get(scores.name), scores, replace=scores.name in replace))
        except ImportProblems as error:
            problems += error.problems
    if problems:
        raise ImportProblems(problems)
    return merged


def write(
    writer: OneTransaction | Hidden, project_id: int, merged: Sequence[Merged], ids: Mapping[OutputKey, int]
) -> None:
    """Write what is new; `ids` are those of the outputs."""
    for of_metric in merged:
        if not of_metric.changed:
            continue
        with writer.writing() as connection:
            metric = _metric(connection, project_id, of_metric, ids)
        rows = (
            {"metric": metric, "output": ids[key], "value": v.value, "status": v.status, "reason": v.reason}
            for key, v in of_metric.changed.items()
        )
        writer.insert(external_scores, rows)


def _metric(connection: Connection, project_id: int, merged: Merged, ids: Mapping[OutputKey, int]) -> int:
    """Create or change the row of a metric, delete the values that are replaced, and return its id."""
    mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == merged.scores.name)
    facts = {
        "higher_is_better": merged.scores.higher_is_better,
        "files": [list(file) for file in merged.scores.files],
        "created": now(),
    }
    metric = connection.execute(select(external_metrics.c.id).where(*mine)).scalar()
    if metric is None:
        row = insert(external_metrics).values(project_id=project_id, name=merged.scores.name, **facts)
        return inserted(connection, row)
    connection.execute(update(external_metrics).where(external_metrics.c.id == metric).values(facts))
    old = external_scores.c.metric == metric
    if len(merged.changed) == len(merged.scores.values):
        connection.execute(delete(external_scores).where(old))
    else:
        for part in parts([ids[key] for key in merged.changed]):
            connection.execute(delete(external_scores).where(old, external_scores.c.output.in_(part)))
    return int(metric)


def listed(connection: Connection, project_id: int) -> list[ExternalMetric]:
    found = (
        select(external_metrics, func.count(external_scores.c.output).label("n"))
        .outerjoin(external_scores)
        .where(external_metrics.c.project_id == project_id)
        .group_by(external_metrics.c.id)
    )
    return [
        ExternalMetric(
            row.name, row.higher_is_better, tuple(SourceFile(*file) for file in row.files), row.n, row.created
        )
        for row in sorted(connection.execute(found), key=lambda row: row.name)  # servers sort by their own language
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


def source(arrays: ProjectArrays, project_id: int, metric: ExternalMetric) -> ArraySource:
    """Return where the column of an external metric comes from."""
    mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == metric.name)

    def changed(connection: Connection) -> int:
        created = connection.execute(select(external_metrics.c.created).where(*mine)).scalar()
        return 0 if created is None else round(created.timestamp() * 1e6)

    def values(connection: Connection, _: int) -> Iterator[Found]:
        of = external_scores.c
        found = select(of.output, of.value, of.status, of.reason, literal(None, Json))
        return arrays.by_id(connection, project_id, found.join_from(external_scores, external_metrics).where(*mine))

    return ArraySource(metric.signature, changed, values, grows=False)


def remove(connection: Connection, project_id: int, name: str) -> None:
    """Delete an external metric and its values. Raises `UserError` if the project has none with this name."""
    require_no_import(connection, project_id)
    mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == name)
    if not connection.execute(delete(external_metrics).where(*mine)).rowcount:
        raise UserError(f"there is no external metric “{name}”", hint="It may have been removed already")

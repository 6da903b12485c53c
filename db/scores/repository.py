"""The cache of metric values, by signature and content key.

What runs have stored since the arrays of a project were kept is matched with its content keys in memory, because neither outputs nor scores
have an index on them alone. Where runs have more scores than the project has outputs, times the signatures, the database looks up the outputs
under each signature.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, Text, delete, func, insert, literal, select, type_coerce

from core.columns import ScoreColumn, packed, unpacked
from core.data import OutputKey, SegmentKey, SourceFile, Value
from core.errors import UserError
from core.ports.scores import ExternalMetric, ScoredBy
from core.signature import EXTERNAL
from db.columns import Json, copy_rows, digest_of, now, to_json
from db.engine import Repository, inserted, reading, take_turns, writing
from db.failures import retried
from db.lookup import LISTED, among, outputs, parts, require_no_import, segments, select_outputs
from db.scores.arrays import AT_ONCE, FEW, ArraySource, Found, Kept, ProjectArrays, cut_keys, imports_of
from db.tables import claims, external_metrics, external_scores, runs, scores, signatures

VALUE = (scores.c.value, scores.c.status, scores.c.reason, scores.c.parts)
PACKAGES = ("torch", "transformers", "tokenizers", "sacrebleu", "rouge-score", "numpy", "scipy")
MANY = 2
"""Scores that are matched in memory in the time of one output and signature that the database looks up."""
SCORED = outputs.join(segments, segments.c.id == outputs.c.segment).join(
    scores, scores.c.content_key == outputs.c.content_key
)
_AFTER = scores.c.run + 0  # an expression, so that no database begins with the index on runs
_VALUE = (scores.c.value, scores.c.status, scores.c.reason, type_coerce(scores.c.parts, Text))
Counts = dict[str, tuple[int, str]]
"""The number of scored outputs and the time of the last run (ISO 8601), by the digest of a signature."""


class SqlScores(Repository):
    """`core.ports.scores.Scores` over a database."""

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        with reading(self._engine) as connection:
            signature_id = connection.execute(of_signature(signature)).scalar()
            if signature_id is None:
                return set()
            final = select(scores.c.content_key).where(scores.c.signature == signature_id, scores.c.status != "error")
            return {
                key
                for part in parts(list(keys), LISTED)
                for key in connection.execute(final.where(among(connection, scores.c.content_key, part))).scalars()
            }

    def values(self, signature: str, keys: Collection[str]) -> dict[str, Value]:
        mine = select(scores.c.content_key, *VALUE).where(
            scores.c.signature == of_signature(signature).scalar_subquery()
        )
        with reading(self._engine) as connection:
            return {
                key: Value(*value)
                for part in parts(list(keys), LISTED)
                for key, *value in connection.execute(mine.where(among(connection, scores.c.content_key, part)))
            }

    @retried
    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        """Store new values in one transaction; a stored "error" is replaced, any other value stays.

        Raises ValueError for a value that contradicts its status or is not finite; nothing is stored then.
        """
        for value in values.values():
            _check(value)
        if not values:
            return
        with writing(self._engine) as connection:
            signature_id = _signature(connection, metric, signature)
            mine = scores.c.signature == signature_id
            written: set[str] = set()
            for part in parts(list(values), LISTED):
                some = among(connection, scores.c.content_key, part)
                connection.execute(delete(scores).where(mine, some, scores.c.status == "error"))
                written.update(connection.execute(select(scores.c.content_key).where(mine, some)).scalars())
                done = among(connection, claims.c.content_key, part)
                connection.execute(delete(claims).where(claims.c.digest == digest_of(signature), done))
            new = {key: value for key, value in values.items() if key not in written}
            if not new:
                return
            take_turns(connection, "runs")  # ids become visible in their order, so that `newest` never misses one
            run = insert(runs).values(
                signature=signature_id, created=now(), n=len(new), seconds=seconds, machine=machine()
            )
            run_id = inserted(connection, run)
            copy_rows(
                connection,
                scores,
                [
                    {
                        "signature": signature_id,
                        "content_key": key,
                        "run": run_id,
                        "value": v.value,
                        "status": v.status,
                        "reason": v.reason,
                        "parts": dict(v.parts),
                        "detail": None if v.detail is None else zlib.compress(to_json(dict(v.detail)).encode("ascii")),
                    }
                    for key, v in new.items()
                ],
            )

    def newest(self) -> int:
        return int(self._scalar(select(func.max(runs.c.id))) or 0)

    def signatures(self, project_id: int) -> list[ScoredBy]:
        """Return the metrics with scores in the project, external ones included, newest last; errors do not count."""
        counts = self._counts(project_id)
        with reading(self._engine) as connection:
            ours = [
                ScoredBy(
                    row.metric, row.signature, counts[row.digest][0], datetime.fromisoformat(counts[row.digest][1])
                )
                for row in connection.execute(select(signatures).order_by(signatures.c.id))
                if row.digest in counts
            ]
            of_external = [m.scored_by for m in external_metrics_of(connection, project_id)]
        return sorted([*ours, *of_external], key=lambda by: by.newest)

    def _counts(self, project_id: int) -> Counts:
        """Return the numbers of scored outputs, counted on from the last time."""
        arrays, name = ProjectArrays.of(self._engine), "counts"
        with reading(self._engine) as connection:
            imports = imports_of(connection, project_id)
            newest = connection.execute(select(func.max(runs.c.id))).scalar() or 0
            kept = arrays.kept(connection, project_id, name, imports, lambda data: unpacked(data)[0])
            counts: Counts = {} if kept is None else dict(kept.value)
            after = 0 if kept is None else kept.newest
            if after == newest:
                return counts
            new_counts = list(_new_counts(arrays, connection, project_id, after, newest))
        for row in new_counts:
            n, last = counts.get(row.digest, (0, ""))
            counts[row.digest] = n + row.n, max(last, row.newest.isoformat())
        arrays.hold(project_id, name, Kept(imports, newest, counts))
        if sum(row.n for row in new_counts) > FEW or (kept is None and arrays.index(project_id).n_outputs > FEW):
            arrays.keep(project_id, name, Kept(imports, newest, packed(counts, {})))
        return counts

    def column(self, project_id: int, signature: str) -> ScoreColumn:
        arrays = ProjectArrays.of(self._engine)
        if is_external(signature):
            metric = next((m for m in self.external(project_id) if m.signature == signature), None)
            if metric is None:
                return ScoreColumn.empty(arrays.index(project_id))
            return arrays.column(project_id, _external_source(arrays, project_id, metric))
        own = of_signature(signature).scalar_subquery()

        def newest(connection: Connection) -> int:
            return connection.execute(select(func.max(runs.c.id)).where(runs.c.signature == own)).scalar() or 0

        def changes(connection: Connection, after: int) -> Iterator[Found]:
            return _new_values(arrays, connection, project_id, own, after)

        return arrays.column(project_id, ArraySource(signature, newest, changes))

    def detail(self, project_id: int, signature: str, segment: SegmentKey) -> dict[str, Value]:
        with reading(self._engine) as connection:
            query = scored(connection, project_id, signature, *VALUE, scores.c.detail).where(
                segments.c.doc_id == segment.doc_id, segments.c.segment_id == segment.segment_id
            )
            return {
                system: Value(*value[:4], *map(_inflated, value[4:]))
                for system, _, _, *value in connection.execute(query.order_by(outputs.c.position))
            }

    def details(self, project_id: int, signature: str) -> Iterator[tuple[OutputKey, Value]]:
        if is_external(signature):  # they have none
            return
        with reading(self._engine) as connection:
            query = scored(connection, project_id, signature, *_VALUE, scores.c.detail)
            in_order = query.where(scores.c.detail.is_not(None)).order_by(segments.c.position, outputs.c.position)
            for rows in connection.execution_options(yield_per=AT_ONCE).execute(in_order).partitions():
                parsed = json.loads(b"[%b]" % b",".join(zlib.decompress(row.detail) for row in rows))
                for row, v, detail in zip(rows, _with_parts([row[3:7] for row in rows]), parsed, strict=True):
                    yield OutputKey(*row[:3]), Value(v[0], v[1], v[2], v[3], detail)

    def external(self, project_id: int) -> list[ExternalMetric]:
        with reading(self._engine) as connection:
            return external_metrics_of(connection, project_id)

    def remove_external(self, project_id: int, name: str) -> None:
        """Delete an external metric and its values in this project."""
        mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == name)
        with writing(self._engine) as connection:
            require_no_import(connection, project_id)
            if not connection.execute(delete(external_metrics).where(*mine)).rowcount:
                raise UserError(f"there is no external metric “{name}”", hint="It may have been removed already")


def scored(connection: Connection, project_id: int, signature: str, *columns: Any) -> Select[Any]:
    """Select `columns` of the scores of a project's outputs under a signature, after the key of the output.

    Those of an external signature have value, status and reason only. They belong to the outputs of a project and stay when references change.
    """
    if is_external(signature):
        name = next((m.name for m in external_metrics_of(connection, project_id) if m.signature == signature), None)
        query = select_outputs(project_id, external_scores.c.value, external_scores.c.status, external_scores.c.reason)
        mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == name)
        return query.join(external_scores).join(external_metrics).where(*mine)
    query = select_outputs(project_id, *columns).join(scores, scores.c.content_key == outputs.c.content_key)
    return query.where(scores.c.signature == of_signature(signature).scalar_subquery())


def external_metrics_of(connection: Connection, project_id: int) -> list[ExternalMetric]:
    """Return the external metrics of a project by name."""
    query = (
        select(external_metrics, func.count(external_scores.c.output).label("n"))
        .outerjoin(external_scores)
        .where(external_metrics.c.project_id == project_id)
        .group_by(external_metrics.c.id)
    )
    return [
        ExternalMetric(
            row.name, row.higher_is_better, tuple(SourceFile(*file) for file in row.files), row.n, row.created
        )
        for row in sorted(connection.execute(query), key=lambda row: row.name)  # servers sort by their own language
    ]


def _external_source(arrays: ProjectArrays, project_id: int, metric: ExternalMetric) -> ArraySource:
    """Return where the column of an external metric comes from."""
    mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == metric.name)

    def changed(connection: Connection) -> int:
        created = connection.execute(select(external_metrics.c.created).where(*mine)).scalar()
        return 0 if created is None else round(created.timestamp() * 1e6)

    def values(connection: Connection, _: int) -> Iterator[Found]:
        of = external_scores.c
        query = select(of.output, of.value, of.status, of.reason, literal(None, Json))
        return arrays.by_id(connection, project_id, query.join_from(external_scores, external_metrics).where(*mine))

    return ArraySource(metric.signature, changed, values, grows=False)


def is_external(signature: str) -> bool:
    return signature.startswith(f"{EXTERNAL}|")


def _inflated(detail: bytes | None) -> dict[str, Any] | None:
    return None if detail is None else json.loads(zlib.decompress(detail))


def _check(value: Value) -> None:
    if (value.value is not None) != (value.status == "ok"):
        raise ValueError(f"a value of status {value.status!r} cannot be {value.value}")
    if not all(math.isfinite(number) for number in (value.value or 0.0, *value.parts.values())):
        raise ValueError("a value or a part of it is not finite; its status must say so instead")


def of_signature(signature: str) -> Any:
    return select(signatures.c.id).where(signatures.c.digest == digest_of(signature))


def _signature(connection: Connection, metric: str, signature: str) -> int:
    row = connection.execute(select(signatures).where(signatures.c.digest == digest_of(signature))).first()
    if row is None:
        made = insert(signatures).values(metric=metric, signature=signature, digest=digest_of(signature))
        return inserted(connection, made)
    if row.metric != metric:
        raise ValueError(f"the signature {signature!r} belongs to {row.metric!r}, not to {metric!r}")
    return int(row.id)


@cache
def machine() -> dict[str, str]:
    """Return processor, operating system and package versions, which are stored with computed values."""
    facts = {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": str(os.cpu_count()),
        "python": sys.version.split()[0],
    }
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    return facts


class _Scored(NamedTuple):
    """Scored outputs of a project under a signature; `newest` is the time of the last run."""

    digest: str
    n: int
    newest: Any


def _new_values(
    arrays: ProjectArrays, connection: Connection, project_id: int, signature: Any, after: int
) -> Iterator[Found]:
    """Yield what was stored under a signature (a subquery for its id)."""
    new = connection.execute(select(runs.c.id, runs.c.n).where(runs.c.signature == signature, runs.c.id > after)).all()
    places = arrays.places(connection, project_id, "keys")
    if sum(run.n for run in new) > MANY * len(places.at):
        joined = select(outputs.c.id, *_VALUE).select_from(SCORED).where(scores.c.signature == signature)
        mine = joined.where(segments.c.project_id == project_id, _AFTER > after)
        for at, values in arrays.by_id(connection, project_id, mine):
            yield at, _with_parts(values)
        return
    for rows in _of_runs(connection, [run.id for run in new], select(scores.c.content_key, *_VALUE)):
        at, which = places.find(cut_keys([row.content_key for row in rows]))
        complete = _with_parts([row[1:] for row in rows])
        yield at, [complete[i] for i in which.tolist()]


def _new_counts(
    arrays: ProjectArrays, connection: Connection, project_id: int, after: int, newest: int
) -> Iterator[_Scored]:
    """Yield how many outputs have a value that is not an error, stored in the runs after one up to another."""
    of = select(runs.c.id, runs.c.n, runs.c.signature, runs.c.created, signatures.c.digest).join(signatures)
    new = connection.execute(of.where(runs.c.id > after, runs.c.id <= newest)).all()
    places = arrays.places(connection, project_id, "keys")
    signed = {run.signature for run in new}
    if sum(run.n for run in new) > MANY * len(places.at) * len(signed):
        yield from (_Scored(*row) for row in connection.execute(_counting(project_id, signed, after, newest)))
        return
    by_id = {run.id: run for run in new}
    right = select(scores.c.content_key, scores.c.run).where(scores.c.status != "error")
    for rows in _of_runs(connection, list(by_id), right):
        _, which = places.find(cut_keys([row.content_key for row in rows]))
        run_of = [row.run for row in rows]
        for run, n in Counter([run_of[i] for i in which.tolist()]).items():
            yield _Scored(by_id[run].digest, n, by_id[run].created)


def _of_runs(connection: Connection, which: Sequence[int], of: Select[Any]) -> Iterator[Sequence[Row[Any]]]:
    for part in parts(which):
        rows = connection.execution_options(yield_per=AT_ONCE).execute(of.where(scores.c.run.in_(part)))
        yield from rows.partitions()


def _with_parts(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return rows with their parts parsed, in a third of the time that one after the other takes."""
    parsed = json.loads(f"[{','.join(row[3] for row in rows)}]")
    return [(*row[:3], one) for row, one in zip(rows, parsed, strict=True)]


def _counting(project_id: int, signed: Collection[int], after: int, newest: int) -> Select[Any]:
    return (
        select(signatures.c.digest, func.count().label("n"), func.max(runs.c.created).label("newest"))
        .select_from(SCORED)
        .join(signatures, signatures.c.id == scores.c.signature)
        .join(runs, runs.c.id == scores.c.run)
        .where(segments.c.project_id == project_id, scores.c.status != "error", scores.c.signature.in_(signed))
        .where(_AFTER > after, _AFTER <= newest)
        .group_by(signatures.c.digest)
    )

"""The scores of a project that were stored after a run.

What runs stored is matched with the content keys of the project in memory, because neither outputs nor scores have an index on them alone.
Where runs have more scores than the project has outputs, times the signatures, the database looks up the outputs under each signature.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, Text, func, select, type_coerce

from db.arrays import Found, ProjectArrays
from db.lookup import parts
from db.places import AT_ONCE, cut_keys
from db.shown import outputs, segments
from db.tables import runs, scores, signatures

MANY = 2
"""Scores that are matched in memory in the time of one output and signature that the database looks up."""
SCORED = outputs.join(segments, segments.c.id == outputs.c.segment).join(
    scores, scores.c.content_key == outputs.c.content_key
)
_AFTER = scores.c.run + 0  # an expression, so that no database begins with the index on runs
_VALUE = (scores.c.value, scores.c.status, scores.c.reason, type_coerce(scores.c.parts, Text))


class _Scored(NamedTuple):
    """Scored outputs of a project under a signature; `newest` is the time of the last run."""

    digest: str
    n: int
    newest: Any


def values(
    arrays: ProjectArrays, connection: Connection, project_id: int, signature: Any, after: int
) -> Iterator[Found]:
    """Yield what was stored under a signature (a subquery for its id)."""
    new = connection.execute(select(runs.c.id, runs.c.n).where(runs.c.signature == signature, runs.c.id > after)).all()
    places = arrays.places(connection, project_id, "keys")
    if sum(run.n for run in new) > MANY * len(places.at):
        joined = select(outputs.c.id, *_VALUE).select_from(SCORED).where(scores.c.signature == signature)
        mine = joined.where(segments.c.project_id == project_id, _AFTER > after)
        for at, found in arrays.by_id(connection, project_id, mine):
            yield at, _with_parts(found)
        return
    for rows in _of_runs(connection, [run.id for run in new], select(scores.c.content_key, *_VALUE)):
        at, which = places.find(cut_keys([row.content_key for row in rows]))
        given = _with_parts([row[1:] for row in rows])
        yield at, [given[i] for i in which.tolist()]


def counts(
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
        found = connection.execution_options(yield_per=AT_ONCE).execute(of.where(scores.c.run.in_(part)))
        yield from found.partitions()


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

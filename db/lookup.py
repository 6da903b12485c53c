"""Lookups and views of tables that several repositories share.

Rows are written through `db.tables`. A value that an import adds has the id of the import's hidden project in a column `…_by`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    String,
    Subquery,
    Table,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    insert,
    or_,
    select,
)
from sqlalchemy.types import NullType, TypeEngine

from core.data import OutputKey, SegmentKey
from core.errors import UserError
from db import tables
from db.columns import now
from db.engine import inserted, take_turns
from db.tables import campaigns, projects, raters

_HIDDEN = tables.projects.alias("incomplete_imports")
_INCOMPLETE = select(_HIDDEN.c.id).where(_HIDDEN.c.adds_to.is_not(None)).correlate(None)


def complete(by: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that no import, or a complete one, is named by a column."""
    return or_(by.is_(None), by.not_in(_INCOMPLETE))


def _shown(table: Table, **columns: ColumnElement[Any]) -> Subquery:
    named = {column.name: column for column in table.c if not column.name.startswith("next_")} | columns
    shown = [column.label(name) for name, column in named.items() if not name.endswith("_by")]
    return select(*shown).where(complete(table.c.added_by)).subquery(table.name)


_new_key = and_(tables.outputs.c.next_key.is_not(None), complete(tables.outputs.c.next_key_by))
content_key: ColumnElement[str] = case((_new_key, tables.outputs.c.next_key), else_=tables.outputs.c.content_key)
"""Of a row of `db.tables.outputs`."""
segments = _shown(tables.segments, source=case((complete(tables.segments.c.source_by), tables.segments.c.source)))
segment_references = _shown(tables.segment_references)
outputs = _shown(tables.outputs, content_key=content_key)
human_scores = _shown(tables.human_scores)
events = _shown(tables.events)
judgements = _shown(tables.judgements)


T = TypeVar("T")
HIDDEN_NAME = " "
"""First character of the name of a campaign's texts project. Names that are typed do not begin with a space."""
AT_ONCE = 500  # keys in one IN list; both databases bound the number of parameters
LISTED = 5000  # keys of one `among`


def require_project(connection: Connection, project_id: int, *, lock: bool = False) -> None:
    """Raise `UserError` if there is no such project, or it is hidden.

    `lock` keeps its row until the transaction ends; rows that refer to it may still be inserted. A transaction that writes labels too takes its
    turn in the log first (`take_turns_in_log`), as those that save labels do.
    """
    query = select(projects.c.name, projects.c.importing).where(projects.c.id == project_id)
    row = connection.execute(query.with_for_update(key_share=True) if lock else query).first()
    if row is None:
        raise no_such_project(project_id)
    if row.importing is not None:
        raise hidden_project(row.name)


def take_turns_in_log(connection: Connection, project_id: int) -> None:
    """Let one transaction at a time record or show events of a project: their numbers become visible in order, so that no reader misses one.

    It comes before the first row that the transaction locks; with another order, two transactions could wait for each other.
    """
    take_turns(connection, f"events {project_id}")


def require_no_import(connection: Connection, project_id: int) -> None:
    """Raise `UserError` while somebody adds to a project in slices (`db.imports.slices`), because a second import would not see what is hidden."""
    if connection.execute(select(projects.c.id).where(projects.c.adds_to == project_id)).first() is None:
        return
    name = connection.execute(select(projects.c.name).where(projects.c.id == project_id)).scalar()
    hint = "Try again when that is done; after a crash, in a minute"
    raise UserError(f"another import into the project “{name}” is running", hint=hint)


def no_such_project(project_id: int) -> UserError:
    return UserError("there is no such project", got=str(project_id), hint="It may have been deleted; choose another")


def hidden_project(name: str) -> UserError:
    hint = "Try again when that is done; after a crash, in a minute"
    if name.startswith(HIDDEN_NAME):
        return UserError("the campaign is being created or deleted", hint=hint)
    return UserError(f"the project “{name}” is being imported or deleted", hint=hint)


def with_roles(connection: Connection, project_id: int) -> int:
    """Return the project whose roles hold for a project: that of the campaign whose texts it has, or itself."""
    of_campaign = select(campaigns.c.project_id).where(campaigns.c.texts == project_id)
    return connection.execute(of_campaign).scalar() or project_id


def rater_id(connection: Connection, name: str) -> int:
    """Return the id of a rater, who is made on first use; the row cannot be deleted before the transaction ends."""
    mine = select(raters.c.id).where(raters.c.name == name).with_for_update(read=True, key_share=True)
    existing = connection.execute(mine).scalar()
    if existing is None:
        return inserted(connection, insert(raters).values(name=name, created=now()))
    return int(existing)


def select_outputs(project_id: int, *columns: Any) -> Select[Any]:
    """Select the key of every output of a project (system, doc_id, segment_id), then `columns`."""
    key = (outputs.c.system, segments.c.doc_id, segments.c.segment_id)
    return select(*key, *columns).join_from(outputs, segments).where(segments.c.project_id == project_id)


def output_ids(connection: Connection, project_id: int) -> dict[OutputKey, int]:
    rows = connection.execute(select_outputs(project_id, outputs.c.id))
    return {OutputKey(system, doc_id, segment_id): i for system, doc_id, segment_id, i in rows}


def references(connection: Connection, which: ColumnElement[bool]) -> dict[int, list[str]]:
    """Return the reference texts of some segments of a project by the id of their segment."""
    return grouped(
        connection,
        select(segment_references.c.segment, segment_references.c.text)
        .join_from(segment_references, segments)
        .where(which)
        .order_by(segment_references.c.segment, segment_references.c.position),
    )


def grouped(connection: Connection, pairs: Select[Any]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = defaultdict(list)
    for key, value in connection.execute(pairs):
        groups[key].append(value)
    return groups


def parts(keys: Sequence[T], at_once: int = AT_ONCE) -> Iterator[Sequence[T]]:
    """Yield the keys in parts, by default those that fit into one IN list."""
    for start in range(0, len(keys), at_once):
        yield keys[start : start + at_once]


def among(connection: Connection, column: ColumnElement[Any], keys: Sequence[str | int]) -> ColumnElement[bool]:
    """Return the condition that a column has one of the keys.

    All of them are one parameter: compiling one parameter per key takes longer than looking up the rows.
    """
    if connection.dialect.name == "sqlite":
        listed = func.json_each(json.dumps(list(keys))).table_valued("value")
        return column.in_(select(listed.c.value))
    kind = Text() if isinstance(column.type, String) else column.type
    # unnest, because a cached plan may compare every row with every element of = ANY
    return column.in_(select(func.unnest(_array(keys, kind))))


def segment_ids(
    connection: Connection, project_id: int, keys: Iterable[SegmentKey], of: FromClause = segments
) -> dict[SegmentKey, int]:
    """Return the ids of these segments in document order; those that do not exist are left out. The keys are one parameter, on PostgreSQL two.

    `of` is `db.tables.segments` for segments of an import that is not complete, too.
    """
    distinct_keys = list(dict.fromkeys(keys))
    if connection.dialect.name == "sqlite":
        listed = func.json_each(json.dumps(distinct_keys)).table_valued("value")
        pair: list[ColumnElement[Any]] = [func.json_extract(listed.c.value, f"$[{at}]") for at in (0, 1)]
    else:
        arrays = (_array([key[at] for key in distinct_keys], Text()) for at in (0, 1))
        listed = func.unnest(*arrays).table_valued("doc_id", "segment_id").render_derived()
        pair = [listed.c.doc_id, listed.c.segment_id]
    # an outer join makes SQLite start from the pairs and look up each one in the index
    same = and_(of.c.project_id == project_id, of.c.doc_id == pair[0], of.c.segment_id == pair[1])
    columns = (of.c.position, of.c.id, of.c.doc_id, of.c.segment_id)
    rows = connection.execute(select(*columns).select_from(listed.outerjoin(of, same)))
    return {SegmentKey(doc, name): i for _, i, doc, name in sorted(tuple(row) for row in rows if row.id is not None)}


def _array(keys: Sequence[str | int], kind: TypeEngine[Any]) -> ColumnElement[Any]:
    quoted = (str(key).replace("\\", "\\\\").replace('"', '\\"') for key in keys)
    array = '{"' + '","'.join(quoted) + '"}' if keys else "{}"
    return cast(bindparam(None, array, NullType), ARRAY(kind))

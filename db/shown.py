"""The tables of texts, scores and labels as everybody reads them: without what an import that is not complete has added (`db.imports.slices`).

Rows are written through `db.tables`. A value that an import adds has the id of the import's hidden project in a column `…_by`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Subquery, Table, and_, case, or_, select

from db import tables

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

"""Texts of some segments of a project, and the search for a phrase in all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, LargeBinary, Select, case, cast, collate, false, func, select, true

from core.data import Dataset, Output, Segment, SegmentKey
from core.text.fold import fold
from db.lookup import among, parts, segment_rows
from db.shown import outputs, segment_references, segments

AT_ONCE = 5000
LONGEST_PATTERN = 1000


def read_texts(
    connection: Connection, project_id: int, keys: Sequence[SegmentKey], systems: Collection[str] | None = None
) -> Dataset:
    """Return the texts of these segments in document order, without human scores: all outputs, or those of `systems`."""
    found = segment_rows(connection, project_id, keys)
    references: dict[int, list[str]] = {}
    written: dict[int, list[tuple[str, str]]] = {}
    for ids in parts([row.id for row in found]):
        wanted = select(segment_references).where(segment_references.c.segment.in_(ids))
        for row in connection.execute(wanted.order_by(segment_references.c.segment, segment_references.c.position)):
            references.setdefault(row.segment, []).append(row.text)
        if systems is not None and not systems:
            continue
        texts = select(outputs.c.segment, outputs.c.system, outputs.c.text).where(outputs.c.segment.in_(ids))
        if systems is not None:
            texts = texts.where(among(connection, outputs.c.system, sorted(systems)))
        for row in connection.execute(texts.order_by(outputs.c.position)):
            written.setdefault(row.segment, []).append((row.system, row.text))
    return Dataset(
        tuple(Segment(row.doc_id, row.segment_id, row.source, tuple(references.get(row.id, ()))) for row in found),
        tuple(
            Output(system, row.doc_id, row.segment_id, text)
            for row in found
            for system, text in written.get(row.id, ())
        ),
    )


def matching_segments(connection: Connection, project_id: int, phrase: str) -> list[SegmentKey]:
    """Return the segments with the phrase in a text or name, in document order."""
    wanted, here = fold(phrase), segments.c.project_id == project_id
    of = segments.c
    every: list[Select[Any]] = [
        select(of.id, of.source).where(here, of.source.is_not(None)),
        select(of.id, of.doc_id).where(here),
        select(of.id, of.segment_id).where(here),
        select(of.id, segment_references.c.text).join_from(segments, segment_references).where(here),
        select(of.id, outputs.c.text).join_from(segments, outputs).where(here),
    ]
    found: set[int] = set()
    for query in every:
        narrowed = query.where(_may_match(connection.dialect.name, query.selected_columns[1], wanted))
        for rows in connection.execution_options(yield_per=AT_ONCE).execute(narrowed).partitions():
            found.update(i for i, shown in rows if wanted in fold(shown))
    keys = connection.execute(select(of.id, of.doc_id, of.segment_id).where(here).order_by(of.position))
    return [SegmentKey(doc_id, segment_id) for i, doc_id, segment_id in keys if i in found]


def _may_match(dialect: str, text: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    """Return a condition that every text with the phrase fulfils. For ASCII texts, `fold` makes letters lower-case."""
    if dialect == "sqlite":
        others = func.length(text) != func.length(cast(text, LargeBinary))
        like = text.contains(
            wanted[:LONGEST_PATTERN], autoescape=True
        )  # SQLite's LIKE ignores the case of ASCII letters
        return case((like, true()), (others, func.instr(func.folded(text), wanted) > 0), else_=false())
    is_ascii = func.octet_length(text) == func.length(text)
    return case((is_ascii, func.strpos(func.lower(collate(text, "C")), wanted) > 0), else_=true())

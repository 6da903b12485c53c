"""The rows that a part of an import adds to the tables, as values that a text file can keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Connection, Select, Table, bindparam, insert, select, tuple_, update

from core.data import OutputKey, SegmentKey, Value
from db.columns import insert_columns
from db.imports.metric_merge import MetricMerge
from db.imports.plan import TextPlan
from db.imports.slices import Step
from db.lookup import content_key, parts
from db.tables import human_scores, outputs, segment_references, segments

Change = tuple[Value, bool]
"""An external score, and whether it is new."""


class PartRows(NamedTuple):
    """New rows. Those that are stored have their ids in `segment_ids` and `output_ids`; keys are written out in each row."""

    segment_ids: list[Any]  # document, segment, id
    output_ids: list[Any]  # system, document, segment, id; where there are scores only
    segments: list[Any]  # document, segment, position, source
    sources: list[Any]  # id, source
    references: list[Any]  # document, segment, position, text
    rekeyed: list[Any]  # id, content key
    outputs: list[Any]  # document, segment, system, position, text, content key
    scores: list[Any]  # system, document, segment, name, value
    external: list[Any]  # per metric: system, document, segment, value, status, reason, is new

    @classmethod
    def of(cls, plan: TextPlan, changes: Sequence[Mapping[OutputKey, Change]]) -> PartRows:
        """Return the rows of a plan, and the external scores of each metric."""
        texts = plan.texts
        scored = plan.new_scores or any(changes)
        return cls(
            [[*key, i] for key, i in texts.segment_ids.items()],
            [[*key, i] for key, i in texts.output_ids.items()] if scored else [],
            [[*key, texts.next_segment + i, texts.segments[key].source] for i, key in enumerate(plan.new_segments)],
            [[texts.segment_ids[k], texts.segments[k].source] for k in plan.new_sources if k in texts.segment_ids],
            [
                [*key, len(texts.segments[key].references) - len(new) + i, text]
                for key, new in plan.new_references.items()
                for i, text in enumerate(new)
            ],
            [[texts.output_ids[key], plan.content_key(key)] for key in plan.rekeyed],
            [
                (key[1], key[2], key[0], texts.next_output + i, texts.outputs[key], plan.content_key(key))
                for i, key in enumerate(plan.new_outputs)
            ],
            [[*key, name, texts.scores[key, name]] for key, name in plan.new_scores],
            [[[*key, v.value, v.status, v.reason, new] for key, (v, new) in of.items()] for of in changes],
        )

    def to_json(self) -> str:
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> PartRows:
        return cls(*json.loads(text))

    @property
    def n(self) -> int:
        """How many rows are written."""
        return sum(map(len, (*self[2:-1], *self.external)))

    def steps(self, project_id: int, merges: Sequence[MetricMerge], by: int | None) -> Iterator[Step]:
        """Yield the statements that insert and update the rows, in an order in which each finds the rows that it refers to.

        `by` is what the new values name if they are hidden until the import is complete (`db.lookup`).
        """
        of_segment = {(doc, name): i for doc, name, i in self.segment_ids}
        of_output = {(system, of_segment[doc, name]): i for system, doc, name, i in self.output_ids}

        def add_segments(connection: Connection, rows: Sequence[Any]) -> None:
            new_rows = [
                {"project_id": project_id, "doc_id": doc, "segment_id": name, "position": at, "source": source, "added_by": by}
                for doc, name, at, source in rows
            ]  # fmt: skip
            made = insert(segments).returning(segments.c.doc_id, segments.c.segment_id, segments.c.id)
            of_segment.update({(doc, name): i for doc, name, i in connection.execute(made, new_rows)})

        def ids(docs: Sequence[str], names: Sequence[str]) -> list[int]:
            return list(map(of_segment.__getitem__, zip(docs, names, strict=True)))

        def add_references(connection: Connection, rows: Sequence[Any]) -> None:
            doc, name, at, text = zip(*rows, strict=True)
            new = {"segment": ids(doc, name), "position": at, "text": text, "added_by": [by] * len(rows)}
            insert_columns(connection, segment_references, new)

        def add_outputs(connection: Connection, rows: Sequence[Any]) -> None:
            doc, name, system, at, text, key = zip(*rows, strict=True)
            of, names = ids(doc, name), [by] * len(rows)
            new = {"segment": of, "system": system, "position": at, "text": text, "content_key": key, "added_by": names}
            insert_columns(connection, outputs, new)
            if self.scores or any(self.external):
                of_output.update(_stored_outputs(connection, set(of)))

        def add_scores(connection: Connection, rows: Sequence[Any]) -> None:
            system, doc, name, scale, value = zip(*rows, strict=True)
            of = list(map(of_output.__getitem__, zip(system, ids(doc, name), strict=True)))
            insert_columns(
                connection, human_scores, {"output": of, "name": scale, "value": value, "added_by": [by] * len(rows)}
            )

        def set_sources(connection: Connection, rows: Sequence[Any]) -> None:
            _update(connection, segments, {"source": _GIVEN, "source_by": by}, rows)

        def set_keys(connection: Connection, rows: Sequence[Any]) -> None:
            new = {"content_key": _GIVEN, "next_key": None, "next_key_by": None}
            hidden = {"content_key": content_key, "next_key": _GIVEN, "next_key_by": by}
            _update(connection, outputs, new if by is None else hidden, rows)

        yield from _in_parts(self.segments, add_segments)
        yield from _in_parts(self.sources, set_sources)
        yield from _in_parts(self.rekeyed, set_keys)
        yield from _in_parts(self.references, add_references)
        yield from _in_parts(self.outputs, add_outputs)
        yield from _in_parts(self.scores, add_scores)
        for merge, values in zip(merges, self.external, strict=True):

            def add_values(connection: Connection, rows: Sequence[Any], merge: MetricMerge = merge) -> None:
                merge.write(
                    connection, [(of_output[system, of_segment[doc, name]], *v) for system, doc, name, *v in rows]
                )

            yield from _in_parts(values, add_values)


_GIVEN: BindParameter[Any] = bindparam("b_value")


def _in_parts(rows: Sequence[Any], write: Callable[..., object]) -> Iterator[Step]:
    for part in parts(rows):
        yield Step(len(part), partial(write, rows=part))


def _stored_outputs(connection: Connection, of: Collection[int]) -> dict[tuple[str, int], int]:
    query = select(outputs.c.system, outputs.c.segment, outputs.c.id)
    return {
        (system, segment): i
        for part in parts(list(of))
        for system, segment, i in connection.execute(query.where(outputs.c.segment.in_(part)))
    }


def segment_ids(connection: Connection, project_id: int, keys: Collection[SegmentKey]) -> dict[SegmentKey, int]:
    """Return the ids of segments, also of those that an import has added that is not complete."""
    rows = _of_segments(connection, project_id, select(segments.c.id), keys)
    return {SegmentKey(doc, name): i for doc, name, i in rows}


def output_ids(connection: Connection, project_id: int, keys: Collection[OutputKey]) -> dict[OutputKey, int]:
    """Return the ids of the outputs of some segments, as `segment_ids` does."""
    query = select(outputs.c.system, outputs.c.id).join_from(outputs, segments)
    rows = _of_segments(connection, project_id, query, {key.segment for key in keys})
    return {OutputKey(system, doc, name): i for doc, name, system, i in rows}


def _of_segments(
    connection: Connection, project_id: int, query: Select[Any], keys: Collection[SegmentKey]
) -> Iterator[Any]:
    key = segments.c.doc_id, segments.c.segment_id
    mine = query.with_only_columns(*key, *query.selected_columns).where(segments.c.project_id == project_id)
    for part in parts(list(keys)):
        yield from connection.execute(mine.where(tuple_(*key).in_(part)))


def _update(connection: Connection, table: Table, values: Mapping[str, Any], rows: Sequence[Any]) -> None:
    changed = update(table).where(table.c.id == bindparam("b_id")).values(values)
    connection.execute(changed, [{"b_id": i, "b_value": value} for i, value in rows])

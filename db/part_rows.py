"""The rows that a part of an import adds to the tables, as values that a text file can keep."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from core.data import OutputKey, Value
from db.import_plan import TextPlan
from db.lookup import parts
from db.metric_merge import MetricMerge
from db.row_insert import insert_columns
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

    def write(self, connection: Connection, project_id: int, merges: Sequence[MetricMerge]) -> None:
        """Insert and update the rows in the caller's transaction."""
        of_segment = {(doc, name): i for doc, name, i in self.segment_ids}
        if self.segments:
            given = [
                {"project_id": project_id, "doc_id": doc, "segment_id": name, "position": at, "source": source}
                for doc, name, at, source in self.segments
            ]
            made = insert(segments).returning(segments.c.doc_id, segments.c.segment_id, segments.c.id)
            of_segment |= {(doc, name): i for doc, name, i in connection.execute(made, given)}
        _update(connection, segments, "source", self.sources)
        _update(connection, outputs, "content_key", self.rekeyed)
        if self.references:
            doc, name, at, text = zip(*self.references, strict=True)
            ids = list(map(of_segment.__getitem__, zip(doc, name, strict=True)))
            insert_columns(connection, segment_references, {"segment": ids, "position": at, "text": text})
        scored = bool(self.scores or any(self.external))
        of_output = {(system, of_segment[doc, name]): i for system, doc, name, i in self.output_ids}
        if self.outputs:
            doc, name, system, at, text, key = zip(*self.outputs, strict=True)
            ids = list(map(of_segment.__getitem__, zip(doc, name, strict=True)))
            new = {"segment": ids, "system": system, "position": at, "text": text, "content_key": key}
            insert_columns(connection, outputs, new)
            if scored:
                of_output |= _stored_outputs(connection, set(ids))
        if self.scores:
            system, doc, name, scale, value = zip(*self.scores, strict=True)
            places = zip(system, map(of_segment.__getitem__, zip(doc, name, strict=True)), strict=True)
            numbers = {"output": list(map(of_output.__getitem__, places)), "name": scale, "value": value}
            insert_columns(connection, human_scores, numbers)
        for merge, values in zip(merges, self.external, strict=True):
            found = [(of_output[system, of_segment[doc, name]], *rest) for system, doc, name, *rest in values]
            merge.write(connection, found)


def _stored_outputs(connection: Connection, of: Collection[int]) -> dict[tuple[str, int], int]:
    found = select(outputs.c.system, outputs.c.segment, outputs.c.id)
    return {
        (system, segment): i
        for part in parts(list(of))
        for system, segment, i in connection.execute(found.where(outputs.c.segment.in_(part)))
    }


def _update(connection: Connection, table: Any, column: str, rows: Sequence[Any]) -> None:
    if rows:
        changed = update(table).where(table.c.id == bindparam("b_id")).values({column: bindparam("b_value")})
        connection.execute(changed, [{"b_id": i, "b_value": value} for i, value in rows])

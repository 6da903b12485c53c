"""Imported layers of error spans. Rows are written and deleted in short transactions, so that saving a label never waits for long.

A layer that is not complete, or is being deleted, has a name that begins with a space, which no reader sees.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, Select, Text, delete, insert, select, type_coerce, update

from core.data import OutputKey, SegmentKey
from core.errors import UserError
from core.ports.scores import SpanRows, StoredLayer
from core.progress import Progress, no_progress
from db.columns import copy_rows, now
from db.engine import Repository, inserted, writing
from db.failures import require_name, unique
from db.lookup import HIDDEN_NAME, output_ids, outputs, parts, require_project, segments, select_outputs
from db.tables import span_layer_outputs as rows
from db.tables import span_layers as layers

SLICE = 1000
"""Rows of one transaction."""
ABANDONED = timedelta(hours=1)
"""Age from which a layer that is not complete belongs to a process that has died."""


class SqlSpanLayers(Repository):
    """`core.ports.scores.SpanLayers` over a database."""

    def list(self, project_id: int) -> builtins.list[StoredLayer]:
        shown = ~layers.c.name.startswith(HIDDEN_NAME)
        query = select(layers).where(layers.c.project_id == project_id, shown).order_by(layers.c.id)
        return [_stored(row) for row in self._rows(query)]

    def load(self, project_id: int, name: str) -> dict[OutputKey, SpanRows]:
        if all(layer.name != name for layer in self.list(project_id)):
            raise no_layer(name)
        query = self._spans(project_id).where(layers.c.name == name)
        read = self._rows(query.order_by(segments.c.position, outputs.c.position))
        return {OutputKey(*row[:3]): spans for row, spans in zip(read, _parsed(read), strict=True)}

    def of_segment(
        self, project_id: int, segment: SegmentKey, names: Collection[str]
    ) -> dict[str, dict[str, SpanRows]]:
        of = self._spans(project_id).where(
            segments.c.doc_id == segment.doc_id, segments.c.segment_id == segment.segment_id, layers.c.name.in_(names)
        )
        read = self._rows(of.order_by(outputs.c.position))
        by_layer: dict[str, dict[str, SpanRows]] = {}
        for row, spans in zip(read, _parsed(read), strict=True):
            by_layer.setdefault(row.name, {})[row.system] = spans
        return by_layer

    def _spans(self, project_id: int) -> Select[Any]:
        own = rows.c.output == outputs.c.id
        query = select_outputs(project_id, layers.c.name, type_coerce(rows.c.spans, Text).label("spans"))
        return query.join(rows, own).join(layers, layers.c.id == rows.c.layer).where(layers.c.project_id == project_id)

    def add(
        self, project_id: int, name: str, spans: Mapping[OutputKey, SpanRows], provenance: Mapping[str, str],
        left_out: Mapping[str, int], progress: Progress = no_progress,
    ) -> StoredLayer:  # fmt: skip
        """Write the rows under a hidden name, and give the layer its name at the end."""
        require_name("a span layer", name)
        if name != name.strip():
            raise UserError("the name of a span layer cannot begin or end with a space", got=repr(name))
        taken = unique(f"span layer “{name}”", hint="Choose another name, or delete that layer")
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            abandoned = (layers.c.name.startswith(HIDDEN_NAME), layers.c.created < now() - ABANDONED)
            connection.execute(delete(layers).where(layers.c.project_id == project_id, *abandoned))
            if connection.execute(self._named(project_id, name)).first():
                raise UserError(
                    f"there is a span layer “{name}” already", hint="Choose another name, or delete that layer"
                )
            ids = output_ids(connection, project_id)
            if unknown := next((key for key in spans if key not in ids), None):
                raise UserError("there is no such output", got=" / ".join(unknown), hint="Import its text first")
            fields = {
                "project_id": project_id, "name": f"{HIDDEN_NAME}{uuid4().hex}", "outputs": len(spans), "spans": sum(map(len, spans.values())),
                "provenance": dict(provenance), "left_out": dict(left_out), "created": now(),
            }  # fmt: skip
            layer = inserted(connection, insert(layers).values(**fields))
        try:
            for i, part in enumerate(parts([*spans.items()], SLICE)):
                new = [{"layer": layer, "output": ids[key], "spans": [dict(s) for s in of]} for key, of in part]
                with writing(self._engine) as connection:
                    copy_rows(connection, rows, new)
                progress(min(1.0, (i + 1) * SLICE / len(spans)))
            with taken, writing(self._engine) as connection:
                connection.execute(update(layers).where(layers.c.id == layer).values(name=name))
                return _stored(connection.execute(select(layers).where(layers.c.id == layer)).one())
        except BaseException:
            self._delete(layer)
            raise

    def remove(self, project_id: int, name: str) -> None:
        with writing(self._engine) as connection:
            layer = connection.execute(self._named(project_id, name)).scalar()
            if layer is None:
                raise no_layer(name)
            hidden = {"name": f"{HIDDEN_NAME}{uuid4().hex}"}
            connection.execute(update(layers).where(layers.c.id == layer).values(hidden))
        self._delete(layer)

    def _named(self, project_id: int, name: str) -> Select[Any]:
        return select(layers.c.id).where(layers.c.project_id == project_id, layers.c.name == name)

    def _delete(self, layer: int) -> None:
        ids = [row.output for row in self._rows(select(rows.c.output).where(rows.c.layer == layer))]
        for part in parts(ids):
            with writing(self._engine) as connection:
                connection.execute(delete(rows).where(rows.c.layer == layer, rows.c.output.in_(part)))
        with writing(self._engine) as connection:
            connection.execute(delete(layers).where(layers.c.id == layer))


def no_layer(name: str) -> UserError:
    return UserError(f"there is no span layer “{name}”", hint="It may have been deleted already")


def _stored(row: Row[Any]) -> StoredLayer:
    return StoredLayer(row.name, row.outputs, row.spans, row.provenance, row.left_out, row.created)


def _parsed(read: Sequence[Row[Any]]) -> builtins.list[SpanRows]:
    """Return the spans of all rows, parsed at once."""
    parsed: builtins.list[SpanRows] = json.loads(f"[{','.join(row.spans for row in read)}]")
    return parsed

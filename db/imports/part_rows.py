"""The rows that a part of an import adds to the tables, as values that a text file can keep.

External scores are merged into those of the project as `core.formats.external.merge` does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Connection, Table, bindparam, delete, insert, literal, select, update

from core.data import OutputKey, Value
from core.errors import Problem
from core.formats.external import all_files, contradiction
from core.ports.files import StagedMetric
from core.ports.scores import ExternalMetric
from db.columns import insert_columns, insert_rows, now
from db.engine import inserted
from db.imports.plan import ProjectTexts, TextPlan
from db.imports.slices import Step
from db.lookup import content_key, parts, segment_ids
from db.scores.repository import external_metrics_of
from db.tables import external_metrics, external_scores, human_scores, outputs, segment_references, segments

Change = tuple[Value, bool]
"""An external score, and whether it is new."""


class MetricMerge:
    """The external scores of one metric of an import: how many are new, equal or other than those stored, and what is written."""

    def __init__(self, new: StagedMetric, old: ExternalMetric | None, old_id: int | None) -> None:
        self.name, self._new, self._old, self._id = new.name, new, old, old_id
        self._n = self._n_stored = self._n_differing = self._n_new = 0
        self._first: tuple[OutputKey, float | None, float | None] | None = None
        self._first_without_output: OutputKey | None = None
        self._replaces = False

    @property
    def n_changed(self) -> int:
        return self._n if self._replaces else self._n_new

    @property
    def n_unchanged(self) -> int:
        return self._n - self.n_changed

    def take(
        self, connection: Connection | None, values: Mapping[OutputKey, Value], texts: ProjectTexts
    ) -> dict[OutputKey, tuple[Value, bool]]:
        """Compare some values with those stored; return each with whether it is new. `connection` is None if nothing is stored.

        Raises ValueError for a value that contradicts its status.
        """
        stored = self._stored(connection, texts) if connection is not None and self._id is not None else {}
        compared: dict[OutputKey, tuple[Value, bool]] = {}
        for key, value in values.items():
            if (value.value is not None) != (value.status == "ok") or not math.isfinite(value.value or 0.0):
                raise ValueError(f"a value of status {value.status!r} cannot be {value.value}")
            if key not in texts.outputs:
                self._first_without_output = self._first_without_output or key
                continue
            old = stored.get(key, _NOTHING)
            is_stored, was = old is not _NOTHING, old if isinstance(old, float) else None
            is_new = not is_stored or (was is None and value.value is not None)
            if was is not None and value.value is not None and was != value.value:
                self._n_differing += 1
                self._first = self._first or (key, value.value, was)
            self._n, self._n_stored, self._n_new = self._n + 1, self._n_stored + is_stored, self._n_new + is_new
            compared[key] = value, is_new
        return compared

    def contradiction(self, *, replace: bool) -> Problem | None:
        """Decide whether the stored values are replaced; return why the values cannot be merged, or None."""
        if self._first_without_output is not None:
            return self._no_output(self._first_without_output)
        if self._old is None:
            return None
        same = not self._n_differing and self._old.higher_is_better == self._new.higher_is_better
        self._replaces = replace and not (same and self._n == self._n_stored == self._old.n)
        if same or self._replaces:
            return None
        return contradiction(self._old, self._new, self._n_differing, self._first)

    @property
    def n_removed(self) -> int:
        """How many stored values are deleted or written anew besides those that are given."""
        return self._old.n if self._old is not None and self.n_changed else 0

    def begin(self, connection: Connection, project_id: int) -> None:
        """Create or change the row of the metric, and delete the values that are replaced."""
        if self._old is None or self._id is None:
            self._create(connection, project_id)
            return
        if self.n_changed:
            connection.execute(update(external_metrics).where(external_metrics.c.id == self._id).values(self._facts()))
        if self._replaces:
            connection.execute(delete(external_scores).where(external_scores.c.metric == self._id))

    def begin_apart(self, connection: Connection, project_id: int) -> Sequence[Step]:
        """Return the steps that write the metric anew, with the values that stay, in a project that later gives it to the one that has it now."""
        create, of, old = Step(1, partial(self._create, project_id=project_id)), external_scores.c, self._id
        if old is None:
            return [create]
        if not self.n_changed:
            return []
        staying = select(of.output).where(of.metric == old)
        stay = [] if self._replaces else sorted(connection.execute(staying).scalars())
        return [create, *(Step(len(part), partial(self._copy, old=old, of=part)) for part in parts(stay))]

    def _copy(self, connection: Connection, old: int, of: Sequence[int]) -> None:
        columns = external_scores.c
        copied = [literal(self._id) if column is columns.metric else column for column in columns]
        chosen = select(*copied).where(columns.metric == old, columns.output.in_(of))
        connection.execute(insert(external_scores).from_select(columns.keys(), chosen))

    def _create(self, connection: Connection, project_id: int) -> None:
        row = insert(external_metrics).values(project_id=project_id, name=self.name, **self._facts())
        self._id = inserted(connection, row)

    def _facts(self) -> dict[str, Any]:
        files = self._new.files
        if self._old is not None and not self._replaces:
            files = all_files(self._old.files, files)
        return {
            "higher_is_better": self._new.higher_is_better,
            "files": [list(file) for file in files],
            "created": now(),
        }

    def write(self, connection: Connection, rows: Sequence[tuple[int, float | None, str, str, bool]]) -> None:
        """Write values, given with their output, status, reason, and whether they are new."""
        chosen = [row for row in rows if row[4] or self._replaces]
        if self._old is not None and not self._replaces:
            mine = external_scores.c.metric == self._id
            for part in parts([row[0] for row in chosen]):
                connection.execute(delete(external_scores).where(mine, external_scores.c.output.in_(part)))
        if chosen:
            values = [
                {"metric": self._id, "output": output, "value": value, "status": status, "reason": reason}
                for output, value, status, reason, _ in chosen
            ]
            insert_rows(connection, external_scores, values)

    def _stored(self, connection: Connection, texts: ProjectTexts) -> dict[OutputKey, float | None]:
        keys = {i: key for key, i in texts.output_ids.items()}
        stored: dict[OutputKey, float | None] = {}
        mine = select(external_scores.c.output, external_scores.c.value).where(external_scores.c.metric == self._id)
        for part in parts(list(keys)):
            for output, value in connection.execute(mine.where(external_scores.c.output.in_(part))):
                stored[keys[output]] = value
        return stored

    def _no_output(self, key: OutputKey) -> Problem:
        place, problem = f"metric “{self.name}”", f"a score of {' / '.join(key)}"
        return Problem(self._new.files[0].name, 0, place, problem, "an output it belongs to", "Add it first")


_NOTHING: Any = object()


def merges_of(
    connection: Connection | None, project_id: int, metrics: Sequence[StagedMetric]
) -> tuple[MetricMerge, ...]:
    """Return what merges each metric of an import into a project. `connection` is None if nothing is stored."""
    if not metrics or connection is None:
        return tuple(MetricMerge(metric, None, None) for metric in metrics)
    existing = {metric.name: metric for metric in external_metrics_of(connection, project_id)}
    query = select(external_metrics.c.name, external_metrics.c.id).where(external_metrics.c.project_id == project_id)
    ids = {name: int(i) for name, i in connection.execute(query)}
    return tuple(MetricMerge(metric, existing.get(metric.name), ids.get(metric.name)) for metric in metrics)


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


def output_ids(connection: Connection, project_id: int, keys: Collection[OutputKey]) -> dict[OutputKey, int]:
    """Return the ids of the outputs of some segments, also of those that an import has added that is not complete."""
    ids = segment_ids(connection, project_id, {key.segment for key in keys}, segments)
    of_segment = {i: key for key, i in ids.items()}
    stored = _stored_outputs(connection, of_segment)
    return {OutputKey(system, *of_segment[segment]): i for (system, segment), i in stored.items()}


def _update(connection: Connection, table: Table, values: Mapping[str, Any], rows: Sequence[Any]) -> None:
    changed = update(table).where(table.c.id == bindparam("b_id")).values(values)
    connection.execute(changed, [{"b_id": i, "b_value": value} for i, value in rows])

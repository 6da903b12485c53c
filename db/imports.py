"""Add a dataset to a project: new data is inserted, stored data stays, a conflict changes nothing."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, bindparam, insert, select, update

from core.data import Dataset, HumanScore, OutputKey, Segment, SegmentKey
from core.errors import ImportProblems, Problem
from core.ports.projects import ImportReport
from core.signature import content_key
from db.lookup import output_ids, references, select_outputs
from db.tables import human_scores, outputs, segment_references, segments

SHOWN = 80  # characters of a text that a problem quotes


@dataclass(slots=True)
class ProjectTexts:
    """All texts and human scores of a project by key, and the ids of stored rows."""

    segments: dict[SegmentKey, Segment] = field(default_factory=dict)
    outputs: dict[OutputKey, str] = field(default_factory=dict)
    scores: dict[tuple[OutputKey, str], float] = field(default_factory=dict)
    segment_ids: dict[SegmentKey, int] = field(default_factory=dict)
    output_ids: dict[OutputKey, int] = field(default_factory=dict)
    next_segment: int = 0
    next_output: int = 0


def add(connection: Connection, project_id: int, dataset: Dataset) -> ImportReport:
    """Add `dataset` within the caller's transaction. Raises `ImportProblems` before anything is written."""
    stored = _stored(connection, project_id)
    plan = _Plan(stored)
    for segment in dataset.segments:
        plan.segment(segment)
    for output in dataset.outputs:
        plan.output(output.key, output.text)
    for score in dataset.human_scores:
        plan.score(score)
    if plan.problems:
        raise ImportProblems(plan.problems)
    _write_segments(connection, project_id, plan)
    _write_outputs(connection, project_id, plan)
    return ImportReport(
        segments=len(plan.new_segments),
        outputs=len(plan.new_outputs),
        references=sum(len(texts) for texts in plan.new_references.values()),
        human_scores=len(plan.new_scores),
        unchanged=plan.unchanged,
        sources=len(plan.new_sources),
    )


class _Plan:
    """The changes of an import, collected from the dataset; `texts` grows to the future content of the project."""

    def __init__(self, texts: ProjectTexts) -> None:
        self.texts = texts
        self.new_segments: list[SegmentKey] = []
        self.new_sources: list[SegmentKey] = []
        self.new_references: dict[SegmentKey, list[str]] = defaultdict(list)
        self.new_outputs: list[OutputKey] = []
        self.new_scores: list[tuple[OutputKey, str]] = []
        self.unchanged = 0
        self.problems: list[Problem] = []

    def segment(self, new: Segment) -> None:
        old = self.texts.segments.get(new.key)
        if old is None:
            self.new_segments.append(new.key)
            self.new_references[new.key].extend(new.references)
            self.texts.segments[new.key] = new
            return
        if old.source is None and new.source is not None:
            self.new_sources.append(new.key)
        elif new.source is not None and new.source != old.source:
            self._differs(
                f"source of document “{new.doc_id}”, segment “{new.segment_id}”", new.source, old.source or ""
            )
        else:
            self.unchanged += 1
        more = list((Counter(new.references) - Counter(old.references)).elements())
        self.unchanged += len(new.references) - len(more)
        self.new_references[new.key].extend(more)
        source = new.source if old.source is None else old.source
        self.texts.segments[new.key] = replace(old, source=source, references=(*old.references, *more))

    def output(self, key: OutputKey, text: str) -> None:
        old = self.texts.outputs.get(key)
        if key.segment not in self.texts.segments:
            self._refuse(_place(key), "an output", "a segment of that name", "Add its segment to the file")
        elif old is None:
            self.new_outputs.append(key)
            self.texts.outputs[key] = text
        elif old != text:
            self._differs(f"output of {_place(key)}", text, old)
        else:
            self.unchanged += 1

    def score(self, new: HumanScore) -> None:
        key = OutputKey(new.system, new.doc_id, new.segment_id)
        place = f"human score “{new.name}” of {_place(key)}"
        old = self.texts.scores.get((key, new.name))
        if key not in self.texts.outputs:
            self._refuse(place, "a score", "an output it belongs to", "Add the output, or leave the score out")
        elif not math.isfinite(new.value):
            self._refuse(place, str(new.value), "a number", "Leave the cell empty where there is no score")
        elif old is None:
            self.new_scores.append((key, new.name))
            self.texts.scores[key, new.name] = new.value
        elif old != new.value:
            self._differs(place, f"{new.value:g}", f"{old:g}")
        else:
            self.unchanged += 1

    def _differs(self, place: str, found: str, expected: str) -> None:
        shown, there = _around_difference(found, expected)
        todo = "The project has another text under this name. Fix the file, or import it into a new project"
        self._refuse(place, shown, there, todo)

    def _refuse(self, place: str, found: str, expected: str, todo: str) -> None:
        self.problems.append(Problem("", 0, place, found, expected, todo))


def _place(key: OutputKey) -> str:
    return f"system “{key.system}”, document “{key.doc_id}”, segment “{key.segment_id}”"


def _around_difference(a: str, b: str) -> tuple[str, str]:
    """Return the same window of both texts as quoted strings, from a little before the first difference."""
    first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, first - SHOWN // 2) if max(len(a), len(b)) > SHOWN else 0

    def window(text: str) -> str:
        part = text[start : start + SHOWN]
        return repr(("…" if start else "") + part + ("…" if start + SHOWN < len(text) else ""))

    return window(a), window(b)


def _stored(connection: Connection, project_id: int) -> ProjectTexts:
    texts = ProjectTexts()
    by_segment = references(connection, project_id)
    for row in connection.execute(select(segments).where(segments.c.project_id == project_id)):
        key = SegmentKey(row.doc_id, row.segment_id)
        texts.segments[key] = Segment(row.doc_id, row.segment_id, row.source, tuple(by_segment[row.id]))
        texts.segment_ids[key] = row.id
        texts.next_segment = max(texts.next_segment, row.position + 1)
    for row in connection.execute(select_outputs(project_id, outputs.c.id, outputs.c.text, outputs.c.position)):
        output = OutputKey(row.system, row.doc_id, row.segment_id)
        texts.outputs[output], texts.output_ids[output] = row.text, row.id
        texts.next_output = max(texts.next_output, row.position + 1)
    scored = select_outputs(project_id, human_scores.c.name, human_scores.c.value).join(human_scores)
    for system, doc_id, segment_id, name, value in connection.execute(scored):
        texts.scores[OutputKey(system, doc_id, segment_id), name] = value
    return texts


def _write_segments(connection: Connection, project_id: int, plan: _Plan) -> None:
    texts = plan.texts
    if plan.new_segments:
        rows = [
            {
                "project_id": project_id,
                "doc_id": key.doc_id,
                "segment_id": key.segment_id,
                "position": texts.next_segment + i,
                "source": texts.segments[key].source,
            }
            for i, key in enumerate(plan.new_segments)
        ]
        connection.execute(insert(segments), rows)
        added = select(segments.c.id, segments.c.doc_id, segments.c.segment_id).where(
            segments.c.project_id == project_id, segments.c.position >= texts.next_segment
        )
        texts.segment_ids |= {SegmentKey(row.doc_id, row.segment_id): row.id for row in connection.execute(added)}
    if sources := [{"b_id": texts.segment_ids[k], "b_source": texts.segments[k].source} for k in plan.new_sources]:
        connection.execute(
            update(segments).where(segments.c.id == bindparam("b_id")).values(source=bindparam("b_source")), sources
        )
    references = [
        {
            "segment": texts.segment_ids[key],
            "position": len(texts.segments[key].references) - len(new) + i,
            "text": text,
        }
        for key, new in plan.new_references.items()
        for i, text in enumerate(new)
    ]
    if references:
        connection.execute(insert(segment_references), references)


def _write_outputs(connection: Connection, project_id: int, plan: _Plan) -> None:
    texts = plan.texts

    def content(key: OutputKey) -> str:
        segment = texts.segments[key.segment]
        return content_key(segment.source, texts.outputs[key], segment.references)

    touched = set(plan.new_sources) | {key for key, new in plan.new_references.items() if new}
    rekeyed = [{"b_id": i, "b_key": content(key)} for key, i in texts.output_ids.items() if key.segment in touched]
    if rekeyed:
        connection.execute(
            update(outputs).where(outputs.c.id == bindparam("b_id")).values(content_key=bindparam("b_key")), rekeyed
        )
    rows = [
        {
            "segment": texts.segment_ids[key.segment],
            "system": key.system,
            "position": texts.next_output + i,
            "text": texts.outputs[key],
            "content_key": content(key),
        }
        for i, key in enumerate(plan.new_outputs)
    ]
    if rows:
        connection.execute(insert(outputs), rows)
    if plan.new_scores:
        ids = output_ids(connection, project_id)
        rows = [{"output": ids[key], "name": name, "value": texts.scores[key, name]} for key, name in plan.new_scores]
        connection.execute(insert(human_scores), rows)

"""Compare a dataset with the texts of a project: which rows are new, and what contradicts what is stored."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, select

from core.data import Dataset, HumanScore, OutputKey, Segment, SegmentKey
from core.errors import Problem
from core.formats.problems import shown
from core.ports.files import ImportReport
from core.signature import content_keys
from db.columns import check_storable
from db.lookup import human_scores, outputs, parts, references, segment_ids, segments, select_outputs

_OTHER_TEXT = "The project has another text under this name. Fix the file, or import it into a new project"


@dataclass(slots=True)
class ProjectTexts:
    """Texts and human scores of a project by key, and the ids of stored rows."""

    segments: dict[SegmentKey, Segment] = field(default_factory=dict)
    outputs: dict[OutputKey, str] = field(default_factory=dict)
    scores: dict[tuple[OutputKey, str], float] = field(default_factory=dict)
    segment_ids: dict[SegmentKey, int] = field(default_factory=dict)
    output_ids: dict[OutputKey, int] = field(default_factory=dict)
    next_segment: int = 0
    next_output: int = 0

    def of_segments(self, keys: Collection[SegmentKey]) -> dict[SegmentKey, tuple[Segment, Mapping[str, str]]]:
        """Return some segments, each with the texts of its outputs by system."""
        texts: dict[SegmentKey, dict[str, str]] = {key: {} for key in keys if key in self.segments}
        for output, text in self.outputs.items() if texts else ():
            if output.segment in texts:
                texts[output.segment][output.system] = text
        return {key: (self.segments[key], by_system) for key, by_system in texts.items()}

    def agree_with(self, new: Dataset) -> bool:
        """Return whether each of the segments has the same source, reference or output in the dataset."""
        same = {o.key.segment for o in new.outputs if self.outputs.get(o.key) == o.text}
        return all(
            s.key in same
            or (s.source is not None and s.source == self.segments[s.key].source)
            or not set(s.references).isdisjoint(self.segments[s.key].references)
            for s in new.segments
            if s.key in self.segments
        )


class TextPlan:
    """The changes of an import, or of a part of it, collected from the dataset; `texts` grows to the future content of the project.

    `wrong` has everything that contradicts what is stored: of segments, outputs and scores.
    """

    def __init__(self, texts: ProjectTexts, dataset: Dataset) -> None:
        self.texts = texts
        self.new_segments: list[SegmentKey] = []
        self.new_sources: list[SegmentKey] = []
        self.new_references: dict[SegmentKey, list[str]] = defaultdict(list)
        self.new_outputs: list[OutputKey] = []
        self.new_scores: list[tuple[OutputKey, str]] = []
        self.unchanged = 0
        self.wrong: tuple[list[Problem], list[Problem], list[Problem]] = ([], [], [])
        self._keyed: tuple[Segment | None, Callable[[str], str]] = (None, str)  # of the last segment
        for segment in dataset.segments:
            self._segment(segment)
        for output in dataset.outputs:
            self._output(output.key, output.text)
        for score in dataset.human_scores:
            self._score(score)

    @property
    def report(self) -> ImportReport:
        return ImportReport(
            segments=len(self.new_segments),
            outputs=len(self.new_outputs),
            references=sum(len(texts) for texts in self.new_references.values()),
            human_scores=len(self.new_scores),
            unchanged=self.unchanged,
            sources=len(self.new_sources),
        )

    @property
    def rekeyed(self) -> list[OutputKey]:
        """The stored outputs whose content key changes, because their segment has a new source or reference."""
        touched = set(self.new_sources) | {key for key, new in self.new_references.items() if new}
        return [key for key in self.texts.output_ids if key.segment in touched]

    def content_key(self, key: OutputKey) -> str:
        """Return the content key that an output will have."""
        segment = self.texts.segments[key[1:]]  # type: ignore[index]  # a tuple equals its key
        if segment is not self._keyed[0]:
            self._keyed = segment, content_keys(segment.source, segment.references)
        return self._keyed[1](self.texts.outputs[key])

    def _segment(self, new: Segment) -> None:
        old = self.texts.segments.get(new.key)
        if old is None:
            self.new_segments.append(new.key)
            self.new_references[new.key].extend(new.references)
            self.texts.segments[new.key] = new
            return
        if old.source is None and new.source is not None:
            self.new_sources.append(new.key)
        elif new.source is not None and new.source != old.source:
            place = f"source of document {shown(new.doc_id)}, segment {shown(new.segment_id)}"
            self._refuse(0, place, *_around_difference(new.source, old.source or ""), _OTHER_TEXT)
        else:
            self.unchanged += 1
        more = list((Counter(new.references) - Counter(old.references)).elements())
        self.unchanged += len(new.references) - len(more)
        self.new_references[new.key].extend(more)
        source = new.source if old.source is None else old.source
        self.texts.segments[new.key] = replace(old, source=source, references=(*old.references, *more))

    def _output(self, key: OutputKey, text: str) -> None:
        old = self.texts.outputs.get(key)
        if key[1:] not in self.texts.segments:
            self._refuse(1, _place(key), "an output", "a segment of that name", "Add its segment to the file")
        elif old is None:
            self.new_outputs.append(key)
            self.texts.outputs[key] = text
        elif old != text:
            self._refuse(1, f"output of {_place(key)}", *_around_difference(text, old), _OTHER_TEXT)
        else:
            self.unchanged += 1

    def _score(self, new: HumanScore) -> None:
        key = OutputKey(new.system, new.doc_id, new.segment_id)
        place = f"human score {shown(new.name)} of {_place(key)}"
        old = self.texts.scores.get((key, new.name))
        if key not in self.texts.outputs:
            self._refuse(2, place, "a score", "an output it belongs to", "Add the output, or leave the score out")
        elif not math.isfinite(new.value):
            self._refuse(2, place, str(new.value), "a number", "Leave the cell empty where there is no score")
        elif old is None:
            self.new_scores.append((key, new.name))
            self.texts.scores[key, new.name] = new.value
        elif old != new.value:
            self._refuse(2, place, f"{new.value:g}", f"{old:g}", _OTHER_TEXT)
        else:
            self.unchanged += 1

    def _refuse(self, kind: int, place: str, content: str, expected: str, todo: str) -> None:
        self.wrong[kind].append(Problem("", 0, place, content, expected, todo))


def _place(key: OutputKey) -> str:
    document = f", document {shown(key.doc_id)}" * bool(key.doc_id)
    return f"system {shown(key.system)}{document}, segment {shown(key.segment_id)}"


def _around_difference(a: str, b: str) -> tuple[str, str]:
    """Return both texts for a message, from a little before the first difference."""
    first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, first - 20)
    dots = "…" if start else ""
    return shown(dots + a[start:]), shown(dots + b[start:])


def stored_texts(connection: Connection, project_id: int, keys: Collection[SegmentKey]) -> ProjectTexts:
    """Return the texts and human scores of some segments of a project."""
    check_storable(text for key in keys for text in key)
    texts = ProjectTexts()
    for part in parts([*segment_ids(connection, project_id, keys).values()]):
        which = segments.c.id.in_(part)
        by_segment = references(connection, which)
        for row in connection.execute(select(segments).where(which)):
            key = SegmentKey(row.doc_id, row.segment_id)
            texts.segments[key] = Segment(row.doc_id, row.segment_id, row.source, tuple(by_segment[row.id]))
            texts.segment_ids[key] = row.id
        written = select_outputs(project_id, outputs.c.id, outputs.c.text).where(which).order_by(outputs.c.position)
        for system, doc_id, segment_id, number, text in connection.execute(written):
            output = OutputKey(system, doc_id, segment_id)
            texts.outputs[output], texts.output_ids[output] = text, number
        scored = select_outputs(project_id, human_scores.c.name, human_scores.c.value).join(human_scores)
        for system, doc_id, segment_id, name, value in connection.execute(scored.where(which)):
            texts.scores[OutputKey(system, doc_id, segment_id), name] = value
    return texts


def present_outputs(connection: Connection, project_id: int, keys: Collection[OutputKey]) -> set[OutputKey]:
    """Return those of the outputs that are stored."""
    stored = set[OutputKey]()
    for part in parts([*segment_ids(connection, project_id, (key.segment for key in keys)).values()]):
        these = select_outputs(project_id).where(segments.c.id.in_(part))
        stored |= set(map(OutputKey._make, connection.execute(these)))
    return stored.intersection(keys)

"""Imports in parts, in memory."""

from __future__ import annotations

from collections.abc import Collection

from core.data import Dataset, ExternalScores, HumanScore, Output, OutputKey, Segment, SegmentKey, Value
from core.ports.imports import ImportSource
from core.ports.projects import ImportReport
from core.progress import Progress, no_progress
from tests.fakes.memory import Memory
from tests.fakes.projects import FakeProjects


class FakeImports:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def add(
        self, project_id: int, source: ImportSource, progress: Progress = no_progress, *, replace: Collection[str] = (),
    ) -> ImportReport:  # fmt: skip
        segments, outputs, scores = list[Segment](), list[Output](), list[HumanScore]()
        values: list[dict[OutputKey, Value]] = [{} for _ in source.metrics]
        for part in source.parts(lambda: 100):
            segments += part.texts.segments
            outputs += part.texts.outputs
            scores += part.texts.human_scores
            for whole, some in zip(values, part.external, strict=True):
                whole.update(some)
            progress(len(outputs) / max(1, source.n_outputs))
        external = [ExternalScores(*metric, found) for metric, found in zip(source.metrics, values, strict=True)]
        dataset = Dataset(tuple(segments), tuple(outputs), tuple(scores))
        return FakeProjects(self.m).add(project_id, dataset, external=external, replace=replace)

    def stored(self, project_id: int, keys: Collection[SegmentKey]) -> Dataset:
        self.m.need(project_id)
        d, wanted = self.m.datasets[project_id], set(keys)
        return Dataset(
            tuple(s for s in d.segments if s.key in wanted),
            tuple(o for o in d.outputs if o.key.segment in wanted),
            tuple(h for h in d.human_scores if SegmentKey(h.doc_id, h.segment_id) in wanted),
        )

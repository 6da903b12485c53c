"""The content of projects in parts, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.data import Dataset, OutputKey, SegmentKey, Value
from tests.fakes.memory import Memory
from tests.fakes.scores import FakeScores

SEGMENTS = 2


class FakeExports:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def texts(self, project_id: int) -> Iterator[Dataset]:
        self.m.need(project_id)
        whole = self.m.datasets[project_id]
        by_segment = whole.outputs_of()
        for start in range(0, len(whole.segments), SEGMENTS):
            some = whole.segments[start : start + SEGMENTS]
            keys = {s.key for s in some}
            human = tuple(h for h in whole.human_scores if SegmentKey(h.doc_id, h.segment_id) in keys)
            yield Dataset(some, tuple(o for s in some for o in by_segment[s.key]), human)

    def keys(self, project_id: int) -> Iterator[Sequence[OutputKey]]:
        return ([o.key for o in part.outputs] for part in self.texts(project_id))

    def scores(self, project_id: int, signature: str) -> Iterator[Sequence[tuple[OutputKey, Value]]]:
        values = FakeScores(self.m).table(project_id, signature)
        return ([(key, values[key]) for key in keys if key in values] for keys in self.keys(project_id))

    def n_references(self, project_id: int) -> int:
        return sum(len(s.references) for s in self.m.datasets[project_id].segments)

    def most_references(self, project_id: int) -> int:
        return max((len(s.references) for s in self.m.datasets[project_id].segments), default=0)

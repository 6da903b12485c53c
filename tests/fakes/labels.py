"""Labels, batches and raters’ numbers in memory."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.data import (
    Dataset,
    Judgement,
    SegmentKey,
    grouped,
)
from core.errors import UserError
from core.mqm.log import check, fold_segment
from core.ports.batches import SavedBatch
from core.ports.labels import Action, Event
from core.progress import Progress, no_progress
from tests.fakes.memory import Memory, now


class FakeLabels:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def append(self, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action]) -> list[str]:
        dataset = self.m.datasets.get(project_id, Dataset((), ()))
        if segment not in dataset.segment_of() or not rater.strip() or not all(a.id for a in actions):
            raise UserError("there is no such segment, no name, or no id")
        texts = {o.system: o.text for o in dataset.outputs_of()[segment]}
        known = {event.action.id for project, event in self.m.events if project == project_id}
        before = self.events(project_id, rater=rater, segment=segment)
        new: list[Event] = []
        for action in actions:
            if action.id not in known:
                known.add(action.id)
                check(action, fold_segment(before + new), dataset.segment_of()[segment], texts)
                new.append(Event(next(self.m.ids), now(), rater, segment, action))
        self.m.events += [(project_id, event) for event in new]
        return list(dict.fromkeys(action.id for action in actions))

    def events(
        self, project_id: int, *, rater: str | None = None, segment: SegmentKey | None = None, after: int = 0
    ) -> list[Event]:
        mine = [event for project, event in self.m.events if project == project_id and event.number > after]
        return [e for e in mine if rater in (None, e.rater) and segment in (None, e.segment)]

    def by_segment(self, project_id: int, progress: Progress = no_progress) -> Iterator[builtins.list[Event]]:
        order = list(self.m.datasets.get(project_id, Dataset((), ())).segment_of())
        groups = grouped(((order.index(e.segment), e.rater), e) for e in self.events(project_id))
        for done, place in enumerate(sorted(groups)):
            progress(done / len(groups))
            yield groups[place]

    def newest(self, project_id: int) -> int:
        return max((event.number for event in self.events(project_id)), default=0)

    def raters(self, project_id: int | None = None) -> list[str]:
        def counts(project: int, event: Event) -> bool:
            return project_id is None or (project == project_id and event.action.kind != "open")

        everyone = dict.fromkeys(event.rater for _, event in self.m.events)
        active = {event.rater for project, event in self.m.events if counts(project, event)}
        return [rater for rater in everyone if rater in active]


class FakeJudgements:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def list(self, project_id: int) -> builtins.list[Judgement]:
        return list(self.m.judged.get(project_id, {}).values())


class FakeBatches:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def save(self, project_id: int, batch: SavedBatch) -> SavedBatch:
        self.m.need(project_id)
        there = {o.key for o in self.m.datasets[project_id].outputs}
        taken = not batch.name.strip() or (project_id, batch.name) in self.m.batches
        if taken or not batch.outputs or any(c.key not in there for c in batch.outputs):
            raise UserError("the name is empty or taken, or an output is not there", got=repr(batch.name))
        if any(not 0 < c.probability <= 1 for c in batch.outputs):
            raise ValueError("a probability lies in (0, 1]")
        saved = replace(batch, id=next(self.m.ids), created=batch.created or now())
        self.m.batches[project_id, batch.name] = saved
        return saved

    def list(self, project_id: int) -> builtins.list[SavedBatch]:
        return [saved for (project, _), saved in self.m.batches.items() if project == project_id]

    def archive(self, project_id: int, name: str) -> None:
        if (project_id, name) not in self.m.batches:
            raise UserError(f"there is no batch “{name}”")
        saved = self.m.batches[project_id, name]
        self.m.batches[project_id, name] = replace(saved, options={**saved.options, "archived": True})

    def delete(self, project_id: int, name: str) -> None:
        if self.m.batches.pop((project_id, name), None) is None:
            raise UserError(f"there is no batch “{name}”")

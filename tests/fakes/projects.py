"""Projects and their texts in memory."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from core.columns import ProjectIndex, ScoreColumn
from core.data import (
    Dataset,
    ExternalScores,
    HumanScore,
    Judgement,
    Output,
    OutputKey,
    SegmentKey,
)
from core.errors import ImportProblems, Problem, UserError
from core.formats.external import Merged, merge
from core.ports.labels import LabelBatch
from core.ports.projects import ImportReport, Project
from core.progress import Progress, no_progress
from tests.fakes.columns import found_in, human_column, index_of, texts_of
from tests.fakes.labels import FakeLabels
from tests.fakes.memory import Memory, now


class FakeProjects:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def get(self, project_id: int) -> Project:
        self.m.need(project_id)
        name, created, sample = self.m.names[project_id]
        if (campaign := self.m.campaign_of(project_id)) is not None:
            name = campaign.name
        d = self.m.datasets[project_id]
        scores = tuple(dict.fromkeys(s.name for s in d.human_scores))
        return Project(
            project_id,
            name,
            created,
            sample,
            len(d.segments),
            len(d.outputs),
            d.systems,
            scores,
            self._judged(project_id),
            self.m.imports[project_id],
        )

    def _judged(self, project_id: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, _, name in self.m.judged.get(project_id, {})))

    def create(self, name: str, *, sample: bool = False) -> Project:
        project_id = next(self.m.ids)
        self.m.names[project_id] = (self._free(name), now(), sample)
        self.m.datasets[project_id] = Dataset((), ())
        return self.get(project_id)

    def rename(self, project_id: int, name: str) -> None:
        self.m.need(project_id)
        if self.m.campaign_of(project_id) is not None:
            raise UserError("there is no such project", got=str(project_id))
        self.m.names[project_id] = (self._free(name, project_id), *self.m.names[project_id][1:])

    def _free(self, name: str, but: int = 0) -> str:
        if not (name := name.strip()) or any(n == name for i, (n, _, _) in self.m.names.items() if i != but):
            raise UserError("the name is empty or taken", got=repr(name))
        return name

    def delete(self, project_id: int) -> None:
        self.m.need(project_id)
        for campaign in [c for c in self.m.campaigns.values() if c.project_id == project_id]:
            self.delete(campaign.texts)
        if (own := self.m.campaign_of(project_id)) is not None:
            gone = {unit.id for unit in self.m.units.pop(own.id)}
            self.m.assignments = [a for a in self.m.assignments if a.unit.id not in gone]
            self.m.participants = {i: p for i, p in self.m.participants.items() if p.campaign_id != own.id}
            del self.m.campaigns[own.id]
        self.m.links = {token: link for token, link in self.m.links.items() if link.project_id != project_id}
        self.m.roles = {of: role for of, role in self.m.roles.items() if of[0] != project_id}
        del self.m.names[project_id], self.m.datasets[project_id]
        self.m.judged.pop(project_id, None)
        self.m.cases.pop(project_id, None)
        self.m.stress.pop(project_id, None)
        self.m.external = {k: v for k, v in self.m.external.items() if k[0] != project_id}
        self.m.jobs = {i: j for i, j in self.m.jobs.items() if j.project_id != project_id}
        self.m.events = [e for e in self.m.events if e[0] != project_id]
        self.m.lambdas = {k: v for k, v in self.m.lambdas.items() if k[0] != project_id}
        self.m.settings = {k: v for k, v in self.m.settings.items() if k[0] != project_id}
        self.m.batches = {k: v for k, v in self.m.batches.items() if k[0] != project_id}

    def add(
        self, project_id: int, dataset: Dataset, labels: Sequence[LabelBatch] = (), progress: Progress = no_progress,
        judgements: Sequence[Judgement] = (), *, external: Sequence[ExternalScores] = (), replace: Collection[str] = (),
        corrected: Collection[str] = (),
    ) -> ImportReport:  # fmt: skip
        self.m.need(project_id)
        before, events = self.m.datasets[project_id], self.m.events[:]
        try:
            report = self._add(project_id, dataset)
            for done, batch in enumerate(labels):
                progress(done / len(labels))
                FakeLabels(self.m).append(project_id, *batch)
            merged = self._merged(project_id, external, replace)
            n_judged = self._judge(project_id, judgements, corrected)
        except BaseException:
            self.m.datasets[project_id], self.m.events = before, events
            raise
        self.m.imports[project_id] += 1
        new = [event for _, event in self.m.events[len(events) :] if event.action.system is not None]
        for m in merged:
            if m.changed:
                self.m.external[project_id, m.scores.name] = m.scores, now()
        return report._replace(
            labelled=len({(e.rater, e.segment, e.action.system) for e in new}),
            judgements=n_judged,
            metric_scores=sum(len(m.changed) for m in merged),
            unchanged=report.unchanged + len(judgements) - n_judged + sum(m.unchanged for m in merged),
        )

    def _merged(
        self, project_id: int, given: Sequence[ExternalScores], replace: Collection[str]
    ) -> builtins.list[Merged]:
        keys = {o.key for o in self.m.datasets[project_id].outputs}
        found, problems = list[Merged](), list[Problem]()
        for scores in given:
            try:
                if scores.values.keys() - keys:
                    raise ImportProblems([Problem("", 0, scores.name, "a score", "an output it belongs to", "Add it")])
                old, _ = self.m.external.get((project_id, scores.name), (None, None))
                found.append(merge(old, scores, replace=scores.name in replace))
            except ImportProblems as error:
                problems += error.problems
        if problems:
            raise ImportProblems(problems)
        return found

    def _judge(self, project_id: int, judgements: Sequence[Judgement], corrected: Collection[str]) -> int:
        keys = {o.key for o in self.m.datasets[project_id].outputs}
        whose = {(j.rater, j.name) for j in judgements if j.name in corrected}
        old = self.m.judged.get(project_id, {})
        after = {of: j for of, j in old.items() if of[1:] not in whose or j in judgements}
        before = len(after)
        wrong = [
            j for j in judgements
            if j.key not in keys or not j.rater.strip() or not abs(j.value) < float("inf") or after.setdefault(j[:3], j) != j
        ]  # fmt: skip
        if wrong:
            raise ImportProblems(
                [Problem("", 0, f"{j.name} {j.key}", f"{j.value:g}", "another", "Mend it") for j in wrong]
            )
        self.m.judged[project_id] = after
        return len(after) - before

    def _add(self, project_id: int, dataset: Dataset) -> ImportReport:
        old = self.m.datasets[project_id]
        segments = {s.key: s for s in old.segments}
        outputs = {o.key: o for o in old.outputs}
        scores = {(s.system, s.doc_id, s.segment_id, s.name): s for s in old.human_scores}
        n, problems = Counter[str](), list[Problem]()

        def wrong(place: str, found: object, expected: object) -> None:
            problems.append(Problem("", 0, place, repr(found), repr(expected), "Mend the file"))

        for s in dataset.segments:
            if (was := segments.get(s.key)) is None:
                segments[s.key] = s
                n["segments"] += 1
                n["references"] += len(s.references)
                continue
            if was.source is None and s.source is not None:
                n["sources"] += 1
            elif s.source not in (None, was.source):
                wrong(f"source of {s.key}", s.source, was.source)
            else:
                n["unchanged"] += 1
            more = tuple((Counter(s.references) - Counter(was.references)).elements())
            n["references"] += len(more)
            n["unchanged"] += len(s.references) - len(more)
            segments[s.key] = replace(
                was, source=was.source if was.source is not None else s.source, references=was.references + more
            )
        new: list[tuple[dict[Any, Any], Any, Output | HumanScore, object, str, bool]] = [
            (outputs, o.key, o, o.text, "outputs", o.key.segment in segments) for o in dataset.outputs
        ]
        known = outputs.keys() | {o.key for o in dataset.outputs}
        for h in dataset.human_scores:
            new.append(
                (scores, h[:4], h, h.value, "human_scores", OutputKey(*h[:3]) in known and abs(h.value) < float("inf"))
            )
        for table, key, row, content, name, possible in new:
            was_there = table.get(key)
            if not possible:
                wrong(f"{name} {key}", content, "a place for it, and a number")
            elif was_there is None:
                table[key] = row
                n[name] += 1
            elif was_there != row:
                wrong(f"{name} {key}", content, was_there)
            else:
                n["unchanged"] += 1
        if problems:
            raise ImportProblems(problems)
        order = {key: i for i, key in enumerate(segments)}
        rows = sorted(outputs.values(), key=lambda o: order[o.key.segment])
        self.m.datasets[project_id] = Dataset(tuple(segments.values()), tuple(rows), tuple(scores.values()))
        return ImportReport(**{name: n[name] for name in ImportReport._fields})

    def dataset(self, project_id: int) -> Dataset:
        self.m.need(project_id)
        return self.m.datasets[project_id]

    def document(self, project_id: int, doc_id: str) -> Dataset:
        whole = self.dataset(project_id)
        segments = tuple(s for s in whole.segments if s.doc_id == doc_id)
        return Dataset(segments, tuple(o for o in whole.outputs if o.doc_id == doc_id))

    def index(self, project_id: int) -> ProjectIndex:
        return index_of(self.dataset(project_id))

    def texts(self, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
        return texts_of(self.dataset(project_id), segments, systems)

    def search(self, project_id: int, phrase: str) -> builtins.list[SegmentKey]:
        return found_in(self.dataset(project_id), phrase)

    def human_score(self, project_id: int, name: str) -> ScoreColumn:
        return human_column(self.dataset(project_id), name)

    def list(self) -> builtins.list[Project]:
        return sorted((self.get(i) for i in self.m.names if self.m.campaign_of(i) is None), key=lambda p: p.name)

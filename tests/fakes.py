"""Storage in memory behind the ports of `core.ports`, and a metric that counts. tests/db/test_contract.py runs both kinds of storage."""

from __future__ import annotations

import builtins
import itertools
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from core.data import (
    Dataset,
    ExternalScores,
    HumanScore,
    Item,
    Judgement,
    Output,
    OutputKey,
    Segment,
    SegmentKey,
    Value,
)
from core.errors import ImportProblems, Problem, UserError
from core.formats.external import Merged, merge
from core.metrics.base import Cancelled, Metric, MetricSpec, Progress
from core.mqm.log import check, fold_segment
from core.ports import (
    Action,
    Event,
    ExternalMetric,
    ImportReport,
    Job,
    JobState,
    KeptCase,
    LabelBatch,
    Project,
    SavedBatch,
    SavedLambda,
    ScoredBy,
    Store,
    Told,
    nobody,
)
from core.signature import content_key

UNFINISHED = ("queued", "running")


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Memory:
    """Everything a store holds."""

    names: dict[int, tuple[str, datetime, bool]] = field(default_factory=dict)
    datasets: dict[int, Dataset] = field(default_factory=dict)
    values: dict[str, dict[str, Value]] = field(default_factory=dict)
    metrics: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    events: list[tuple[int, Event]] = field(default_factory=list)
    lambdas: dict[tuple[int, str], SavedLambda] = field(default_factory=dict)
    batches: dict[tuple[int, str], SavedBatch] = field(default_factory=dict)
    cases: dict[int, list[KeptCase]] = field(default_factory=dict)
    judged: dict[int, dict[tuple[OutputKey, str, str], Judgement]] = field(default_factory=dict)
    external: dict[tuple[int, str], tuple[ExternalScores, datetime]] = field(default_factory=dict)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def need(self, project_id: int) -> None:
        if project_id not in self.names:
            raise UserError("there is no such project", got=str(project_id))


def memory_store() -> Store:
    """An empty store that lives as long as the test."""
    memory = Memory()
    return Store(
        FakeProjects(memory),
        FakeScores(memory),
        FakeJobs(memory),
        FakeLabels(memory),
        FakeCalibrations(memory),
        FakeBatches(memory),
        FakeJudgements(memory),
        FakeCases(memory),
    )


class FakeProjects:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def get(self, project_id: int) -> Project:
        self.m.need(project_id)
        name, created, sample = self.m.names[project_id]
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
        self.m.names[project_id] = (self._free(name, project_id), *self.m.names[project_id][1:])

    def _free(self, name: str, but: int = 0) -> str:
        if not (name := name.strip()) or any(n == name for i, (n, _, _) in self.m.names.items() if i != but):
            raise UserError("the name is empty or taken", got=repr(name))
        return name

    def delete(self, project_id: int) -> None:
        self.m.need(project_id)
        del self.m.names[project_id], self.m.datasets[project_id]
        self.m.judged.pop(project_id, None)
        self.m.cases.pop(project_id, None)
        self.m.external = {k: v for k, v in self.m.external.items() if k[0] != project_id}
        self.m.jobs = {i: j for i, j in self.m.jobs.items() if j.project_id != project_id}
        self.m.events = [e for e in self.m.events if e[0] != project_id]
        self.m.lambdas = {k: v for k, v in self.m.lambdas.items() if k[0] != project_id}
        self.m.batches = {k: v for k, v in self.m.batches.items() if k[0] != project_id}

    def add(
        self, project_id: int, dataset: Dataset, labels: Sequence[LabelBatch] = (), tell: Told = nobody,
        judgements: Sequence[Judgement] = (), *, external: Sequence[ExternalScores] = (), replace: Collection[str] = (),
        corrected: Collection[str] = (),
    ) -> ImportReport:  # fmt: skip
        self.m.need(project_id)
        before, events = self.m.datasets[project_id], self.m.events[:]
        try:
            report = self._add(project_id, dataset)
            for done, batch in enumerate(labels):
                tell(done, len(labels))
                FakeLabels(self.m).append(project_id, *batch)
            merged = self._merged(project_id, external, replace)
            n_judged = self._judge(project_id, judgements, corrected)
        except BaseException:
            self.m.datasets[project_id], self.m.events = before, events
            raise
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

    def list(self) -> builtins.list[Project]:
        return sorted((self.get(i) for i in self.m.names), key=lambda p: p.name)


class FakeScores:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        stored = self.m.values.get(signature, {})
        return {key for key in keys if key in stored and stored[key].status != "error"}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        known = self.known(signature, values.keys())
        self.m.values.setdefault(signature, {}).update({k: v for k, v in values.items() if k not in known})
        self.m.metrics[signature] = (metric, now())

    def _rows(self, project_id: int, signature: str) -> dict[OutputKey, Value]:
        named = next((m.name for m in self.external(project_id) if m.signature == signature), None)
        if named is not None:
            values = self.m.external[project_id, named][0].values
            return {o.key: values[o.key] for o in self.m.datasets[project_id].outputs if o.key in values}
        stored = self.m.values.get(signature, {})
        items = self.m.datasets[project_id].items()
        return {key: stored[content_key(*item)] for key, item in items if content_key(*item) in stored}

    def signatures(self, project_id: int) -> list[ScoredBy]:
        found = [
            (metric, s, sum(v.status != "error" for v in self._rows(project_id, s).values()), newest)
            for s, (metric, newest) in self.m.metrics.items()
        ]
        ours = [ScoredBy(*row) for row in found if row[2]]
        return sorted([*ours, *(m.scored_by for m in self.external(project_id))], key=lambda by: by.newest)

    def external(self, project_id: int) -> list[ExternalMetric]:
        mine = sorted((name, *held) for (project, name), held in self.m.external.items() if project == project_id)
        return [ExternalMetric(n, s.higher_is_better, s.files, len(s.values), created) for n, s, created in mine]

    def remove_external(self, project_id: int, name: str) -> None:
        if self.m.external.pop((project_id, name), None) is None:
            raise UserError(f"there is no metric “{name}” from elsewhere")

    def table(self, project_id: int, signature: str) -> dict[OutputKey, Value]:
        return {key: replace(value, detail=None) for key, value in self._rows(project_id, signature).items()}

    def detail(self, project_id: int, signature: str, segment: SegmentKey) -> dict[str, Value]:
        rows = {key.system: value for key, value in self._rows(project_id, signature).items() if key.segment == segment}
        return {
            s: v if v.detail is None else replace(v, detail=json.loads(json.dumps(v.detail))) for s, v in rows.items()
        }


class FakeJobs:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def enqueue(self, project_id: int, metrics: Sequence[str]) -> Job:
        self.m.need(project_id)
        names = tuple(dict.fromkeys(metrics))
        if not names:
            raise UserError("no metric was chosen")
        for job in self.m.jobs.values():
            if job.project_id == project_id and job.state in UNFINISHED and set(job.metrics) == set(names):
                return job
        job = Job(next(self.m.ids), project_id, names, "queued", 0, 0, "", now(), None, None, None, None)
        self.m.jobs[job.id] = job
        return job

    def get(self, job_id: int) -> Job:
        if job_id not in self.m.jobs:
            raise UserError("there is no such job", got=str(job_id))
        return self.m.jobs[job_id]

    def recent(self, project_id: int | None = None, limit: int = 20) -> list[Job]:
        rows = [job for job in self.m.jobs.values() if project_id in (None, job.project_id)]
        return rows[::-1][:limit]

    def cancel(self, job_id: int) -> None:
        job = self.m.jobs.get(job_id)
        if job is not None and job.state in UNFINISHED:
            self.m.jobs[job_id] = job._replace(state="cancelled", finished=now())

    def lease(self, worker: str, seconds: float = 30.0) -> Job | None:
        late = now() - timedelta(seconds=seconds)
        for job in self.m.jobs.values():
            expired = job.state == "running" and job.heartbeat is not None and job.heartbeat < late
            if job.state == "queued" or expired:
                taken = job._replace(state="running", worker=worker, heartbeat=now(), started=job.started or now())
                self.m.jobs[job.id] = taken
                return taken
        return None

    def _held(self, job_id: int, worker: str) -> Job | None:
        job = self.m.jobs.get(job_id)
        return job if job is not None and job.worker == worker and job.state == "running" else None

    def beat(self, job_id: int, worker: str, done: int, total: int, message: str = "") -> bool:
        if (job := self._held(job_id, worker)) is None:
            return False
        self.m.jobs[job_id] = job._replace(done=done, total=total, message=message, heartbeat=now())
        return True

    def finish(self, job_id: int, worker: str, state: JobState, message: str = "") -> None:
        if (job := self._held(job_id, worker)) is not None:
            back = state == "queued"
            ended = {"worker": None, "heartbeat": None} if back else {"finished": now(), "heartbeat": now()}
            self.m.jobs[job_id] = job._replace(state=state, message=message, **ended)


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

    def events(self, project_id: int, *, rater: str | None = None, segment: SegmentKey | None = None) -> list[Event]:
        mine = [event for project, event in self.m.events if project == project_id]
        return [e for e in mine if rater in (None, e.rater) and segment in (None, e.segment)]

    def raters(self, project_id: int | None = None) -> list[str]:
        def counts(project: int, event: Event) -> bool:
            return project_id is None or (project == project_id and event.action.kind != "open")

        everyone = dict.fromkeys(event.rater for _, event in self.m.events)
        active = {event.rater for project, event in self.m.events if counts(project, event)}
        return [rater for rater in everyone if rater in active]


class FakeCalibrations:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def save(self, project_id: int, fitted: SavedLambda) -> SavedLambda:
        self.m.need(project_id)
        if not fitted.name.strip() or (project_id, fitted.name) in self.m.lambdas:
            raise UserError("the name is empty or taken", got=repr(fitted.name))
        saved = replace(fitted, id=next(self.m.ids), created=fitted.created or now())
        self.m.lambdas[project_id, fitted.name] = saved
        return saved

    def delete(self, project_id: int, name: str) -> None:
        if self.m.lambdas.pop((project_id, name), None) is None:
            raise UserError(f"there is no saved λ “{name}”")

    def list(self, project_id: int) -> builtins.list[SavedLambda]:
        return [saved for (project, _), saved in self.m.lambdas.items() if project == project_id]


class FakeJudgements:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def list(self, project_id: int) -> builtins.list[Judgement]:
        return list(self.m.judged.get(project_id, {}).values())


class FakeCases:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def keep(self, project_id: int, case: KeptCase) -> KeptCase:
        self.m.need(project_id)
        mine = self.m.cases.setdefault(project_id, [])
        if not case.collection.strip() or any((c.collection, c.texts) == (case.collection, case.texts) for c in mine):
            raise UserError("the collection has no name, or has the case already", got=repr(case.collection))
        mine.append(replace(case, id=next(self.m.ids), created=case.created or now()))
        return mine[-1]

    def list(self, project_id: int) -> builtins.list[KeptCase]:
        return list(self.m.cases.get(project_id, []))

    def remove(self, project_id: int, case_id: int) -> None:
        mine = self.m.cases.get(project_id, [])
        left = [case for case in mine if case.id != case_id]
        if len(left) == len(mine):
            raise UserError("there is no such case", got=str(case_id))
        self.m.cases[project_id] = left


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

    def delete(self, project_id: int, name: str) -> None:
        if self.m.batches.pop((project_id, name), None) is None:
            raise UserError(f"there is no batch “{name}”")


def counting_metric(
    name: str = "length",
    of: Callable[[Item], Value] = lambda item: Value(float(len(item.hypothesis))),
    *,
    needs: frozenset[Any] = frozenset(),
    seen: list[Item] | None = None,
) -> Metric:
    """A metric whose value is `of(item)`; every item it is asked for is appended to `seen`."""
    spec = MetricSpec(name, name, 1, "none", "for tests", (0, float("inf")), True, needs)

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        values = []
        for done, item in enumerate(items):
            if not progress(done):
                raise Cancelled
            if seen is not None:
                seen.append(item)
            values.append(of(item))
        return values

    return Metric(spec, lambda: f"{name}|v:1", score)


def small_dataset(n: int = 3, systems: Sequence[str] = ("A", "B")) -> Dataset:
    """`n` segments in one document, each with a source, one reference and an output by every system; all texts differ."""
    return Dataset(
        tuple(Segment("doc", str(i), f"source {i}", (f"reference {i}",)) for i in range(n)),
        tuple(Output(system, "doc", str(i), f"{system} output {i}") for i in range(n) for system in systems),
    )

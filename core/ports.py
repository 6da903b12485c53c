"""What storage must do, as protocols: services take these, `db` implements them, tests may pass fakes.

Every method is one transaction. Nothing returned is a database row. Times are aware UTC datetimes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from core.data import Dataset, ExternalScores, Judgement, OutputKey, SegmentKey, SourceFile, Value
from core.signature import external_metric, external_signature


class Project(NamedTuple):
    id: int
    name: str
    created: datetime
    sample: bool
    n_segments: int
    n_outputs: int
    systems: tuple[str, ...]
    human_scores: tuple[str, ...]
    judged: tuple[str, ...] = ()  # the names under which single raters gave numbers


class ImportReport(NamedTuple):
    """What an import did: counts of rows that were new, and of those that were there already, word for word."""

    segments: int
    outputs: int
    references: int
    human_scores: int
    unchanged: int
    sources: int = 0  # segments that had no source and now have one
    labelled: int = 0  # outputs with new labels, counted rater by rater
    metric_scores: int = 0  # values of metrics that were computed elsewhere
    judgements: int = 0  # numbers of single raters that are new


Told = Callable[[int, int], None]
"""Told how many of how many pieces of work (rater × segment) are done."""


def nobody(done: int, total: int) -> None:
    """For callers that do not watch."""


class Projects(Protocol):
    def list(self) -> list[Project]: ...
    def get(self, project_id: int) -> Project: ...  # UserError when there is none
    def create(self, name: str, *, sample: bool = False) -> Project: ...  # UserError when the name is taken or empty
    def rename(self, project_id: int, name: str) -> None: ...
    def delete(self, project_id: int) -> None: ...
    def add(
        self, project_id: int, dataset: Dataset, labels: Sequence[LabelBatch] = (), tell: Told = nobody,
        judgements: Sequence[Judgement] = (), *, external: Sequence[ExternalScores] = (), replace: Collection[str] = (),
        corrected: Collection[str] = (),
    ) -> ImportReport:  # fmt: skip
        """Add what is new, then record `labels` as `Labels.append` does, all of it or nothing; what is there already stays.

        A different text under an existing key raises `ImportProblems` (source or output), and so does another number of
        the same rater under the same name; new references of a segment are appended. `tell` hears of every batch before
        it is recorded. `external` joins what the project has of a metric of that name (`core.formats.external.merge`), or
        takes its place where `replace` names it. `judgements` of a name in `corrected` take the place of all that the same
        raters gave under it.
        """
        ...

    def dataset(self, project_id: int) -> Dataset: ...


class ScoredBy(NamedTuple):
    """A metric a project has scores of; `n` of its outputs have a row that is not an error."""

    metric: str
    signature: str
    n: int
    newest: datetime


class ExternalMetric(NamedTuple):
    """A metric of a project that was computed elsewhere; `n` of its outputs have a row, `created` when it last changed."""

    name: str
    higher_is_better: bool
    files: tuple[SourceFile, ...]
    n: int
    created: datetime

    @property
    def signature(self) -> str:
        return external_signature(self.name, self.higher_is_better, self.files)

    @property
    def scored_by(self) -> ScoredBy:
        return ScoredBy(external_metric(self.name), self.signature, self.n, self.created)


class Scores(Protocol):
    """The cache of values, by signature and content key: the same texts are never scored twice, in whatever project.

    Beside it stand the values of metrics that were computed elsewhere, which belong to the outputs of one project;
    `signatures`, `table` and `detail` show both alike.
    """

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        """Those of `keys` that need no more work. A row of status "error" is not among them: it is tried again."""
        ...

    def values(
        self, signature: str, keys: Collection[str]
    ) -> dict[str, Value]: ...  # those that are there, without `detail`
    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None: ...
    def signatures(self, project_id: int) -> list[ScoredBy]: ...
    def table(self, project_id: int, signature: str) -> dict[OutputKey, Value]: ...  # without `detail`
    def detail(
        self, project_id: int, signature: str, segment: SegmentKey
    ) -> dict[str, Value]: ...  # by system, with `detail`
    def external(self, project_id: int) -> list[ExternalMetric]: ...  # by name
    def remove_external(self, project_id: int, name: str) -> None: ...  # UserError when there is none


JobState = Literal["queued", "running", "done", "failed", "cancelled"]


class Job(NamedTuple):
    id: int
    project_id: int
    metrics: tuple[str, ...]
    state: JobState
    done: int
    total: int
    message: str
    created: datetime
    started: datetime | None
    finished: datetime | None
    worker: str | None
    heartbeat: datetime | None


class Jobs(Protocol):
    def enqueue(
        self, project_id: int, metrics: Sequence[str]
    ) -> Job: ...  # the same unfinished request is not queued twice
    def get(self, job_id: int) -> Job: ...
    def recent(self, project_id: int | None = None, limit: int = 20) -> list[Job]: ...  # newest first
    def cancel(self, job_id: int) -> None: ...
    def lease(self, worker: str, seconds: float = 30.0) -> Job | None:
        """The oldest job that is queued, or running with a heartbeat older than `seconds`; never to two workers."""
        ...

    def beat(self, job_id: int, worker: str, done: int, total: int, message: str = "") -> bool:
        """Record progress. False: the job was cancelled or belongs to another worker now; stop."""
        ...

    def claim(self, job_id: int, worker: str, signature: str, keys: Collection[str], seconds: float = 30.0) -> set[str]:
        """Return those of `keys` whose values this worker may compute now.

        The others are claimed by a worker whose job is running with a heartbeat not older than `seconds`: it stores
        them, or its claim ends with its hold on the job. A claim also ends when `Scores.put` stores the value.
        """
        ...

    def finish(self, job_id: int, worker: str, state: JobState, message: str = "") -> None:
        """End the worker's hold on a job; "queued" gives it back. Nothing happens when the job is no longer its own."""
        ...


ActionKind = Literal["open", "add", "change", "delete", "verdict", "undo", "redo", "submit", "reopen"]


class Action(NamedTuple):
    """One thing an annotator did, as the browser sends it. `id` is made there and applied once.

    `system` is None for the actions of a whole segment (open, undo, redo, submit, reopen). payload by kind:
    open {order: [system, …], seed: int} · add / change {mark: str, side, start, end, quote, severity, category, note} ·
    delete {mark: str} · verdict {value: "no_error" | "non_translation" | None} · submit {}, or {systems: [system, …]}
    where a file holds the labels of these outputs only · the others {}.
    """

    id: str
    kind: ActionKind
    system: str | None
    payload: Mapping[str, Any]
    client_time: str = ""


class Event(NamedTuple):
    """An action as it was recorded; `number` grows in the order of recording."""

    number: int
    time: datetime
    rater: str
    segment: SegmentKey
    action: Action


class LabelBatch(NamedTuple):
    """Actions of one rater on one segment, in order."""

    rater: str
    segment: SegmentKey
    actions: Sequence[Action]


class Labels(Protocol):
    def append(self, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action]) -> list[str]:
        """Record the actions whose ids are new, in order, and return all their ids once they are on disk.

        `UserError`, and nothing recorded, when a span does not match its text, an exact duplicate is added, a mark
        changed that does not exist, or a submit comes before every output has a mark or a verdict.
        """
        ...

    def events(
        self, project_id: int, *, rater: str | None = None, segment: SegmentKey | None = None
    ) -> list[Event]: ...
    def raters(self, project_id: int | None = None) -> list[str]: ...


class Judgements(Protocol):
    """The numbers single raters gave; they come in by `Projects.add`, and leave with their project."""

    def list(self, project_id: int) -> list[Judgement]: ...  # in the order in which they came


@dataclass(frozen=True, slots=True)
class SavedLambda:
    """A calibrated λ: a stored, signed result. `result` is the whole calibration report as plain JSON values."""

    name: str
    value: float
    signature: str
    refinement: str  # signature of the refinement it was fitted on
    result: Mapping[str, Any] = field(default_factory=dict)
    created: datetime | None = None
    id: int | None = None


class Calibrations(Protocol):
    def save(self, project_id: int, fitted: SavedLambda) -> SavedLambda: ...  # UserError when the name is taken
    def list(self, project_id: int) -> list[SavedLambda]: ...
    def delete(self, project_id: int, name: str) -> None: ...


class Chosen(NamedTuple):
    """An output of a batch and the probability in (0, 1] with which it came into it."""

    key: OutputKey
    probability: float


@dataclass(frozen=True, slots=True)
class SavedBatch:
    """Outputs chosen to be labelled, in the order in which they are worked through.

    `signature` says how they were drawn; `options` are plain JSON values, `population` how many outputs they were drawn from.
    """

    name: str
    method: str
    seed: int
    signature: str
    outputs: tuple[Chosen, ...]
    population: int
    options: Mapping[str, Any] = field(default_factory=dict)
    created: datetime | None = None
    id: int | None = None


class Batches(Protocol):
    def save(self, project_id: int, batch: SavedBatch) -> SavedBatch:
        """Store a batch. `UserError` when the name is empty or taken, or an output is not in the project."""
        ...

    def list(self, project_id: int) -> list[SavedBatch]: ...  # oldest first
    def delete(self, project_id: int, name: str) -> None: ...  # labels stay


class KeptScore(NamedTuple):
    """What one metric gave the good and the changed text of a kept case; None where it gave no number, `reason` says why."""

    metric: str
    signature: str
    higher_is_better: bool
    good: float | None
    changed: float | None
    reason: str = ""

    @property
    def fooled(self) -> bool | None:
        """The changed text scores at least as high; None where a score is missing."""
        if self.good is None or self.changed is None:
            return None
        return self.changed >= self.good if self.higher_is_better else self.changed <= self.good


@dataclass(frozen=True, slots=True)
class KeptCase:
    """Two texts that put metrics to the test, kept in a named collection of a project with what the metrics gave them.

    `phenomenon` is the kind of error, `what` says in words what was changed.
    """

    collection: str
    phenomenon: str
    source: str | None
    reference: str | None
    good: str
    changed: str
    what: str = ""
    scores: tuple[KeptScore, ...] = ()
    created: datetime | None = None
    id: int | None = None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """What makes it this case, whatever metrics said."""
        return self.phenomenon, self.source, self.reference, self.good, self.changed


class KeptCases(Protocol):
    def keep(self, project_id: int, case: KeptCase) -> KeptCase:
        """Store a case. `UserError` when the collection has no name, or has these very texts already."""
        ...

    def list(self, project_id: int) -> list[KeptCase]: ...  # oldest first
    def remove(self, project_id: int, case_id: int) -> None: ...  # UserError when there is none


class StressRun(NamedTuple):
    """A run of the stress tests, without its report. `settings` are plain JSON values: what was asked for, and counts of what was found."""

    name: str
    settings: Mapping[str, Any]
    created: datetime
    id: int


class StressRuns(Protocol):
    """Reports of stress tests, each kept whole as the text it is (`core.services.lab.report.as_json`)."""

    def save(
        self, project_id: int, name: str, report: str, settings: Mapping[str, Any], created: datetime | None = None
    ) -> StressRun:
        """Store a run; two may have the same name. `UserError` when the name is empty."""
        ...

    def list(self, project_id: int) -> list[StressRun]: ...  # oldest first
    def report(self, project_id: int, run_id: int) -> str: ...  # UserError when there is none
    def rename(self, project_id: int, run_id: int, name: str) -> None: ...  # UserError: none there, or an empty name
    def delete(self, project_id: int, run_id: int) -> None: ...  # UserError when there is none


class Store(NamedTuple):
    """All of storage, as services and pages receive it."""

    projects: Projects
    scores: Scores
    jobs: Jobs
    labels: Labels
    calibrations: Calibrations
    batches: Batches
    judgements: Judgements
    cases: KeptCases
    stress: StressRuns

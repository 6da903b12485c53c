"""Add a dataset to a project, check external scores, and use outputs of a system as references, because label files have human
translations among the outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from core.data import Dataset, ExternalScores, OutputKey, Segment, SegmentKey
from core.errors import ImportProblems, Problem, UserError
from core.formats.external import name_problem
from core.formats.parsing.cells import Meter
from core.formats.streams import staged
from core.formats.streams.staged import AT_ONCE, StagedImport, without_text
from core.formatting import format_count
from core.mqm.typology import MQM
from core.ports.files import DatasetImport, ImportPart, ImportReport, StagedMetric
from core.ports.projects import Project
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.labels.protocols import use_bundled_typology
from core.services.projects.task import TYPOLOGY, Task, task_of

NAMED = 6
"""How many metrics a summary names."""


def name_problems(named: Iterable[tuple[str, str, str]]) -> list[Problem]:
    """Return the problems of metric names, each given with its file and column."""
    return [problem for name, file, column in named if (problem := name_problem(name, file, column))]


def check_names(metrics: Iterable[ExternalScores | StagedMetric]) -> None:
    """Raise `ImportProblems` if a metric name is not valid."""
    if problems := name_problems((m.name, ", ".join(f.name for f in m.files), "") for m in metrics):
        raise ImportProblems(problems)


def external_summary(external: Sequence[ExternalScores]) -> str:
    """Return `640 metric scores (COMET ↑, judge ↓)`, or "" if there are none."""
    n = sum(value.value is not None for s in external for value in s.values.values())
    return _summary(external, n)


def staged_summary(staged: StagedImport) -> str:
    """Return the summary of the external scores of an import."""
    return _summary(staged.metrics, staged.n_metric_scores() if staged.metrics else 0)


def _summary(metrics: Sequence[ExternalScores | StagedMetric], n: int) -> str:
    names = [f"{m.name} {'↑' if m.higher_is_better else '↓'}" for m in metrics]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{format_count(n, 'metric score')} ({', '.join(names[:NAMED])}{more})" if metrics else ""


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The target of an import: the project with this id, or a new one with this name."""

    name: str
    project_id: int | None = None

    @contextmanager
    def opened(self, store: Store) -> Iterator[int]:
        """Yield the id of the project. If the import fails, a new project is not left behind."""
        project_id = store.projects.create(self.name).id if self.project_id is None else self.project_id
        try:
            yield project_id
        except BaseException:
            if self.project_id is None:
                with suppress(UserError):  # the reason of the failure is more important
                    store.projects.delete(project_id)
            raise

    def check_size(self, store: Store, new: StagedImport | DatasetImport) -> None:
        """Raise `ImportProblems` if the import gives the project more systems or cells (`Limits.project_cells`) than it may have."""
        meter, systems = Meter(""), set(new.systems)
        n_segments = new.n_segments
        if self.project_id is None:
            meter.systems(len(systems))
            meter.project(n_segments, len(systems))
            return
        project = store.projects.get(self.project_id)
        more_systems = not systems.issubset(project.systems)
        systems |= set(project.systems)
        if more_systems:
            meter.systems(len(systems))
        if (project.n_segments + n_segments) * len(systems) > meter.limits.project_cells:
            known_segments = store.projects.index(self.project_id).row
            n_segments = sum(
                s.key not in known_segments for part in new.parts(lambda: AT_ONCE) for s in part.texts.segments
            )
        if more_systems or n_segments:
            meter.project(project.n_segments + n_segments, len(systems))


class Imported(NamedTuple):
    """The result of an import, and its project. `typology` is the title of the error typology of a new project, `references_of` the
    system whose outputs became references."""

    project: Project
    report: ImportReport
    notes: tuple[str, ...] = ()
    labelled: int = 0  # outputs whose labels are new
    typology: str = ""
    references_of: str = ""


def describe_new(report: ImportReport) -> str:
    """Return what is new: `412 segments, 2060 outputs and 824 references`; "" if nothing is."""
    fields = ("segments", "outputs", "references", "human_scores", "judgements", "metric_scores", "sources")
    new = [
        format_count(n, field.removesuffix("s").replace("_", " ")) for field in fields if (n := getattr(report, field))
    ]
    return ", ".join(new[:-1]) + " and " + new[-1] if len(new) > 1 else "".join(new)


def sentence(report: ImportReport) -> str:
    """Return `New: 412 segments and 2060 outputs. Unchanged: 12 texts and scores.`"""
    said = f"New: {describe_new(report)}." if describe_new(report) else "Nothing is new."
    unchanged = format_count(report.unchanged, "text or score", "texts and scores")
    return f"{said} Unchanged: {unchanged}." if report.unchanged else said


def add(
    store: Store, target: ImportTarget, new: StagedImport | DatasetImport, replace: Collection[str] = (),
    progress: Progress = no_progress,
) -> Imported:  # fmt: skip
    """Import the content of files, or a dataset: all or nothing. If it fails, no new project is left behind.

    Scores of metrics in `replace` replace the stored ones. `progress` may raise to cancel; then nothing was changed. Raises `ImportProblems`
    if the project has other texts under the same names or would have too many systems (`ERRORSCOPE_MAX_SYSTEMS`) or cells
    (`ERRORSCOPE_MAX_PROJECT_CELLS`), `UserError` if the project name is taken.
    """
    check_names(new.metrics)
    target.check_size(store, new)
    with target.opened(store) as project_id:
        report = store.projects.add(
            project_id, new, progress=progress, replace=replace, new_project=target.project_id is None
        )
        typology = choose_typology(store, project_id, task_of(new.sample())) if target.project_id is None else ""
    return Imported(store.projects.get(project_id), report, typology=typology)


class StoredOutputs:
    """The outputs and segments of a project (`core.formats.streams.staged.KnownOutputs`)."""

    def __init__(self, store: Store, project: Project) -> None:
        self.systems, self._store, self._id = project.systems, store, project.id

    def present(self, keys: Collection[OutputKey]) -> set[OutputKey]:
        return self._store.projects.present(self._id, keys)

    def segments(self) -> Collection[SegmentKey]:
        return self._store.projects.index(self._id).row


def choose_typology(store: Store, project_id: int, task: Task) -> str:
    """Store the error typology that fits the task of a new project; return its title."""
    return use_bundled_typology(store, project_id, TYPOLOGY.get(task, MQM.name)).title


SEGMENTS, OUTPUTS, CHARACTERS = 2000, 20_000, 4_000_000
"""Most segments of a part, and most outputs and characters that these have (unless one segment has more): an import compares each part
with all stored outputs of its segments."""


def with_references(dataset: Dataset, systems: Sequence[str]) -> Dataset:
    """Return the dataset with the outputs of these systems as additional references. Raises `UserError` if a system does not exist or
    has no outputs with text."""
    for system in systems:
        _check_system(system, dataset.systems)
        if not _segments(dataset, system):
            raise without_text(system)
    return staged.with_references(dataset, systems)


def use_as_references(store: Store, project_id: int, system: str, progress: Progress = no_progress) -> Imported:
    """Add the outputs of a system to the references of a project, in parts; existing references stay.

    All or nothing, also if `progress` raises. Scores are cached by text, so reference-based metrics must be computed again for
    segments with a new reference. Raises `UserError` as `with_references`.
    """
    report = store.projects.add(project_id, _OutputsAsReferences(store, project_id, system), progress=progress)
    return Imported(store.projects.get(project_id), report, references_of=system)


class _OutputsAsReferences:
    """The outputs of a system of a project as an import of references (`core.ports.files.ImportSource`)."""

    metrics: Sequence[StagedMetric] = ()

    def __init__(self, store: Store, project_id: int, system: str) -> None:
        index = store.projects.index(project_id)
        _check_system(system, index.systems)
        self._texts, self._project_id, self._system = store.projects.texts, project_id, system
        has_text = index.lengths[:, index.column[system]] > 0
        self._keys = [key for key, present in zip(index.segments, has_text, strict=True) if present]
        self._characters = index.lengths[has_text].clip(0).sum(axis=1).tolist()
        self._most = min(SEGMENTS, max(1, OUTPUTS // len(index.systems)))

    @property
    def n_rows(self) -> int:
        return 2 * len(self._keys)

    def parts(self, rows: Callable[[], int]) -> Iterator[ImportPart]:
        """Yield the segments with the outputs as references. Raises `UserError` at the end if no output has text."""
        any_text = False
        for keys in self._parts_of_keys():
            segments = _segments(self._texts(self._project_id, keys, {self._system}), self._system)
            any_text = any_text or bool(segments)
            yield ImportPart(Dataset(segments, ()))
        if not any_text:
            raise without_text(self._system)

    def _parts_of_keys(self) -> Iterator[list[SegmentKey]]:
        part, held = list[SegmentKey](), 0
        for key, characters in zip(self._keys, self._characters, strict=True):
            if part and (len(part) == self._most or held + characters > CHARACTERS):
                yield part
                part, held = [], 0
            part.append(key)
            held += characters
        if part:
            yield part


def _segments(dataset: Dataset, system: str) -> tuple[Segment, ...]:
    written = {o.key.segment: o.text for o in dataset.outputs if o.system == system and o.text.strip()}
    return tuple(replace(s, references=(written[s.key],)) for s in dataset.segments if s.key in written)


def _check_system(system: str, systems: Collection[str]) -> None:
    if system not in systems:
        raise UserError("there is no such system", got=f"“{system}”", expected=", ".join(systems) or "none yet")

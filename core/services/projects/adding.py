"""Add a dataset to a new or existing project, and compare both beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from core.data import Dataset, ExternalScores, OutputKey
from core.errors import ImportProblems, Problem, UserError
from core.formats.parsing.limits import Meter
from core.formats.problems import Collector, counted, shown
from core.formats.streams.staged import StagedImport
from core.mqm.typology import MQM
from core.ports.projects import ImportReport, Project
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.labels.typologies import choose_bundled
from core.services.projects import external_scores
from core.services.projects.task import TYPOLOGY, Task, task_of

_NEXT_STEP = "The project has another text under this name. Fix the file, or import it into a new project"


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

    def check_size(self, store: Store, new: Dataset | StagedImport) -> None:
        """Raise `ImportProblems` if the import gives the project more systems or cells (`Limits.project_cells`) than it may have."""
        meter, systems = Meter(""), set(new.systems)
        n_segments = len(new.segments) if isinstance(new, Dataset) else new.stage.n_segments
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
            there = store.projects.index(self.project_id).row
            n_segments = sum(s.key not in there for part in _parts(new) for s in part.segments)
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


def compare(old: Dataset, new: Dataset) -> tuple[ImportReport, tuple[Problem, ...]]:
    """Return what adding `new` to a project with `old` would change, and every conflict that would prevent it."""
    segments, outputs = old.segment_of(), {o.key: o.text for o in old.outputs}
    scores = {(h.system, h.doc_id, h.segment_id, h.name): h.value for h in old.human_scores}
    n: Counter[str] = Counter()
    problems = Collector()
    for segment in new.segments:
        n["references"] += len(segment.references)
        if (was := segments.get(segment.key)) is None:
            n["segments"] += 1
            continue
        there = (Counter(segment.references) & Counter(was.references)).total()
        n["references"] -= there
        n["unchanged"] += there
        if was.source is None and segment.source is not None:
            n["sources"] += 1
        elif segment.source in (None, was.source):
            n["unchanged"] += 1
        else:
            place = f"source of document {shown(segment.doc_id)}, segment {shown(segment.segment_id)}"
            problems.add("", 0, place, *_around_difference(segment.source or "", was.source or ""), _NEXT_STEP)
    for output in new.outputs:
        text = outputs.get(output.key)
        n["outputs"] += text is None
        n["unchanged"] += text == output.text
        if text is not None and text != output.text:
            found, there_now = _around_difference(output.text, text)
            problems.add("", 0, f"output of {_place(output.key)}", found, there_now, _NEXT_STEP)
    for score in new.human_scores:
        value = scores.get(score[:4])
        n["human_scores"] += value is None
        n["unchanged"] += value == score.value
        if value not in (None, score.value):
            place = f"human score {shown(score.name)} of {_place(OutputKey(*score[:3]))}"
            problems.add("", 0, place, f"{score.value:g}", f"{value:g}", _NEXT_STEP)
    return ImportReport(**{name: n[name] for name in ImportReport._fields}), problems.closed()


def goes_on(old: Dataset, new: Dataset) -> bool:
    """Return whether `new` continues `old`: they share segments, and each of these has the same source, reference or output.

    Equal numbering is not enough, because line files are all numbered from 1.
    """
    before, written = old.segment_of(), {(o.key, o.text) for o in old.outputs}
    same_output = {o.key.segment for o in new.outputs if (o.key, o.text) in written}
    common = [(s, before[s.key]) for s in new.segments if s.key in before]
    return bool(common) and all(
        (s.source is not None and s.source == was.source)
        or not set(s.references).isdisjoint(was.references)
        or s.key in same_output
        for s, was in common
    )


def compare_with(
    store: Store, project_id: int, new: Dataset | StagedImport
) -> tuple[ImportReport, tuple[Problem, ...]]:  # fmt: skip
    """Return what `compare` returns for a stored project, of which only the segments of `new` are read, part by part."""
    sums = dict.fromkeys(ImportReport._fields, 0)
    problems = Collector()
    for part in _parts(new):
        report, found = compare(store.imports.stored(project_id, [s.key for s in part.segments]), part)
        problems.extend(found)
        for name, n in report._asdict().items():
            sums[name] += n
    return ImportReport(**sums), problems.closed()


def goes_on_with(store: Store, project_id: int, new: Dataset | StagedImport) -> bool:
    """Return what `goes_on` returns for a stored project, of which only the segments of `new` are read, part by part."""
    found = False
    for part in _parts(new):
        stored = store.imports.stored(project_id, [s.key for s in part.segments])
        if stored.segments and not goes_on(stored, part):
            return False
        found = found or bool(stored.segments)
    return found


def _parts(new: Dataset | StagedImport) -> Iterator[Dataset]:
    return (part.texts for part in new.parts()) if isinstance(new, StagedImport) else iter([new])


def _around_difference(a: str, b: str) -> tuple[str, str]:
    """Return both texts for a message, from a little before the first difference."""
    first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, first - 20)
    dots = "…" if start else ""
    return shown(dots + a[start:]), shown(dots + b[start:])


def _place(key: OutputKey) -> str:
    document = f", document {shown(key.doc_id)}" * bool(key.doc_id)
    return f"system {shown(key.system)}{document}, segment {shown(key.segment_id)}"


def news(report: ImportReport) -> str:
    """Return what is new: `412 segments, 2060 outputs and 824 references`; "" if nothing is."""
    fields = ("segments", "outputs", "references", "human_scores", "judgements", "metric_scores", "sources")
    new = [counted(n, field.removesuffix("s").replace("_", " ")) for field in fields if (n := getattr(report, field))]
    return ", ".join(new[:-1]) + " and " + new[-1] if len(new) > 1 else "".join(new)


def sentence(report: ImportReport) -> str:
    """Return `New: 412 segments and 2060 outputs. Unchanged: 12 texts and scores.`"""
    said = f"New: {news(report)}." if news(report) else "Nothing is new."
    there = counted(report.unchanged, "text or score", "texts and scores")
    return f"{said} Unchanged: {there}." if report.unchanged else said


def add(
    store: Store,
    target: ImportTarget,
    dataset: Dataset,
    scores: Sequence[ExternalScores] = (),
    replace: Collection[str] = (),
) -> Imported:
    """Import a dataset and external scores: all or nothing. If it fails, no new project is left behind.

    Scores of metrics in `replace` replace the stored ones. Raises `ImportProblems` if the project has other texts under the
    same names or would have too many systems (`ERRORSCOPE_MAX_SYSTEMS`) or cells (`ERRORSCOPE_MAX_PROJECT_CELLS`), `UserError` if the project name is taken.
    """
    external_scores.check_names(scores)
    target.check_size(store, dataset)
    with target.opened(store) as project_id:
        report = store.projects.add(
            project_id, dataset, external=scores, replace=replace, new_project=target.project_id is None
        )
        typology = choose_typology(store, project_id, task_of(dataset)) if target.project_id is None else ""
    return Imported(store.projects.get(project_id), report, typology=typology)


def add_staged(
    store: Store, target: ImportTarget, staged: StagedImport, replace: Collection[str] = (), progress: Progress = no_progress
) -> Imported:  # fmt: skip
    """Import the content of files: all or nothing, as `add` does. `progress` may raise to cancel; then nothing was changed."""
    if problems := external_scores.name_problems(
        (m.name, ", ".join(f.name for f in m.files), "") for m in staged.metrics
    ):
        raise ImportProblems(problems)
    target.check_size(store, staged)
    with target.opened(store) as project_id:
        report = store.imports.add(project_id, staged, progress, replace=replace, new_project=target.project_id is None)
        typology = choose_typology(store, project_id, task_of(staged.sample())) if target.project_id is None else ""
    return Imported(store.projects.get(project_id), report, typology=typology)


class StoredOutputs:
    """The outputs of a project, asked for by key (`core.formats.streams.staged.KnownOutputs`)."""

    def __init__(self, store: Store, project: Project) -> None:
        self.systems, self._store, self._id = project.systems, store, project.id

    def present(self, keys: Collection[OutputKey]) -> set[OutputKey]:
        stored = self._store.imports.stored(self._id, {key.segment for key in keys})
        return {o.key for o in stored.outputs}.intersection(keys)


def choose_typology(store: Store, project_id: int, task: Task) -> str:
    """Store the error typology that fits the task of a new project; return its title."""
    return choose_bundled(store, project_id, TYPOLOGY.get(task, MQM.name)).title

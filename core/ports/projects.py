"""Projects, their datasets, imports and settings."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from core.data import Dataset, ExternalScores, Judgement, OutputKey, SegmentKey
from core.ports.files import ImportComparison, ImportReport, ImportSource
from core.ports.labels import LabelBatch
from core.ports.rules import change_project, create_project, delete_project, import_data, read_project, visible_projects
from core.progress import Progress, no_progress

if TYPE_CHECKING:  # numpy would be loaded by the list of commands
    from core.columns import ProjectIndex, ScoreColumn


class Project(NamedTuple):
    """A project with its counts and names. `imports` grows with every import, so a changed project never equals its earlier state."""

    id: int
    name: str
    created: datetime
    sample: bool
    n_segments: int
    n_outputs: int
    systems: tuple[str, ...]
    human_scores: tuple[str, ...]
    judged: tuple[str, ...] = ()  # names of judgements
    imports: int = 0


class Projects(Protocol):
    @visible_projects.kept
    def list(self) -> list[Project]: ...

    @read_project.kept
    def get(self, project_id: int) -> Project: ...  # UserError when there is none

    @create_project
    def create(self, name: str, *, sample: bool = False) -> Project: ...  # UserError when the name is taken or empty

    @change_project("project renamed", "name")
    def rename(self, project_id: int, name: str) -> None: ...

    @delete_project
    def delete(self, project_id: int) -> None: ...

    @import_data
    def add(
        self, project_id: int, source: Dataset | ImportSource, labels: Sequence[LabelBatch] = (), progress: Progress = no_progress,
        judgements: Sequence[Judgement] = (), *, external: Sequence[ExternalScores] = (), replace: Collection[str] = (),
        corrected: Collection[str] = (), new_project: bool = False,
    ) -> ImportReport:  # fmt: skip
        """Add new data and record `labels` as `LabelLog.append` does: all or nothing, also if `progress` raises or the process dies.

        Stored data stays. Raises `ImportProblems` for a different source or output under an existing key, or a different number of the same
        rater under the same name. New references of a segment are appended. `progress` is called with the share that is done.
        `external` scores are merged with those of the same metric (`core.formats.external.merge`), or replace them if the
        metric is in `replace`. The scores of a source are its own. `judgements` under a name in `corrected` replace all that the same raters gave under it.
        `new_project`: the project was created for this import, so it is removed if the process dies; any other one is then as before.
        """
        ...

    @read_project
    def compare(self, project_id: int, source: ImportSource, replace: Collection[str] = ()) -> ImportComparison:
        """Return what `add` would change, or why it would fail. Raises `UserError` for an unknown project."""
        ...

    @read_project
    def continues(self, project_id: int, source: ImportSource) -> bool:
        """Return whether an import continues a project: they share segments, and each of these has the same source, reference or output.

        Equal numbering is not enough, because line files are all numbered from 1. Raises `UserError` for an unknown project.
        """
        ...

    @read_project
    def present(self, project_id: int, keys: Collection[OutputKey]) -> set[OutputKey]:
        """Return those of the outputs that are stored. Raises `UserError` for an unknown project."""
        ...

    @read_project
    def dataset(self, project_id: int) -> Dataset: ...  # all data as they were imported, in document order

    @read_project.or_own_tasks
    def document(self, project_id: int, doc_id: str) -> Dataset:
        """Return the texts of one document, without human scores; empty if there is none. Raises `UserError` for an unknown project."""
        ...

    @read_project.or_context_of_tasks
    def index(self, project_id: int) -> ProjectIndex:
        """Return which outputs a project has. Raises `UserError` for an unknown project."""
        ...

    @read_project.or_context_of_tasks
    def texts(self, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
        """Return the texts of these segments in document order, without human scores: all outputs, or those of `systems`.

        Raises `UserError` for an unknown project.
        """
        ...

    @read_project
    def search(self, project_id: int, phrase: str) -> builtins.list[SegmentKey]:
        """Return the segments whose source, references, outputs or names contain the phrase, in document order.

        Case and the variants of a character (NFKC) make no difference. Raises `UserError` for an unknown project.
        """
        ...

    @read_project
    def human_score(self, project_id: int, name: str) -> ScoreColumn:
        """Return an imported human score of all outputs. Raises `UserError` for an unknown project."""
        ...


class ProjectSettings(Protocol):
    @read_project.or_own_tasks
    def get(self, project_id: int, name: str) -> Any: ...  # None if it was never set

    @change_project("setting changed", "name")
    def put(self, project_id: int, name: str, value: Any) -> None: ...  # replaces what was set before

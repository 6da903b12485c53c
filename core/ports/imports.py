"""Imports of any size: read from a source in parts, compared with what is stored part by part, and written all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from core.data import Dataset, OutputKey, SegmentKey, SourceFile, Value
from core.ports.projects import ImportReport
from core.ports.rules import import_data, read_project
from core.progress import Progress, no_progress


class StagedMetric(NamedTuple):
    """An external metric of an import: its name, direction and files."""

    name: str
    higher_is_better: bool
    files: tuple[SourceFile, ...]


class ImportPart(NamedTuple):
    """Some segments of an import with their outputs and human scores, and the external scores of each metric in the same order."""

    texts: Dataset
    external: tuple[Mapping[OutputKey, Value], ...] = ()

    @property
    def rows(self) -> int:
        texts = len(self.texts.segments) + len(self.texts.outputs) + len(self.texts.human_scores)
        return texts + sum(map(len, self.external)) + sum(len(s.references) for s in self.texts.segments)


class ImportSource(Protocol):
    """The checked content of files. `parts` may be called many times; each segment is in one part, in the order of the import."""

    @property
    def n_outputs(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def metrics(self) -> Sequence[StagedMetric]: ...
    def parts(self, rows: Callable[[], int]) -> Iterator[ImportPart]:
        """Yield parts of about as many rows as `rows` says before each of them."""
        ...


class Imports(Protocol):
    @import_data
    def add(
        self, project_id: int, source: ImportSource, progress: Progress = no_progress, *, replace: Collection[str] = (),
        new_project: bool = False,
    ) -> ImportReport:  # fmt: skip
        """Add an import as `Projects.add` does: all or nothing, also if `progress` raises or the process dies.

        `progress` is called with the share of the outputs that is written.
        """
        ...

    @read_project
    def stored(self, project_id: int, keys: Collection[SegmentKey]) -> Dataset:
        """Return those of the segments that are stored, with their outputs and human scores. Raises `UserError` for an unknown project."""
        ...

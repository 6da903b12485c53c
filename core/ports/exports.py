"""The content of a project in parts, for files of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from core.data import Dataset, OutputKey, Value
from core.ports.rules import read_project


class Exports(Protocol):
    """Each part is some whole segments, in document order. Data that is stored meanwhile may be in later parts."""

    @read_project
    def texts(self, project_id: int) -> Iterator[Dataset]:
        """Yield the segments with their outputs and human scores. Raises `UserError` for an unknown project."""
        ...

    @read_project
    def keys(self, project_id: int) -> Iterator[Sequence[OutputKey]]: ...  # of the outputs

    @read_project
    def scores(self, project_id: int, signature: str) -> Iterator[Sequence[tuple[OutputKey, Value]]]:
        """Yield the values that `Scores.table` returns, in the order of the outputs."""
        ...

    @read_project
    def n_references(self, project_id: int) -> int: ...  # of all segments

    @read_project
    def most_references(self, project_id: int) -> int: ...  # of a segment

"""Error spans of outputs that were imported from files, as layers of a project."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from core.data import OutputKey, SegmentKey
from core.ports.rules import change_project, read_project
from core.progress import Progress, no_progress

SpanRows = Sequence[Mapping[str, Any]]
"""The error spans of one output as plain values (`core.spans.layers.spans_to_json`)."""


class StoredLayer(NamedTuple):
    """An imported layer: its examined outputs and error spans as counts, the facts of its origin, and what was left out, by reason."""

    name: str
    outputs: int
    spans: int
    provenance: Mapping[str, str]
    left_out: Mapping[str, int]
    created: datetime


class SpanLayers(Protocol):
    """Imported layers by name. They belong to the outputs of one project and are deleted with them."""

    @read_project.kept
    def list(self, project_id: int) -> list[StoredLayer]: ...  # oldest first

    @read_project
    def load(self, project_id: int, name: str) -> dict[OutputKey, SpanRows]:
        """Return the spans of all examined outputs in the order of the project. Raises `UserError` if there is no such layer."""
        ...

    @read_project
    def of_segment(
        self, project_id: int, segment: SegmentKey, names: Collection[str]
    ) -> dict[str, dict[str, SpanRows]]:
        """Return the spans of a segment by layer and system; layers without an examined output in it are left out."""
        ...

    @change_project("span layer imported", "name")
    def add(
        self, project_id: int, name: str, spans: Mapping[OutputKey, SpanRows], provenance: Mapping[str, str],
        left_out: Mapping[str, int], progress: Progress = no_progress,
    ) -> StoredLayer:  # fmt: skip
        """Store a layer: all or nothing. Raises `UserError` if the name is empty or taken, or the project does not have an output."""
        ...

    @change_project("span layer deleted", "name")
    def remove(self, project_id: int, name: str) -> None: ...  # UserError when there is none

"""Stored scores, external scores, measured times of scoring, and error spans that were imported as layers of a project."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from core.columns import ScoreColumn
from core.data import OutputKey, SegmentKey, SourceFile, Value
from core.ports.rules import by_some_manager, change_project, everyone, read_project
from core.progress import Progress, no_progress
from core.signature import external_metric, external_signature


class ScoredBy(NamedTuple):
    """A metric with scores in a project; `n` outputs have a value that is not an error."""

    metric: str
    signature: str
    n: int
    newest: datetime


class ExternalMetric(NamedTuple):
    """An external metric of a project; `n` outputs have a value, `created` is the time of the last change."""

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
    """The cache of values by signature and content key, so that equal texts are never scored twice, in any project.

    External scores belong to the outputs of one project. `signatures`, `column` and `detail` return both kinds.
    """

    @everyone
    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        """Return the keys with a stored value, without those of status "error", which are retried."""
        ...

    @everyone
    def values(self, signature: str, keys: Collection[str]) -> dict[str, Value]: ...  # stored values, without `detail`

    @by_some_manager
    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None: ...

    @everyone.kept
    def newest(self) -> int: ...  # grows whenever values are stored, external scores aside; cheap to ask

    @read_project.kept
    def signatures(self, project_id: int) -> list[ScoredBy]: ...

    @read_project
    def column(self, project_id: int, signature: str) -> ScoreColumn:
        """Return the values of all outputs under a signature, without `detail`. Raises `UserError` for an unknown project."""
        ...

    @read_project
    def detail(self, project_id: int, signature: str, segment: SegmentKey) -> dict[str, Value]:
        """Return the values of one segment by system, with `detail`."""
        ...

    @read_project
    def details(self, project_id: int, signature: str) -> Iterator[tuple[OutputKey, Value]]:
        """Yield the values that have a `detail`, with it, in the order of the project. They are read in parts."""
        ...

    @read_project.kept
    def external(self, project_id: int) -> list[ExternalMetric]: ...  # by name

    @change_project("external scores deleted", "name")
    def remove_external(self, project_id: int, name: str) -> None: ...  # UserError when there is none


class Timing(NamedTuple):
    """`n` outputs of `size` (`core.scoring.timing.size_of`) took `seconds`; `length` is the mean size in their data."""

    n: int
    size: int
    seconds: float
    length: float


class Timings(Protocol):
    """The newest timings of this machine, by metric expression and model (`core.scoring.timing.model_of`)."""

    @everyone.kept
    def of(self, metric: str, model: str) -> list[Timing]: ...  # newest first

    @by_some_manager
    def add(self, metric: str, model: str, timing: Timing) -> None: ...


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

"""Stored scores, external scores, and measured times of scoring."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from core.columns import ScoreColumn
from core.data import OutputKey, SegmentKey, SourceFile, Value
from core.ports.rules import by_some_manager, change_project, everyone, read_project
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

    External scores belong to the outputs of one project. `signatures`, `table` and `detail` return both kinds.
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
        """Return the values of all outputs under a signature. Raises `UserError` for an unknown project."""
        ...

    @read_project
    def table(self, project_id: int, signature: str) -> dict[OutputKey, Value]: ...  # without `detail`

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

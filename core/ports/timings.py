"""Measured times of scoring on this machine, from which the time of a job is estimated."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from core.ports.rules import by_some_manager, everyone


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

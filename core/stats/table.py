"""Arrange scores of outputs in a complete table of systems by segments, as paired tests need."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from core.stats.checks import vectors
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints


class SystemTable(NamedTuple):
    """`rows[i, j]` is the index of the output of system i for segment j; both are in the order of their first output."""

    systems: tuple[Hashable, ...]
    rows: Ints

    def of(self, scores: Sequence[float] | Floats) -> Floats:
        """Return scores of the same outputs as a table of shape (n_systems, n_segments)."""
        (values,) = vectors(scores)
        return values[self.rows]


def complete_table(systems: Sequence[Hashable], segments: Sequence[Hashable]) -> SystemTable:
    """Return the table of segments with an output of every system. Raises `ValueError` for two outputs of a system for one segment."""
    of_system, of_segment = group_ids(systems), group_ids(segments)
    n_systems, n_segments = len(set(systems)), len(set(segments))
    if len(of_system) != len(of_segment):
        raise ValueError(f"{len(of_system)} systems and {len(of_segment)} segments for the same outputs")
    rows = np.full((n_systems, n_segments), -1, dtype=np.int64)
    rows[of_system, of_segment] = np.arange(len(of_system))
    if (rows >= 0).sum() != len(of_system):
        raise ValueError("a system has two outputs for one segment")
    whole = (rows >= 0).all(0) if n_systems else np.zeros(n_segments, dtype=bool)
    return SystemTable(tuple(dict.fromkeys(systems)), rows[:, whole])

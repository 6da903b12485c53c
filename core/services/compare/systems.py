"""Mean scores of systems over segments: one row per system, one column per metric or human score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.columns import Array
from core.services.compare.compare import Order, row_mean
from core.services.projects.view import Column, View


class SystemScores(NamedTuple):
    """Means of output scores, shape (n_systems, n_columns), NaN without a score; `counts` are the outputs with a score."""

    systems: tuple[str, ...]
    columns: tuple[Column, ...]
    means: Array
    counts: npt.NDArray[np.intp]
    outputs: int

    @property
    def best(self) -> npt.NDArray[np.bool_]:
        """Return the best mean of each column; none without a direction, or if all systems are equal."""
        found = np.zeros(self.means.shape, dtype=bool)
        for k, column in enumerate(self.columns):
            there = self.means[~np.isnan(self.means[:, k]), k]
            if not column.human and len(there) and there.min() < there.max():
                found[:, k] = self.means[:, k] == (there.max() if column.higher_is_better else there.min())
        return found

    @property
    def partial(self) -> list[tuple[Column, int]]:
        """Return the columns that lack scores, with the number of outputs that have one."""
        totals = zip(self.columns, self.counts.sum(axis=0).tolist(), strict=True)
        return [(c, n) for c, n in totals if n < self.outputs]


def system_scores(view: View, lam: float, rows: Order, systems: Sequence[str] = ()) -> SystemScores:
    """Return the means over the segments `rows` of these systems, or of all."""
    at = view.at(systems)
    cells = np.ix_(rows, np.array(at, dtype=np.intp))
    values = [view.values(c.name, lam)[cells].T for c in view.human_first]
    return SystemScores(
        tuple(view.systems[i] for i in at),
        view.human_first,
        np.stack([row_mean(v) for v in values], axis=1),
        np.stack([(~np.isnan(v)).sum(axis=1) for v in values], axis=1),
        int(view.present[cells].sum()),
    )

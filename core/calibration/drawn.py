"""Bootstrap draws of very many outputs, all at once: what goes in and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from core.stats.pairs import Floats, Ints, dense_ranks

STEPS = 200
"""Stretches of ω = λ/(1+λ): a fit of a draw is one of their ends, 0.005 apart."""
Tell = Callable[[float], None]
"""Hears now and then which share of the work is done, in [0, 1]."""


class Drawn(NamedTuple):
    """Outputs as whole numbers: distances, human ranks, their unit (a segment, say), each (n,); and how often each draw
    takes a unit (n_units, n_draws)."""

    exp: Ints
    imp: Ints
    human: Ints
    unit: Ints
    weights: Floats

    def parts(self, size: int) -> list[slice]:
        """The draws, some at a time."""
        return [slice(k, k + size) for k in range(0, self.weights.shape[1], size)]


class Agreements(NamedTuple):
    """By draw, NaN where undefined: just above every ω = k/200 (n_draws, 201), at λ = 0, ∞ and the chosen λ (n_draws,)."""

    steps: Floats
    zero: Floats
    inf: Floats
    here: Floats


class Members:
    """How many outputs of each group, groups ascending, each unit has: a sparse matrix (n_groups, n_units)."""

    def __init__(self, groups: Ints, unit: Ints) -> None:
        ids = dense_ranks(groups)
        shape = (int(ids.max()) + 1, int(unit.max()) + 1)
        self._matrix = csr_matrix((np.ones(len(ids)), (ids, unit)), shape=shape)

    def sums(self, of_units: Floats) -> Floats:
        """By group (n_groups, n_draws) what is given by unit (n_units, n_draws)."""
        return np.asarray(self._matrix @ of_units)

    def spread(self, of_groups: Floats) -> Floats:
        """The other way round."""
        return np.asarray(self._matrix.T @ of_groups)


def quiet(share: float) -> None:
    """Tells nobody."""


def part(tell: Tell, k: int, n: int) -> Tell:
    """What tells of the k-th (from 0) of n equal parts of the work."""
    return lambda share: tell((k + share) / n)

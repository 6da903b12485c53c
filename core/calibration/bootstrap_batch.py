"""Inputs and results of a batch of bootstrap draws of very many outputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from core.stats.correlation.pairs import Floats, Ints, dense_ranks

STEPS = 200
"""Number of equal steps of ω = λ/(1+λ); each draw is fitted to one of their ends, 0.005 apart."""


class BootstrapBatch(NamedTuple):
    """Outputs and draws: distances and human ranks as integers, the unit of each output (such as its segment), all (n,).

    `weights` is how often each draw contains each unit, (n_units, n_draws).
    """

    exp: Ints
    imp: Ints
    human: Ints
    unit: Ints
    weights: Floats

    def parts(self, size: int) -> list[slice]:
        """Return slices of at most `size` draws."""
        return [slice(k, k + size) for k in range(0, self.weights.shape[1], size)]


class DrawAgreements(NamedTuple):
    """Agreement of each draw, NaN where undefined.

    `steps`: just above each ω = k/200, (n_draws, 201); `zero`, `inf`, `here`: at λ = 0, ∞ and the chosen λ, (n_draws,).
    """

    steps: Floats
    zero: Floats
    inf: Floats
    here: Floats


class GroupMembers:
    """Number of outputs of each group (ascending) in each unit, as a sparse matrix (n_groups, n_units)."""

    def __init__(self, groups: Ints, unit: Ints) -> None:
        ids = dense_ranks(groups)
        shape = (int(ids.max()) + 1, int(unit.max()) + 1)
        self._matrix = csr_matrix((np.ones(len(ids)), (ids, unit)), shape=shape)

    def sums(self, of_units: Floats) -> Floats:
        """Sum values of units (n_units, n_draws) to groups (n_groups, n_draws)."""
        return np.asarray(self._matrix @ of_units)

    def spread(self, of_groups: Floats) -> Floats:
        """Sum values of groups (n_groups, n_draws) to units (n_units, n_draws)."""
        return np.asarray(self._matrix.T @ of_groups)

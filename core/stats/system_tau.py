"""Kendall τ-b between a metric's and the human system means, on resampled segments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from core.stats.bootstrap import draws_of
from core.stats.checks import tables
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, ratio
from core.stats.means import SLACK


def segment_draws(units: Sequence[Hashable], seed: int, draws: int) -> Floats:
    """Return how often each segment is drawn, (draws, n_segments); `units` names its segment or document, the resampled unit."""
    ids = group_ids(units)
    drawn = list(draws_of(int(ids.max(initial=-1)) + 1, seed, draws))
    return np.stack(drawn)[:, ids] if drawn else np.zeros((0, len(ids)))


def tau_on_draws(metric: npt.ArrayLike, human: npt.ArrayLike, weights: npt.ArrayLike) -> Floats:
    """Return τ-b of the systems' weighted means per draw, in [−1, 1]; NaN if all systems are equal on one side.

    `metric` and `human` have the shape (n_systems, n_segments), `weights` (draws, n_segments). Raises `ValueError` otherwise.
    """
    m, h = tables(metric, human)
    (w,) = tables(weights)
    if w.shape[1] != m.shape[1]:
        raise ValueError(f"weights of {w.shape[1]} segments for scores of {m.shape[1]}")
    of_metric, of_human = _signs(w @ m.T), _signs(w @ h.T)
    agree = (of_metric * of_human).sum(1)
    return ratio(agree, np.sqrt(np.abs(of_metric).sum(1) * np.abs(of_human).sum(1)))


def _signs(sums: Floats) -> Floats:
    """Return the signs of the differences of all pairs of systems, (draws, n_pairs)."""
    i, j = np.triu_indices(sums.shape[1], 1)
    apart = sums[:, i] - sums[:, j]
    slack = SLACK * np.abs(sums).max(axis=1, initial=0.0)[:, None]
    return np.where(np.abs(apart) <= slack, 0.0, np.sign(apart))

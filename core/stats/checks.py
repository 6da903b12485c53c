"""Validate score arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.stats.correlation.pairs import Floats


def vectors(*scores: npt.ArrayLike) -> tuple[Floats, ...]:
    """Return float arrays of one shape (n,). Raises `ValueError` for other shapes and for values that are not finite."""
    return _same(scores, 1)


def tables(*scores: npt.ArrayLike) -> tuple[Floats, ...]:
    """Return float arrays of one shape (n_systems, n_segments). Raises `ValueError` as `vectors` does."""
    return _same(scores, 2)


def _same(scores: tuple[npt.ArrayLike, ...], dimensions: int) -> tuple[Floats, ...]:
    arrays = tuple(np.asarray(s, dtype=np.float64) for s in scores)
    if any(a.ndim != dimensions or a.shape != arrays[0].shape for a in arrays):
        raise ValueError(f"scores of different shape: {' and '.join(str(a.shape) for a in arrays)}")
    if not all(np.isfinite(a).all() for a in arrays):
        raise ValueError("scores must be finite numbers; leave missing ones out")
    return arrays

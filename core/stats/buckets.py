"""Split items by length or quality into buckets of about equal size; equal values share a bucket."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.correlation.pairs import Ints, vectors


class Bucket(NamedTuple):
    """The smallest and largest value of the bucket, both included, and its number of items."""

    low: float
    high: float
    size: int


class Buckets(NamedTuple):
    """`of[i]` is the bucket of item i, shape (n,); `buckets` ascend and none is empty."""

    of: Ints
    buckets: tuple[Bucket, ...]


def quantile_buckets(values: npt.ArrayLike, n_buckets: int = 5) -> Buckets:
    """Split values into at most `n_buckets` buckets of about n/wanted items each, without separating equal values.

    With many equal values there are fewer and less even buckets. The k-th cut is at the boundary between different values
    closest to k·n/wanted items. Without values there are no buckets.
    """
    (v,) = vectors(values)
    if n_buckets < 1:
        raise ValueError(f"the number of buckets must be 1 or more, got {n_buckets}")
    if not len(v):
        return Buckets(np.zeros(0, dtype=np.int64), ())
    distinct, rank, counts = np.unique(v, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    inner = ends[:-1]
    aims = len(v) * np.arange(1, n_buckets) / n_buckets
    nearest = np.abs(inner[:, None] - aims).argmin(0) if len(inner) else np.zeros(0, dtype=np.int64)
    cuts = np.unique(nearest)
    of_value = np.searchsorted(cuts, np.arange(len(distinct)), "left")
    of = of_value[rank.reshape(-1)].astype(np.int64)
    starts, stops = np.append(0, cuts + 1), np.append(cuts, len(distinct) - 1)
    sizes = np.bincount(of)
    return Buckets(
        of,
        tuple(
            Bucket(float(distinct[a]), float(distinct[b]), int(c)) for a, b, c in zip(starts, stops, sizes, strict=True)
        ),
    )

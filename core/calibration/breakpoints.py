"""Breakpoints: the values of λ at which two outputs change places in the ranking.

Scores fall with s(λ) = λ·Dist_exp + Dist_imp. Outputs i and j change places only at λ* = −ΔDist_imp/ΔDist_exp, if it is
above 0; at λ* they tie. Distances are rounded to twelve decimals and stored as integers, so that differences and ties are
exact. Breakpoints closer than one part in 10⁹ (means such as 1/3 have no exact decimals) are treated as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.stats.correlation.pairs import Floats, Ints

DECIMALS = 12
SAME_BREAK = 1e-9
PAIRS_AT_ONCE = 4_000_000
MOST_PAIRS = 60_000_000


class Breakpoints(NamedTuple):
    """The F pairs that change places, sorted by group and breakpoint. An entry is one group at one breakpoint (E entries).

    `left`, `right` (F,) are rows; `sign` (F,) is sgn(score(left) − score(right)) before the breakpoint, negated after it.
    `start` (E,) is the first pair of each entry, `group` and `at` (E,) its group and the index of its breakpoint in `breaks`.
    """

    breaks: Floats
    left: Ints
    right: Ints
    sign: npt.NDArray[np.int8]
    start: Ints
    group: Ints
    at: Ints


_NONE = np.zeros(0, dtype=np.int64)
NO_BREAKPOINTS = Breakpoints(np.zeros(0), _NONE, _NONE, _NONE.astype(np.int8), _NONE, _NONE, _NONE)


def without_noise(distances: Floats, noise: float) -> Floats:
    """Return the distances (n,), with runs whose neighbours differ by at most `noise` made equal; others do not change.

    Each run gets its value nearest to 0: the distance of a text to itself is 0.
    """
    order = np.argsort(distances, kind="stable")
    ascending = distances[order]
    run = np.concatenate(([0], np.cumsum(np.diff(ascending) > noise))) if len(order) else order
    nearest = np.lexsort((np.abs(ascending), run))
    merged = np.empty_like(distances)
    merged[order] = ascending[nearest[np.searchsorted(run, run)]]
    return merged


def on_grid(exp: Floats, imp: Floats) -> tuple[Ints, Ints]:
    """Return both distances as integer multiples of 1e-12 (coarser above 4,000, so that doubles hold them exactly)."""
    largest = max(float(np.abs(exp).max(initial=0)), float(np.abs(imp).max(initial=0)), 1.0)
    decimals = min(DECIMALS, int(math.floor(15.6 - math.log10(largest))))
    scale = 10.0**decimals
    return np.rint(exp * scale).astype(np.int64), np.rint(imp * scale).astype(np.int64)


def find_breakpoints(exp: Ints, imp: Ints, groups: Sequence[Ints]) -> Breakpoints:
    """Return all breakpoints in (0, ∞) of pairs within each group of rows.

    Raises `UserError` above 60 million pairs, for which memory may not suffice.
    """
    n_pairs = sum(len(rows) * (len(rows) - 1) // 2 for rows in groups)
    if n_pairs > MOST_PAIRS:
        raise UserError(
            "there are too many outputs to compare all pairs",
            got=f"{n_pairs:,} pairs",
            expected=f"at most {MOST_PAIRS:,}",
            hint="Average by segment or by system, or calibrate on fewer outputs",
        )
    return breakpoints_of_pairs(
        exp, imp, ((number, *pair) for number, rows in enumerate(groups) for pair in _pairs(rows))
    )


def breakpoints_of_pairs(exp: Ints, imp: Ints, portions: Iterable[tuple[int, Ints, Ints]]) -> Breakpoints:
    """Return the breakpoints in (0, ∞) of pairs given as (group number, rows of the first, rows of the second outputs)."""
    parts: list[tuple[Ints, Ints, Ints, Floats, npt.NDArray[np.int8]]] = []
    for number, i, j in portions:
        de, di = exp[i] - exp[j], imp[i] - imp[j]
        crossing = np.flatnonzero(((de > 0) & (di < 0)) | ((de < 0) & (di > 0)))
        de, di = de[crossing], di[crossing]
        group = np.full(len(crossing), number)
        parts.append((i[crossing], j[crossing], group, -(di / de), -np.sign(di).astype(np.int8)))
    if not any(len(p[0]) for p in parts):
        return NO_BREAKPOINTS
    left, right, group, where, sign = (np.concatenate(column) for column in zip(*parts, strict=True))
    breaks, at = _distinct(where)
    order = np.lexsort((at, group)) if group.any() else np.argsort(at, kind="stable")
    group, at = group[order], at[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (group[1:] != group[:-1]) | (at[1:] != at[:-1])
    start = np.flatnonzero(first)
    return Breakpoints(breaks, left[order], right[order], sign[order], start, group[start], at[start])


def _distinct(where: Floats) -> tuple[Floats, Ints]:
    """Return the distinct breakpoints, ascending, and the index of each of `where` among them."""
    order = np.argsort(where, kind="stable")
    ascending = where[order]
    fresh = np.ones(len(where), dtype=bool)
    fresh[1:] = np.diff(ascending) > SAME_BREAK * ascending[1:]
    at = np.empty(len(where), dtype=np.int64)
    at[order] = np.cumsum(fresh) - 1
    return ascending[fresh], at


def _pairs(rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield all pairs of rows, some millions at a time."""
    n = len(rows)
    step = max(1, PAIRS_AT_ONCE // max(1, n))
    for top in range(0, n - 1, step):
        i, j = np.triu_indices(min(step, n - 1 - top), 1, n - top)
        yield rows[i + top], rows[j + top]

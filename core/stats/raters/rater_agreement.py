"""Agreement of raters' scores: Krippendorff's α for interval data, and Kendall's τ-b of each pair of raters."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from core.stats.bootstrap import Interval, content_order, percentiles, resamples
from core.stats.correlation.correlation import Statistic, agreement, group_ids
from core.stats.correlation.pairs import Floats, ratio

NOT_TWICE = "fewer than two outputs have scores of at least two raters"
ALL_EQUAL = "all scores are equal"


class Ratings(NamedTuple):
    """`scores[i, j]` is rater i's score of output j, NaN if missing; both in order of first appearance."""

    raters: tuple[str, ...]
    outputs: tuple[Hashable, ...]
    scores: Floats


class RaterPair(NamedTuple):
    """Kendall's τ-b of two raters over the `tau.n` outputs that both scored."""

    first: str
    second: str
    tau: Statistic


def ratings(rows: Iterable[tuple[str, Hashable, float]]) -> Ratings:
    """Build from (rater, output, score) rows. Raises `ValueError` for duplicate and non-finite scores."""
    found: dict[tuple[str, Hashable], float] = {}
    for rater, output, score in rows:
        if (rater, output) in found:
            raise ValueError(f"{rater} scored {output} twice")
        if not np.isfinite(score):
            raise ValueError("scores must be finite numbers; leave missing ones out")
        found[rater, output] = score
    raters = {r: i for i, r in enumerate(dict.fromkeys(r for r, _ in found))}
    outputs = {o: j for j, o in enumerate(dict.fromkeys(o for _, o in found))}
    scores = np.full((len(raters), len(outputs)), np.nan)
    for (rater, output), score in found.items():
        scores[raters[rater], outputs[output]] = score
    return Ratings(tuple(raters), tuple(outputs), scores)


def krippendorff_alpha(scores: Floats, *, seed: int, segments: Sequence[Hashable] = (), draws: int = 1000) -> Interval:
    """Return α = 1 − D_o/D_e with the interval difference (c − k)² (Krippendorff 2011), and its percentile bootstrap interval.

    `scores` as in `Ratings`, shape (n_raters, n_outputs). 1 is perfect agreement, 0 chance agreement, below 0 systematic
    disagreement. Outputs with fewer than two scores are ignored; any raters may be missing. Segments are resampled with all
    their outputs (`segments` names the segment of each output; by default, each output is one). `n` counts the segments used.
    Undefined for fewer than two such outputs, and if all scores are equal.
    """
    if np.isinf(scores).any():
        raise ValueError("scores must be finite numbers, or NaN where a rater gave none")
    twice = (~np.isnan(scores)).sum(0) >= 2
    kept, ids = scores[:, twice], np.arange(twice.sum())
    if len(segments):
        ids = group_ids([s for s, there in zip(segments, twice, strict=True) if there])
    n = int(ids.max(initial=-1)) + 1
    if kept.shape[1] < 2:
        return Interval(None, None, None, n, NOT_TWICE)
    if np.nanmin(kept) == np.nanmax(kept):
        return Interval(None, None, None, n, ALL_EQUAL)
    parts = np.stack([np.bincount(ids, column) for column in _moments(kept)])
    parts = parts[:, content_order(*parts)]
    value = float(_alpha(parts.sum(1)))
    if n < 2:
        return Interval(value, None, None, n, "an interval needs at least two segments")
    blocks = resamples(n, seed, draws)
    alphas = np.concatenate([_alpha(np.stack([part[drawn].sum(1) for part in parts])) for drawn in blocks])
    alphas = alphas[~np.isnan(alphas)]
    if len(alphas) < draws / 2:
        return Interval(value, None, None, n, f"α is undefined on {draws - len(alphas)} of {draws} resamples")
    return Interval(value, *percentiles(alphas), n)


def _moments(scores: Floats) -> Floats:
    """Return per output: number of scores m, their sum, their sum of squares, and Σ(c − k)²/(m − 1) over its ordered pairs.

    Scores are centred at the overall mean, and within an output at its own mean, for numerical precision: Σ(c − k)² over the
    ordered pairs is 2m times the sum of squares about the output's mean.
    """
    there = ~np.isnan(scores)
    centred = np.where(there, scores - np.nanmean(scores), 0.0)
    m, total, squares = there.sum(0).astype(np.float64), centred.sum(0), (centred**2).sum(0)
    within = (np.where(there, centred - total / m, 0.0) ** 2).sum(0)
    return np.stack([m, total, squares, 2 * m * within / (m - 1)])


def _alpha(parts: Floats) -> Floats:
    """Return α of summed `_moments`, shape (4, …): D_o = Σ_u/n and D_e = 2(n·Σv² − (Σv)²)/(n(n − 1)); NaN where D_e is 0."""
    n, total, squares, observed = parts
    spread = n * squares - total**2
    expected = np.where(spread > 1e-12 * n * squares, 2 * spread / (n - 1), 0.0)
    return 1 - ratio(observed, expected)


def rater_pairs(found: Ratings) -> list[RaterPair]:
    """Return Kendall's τ-b of each pair of raters; undefined if they share too few outputs or one gives constant scores."""
    pairs = []
    for i, j in combinations(range(len(found.raters)), 2):
        both = ~np.isnan(found.scores[[i, j]]).any(0)
        tau = agreement("kendall", found.scores[i, both], found.scores[j, both])
        first, second = found.raters[i], found.raters[j]
        reason = tau.reason.replace("all metric", f"all {first}'s").replace("all human", f"all {second}'s")
        pairs.append(RaterPair(first, second, tau._replace(reason=reason)))
    return pairs

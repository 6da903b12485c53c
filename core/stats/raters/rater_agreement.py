"""Agreement of raters: Krippendorff's α, Kendall's τ-b of each pair of raters, and the disagreement on single outputs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.bootstrap import Interval, content_order, drawn_interval, resamples
from core.stats.correlation.correlation import Statistic, agreement, group_ids, rows_by
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, ratio, vectors
from core.stats.raters.span_agreement import SpanLike, match_spans

ONE_MAJOR_ERROR = 5.0
WINDOW = 50
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
    by_rater_and_output: dict[tuple[str, Hashable], float] = {}
    for rater, output, score in rows:
        if (rater, output) in by_rater_and_output:
            raise ValueError(f"{rater} scored {output} twice")
        if not np.isfinite(score):
            raise ValueError("scores must be finite numbers; leave missing ones out")
        by_rater_and_output[rater, output] = score
    raters = {r: i for i, r in enumerate(dict.fromkeys(r for r, _ in by_rater_and_output))}
    outputs = {o: j for j, o in enumerate(dict.fromkeys(o for _, o in by_rater_and_output))}
    scores = np.full((len(raters), len(outputs)), np.nan)
    for (rater, output), score in by_rater_and_output.items():
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
        ids = group_ids([s for s, is_shared in zip(segments, twice, strict=True) if is_shared])
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
    alphas = [_alpha(np.stack([part[drawn].sum(1) for part in parts])) for drawn in blocks]
    return drawn_interval(value, np.concatenate(alphas), n, name="α")


def _moments(scores: Floats) -> Floats:
    """Return per output: number of scores m, their sum, their sum of squares, and Σ(c − k)²/(m − 1) over its ordered pairs.

    Scores are centred at the overall mean, and within an output at its own mean, for numerical precision: Σ(c − k)² over the
    ordered pairs is 2m times the sum of squares about the output's mean.
    """
    present = ~np.isnan(scores)
    centred = np.where(present, scores - np.nanmean(scores), 0.0)
    m, total, squares = present.sum(0).astype(np.float64), centred.sum(0), (centred**2).sum(0)
    within = (np.where(present, centred - total / m, 0.0) ** 2).sum(0)
    return np.stack([m, total, squares, 2 * m * within / (m - 1)])


def _alpha(parts: Floats) -> Floats:
    """Return α of summed `_moments`, shape (4, …): D_o = Σ_u/n and D_e = 2(n·Σv² − (Σv)²)/(n(n − 1)); NaN where D_e is 0."""
    n, total, squares, observed = parts
    spread = n * squares - total**2
    expected = np.where(spread > 1e-12 * n * squares, 2 * spread / (n - 1), 0.0)
    return 1 - ratio(observed, expected)


def rater_pairs(rating_table: Ratings) -> list[RaterPair]:
    """Return Kendall's τ-b of each pair of raters; undefined if they share too few outputs or one gives constant scores."""
    pairs = []
    for i, j in combinations(range(len(rating_table.raters)), 2):
        both = ~np.isnan(rating_table.scores[[i, j]]).any(0)
        tau = agreement("kendall", rating_table.scores[i, both], rating_table.scores[j, both])
        first, second = rating_table.raters[i], rating_table.raters[j]
        reason = tau.reason.replace("all metric", f"all {first}'s").replace("all human", f"all {second}'s")
        pairs.append(RaterPair(first, second, tau._replace(reason=reason)))
    return pairs


def rank_scores(scores: Floats) -> Floats:
    """Return scores (n_raters, n_outputs), NaN where missing, as mid-ranks among outputs with at least two scores.

    `krippendorff_alpha` of these is the ordinal α of the scores: its difference (Σ_{g=c}^{k} n_g − (n_c + n_k)/2)²
    (Krippendorff 2011, section E) is the squared difference of the mid-ranks of c and k. Resamples of its interval
    keep the ranks of the whole sample. Outputs with a single score become NaN.
    """
    part = ~np.isnan(scores) & ((~np.isnan(scores)).sum(0) >= 2)
    ranks = np.full(scores.shape, np.nan)
    if part.any():
        ranks[part] = mid_ranks(scores[part])
    return ranks


class Disagreement(NamedTuple):
    """Disagreement `value` in [0, 1], higher is worse; None, with a reason, for fewer than two raters.

    `points` is the mean absolute difference of two raters' scores; `spans` is 1 − mean character F1 (severity must match),
    None if no pair of raters has one.
    """

    value: float | None
    points: float | None
    spans: float | None
    raters: int
    reason: str = ""


def disagreement(
    scores: Sequence[float],
    marks: Sequence[Sequence[SpanLike]] = (),
    length: int = 0,
    *,
    half: float = ONE_MAJOR_ERROR,
) -> Disagreement:
    """Return the disagreement of an output's raters: the mean of points/(points + `half`) and `spans`, or the first alone.

    `scores`: one per rater, in MQM points (either sign); a difference of `half` points gives ½. `marks`: each rater's spans in
    the text of `length` characters. In `spans`, two raters without errors agree; if only one has errors, they disagree fully.
    """
    if len(marks) and len(marks) != len(scores):
        raise ValueError(f"{len(scores)} scores and the marks of {len(marks)} raters")
    if not np.isfinite(np.asarray(scores, dtype=np.float64)).all():
        raise ValueError("scores must be finite numbers; leave missing ones out")
    n = len(scores)
    if n < 2:
        return Disagreement(
            None, None, None, n, f"at least two raters are needed, there is {n}" if n else "it has not been rated"
        )
    points = float(np.mean([abs(a - b) for a, b in combinations(scores, 2)]))
    gaps = []
    for first, second in combinations(marks, 2):
        match = match_spans(first, second, length, by=("severity",))
        if match.presence == "both_empty":
            gaps.append(0.0)
        elif (f1 := match.f1.value) is not None:
            gaps.append(1 - f1)
    spans = float(np.mean(gaps)) if gaps else None
    by_points = points / (points + half)
    return Disagreement(by_points if spans is None else (by_points + spans) / 2, points, spans, n)


class TimedRating(NamedTuple):
    """Score of `rater` for `output` at `time`, in seconds since any fixed moment. `segment` is the unit of resampling."""

    rater: str
    output: Hashable
    value: float
    time: float
    segment: Hashable = None


class AgreementWindow(NamedTuple):
    """Krippendorff's α of `outputs` outputs with at least two raters, completed from `start` to `end`.

    `ratings` and `raters` count what they contain. `alpha` is None, with a reason, if undefined.
    """

    start: float
    end: float
    outputs: int
    ratings: int
    raters: int
    alpha: Interval


def agreement_over_time(
    timed: Iterable[TimedRating], *, seed: int, outputs_per_window: int = WINDOW, draws: int = 1000
) -> list[AgreementWindow]:
    """Return α with its interval (`krippendorff_alpha`) in consecutive windows of `outputs_per_window` outputs.

    An output counts at the time of its last rating, with all its ratings; outputs with one rater are ignored. Windows have
    equal numbers of outputs, so that their intervals are equally wide; the last may have fewer. Outputs completed at the same time
    are in order of appearance. α also falls if outputs become more alike, so compare the intervals, not the values. Raises
    `ValueError` for duplicate ratings and for values that are not finite.
    """
    if outputs_per_window < 2:
        raise ValueError(f"a window needs at least two outputs, not {outputs_per_window}")
    by_output: dict[Hashable, list[TimedRating]] = {}
    for rating in timed:
        by_output.setdefault(rating.output, []).append(rating)
    for own in by_output.values():
        ratings((r.rater, r.output, r.value) for r in own)
    twice = [own for own in by_output.values() if len(own) > 1]
    twice.sort(key=lambda own: max(r.time for r in own))
    starts = range(0, len(twice), outputs_per_window)
    return [_window(twice[start : start + outputs_per_window], seed, draws) for start in starts]


def _window(outputs: list[list[TimedRating]], seed: int, draws: int) -> AgreementWindow:
    rows = [r for own in outputs for r in own]
    table = ratings((r.rater, r.output, r.value) for r in rows)
    segments = [own[0].output if own[0].segment is None else own[0].segment for own in outputs]
    alpha = krippendorff_alpha(table.scores, seed=seed, segments=segments, draws=draws)
    completed = [max(r.time for r in own) for own in outputs]
    return AgreementWindow(completed[0], completed[-1], len(outputs), len(rows), len(table.raters), alpha)


def standardised(raters: Sequence[str], scores: npt.ArrayLike) -> Floats:
    """Return z = (score − the rater's mean)/(the rater's standard deviation, with n − 1), over all the rater's scores; shape (n,).

    Unbounded, with the direction of the scores; mean 0 and standard deviation 1 for each rater. NaN for raters with one score or
    constant scores.
    """
    (values,) = vectors(scores)
    if len(raters) != len(values):
        raise ValueError(f"{len(raters)} raters for {len(values)} scores")
    z = np.full(len(values), np.nan)
    for rows in rows_by(group_ids(raters)):
        own = values[rows]
        if own.min() < own.max():
            z[rows] = (own - own.mean()) / own.std(ddof=1)
    return z

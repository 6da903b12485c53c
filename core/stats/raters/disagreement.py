"""Rank outputs by rater disagreement, for joint review."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np

from core.stats.raters.span_agreement import SpanLike, match_spans

Key = TypeVar("Key", bound=Hashable)
ONE_MAJOR_ERROR = 5.0


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
        if match.found == "both_empty":
            gaps.append(0.0)
        elif (f1 := match.f1.value) is not None:
            gaps.append(1 - f1)
    spans = float(np.mean(gaps)) if gaps else None
    by_points = points / (points + half)
    return Disagreement(by_points if spans is None else (by_points + spans) / 2, points, spans, n)

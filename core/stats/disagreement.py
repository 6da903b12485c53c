"""Which outputs raters disagree on most: the queue of those to look at together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np

from core.stats.spans import Marked, match_spans

Key = TypeVar("Key", bound=Hashable)
ONE_MAJOR_ERROR = 5.0


class Disagreement(NamedTuple):
    """`value` in [0, 1], higher is worse; None with the reason below two raters.

    `points` is the mean |difference| of two raters' scores; `spans` 1 − their mean character F1, severity included, None
    where no two raters have one.
    """

    value: float | None
    points: float | None
    spans: float | None
    raters: int
    reason: str = ""


def disagreement(
    scores: Sequence[float],
    marks: Sequence[Sequence[Marked]] = (),
    length: int = 0,
    *,
    half: float = ONE_MAJOR_ERROR,
) -> Disagreement:
    """How far the raters of one output are apart: the mean of points/(points + `half`) and `spans`, or the first alone.

    `scores`: one a rater, in MQM points (either sign); two raters that are `half` points apart are half-way to 1.
    `marks`: each rater's spans of the text of `length` characters, if there are any to compare. Two raters who both found
    nothing agree; one who found nothing and one who did disagree fully in `spans`. It does not depend on other outputs.
    """
    if len(marks) and len(marks) != len(scores):
        raise ValueError(f"{len(scores)} scores and the marks of {len(marks)} raters")
    if not np.isfinite(np.asarray(scores, dtype=np.float64)).all():
        raise ValueError("scores must be finite numbers; leave missing ones out")
    n = len(scores)
    if n < 2:
        return Disagreement(
            None, None, None, n, f"at least two raters are needed, there is {n}" if n else "nobody rated it"
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


def worst_first(found: Mapping[Key, Disagreement]) -> list[Key]:
    """The outputs on which people disagree at all, worst first; equal ones in the order given, undefined ones left out."""
    there = [(key, d.value) for key, d in found.items() if d.value]
    return [key for key, _ in sorted(there, key=lambda item: -item[1])]

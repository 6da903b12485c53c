"""Agreement of raters over the course of a campaign."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from core.stats.bootstrap import Interval
from core.stats.raters.rater_agreement import krippendorff_alpha, ratings

WINDOW = 50


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

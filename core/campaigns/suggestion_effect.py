"""What suggestions change: the labels of the suggested arm against those of the control arm of the same campaign."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from core.campaigns.attention_checks import overlapping
from core.campaigns.suggestions import Arm
from core.data import Span


class SuggestionRow(NamedTuple):
    """What one rater answered for one output, and what this rater was shown.

    `unit` names the text, the same for all raters who get it; a unit with several outputs has a row for each, in the same arm.
    `block` and `probability` are those of `ArmDraw`. `position` is the place of the unit in the rater's work, from 0.
    `spans` and `major` count the error spans that the rater submitted, all and those of severity Major or worse; None without spans
    in the protocol. `score` is 0 to 100, higher is better. `seconds` is the active time, of a unit with several outputs an equal part.
    `agreement` is `layer_agreement` with all spans that the layer has in this output, whether they were shown or not.

    `accepted`, `edited` and `rejected` count the suggestions of the layer (without wrong ones) by the last decision of the rater; the
    rest of `shown` has no decision. They are 0 in the control arm. The pairs below are counted in both arms, because what is not shown is
    drawn all the same (`draw_suggestions`): `wrong` are planted wrong suggestions, `wrong_marked` those that the rater accepted,
    edited or marked. `withheld` are spans of the layer that the suggested arm did not get, `plants` planted errors of attention checks,
    which no arm gets as a suggestion; marked means that an error span of the rater overlaps them.
    """

    rater: str
    unit: str
    arm: Arm
    block: str
    system: str
    position: int = 0
    probability: float = 0.5
    spans: int | None = None
    major: int | None = None
    score: float | None = None
    seconds: float | None = None
    agreement: float | None = None
    shown: int = 0
    accepted: int = 0
    edited: int = 0
    rejected: int = 0
    wrong: int = 0
    wrong_marked: int = 0
    withheld: int = 0
    withheld_marked: int = 0
    plants: int = 0
    plants_marked: int = 0


def layer_agreement(marked: Iterable[Span], layer: Iterable[Span]) -> float:
    """Return F1 over the characters of two sets of error spans, in [0, 1], higher is better; severities are ignored.

    1 if both are empty. An empty span counts as one character, at its place.
    """
    ours, theirs = _characters(marked), _characters(layer)
    total = len(ours) + len(theirs)
    return 2 * len(ours & theirs) / total if total else 1.0


def _characters(spans: Iterable[Span]) -> set[tuple[str, int]]:
    return {(s.side, place) for s in spans for place in range(s.start, max(s.end, s.start + 1))}


def marked_among(places: Iterable[Span], marked: Iterable[Span]) -> int:
    """Return how many places an error span of the same side overlaps."""
    errors = list(marked)
    return sum(
        any(e.side == p.side and overlapping((p.start, p.end), (e.start, e.end)) for e in errors) for p in places
    )

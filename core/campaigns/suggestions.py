"""Suggested error spans in a campaign: who gets them, which are withheld, and where wrong ones are planted.

Everything is drawn from a seed, the rater and the unit, so that nothing has to be stored to draw it again. Annotators in the control arm
get no suggestions; what would have been withheld or planted is drawn for them too, as places to compare with.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.campaigns.attention_checks import overlapping
from core.campaigns.seeded import seeded, shuffled
from core.data import Span
from core.errors import UserError
from core.spans.layers import LayerSpan, Spans
from core.text.words import words

Arm = Literal["suggested", "control"]
FEWEST_CONTROLS = 0.2
"""The smallest share of the control arm. With fewer controls, intervals are too wide to show that labels may be pooled."""
WRONG_WORDS = (2, 6)
"""Fewest and most words of a wrong suggestion, as in the attention checks of ESA^AI (Zouhar et al. 2024, arXiv 2406.12419)."""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """How annotators of a campaign get error spans of a layer as suggestions.

    `control_share` is the probability that a (rater, unit) gets none, in [0.2, 0.8]. `planted_share` is the probability that an output
    gets one wrong suggestion, `withheld_share` the probability that a suggestion is withheld, both in [0, 0.5]. `margin` is the largest
    effect on scores, in points of the score, with which labels of both arms may be pooled: half the smallest difference between systems
    that is to be claimed. It is fixed before the campaign starts.
    """

    layer: str
    control_share: float = FEWEST_CONTROLS
    planted_share: float = 0.1
    withheld_share: float = 0.1
    margin: float = 2.0
    seed: int = 0

    def check(self) -> None:
        """Raise `UserError` for values out of range."""
        if not self.layer:
            raise UserError("no layer of error spans is chosen for the suggestions", hint="Choose a layer")
        check_ranges(
            ("share of the control arm", self.control_share, FEWEST_CONTROLS, 1 - FEWEST_CONTROLS),
            ("share of outputs with a wrong suggestion", self.planted_share, 0, 0.5),
            ("share of withheld suggestions", self.withheld_share, 0, 0.5),
        )
        if not 0 < self.margin < 100:
            raise UserError("the margin is out of range", got=f"{self.margin:g}", expected="more than 0, less than 100")


def check_ranges(*ranges: tuple[str, float, float, float]) -> None:
    """Raise `UserError` for the first value out of range, given as name, value, lowest and highest."""
    for name, value, low, high in ranges:
        if not low <= value <= high:
            raise UserError(f"{name} is out of range", got=f"{value:g}", expected=f"{low:g} to {high:,g}")


class ArmDraw(NamedTuple):
    """The arm of a (rater, unit), the probability of this arm, and the block: units whose arms are exchangeable."""

    arm: Arm
    probability: float
    block: str


class DrawnSuggestions(NamedTuple):
    """The suggestions of an output in their order, and which of them is wrong; `withheld` spans of the layer are not shown."""

    shown: Spans
    wrong: LayerSpan | None
    withheld: Spans


def assign_arm(
    suggestions: Suggestions, rater: str, unit: str, members: Sequence[str], systems: Sequence[str]
) -> ArmDraw:
    """Return the arm of a (rater, unit).

    `members` names the units that are assigned together with this one (the same `block` of the campaign, in any order, with `unit`):
    consecutive segments of a document, shown with the same `systems`. Of n members, a rater has n·share controls, rounded down or up at
    random so that each unit is a control with exactly this probability. So arms are balanced by rater, system and position. A unit that is alone in its block
    is drawn independently, and exchangeable with the others of this kind of the same rater and systems.

    The result depends on the seed, the rater and these names only: nothing is stored, and no order of requests changes it.
    """
    share, group = suggestions.control_share, sorted(set(members) | {unit})
    rng = seeded(suggestions.seed, "arm", json.dumps([rater, group]))
    controls = int(len(group) * share + rng.random())
    is_control = unit in shuffled(group, rng)[:controls]
    block = [rater, group[0]] if len(group) > 1 else [rater, *sorted(systems)]
    return ArmDraw("control" if is_control else "suggested", share if is_control else 1 - share, json.dumps(block))


def draw_suggestions(
    suggestions: Suggestions,
    rater: str,
    unit: str,
    system: str,
    text: str,
    layer: Spans,
    like: Sequence[LayerSpan] = (),
) -> DrawnSuggestions:
    """Return the suggestions of one output for one rater, whatever the arm.

    `layer` are the spans of the layer in the output `text`. `like` are spans of the layer in any outputs: a wrong suggestion has the
    severity, category and confidence of one of these, so that it cannot be recognised by them. Without any there is no wrong one.
    """
    rng = seeded(suggestions.seed, "suggestions", json.dumps([rater, unit, system]))
    withheld = tuple(span for span in layer if rng.random() < suggestions.withheld_share)
    shown, wrong = [span for span in layer if span not in withheld], None
    models = [*like] or [*layer]
    if rng.random() < suggestions.planted_share and models:
        place = _place_without_error(text, layer, rng.random(), rng.random())
        if place is not None:
            model = models[int(rng.random() * len(models))]
            start, end = place
            error = Span("output", start, end, text[start:end], model.error.severity, model.error.category)
            wrong = LayerSpan(error, model.confidence)
            shown.append(wrong)
    return DrawnSuggestions(tuple(sorted(shown, key=lambda s: (s.error.start, s.error.end))), wrong, withheld)


def _place_without_error(text: str, layer: Spans, of_length: float, of_place: float) -> tuple[int, int] | None:
    """Return 2 to 6 words, at random, that no span of the layer overlaps or touches; None if there are none.

    The two numbers are random, in [0, 1). Lengths that have no place are left out first.
    """
    errors = [(s.error.start - 1, s.error.end + 1) for s in layer if s.error.side == "output"]
    spans = [(start, end) for start, end, *_ in words(text)]
    places: dict[int, list[tuple[int, int]]] = {}
    for length in range(WRONG_WORDS[0], WRONG_WORDS[1] + 1):
        for first, last in zip(spans, spans[length - 1 :], strict=False):
            place = first[0], last[1]
            if "\n" not in text[slice(*place)] and not any(overlapping(place, error) for error in errors):
                places.setdefault(length, []).append(place)
    if not places:
        return None
    of_this_length = [*places.values()][int(of_length * len(places))]
    return of_this_length[int(of_place * len(of_this_length))]


def moved_suggestions(layer: Spans, before: str, after: str) -> tuple[Spans, int]:
    """Return the spans of `before` at their places in `after`, which differs in one stretch, and how many touch the stretch.

    Those that touch it are left out: the planted error of an attention check has no suggestion.
    """
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    moved: list[LayerSpan] = []
    for span in layer:
        start, end, shift = span.error.start, span.error.end, len(after) - len(before)
        if span.error.side == "source" or end < head:
            moved.append(span)
        elif start > len(before) - tail:
            error = span.error
            shifted = Span(
                error.side, start + shift, end + shift, error.quote, error.severity, error.category, error.note
            )
            moved.append(span._replace(error=shifted))
    return tuple(moved), len(layer) - len(moved)

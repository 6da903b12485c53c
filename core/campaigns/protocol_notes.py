"""What managers read about each protocol before they choose one, and starting points for common campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from core.campaigns.protocol import ProtocolName


class ProtocolNote(NamedTuple):
    """`asks` says what annotators do, `good_for` when to choose the protocol. `seconds` is the usual time per output, or per pair."""

    asks: str
    good_for: str
    seconds: float


NOTES: Mapping[ProtocolName, ProtocolNote] = {
    "esa": ProtocolNote(
        "Mark error spans as Major or Minor, then set a score from 0 to 100.",
        "Good for ranking systems with annotators who are not linguists.",
        60,
    ),
    "cesa": ProtocolNote(
        "See all outputs of a segment side by side; mark error spans and set a score for each.",
        "Good for small differences between systems: each annotator compares them directly.",
        40,
    ),
    "mqm": ProtocolNote(
        "Mark error spans with a severity and a category.",
        "Good for knowing which errors systems make. Needs trained annotators.",
        90,
    ),
    "da": ProtocolNote(
        "Set a score from 0 to 100 for each output.",
        "Good for many outputs on a small budget. Shows no errors.",
        25,
    ),
    "pairwise": ProtocolNote(
        "Choose the better of two outputs, or a tie.",
        "Good for two or three systems, and for annotators without training.",
        30,
    ),
}


def usual_seconds(name: ProtocolName, n_systems: int) -> float:
    """Return the usual working time per unit: a unit of contrastive ESA shows the outputs of all systems."""
    return NOTES[name].seconds * (n_systems if name == "cesa" else 1)


class StartingPoint(NamedTuple):
    """Choices (`core.services.campaigns.setup_design`) that suit a common kind of campaign."""

    title: str
    about: str
    choices: Mapping[str, Any]


STARTING_POINTS: tuple[StartingPoint, ...] = (
    StartingPoint(
        "Small pilot",
        "ESA on 30 segments, 2 annotators for every output: tries out the instructions and measures how far annotators differ",
        {"which": "sample", "sample_size": 30, "protocol": "esa", "people": 2, "overlap": 2, "assigning": "dynamic",
         "checks": 0.0, "repeats": 0.0},
    ),
    StartingPoint(
        "WMT-style ESA",
        "ESA on all chosen segments, 1 annotator per output, 10 % attention checks and 5 % repeats",
        {"protocol": "esa", "people": 10, "overlap": 1, "assigning": "dynamic", "checks": 0.1, "repeats": 0.05},
    ),
    StartingPoint(
        "MQM by experts",
        "MQM by 3 experts with a task list each, 1 expert per output, no attention checks, 5 % repeats",
        {"protocol": "mqm", "people": 3, "overlap": 1, "assigning": "fixed", "checks": 0.0, "repeats": 0.05},
    ),
)  # fmt: skip

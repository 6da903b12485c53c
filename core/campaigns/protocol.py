"""Protocols of human evaluation: what annotators see and answer, in which words, and notes for managers who choose one.

MQM (Freitag et al. 2021), ESA (Kocmi et al. 2024), contrastive ESA as in WMT26, direct assessment with the anchors of scalar
quality metrics (SQM), and pairwise preference. The texts are those of `protocols/*.toml`; a campaign may have edited ones.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from core.data import SEVERITIES, Severity
from core.errors import UserError
from core.mqm.typology import MQM, Typology, from_json
from core.ports.labels import Ask

ProtocolName = Literal["mqm", "esa", "cesa", "da", "pairwise"]
LONGEST_INSTRUCTIONS = 20_000


class ScoreAnchor(NamedTuple):
    """What a value of the slider means."""

    value: int
    text: str


@dataclass(frozen=True, slots=True)
class Protocol:
    """`on_screen` is the number of outputs of a unit: 1, 2, or None for all systems that have the segment.

    `asks` is what annotators are asked, in this order. `severities` are those offered for error spans. `anchors` belong to the score,
    0 to 100. `instructions` are Markdown. `human_score` is the name of its score where human scores are listed.
    """

    name: ProtocolName
    title: str
    asks: tuple[Ask, ...]
    on_screen: int | None
    human_score: str
    instructions: str
    severities: tuple[Severity, ...] = SEVERITIES
    typology: Typology = MQM
    anchors: tuple[ScoreAnchor, ...] = ()
    ties: bool = True

    def edited(self, **changes: Any) -> Protocol:
        """Return the protocol with other texts. Raises `UserError` for texts that cannot be used."""
        made = replace(self, **changes)
        if not made.instructions.strip():
            raise UserError("the instructions are empty", hint="Say what annotators should do")
        if len(made.instructions) > LONGEST_INSTRUCTIONS:
            raise UserError(
                "the instructions are too long", got=f"{len(made.instructions):,} characters",
                expected=f"at most {LONGEST_INSTRUCTIONS:,}",
            )  # fmt: skip
        if any(not 0 <= a.value <= 100 or not a.text.strip() for a in made.anchors):
            raise UserError("an anchor needs a value from 0 to 100 and a text", hint="Complete or delete its row")
        return made


def _read(name: ProtocolName, row: Mapping[str, Any]) -> Protocol:
    typology = from_json({"name": name, **row["typology"]}) if "typology" in row else MQM
    return Protocol(
        name, row["title"], tuple(row["asks"]), row.get("on_screen"), row["human_score"], row["instructions"],
        tuple(row.get("severities", SEVERITIES)), typology, tuple(ScoreAnchor(**a) for a in row.get("anchors", ())),
    )  # fmt: skip


_FOLDER = Path(__file__).parent / "protocols"
_NAMES: tuple[ProtocolName, ...] = ("mqm", "esa", "cesa", "da", "pairwise")
_ROWS = {name: tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8")) for name in _NAMES}
PROTOCOLS: Mapping[ProtocolName, Protocol] = {name: _read(name, row) for name, row in _ROWS.items()}


class ProtocolNote(NamedTuple):
    """`asks` says what annotators do, `good_for` when to choose the protocol. `seconds` is the usual time per output, or per pair."""

    asks: str
    good_for: str
    seconds: float


_SHOWN: tuple[ProtocolName, ...] = ("esa", "cesa", "mqm", "da", "pairwise")
NOTES: Mapping[ProtocolName, ProtocolNote] = {name: ProtocolNote(**_ROWS[name]["note"]) for name in _SHOWN}
"""In the order in which protocols are offered."""


def usual_seconds(name: ProtocolName, n_systems: int) -> float:
    """Return the usual working time per unit, which may show the outputs of all systems."""
    return NOTES[name].seconds * (n_systems if PROTOCOLS[name].on_screen is None else 1)


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

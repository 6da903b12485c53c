"""The design of a new campaign, from the choices on the set-up screen. Whatever was not chosen has its default."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from core.campaigns.design import CampaignDesign, TutorialItem
from core.campaigns.protocol import PROTOCOLS, Protocol, ProtocolName, ScoreAnchor, usual_seconds
from core.campaigns.suggestions import Suggestions
from core.campaigns.tutorial import tutorial_from_json
from core.campaigns.units import Outline, of_documents, sampled
from core.data import SEVERITIES, SegmentKey
from core.errors import UserError
from core.mqm.typology import MQM, TYPOLOGIES, Typology, from_json, to_json

Choices = Mapping[str, Any]
DEFAULTS: Choices = {
    "some_systems": False, "systems": (), "which": "all", "seed": 0, "documents": (),
    "protocol": "esa", "typology": "",
    "suggestions": "", "control_share": 0.25, "planted_share": 0.1, "withheld_share": 0.1,
    "people": 3, "overlap": 2, "assigning": "dynamic", "block_size": 10, "lease_minutes": 60,
    "pay_per_hour": 0.0, "currency": "EUR",
    "checks": 0.05, "repeats": 0.05, "tutorial": (), "pass_mark": 0.5,
    "name": "", "title": "", "names": "", "accounts": (), "days": 30, "finish_by": None,
}  # fmt: skip
"""The choices and their defaults; `usual_typology` is that of `typology`. `instructions/esa`, `seconds/esa`, … belong to one protocol: see the functions below."""
LONGEST_CURRENCY = 12
SCORE_MARGIN, MQM_MARGIN = 2.0, 0.5
PROJECT = "project"
"""The choice of a typology that is stored with the project."""


def chosen(choices: Choices, name: str) -> Any:
    """Return the choice, or its default."""
    return choices.get(name, DEFAULTS[name])


def protocol_name(choices: Choices) -> ProtocolName:
    name: ProtocolName = chosen(choices, "protocol")
    return name if name in PROTOCOLS else "esa"


def systems_of(choices: Choices) -> tuple[str, ...]:
    """Return the chosen systems; () for all. Raises `UserError` if none is chosen."""
    if not chosen(choices, "some_systems"):
        return ()
    systems = tuple(chosen(choices, "systems"))
    if not systems:
        raise UserError("no system is chosen", hint="Choose at least one system, or all")
    return systems


def usual_sample(outline: Outline) -> int:
    """Return the default size of a sample: 100 segments, or half of a small project."""
    return min(100, max(1, len(outline) // 2))


def segments_of(choices: Choices, outline: Outline) -> tuple[SegmentKey, ...]:
    """Return the chosen segments; () for all. Raises `UserError` if there are none."""
    systems = set(systems_of(choices))
    with_output = [key for key, of in outline.items() if not systems or systems.intersection(of)]
    which = chosen(choices, "which")
    if which == "sample":
        size = int(choices.get("sample_size") or usual_sample(outline))
        return sampled(with_output, size, chosen(choices, "seed")) if size < len(with_output) else ()
    return of_documents(with_output, chosen(choices, "documents")) if which == "documents" else ()


def n_systems(choices: Choices, outline: Outline) -> int:
    """Return the number of chosen systems."""
    return (
        len(chosen(choices, "systems"))
        if chosen(choices, "some_systems")
        else len({s for of in outline.values() for s in of})
    )


def seconds_of(choices: Choices, outline: Outline) -> float:
    """Return the seconds per unit, by default those that are usual for the protocol."""
    name = protocol_name(choices)
    return float(choices.get(f"seconds/{name}") or usual_seconds(name, n_systems(choices, outline)))


def anchor_rows(protocol: Protocol) -> list[dict[str, Any]]:
    """Return the anchors of a protocol as rows of a table."""
    return [anchor._asdict() for anchor in protocol.anchors]


def category_rows(typology: Typology) -> list[dict[str, Any]]:
    """Return the categories of a typology as rows of a table."""
    return [category._asdict() for category in typology.categories]


def usual_typology(own: Typology | None) -> str:
    """Return the default choice of the typology: that of the project, which is `PROJECT` unless it is a bundled one."""
    bundled = next((name for name, typology in TYPOLOGIES.items() if typology == own), PROJECT)
    return bundled if own is not None else MQM.name


def typology_of(choices: Choices, own: Typology | None = None) -> Typology:
    """Return the typology of an MQM campaign, with edited categories. `own` is the one of the project."""
    name = chosen(choices, "typology") or usual_typology(own)
    base = own if own is not None and name == PROJECT else TYPOLOGIES.get(name, MQM)
    rows = choices.get(f"categories/{name}")
    if rows is None or list(rows) == category_rows(base):
        return base
    edited = to_json(base) | {
        "name": "own",
        "title": f"{base.title}, edited",
        "categories": [r for r in rows if any(r.values())],
    }
    return from_json(edited)


def protocol_of(choices: Choices, own: Typology | None = None) -> Protocol:
    """Return the chosen protocol with its edited texts. Raises `UserError` for texts that cannot be used."""
    name = protocol_name(choices)
    base = PROTOCOLS[name]
    changes: dict[str, Any] = {"instructions": choices.get(f"instructions/{name}", base.instructions)}
    if "score" in base.asks:
        changes["anchors"] = _anchors(choices.get(f"anchors/{name}", anchor_rows(base)))
    if "spans" in base.asks:
        severities = choices.get(f"severities/{name}", base.severities)
        changes["severities"] = tuple(s for s in SEVERITIES if s in severities)
        if not changes["severities"]:
            raise UserError("no severity is chosen", hint="Choose at least one severity")
    if name == "mqm":
        changes["typology"] = typology_of(choices, own)
    if "preference" in base.asks:
        changes["ties"] = bool(choices.get("ties", True))
    return base.edited(**changes)


def _anchors(rows: Iterable[Mapping[str, Any]]) -> tuple[ScoreAnchor, ...]:
    anchors = []
    for row in rows:
        value, text = row.get("value"), str(row.get("text") or "").strip()
        if value is None and not text:
            continue
        if value is None:
            raise UserError("an anchor has no value", got=text, expected="a value from 0 to 100")
        anchors.append(ScoreAnchor(int(value), text))
    return tuple(sorted(anchors))


def usual_margin(protocol: Protocol) -> float:
    """Return the default of the margin for pooling labels with and without suggestions, in points of the protocol's score (our decision)."""
    return SCORE_MARGIN if "score" in protocol.asks else MQM_MARGIN


def suggestions_of(choices: Choices) -> Suggestions | None:
    """Return which suggestions annotators get; None for a protocol without error spans."""
    protocol, layer = PROTOCOLS[protocol_name(choices)], chosen(choices, "suggestions")
    if not layer or "spans" not in protocol.asks:
        return None
    shares = {name: float(chosen(choices, name)) for name in ("control_share", "planted_share", "withheld_share")}
    margin = float(choices.get(f"margin/{protocol.name}") or usual_margin(protocol))
    return Suggestions(layer, **shares, margin=margin, seed=int(chosen(choices, "seed")))


def tutorial_of(choices: Choices) -> tuple[TutorialItem, ...]:
    """Return the tutorial items; none for a protocol without error spans and scores."""
    if "preference" in PROTOCOLS[protocol_name(choices)].asks:
        return ()
    return tuple(tutorial_from_json(row, row["doc_id"], row["segment_id"]) for row in chosen(choices, "tutorial"))


def design_of(choices: Choices, outline: Outline, own: Typology | None = None) -> CampaignDesign:
    """Return the design. Raises `UserError` for one that cannot be carried out."""
    design = CampaignDesign(
        protocol=protocol_of(choices, own),
        systems=systems_of(choices),
        segments=segments_of(choices, outline),
        seconds_per_unit=seconds_of(choices, outline),
        tutorial=tutorial_of(choices),
        suggestions=suggestions_of(choices),
        currency=" ".join(str(chosen(choices, "currency")).split())[:LONGEST_CURRENCY],
        title=" ".join(str(chosen(choices, "title")).split()),
        finish_by=None if (day := chosen(choices, "finish_by")) is None else date.fromisoformat(day),
        **{
            name: chosen(choices, name)
            for name in (
                "overlap", "people", "assigning", "block_size", "lease_minutes", "seed", "checks", "repeats",
                "pass_mark", "pay_per_hour",
            )
        },
    )  # fmt: skip
    design.check()
    return design


def usual_name(choices: Choices, taken: Iterable[str], today: date) -> str:
    """Return a name for the campaign that is free: its protocol and the day."""
    taken_names = {name.casefold() for name in taken}
    first = f"{PROTOCOLS[protocol_name(choices)].title}, {today.day} {today:%b %Y}"
    names = (first, *(f"{first} ({n})" for n in range(2, len(taken_names) + 3)))
    return next(name for name in names if name.casefold() not in taken_names)


def named_system(title: str, systems: Iterable[str]) -> str:
    """Return the first system that a title names, in whole or by a word of three letters or more; "" if there is none."""
    words = _words(title)
    return next((system for system in systems if words & _words(system)), "")


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w{3,}", text.casefold()) if not word.isdigit()}


def usual_title(name: str, systems: Iterable[str], protocol: Protocol) -> str:
    """Return the title for annotators: the name of the campaign, or the title of its protocol if the name names a system."""
    return protocol.title if named_system(name, systems) else name.strip()


def usual_names(people: int) -> str:
    """Return names of annotators, one per line."""
    return "\n".join(f"Annotator {n}" for n in range(1, people + 1))


def names_of(text: str) -> Sequence[str]:
    """Return the names in a text with one name per line."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def expiry(days: int, today: date) -> datetime | None:
    """Return the end of the last day on which links work; None if they do not expire (0 days)."""
    return datetime.combine(today + timedelta(days=days + 1), time(), UTC) if days else None

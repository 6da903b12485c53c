"""Change what a campaign rates while it runs: retire systems, and add outputs of new ones."""

from __future__ import annotations

from typing import NamedTuple

from core.campaigns.design import design_from_json
from core.campaigns.fixed_lists import EXTENSION, extension_of
from core.campaigns.units import planned_units
from core.errors import UserError, unknown
from core.ports.campaigns import Campaign, UnitKind
from core.ports.store import Store
from core.services.campaigns.creating import UnitTexts

KINDS: tuple[UnitKind, ...] = ("item", "check", "repeat")


class CampaignSystem(NamedTuple):
    """A system of a campaign with the number of its units; `retired` if none of them is assigned any more."""

    name: str
    units: int
    retired: bool


def systems(store: Store, campaign: Campaign) -> list[CampaignSystem]:
    """Return the systems of the items of a campaign, by name."""
    found: dict[str, list[bool]] = {}
    for unit in store.campaigns.units(campaign.id):
        for system in unit.systems if unit.kind == "item" else ():
            found.setdefault(system, []).append(unit.retired)
    return [CampaignSystem(name, len(of), all(of)) for name, of in sorted(found.items())]


def retire_system(store: Store, who: str, campaign: Campaign, system: str, retired: bool = True) -> int:
    """Stop assigning the units that show a system, or assign them again. Return their number.

    Labels that exist stay and count. In pairwise comparison, units of a system brought back also show its partners. Raises
    `UserError` if the outputs of a segment are shown together, and if no system would be left.
    """
    known = systems(store, campaign)
    names = [s.name for s in known]
    if system not in names:
        raise unknown("system", system, names, hint="Reload the page")
    if design_from_json(campaign.design).protocol.on_screen is None:
        raise UserError(
            "a single system cannot be retired in this protocol", hint="All outputs of a segment are shown together"
        )
    units = [
        u for u in store.campaigns.units(campaign.id)
        if u.kind in KINDS and system in u.systems and u.retired != retired
    ]  # fmt: skip
    if not units:
        return 0
    left = {u.id for u in store.campaigns.units(campaign.id) if u.kind == "item" and not u.retired}
    if retired and not left - {u.id for u in units}:
        raise UserError("nothing would be left to rate", hint="Finish the campaign instead")
    store.campaigns.retire(campaign.id, [u.id for u in units], retired)
    act = "system retired" if retired else "system brought back"
    store.audit.record(who, act, campaign.project_id, campaign=campaign.name, system=system, units=len(units))
    return len(units)


def can_add(store: Store, campaign: Campaign) -> list[str]:
    """Return the systems of the project that could be added: none if the protocol shows several outputs together."""
    if design_from_json(campaign.design).protocol.on_screen != 1:
        return []
    there = {s.name for s in systems(store, campaign)}
    return [name for name in store.projects.index(campaign.project_id).systems if name not in there]


def add_system(store: Store, who: str, campaign: Campaign, system: str) -> int:
    """Add the outputs of another system, on the segments of the campaign. Return the number of new units.

    They come without attention checks and repeats of their own, and at the end of fixed lists. Raises `UserError` if the system cannot be added.
    """
    possible = can_add(store, campaign)
    if system not in possible:
        raise unknown("system", system, possible, hint="Choose a system of the project that is not in the campaign")
    units = store.campaigns.units(campaign.id)
    segments = tuple(dict.fromkeys(u.of for u in units if u.kind == "item"))
    outline = store.projects.index(campaign.project_id).outline
    with_output = tuple(key for key in segments if system in outline.get(key, ()))
    if not with_output:
        raise UserError("the system has no output for the segments of the campaign", got=system, hint="Choose another")
    made, block = UnitTexts(store.projects.texts(campaign.project_id, with_output)), max(u.block for u in units) + 1
    number = max(extension_of(u) for u in units if u.kind == "item") + 1
    wanted = design_from_json({**campaign.design, "systems": [system], "segments": [list(k) for k in with_output]})
    for planned in planned_units(outline, wanted, block):
        made.add(planned.of, planned.systems, planned.block, "item", {EXTENSION: number})
    store.campaigns.add_units(campaign.id, made.dataset(), made.units)
    store.audit.record(
        who, "system added", campaign.project_id, campaign=campaign.name, system=system, units=len(made.units)
    )
    return len(made.units)

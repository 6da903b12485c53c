"""Start a campaign with its invitations, retire systems, and add outputs of new ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.fixed_lists import EXTENSION, extension_of
from core.campaigns.units import planned_units
from core.errors import UserError, unknown
from core.formats.write import csv_text
from core.ports.campaigns import Campaign, UnitKind
from core.ports.people import Account
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.campaigns.people import add_account, check_account, check_names, invite
from core.services.campaigns.setup import UnitTexts, checked_name, create
from core.services.campaigns.setup_design import Choices
from core.services.people.links import NewLink


class StartedCampaign(NamedTuple):
    """The campaign, and one new link per invited person."""

    campaign: Campaign
    links: tuple[NewLink, ...]


def check_start(
    store: Store,
    project_id: int,
    name: str,
    design: CampaignDesign,
    names: Sequence[str],
    draft: Campaign | None = None,
    accounts: Sequence[Account] = (),
) -> None:
    """Raise `UserError` for what would stop the start of a campaign, before any work is done."""
    checked_name(store, project_id, name, draft)
    design.check()
    for account in accounts:
        check_account(account)
    if names or accounts:
        invited_names = invited(store, draft) if draft is not None else ()
        people = {
            *(check_names(store, names) if names else ()),
            *(account.name for account in accounts),
            *invited_names,
        }
        if len(people) < design.overlap:
            raise UserError(
                f"{design.overlap} distinct raters per unit need at least {design.overlap} people", got=str(len(people)),
                hint="Add more people, or choose fewer raters per unit",
            )  # fmt: skip


def start(
    store: Store,
    who: str,
    project_id: int,
    name: str,
    design: CampaignDesign,
    names: Sequence[str],
    expires: datetime | None = None,
    progress: Progress = no_progress,
    *,
    setup: Choices | None = None,
    draft: Campaign | None = None,
    accounts: Sequence[Account] = (),
) -> StartedCampaign:
    """Create a campaign, invite these people and let them begin. Raises `UserError`, with nothing stored, if that is not possible.

    `names` get a personal link each. `accounts` take part, and find the campaign when they log in.
    `progress` may cancel it until the texts are stored. `setup` and `draft` are those of `creating.create`.
    """
    check_start(store, project_id, name, design, names, draft, accounts)
    campaign = create(store, who, project_id, name, design, progress, setup=setup, draft=draft)
    try:
        links = invite(store, who, campaign, names, expires) if names else []
        for account in accounts:
            add_account(store, who, campaign, account)
    except UserError:  # the people have changed since the check
        if draft is None:
            store.campaigns.delete(campaign.id)
        raise
    store.campaigns.set_state(campaign.id, "running")
    return StartedCampaign(store.campaigns.get(campaign.id), tuple(links))


def invited(store: Store, campaign: Campaign) -> list[str]:
    """Return the names of those who take part already, by a link or an account."""
    return [p.rater for p in store.campaigns.participants(campaign.id)]


def links_csv(links: Sequence[tuple[str, str]]) -> str:
    """Return names and addresses as CSV."""
    return csv_text(("name", "link"), links)


KINDS: tuple[UnitKind, ...] = ("item", "check", "repeat")


class CampaignSystem(NamedTuple):
    """A system of a campaign with the number of its units; `retired` if none of them is assigned any more."""

    name: str
    units: int
    retired: bool


def systems(store: Store, campaign: Campaign) -> list[CampaignSystem]:
    """Return the systems of the items of a campaign, by name."""
    retired_by_system: dict[str, list[bool]] = {}
    for unit in store.campaigns.units(campaign.id):
        for system in unit.systems if unit.kind == "item" else ():
            retired_by_system.setdefault(system, []).append(unit.retired)
    return [CampaignSystem(name, len(of), all(of)) for name, of in sorted(retired_by_system.items())]


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
    taken = {s.name for s in systems(store, campaign)}
    return [name for name in store.projects.index(campaign.project_id).systems if name not in taken]


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
    design = design_from_json({**campaign.design, "systems": [system], "segments": [list(k) for k in with_output]})
    for planned in planned_units(outline, design, block):
        made.add(planned.of, planned.systems, planned.block, "item", {EXTENSION: number})
    store.campaigns.add_units(campaign.id, made.dataset(), made.units)
    store.audit.record(
        who, "system added", campaign.project_id, campaign=campaign.name, system=system, units=len(made.units)
    )
    return len(made.units)

"""Start a campaign: create it, open it, and invite its people, in one step that either succeeds or leaves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from core.campaigns.design import CampaignDesign
from core.errors import UserError
from core.formats.write import csv_text
from core.ports.campaigns import Campaign
from core.ports.people import Account
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.campaigns.creating import checked_name, create
from core.services.campaigns.people import add_account, check_account, check_names, invite
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
        there = invited(store, draft) if draft is not None else ()
        people = {*(check_names(store, names) if names else ()), *(account.name for account in accounts), *there}
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

"""The people of a campaign: invitations, exclusion, and what each has done and earned."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from core.campaigns.design import design_from_json
from core.campaigns.submitted import UnitJudgement
from core.data import grouped
from core.errors import UserError
from core.formats.write import csv_text
from core.ports.campaigns import Campaign, Participant
from core.ports.people import Account
from core.ports.store import Store
from core.services.campaigns.answers import read_labels
from core.services.campaigns.working import participant
from core.services.people import links
from core.services.people.names import cleaned


def invite(
    store: Store, who: str, campaign: Campaign, names: Iterable[str], expires: datetime | None = None
) -> list[links.NewLink]:
    """Create one personal link per name, and record it. The tokens are stored nowhere, so the links are shown once.

    Raises `UserError`, before anything is created, if a name is empty, given twice, or that of an account.
    """
    wanted = check_names(store, names)
    made = []
    for name in wanted:
        participant(store, campaign, name)
        made.append(links.create(store, who, campaign.texts, name, None, expires))
    return made


def check_names(store: Store, names: Iterable[str]) -> list[str]:
    """Return the names as they are stored. Raises `UserError` if one is empty, given twice, or that of an account."""
    wanted = [cleaned(name) for name in names]
    if not wanted or not all(wanted):
        raise UserError("a name is missing", hint="Type one name per line")
    seen: set[str] = set()
    for name in wanted:
        if name.casefold() in seen:
            raise UserError(
                "this name is there twice", got=name, hint="Make the names different, such as Ana 1 and Ana 2"
            )
        seen.add(name.casefold())
    taken = {account.name.casefold() for account in store.people.accounts()}
    if clash := next((name for name in wanted if name.casefold() in taken), None):
        raise UserError(
            "there is an account with this name",
            got=clash,
            hint="Choose the account in the list of accounts instead of typing its name, or type another name",
        )
    return wanted


def check_account(account: Account) -> None:
    """Raise `UserError` if the account cannot take part in any campaign."""
    if not account.active:
        raise UserError("this account is disabled", got=account.name, hint="Enable it on Access, or choose another")


def add_account(store: Store, who: str, campaign: Campaign, account: Account) -> Participant:
    """Let somebody with an account take part, and record it. No role in the project is needed, and none is given.

    Raises `UserError` if the account is disabled, if an annotator by link has this name, or if the person has decided on disagreements.
    """
    check_account(account)
    name = account.name.casefold()
    if any(link.rater.casefold() == name for link in store.people.links(campaign.texts)):
        raise UserError("an annotator with a link has this name", got=account.name, hint="Choose another account")
    joined = {p.rater for p in store.campaigns.participants(campaign.id)}
    if account.name not in joined and account.name in store.labels.raters(campaign.texts):
        raise UserError("this person has decided on disagreements", got=account.name, hint="Choose another account")
    store.people.set_role(campaign.texts, account.id, "annotator")
    store.audit.record(who, "account takes part", campaign.project_id, campaign=campaign.name, account=account.name)
    return participant(store, campaign, account.name)


def remove_account(store: Store, who: str, campaign: Campaign, account: Account) -> None:
    """Close a campaign to an account, effective at once, and record it. Labels stay and count."""
    store.people.set_role(campaign.texts, account.id, None)
    store.audit.record(who, "account removed", campaign.project_id, campaign=campaign.name, account=account.name)


def active_accounts(store: Store, project_id: int) -> list[Account]:
    """Return the active accounts, members of the project first."""
    members = {account.id for account, _ in store.people.members(project_id)}
    found = [a for a in store.people.accounts() if a.active]
    return sorted(found, key=lambda a: (a.id not in members, a.name.casefold()))


def addable(store: Store, campaign: Campaign) -> list[Account]:
    """Return the active accounts that do not take part yet, members of the project first."""
    there = {account.id for account in store.people.taking_part(campaign.texts)}
    return [a for a in active_accounts(store, campaign.project_id) if a.id not in there]


def exclude(store: Store, who: str, campaign: Campaign, participant_id: int, reason: str) -> None:
    """Leave the labels of a participant out of the results, with a reason; "" counts them again. Nothing is deleted."""
    found = next((p for p in store.campaigns.participants(campaign.id) if p.id == participant_id), None)
    if found is None:
        raise UserError("there is no such participant", got=str(participant_id), hint="Reload the page")
    store.campaigns.change(found._replace(excluded=reason.strip()))
    act = "participant excluded" if reason.strip() else "participant included again"
    store.audit.record(who, act, campaign.project_id, campaign=campaign.name, name=found.rater, reason=reason.strip())


class WorkDone(NamedTuple):
    """What one participant has done. `units` counts submitted items, checks and repeats; `seconds` is the working time from the
    log, without breaks, on everything including the tutorial; `pay` is in the currency of the campaign.
    """

    participant: Participant
    units: int
    declined: int
    assigned: int
    seconds: float
    first: datetime | None
    last: datetime | None
    pay: float


def work_done(store: Store, campaign: Campaign, given: Iterable[UnitJudgement] | None = None) -> list[WorkDone]:
    """Return one row per participant, in the order of joining."""
    design = design_from_json(campaign.design)
    by_person = grouped(
        (a.participant_id, a) for a in (read_labels(store, campaign).answers if given is None else given)
    )
    there = store.campaigns.assignments(campaign.id)
    assigned = grouped((a.participant_id, a) for a in there if a.state != "reclaimed")
    rows = []
    for person in store.campaigns.participants(campaign.id):
        mine = by_person.get(person.id, [])
        units = [a for a in mine if a.labels.submitted and a.unit.kind != "tutorial"]
        seconds = sum(a.labels.seconds for a in mine)
        rows.append(
            WorkDone(
                person, len(units), sum(bool(a.labels.declined) for a in units), len(assigned.get(person.id, ())), seconds,
                min((a.began for a in mine), default=None), max((a.ended for a in mine), default=None),
                round(design.pay_per_hour * seconds / 3600, 2),
            )
        )  # fmt: skip
    return rows


def pay_table(store: Store, campaign: Campaign) -> str:
    """Return the table of units, time and pay per person, as CSV."""
    design = design_from_json(campaign.design)
    columns = ("name", "completion_code", "units", "cannot_judge", "minutes", "pay", "currency", "excluded")
    rows = (
        (row.participant.rater, row.participant.code, row.units, row.declined, round(row.seconds / 60, 2), row.pay,
         design.currency, row.participant.excluded)
        for row in work_done(store, campaign)
    )  # fmt: skip
    return csv_text(columns, rows)

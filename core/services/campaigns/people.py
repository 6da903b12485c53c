"""The people of a campaign: invitations, exclusion, work and pay, task lists handed over, and a person's own campaigns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.fixed_lists import ListOwner, ListRest, ListState
from core.campaigns.submitted import UnitJudgement
from core.data import grouped
from core.errors import UserError
from core.formats.write import csv_text
from core.formatting import format_count
from core.ports.campaigns import Assignment, Campaign, CampaignState, DrawState, HandOver, Participant
from core.ports.people import Account, Identity
from core.ports.store import Store
from core.services.campaigns.answers import read_labels
from core.services.campaigns.work import gets_units, participant
from core.services.people import links
from core.services.people.accounts import cleaned_name


def invite(
    store: Store, who: str, campaign: Campaign, names: Iterable[str], expires: datetime | None = None
) -> list[links.NewLink]:
    """Create one personal link per name, and record it. The tokens are stored nowhere, so the links are shown once.

    Raises `UserError`, before anything is created, if a name is empty, given twice, or that of an account.
    """
    clean_names = check_names(store, names)
    made = []
    for name in clean_names:
        participant(store, campaign, name)
        made.append(links.create(store, who, campaign.texts, name, None, expires))
    return made


def check_names(store: Store, names: Iterable[str]) -> list[str]:
    """Return the names as they are stored. Raises `UserError` if one is empty, given twice, or that of an account."""
    clean_names = [cleaned_name(name) for name in names]
    if not clean_names or not all(clean_names):
        raise UserError("a name is missing", hint="Type one name per line")
    seen: set[str] = set()
    for name in clean_names:
        if name.casefold() in seen:
            raise UserError(
                "this name is there twice", got=name, hint="Make the names different, such as Ana 1 and Ana 2"
            )
        seen.add(name.casefold())
    taken = {account.name.casefold() for account in store.people.accounts()}
    if clash := next((name for name in clean_names if name.casefold() in taken), None):
        raise UserError(
            "there is an account with this name",
            got=clash,
            hint="Choose the account in the list of accounts instead of typing its name, or type another name",
        )
    return clean_names


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
    accounts = [a for a in store.people.accounts() if a.active]
    return sorted(accounts, key=lambda a: (a.id not in members, a.name.casefold()))


def addable(store: Store, campaign: Campaign) -> list[Account]:
    """Return the active accounts that do not take part yet, members of the project first."""
    taking_part = {account.id for account in store.people.taking_part(campaign.texts)}
    return [a for a in active_accounts(store, campaign.project_id) if a.id not in taking_part]


def exclude(store: Store, who: str, campaign: Campaign, participant_id: int, reason: str) -> None:
    """Leave the labels of a participant out of the results, with a reason; "" counts them again. Nothing is deleted."""
    person = next((p for p in store.campaigns.participants(campaign.id) if p.id == participant_id), None)
    if person is None:
        raise UserError("there is no such participant", got=str(participant_id), hint="Reload the page")
    store.campaigns.change(person._replace(excluded=reason.strip()))
    act = "participant excluded" if reason.strip() else "participant included again"
    store.audit.record(who, act, campaign.project_id, campaign=campaign.name, name=person.rater, reason=reason.strip())


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


def work_done(store: Store, campaign: Campaign, known_answers: Iterable[UnitJudgement] | None = None) -> list[WorkDone]:
    """Return one row per participant, in the order of joining."""
    design = design_from_json(campaign.design)
    by_person = grouped(
        (a.participant_id, a)
        for a in (read_labels(store, campaign).answers if known_answers is None else known_answers)
    )
    assignments = store.campaigns.assignments(campaign.id)
    assigned = grouped((a.participant_id, a) for a in assignments if a.state != "reclaimed")
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


class Share(NamedTuple):
    """How many units somebody gets."""

    name: str
    units: int


class HandOverPreview(NamedTuple):
    """Units to reassign (`shares`), and those that must stay (`staying`), of the `units` of a list. `begun` were opened."""

    name: str
    units: int
    begun: int
    shares: tuple[Share, ...]
    staying: int

    @property
    def moving(self) -> int:
        return self.units - self.staying


def rests(store: Store, campaign: Campaign) -> Mapping[int, ListRest]:
    """Return by participant id what is left of the lists; nothing if units are drawn on request, because then others get them anyway."""
    if design_from_json(campaign.design).assigning != "fixed":
        return {}
    lists = _lists(store, campaign)
    return {person.id: lists.rest(person.id) for person in store.campaigns.participants(campaign.id)}


def preview(store: Store, campaign: Campaign, participant_id: int, to: int | None = None) -> HandOverPreview:
    """Return what `hand_over` would do now."""
    people = {p.id: p for p in store.campaigns.participants(campaign.id)}
    lists = _lists(store, campaign)
    plan, rest = lists.plan(participant_id, to), lists.rest(participant_id)
    shares = tuple(Share(people[p].rater, len(share)) for p, share in plan.shares.items())
    return HandOverPreview(people[participant_id].rater, len(rest.items), rest.begun, shares, len(plan.staying))


def hand_over(
    store: Store,
    who: str,
    campaign: Campaign,
    participant_id: int,
    to: int | None,
    reason: str,
    now: datetime | None = None,
) -> list[Share]:
    """Give the rest of somebody's list to one person, or (None) to all others who get units; return who got how many.

    The participant gets no more units afterwards. Each share is recorded with both people and the reason. Raises `UserError`, with
    nothing changed, if the reason is missing, the campaign is finished, or nobody can take anything.
    """
    if not reason.strip():
        raise UserError("the reason is missing", hint="Type why the units are handed over")
    if campaign.state == "finished":
        raise UserError("the campaign is finished", hint="Resume it to hand units over")
    design = design_from_json(campaign.design)
    if design.assigning != "fixed":
        raise UserError(
            "this campaign has no fixed lists", hint="Units that stay idle go to somebody else by themselves"
        )
    people = {p.id: p for p in store.campaigns.participants(campaign.id)}
    if participant_id not in people or to is not None and to not in people:
        raise UserError("there is no such participant", got=str(participant_id), hint="Reload the page")
    if to is not None and (to == participant_id or not gets_units(people[to])):
        raise UserError("this person gets no units", got=people[to].rater, hint="Choose somebody else")
    shares: list[Share] = []

    def choose(state: DrawState) -> HandOver:
        lists = ListState(state, design, _owners(list(people.values())))
        shares[:] = [Share(people[p].rater, len(of)) for p, of in lists.plan(participant_id, to).shares.items()]
        if not shares:
            raise UserError("nobody else can take these units", hint="Invite somebody, and hand the units over then")
        return lists.hand_over(participant_id, to)

    giver = people[participant_id]
    store.campaigns.hand_over(campaign.id, participant_id, now or datetime.now(UTC), choose)
    if gets_units(giver):
        store.campaigns.change(giver._replace(left=True))
    for share in shares:
        store.audit.record(
            who, "list handed over", campaign.project_id, campaign=campaign.name, name=giver.rater, to=share.name,
            units=share.units, reason=reason.strip(),
        )  # fmt: skip
    return shares


def _lists(store: Store, campaign: Campaign) -> ListState:
    units, assignments = store.campaigns.units(campaign.id), store.campaigns.assignments(campaign.id)
    owners = _owners(store.campaigns.participants(campaign.id))
    return ListState(DrawState(units, assignments), design_from_json(campaign.design), owners)


def _owners(people: list[Participant]) -> list[ListOwner]:
    """Return the participants in the order of joining, which is that of the lists."""
    return [ListOwner(p.id, place, gets_units(p), not p.excluded) for place, p in enumerate(people)]


_WAITS: dict[CampaignState, str] = {"draft": "not started yet", "paused": "paused", "finished": "finished, thank you"}


class OwnCampaign(NamedTuple):
    """One of these campaigns, with the title and the deadline that annotators see.

    `has_work` says whether the person has something to label now, or may get something.
    """

    texts: int
    title: str
    created: datetime
    state: CampaignState
    submitted: int
    finish_by: date | None = None
    has_work: bool = True

    @property
    def opens(self) -> bool:
        """Return whether the annotator's page can be opened: not before the start."""
        return self.state != "draft"

    @property
    def says(self) -> str:
        """Return the state in words."""
        waits = _WAITS.get(self.state, "")
        done = f"{format_count(self.submitted, 'unit')} submitted" if self.opens else ""
        return ", ".join(part for part in (waits, done) if part)


def campaigns(store: Store, who: Identity) -> list[OwnCampaign]:
    """Return the campaigns of this person, those that run first, then the newest first. `store` is storage for the tasks of the person."""
    own_campaigns = []
    for texts in who.campaigns:
        campaign = store.campaigns.of_texts(texts)
        if campaign is None or who.rater is None:
            continue
        design = design_from_json(campaign.design)
        me = next((p for p in store.campaigns.participants(campaign.id) if p.rater == who.rater), None)
        mine = store.campaigns.assignments(campaign.id, me.id) if me else []
        submitted = sum(a.state == "submitted" for a in mine)
        has_work = (
            me is None or any(a.state == "assigned" for a in mine) or _gets_more(store, campaign, design, me, mine)
        )
        own_campaigns.append(
            OwnCampaign(
                texts,
                design.shown_title,
                campaign.created,
                campaign.state,
                submitted,
                design.finish_by,
                has_work and campaign.state != "finished",
            )  # fmt: skip
        )
    return sorted(own_campaigns, key=lambda c: (c.state != "running", -c.created.timestamp()))


def _gets_more(
    store: Store, campaign: Campaign, design: CampaignDesign, me: Participant, mine: Sequence[Assignment]
) -> bool:
    """Return whether a participant who has submitted everything gets more units."""
    if not gets_units(me):
        return False
    rated = sum(a.unit.kind == "item" for a in mine)
    if design.assigning == "fixed":
        return rated == 0
    rest = store.campaigns.remaining_work(campaign.id)
    return rest.ratings < rest.units * design.overlap and rated < rest.units

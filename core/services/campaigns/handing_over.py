"""Give the rest of a fixed list to other people, when somebody leaves, is excluded or never comes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from core.campaigns.design import design_from_json
from core.campaigns.handing_over import ListOwner, ListRest, ListState
from core.errors import UserError
from core.ports.campaigns import Campaign, DrawState, HandOver, Participant
from core.ports.store import Store


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


def gets_units(who: Participant) -> bool:
    """Return whether a participant is given units at present."""
    return not (who.left or who.excluded or who.passed_tutorial is False)


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
    shares = tuple(Share(people[p].rater, len(given)) for p, given in plan.shares.items())
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
    units, there = store.campaigns.units(campaign.id), store.campaigns.assignments(campaign.id)
    owners = _owners(store.campaigns.participants(campaign.id))
    return ListState(DrawState(units, there), design_from_json(campaign.design), owners)


def _owners(people: list[Participant]) -> list[ListOwner]:
    """Return the participants in the order of joining, which is that of the lists."""
    return [ListOwner(p.id, place, gets_units(p), not p.excluded) for place, p in enumerate(people)]

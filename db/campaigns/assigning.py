"""Assign units to participants, and follow what they open and submit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, insert, select, update

from core.ports.campaigns import Assignment, AssignmentState, ChooseHandOver, Draw, DrawState, HandOver, NewAssignment
from db.campaigns.rows import assignments_of, require_campaign, require_participant, units_of, visible_campaigns
from db.lookup import parts
from db.tables import assignments, campaign_units, campaigns, participants

_a = assignments.c


def assign(
    connection: Connection,
    campaign_id: int,
    participant_id: int,
    now: datetime,
    lease_until: datetime | None,
    draw: Draw,
) -> list[Assignment]:
    """See `core.ports.campaigns.Campaigns.assign`, within the caller's transaction."""
    require_campaign(connection, campaign_id, lock=True)
    require_participant(connection, campaign_id, participant_id)
    _reclaim(connection, campaign_id, now)
    units = {unit.id: unit for unit in units_of(connection, campaign_units.c.campaign == campaign_id)}
    everything = assignments_of(connection, units, participants.c.campaign == campaign_id)
    chosen = draw(DrawState(list(units.values()), everything))
    if unknown := [new.unit_id for new in chosen if new.unit_id not in units]:
        raise ValueError(f"campaign {campaign_id} has no unit {unknown[0]}, which was drawn")
    first = max((a.position for a in everything if a.participant_id == participant_id), default=-1) + 1
    if not chosen:
        return []
    _insert(connection, chosen, participant_id, first, now, lease_until)
    return assignments_of(connection, units, _a.participant == participant_id, _a.position >= first)


def hand_over(
    connection: Connection, campaign_id: int, participant_id: int, now: datetime, choose: ChooseHandOver
) -> HandOver:
    """See `core.ports.campaigns.Campaigns.hand_over`, within the caller's transaction."""
    require_campaign(connection, campaign_id, lock=True)
    require_participant(connection, campaign_id, participant_id, lock=True)  # nothing is submitted meanwhile
    units = {unit.id: unit for unit in units_of(connection, campaign_units.c.campaign == campaign_id)}
    everything = assignments_of(connection, units, participants.c.campaign == campaign_id)
    chosen = choose(DrawState(list(units.values()), everything))
    mine = {a.unit.id: a for a in everything if a.participant_id == participant_id}
    lost = [mine[new.unit_id].id for new in chosen.taken if new.unit_id in mine]
    state = case((_a.state == "assigned", "reclaimed"), else_=_a.state)
    for part in parts(lost):
        connection.execute(update(assignments).where(_a.id.in_(part)).values(slot=None, state=state))
    last = {a.participant_id: a.position for a in everything}  # in the order of position
    never_given = [new for new in chosen.taken if new.unit_id not in mine]
    _insert(connection, never_given, participant_id, last.get(participant_id, -1) + 1, now, None, "reclaimed")
    for receiver, new_assignments in chosen.shares.items():
        require_participant(connection, campaign_id, receiver)
        back = {a.unit.id: a.id for a in everything if a.participant_id == receiver and a.state == "reclaimed"}
        first = last.get(receiver, -1) + 1
        for i, new in enumerate(new_assignments):
            if new.unit_id in back:
                again = {"slot": new.slot, "state": "assigned", "position": first + i, "lease_until": None}
                connection.execute(update(assignments).where(_a.id == back[new.unit_id]).values(again))
        _insert(connection, new_assignments, receiver, first, now, None, had=back)
    return chosen


def _insert(
    connection: Connection,
    chosen: Sequence[NewAssignment],
    participant_id: int,
    first: int,
    now: datetime,
    lease_until: datetime | None,
    state: AssignmentState = "assigned",
    had: Collection[int] = (),
) -> None:
    """Store new assignments, whose positions begin with `first`, except those of the units in `had`."""
    rows = [
        {
            "unit": new.unit_id, "participant": participant_id, "slot": new.slot, "position": first + i, "systems": list(new.order),
            "probability": new.probability, "state": state, "assigned": now, "lease_until": lease_until,
        }
        for i, new in enumerate(chosen)
        if new.unit_id not in had
    ]  # fmt: skip
    if rows:
        connection.execute(insert(assignments), rows)


def _reclaim(connection: Connection, campaign_id: int, now: datetime) -> None:
    """Take back what is unsubmitted and expired, except what its participant labels at this moment."""
    expired = (
        select(_a.id)
        .join_from(assignments, participants)
        .where(participants.c.campaign == campaign_id, _a.state == "assigned", _a.lease_until <= now)
        .order_by(_a.id)
        .with_for_update(of=assignments, skip_locked=True)
    )
    for part in parts(connection.execute(expired).scalars().all()):
        connection.execute(update(assignments).where(_a.id.in_(part)).values(slot=None, state="reclaimed"))


class Touch(NamedTuple):
    """A rater has opened or labelled a unit of the campaign with these texts, and it is `submitted` now or not."""

    texts: int
    rater: str
    unit: str
    now: datetime
    lease_until: datetime
    submitted: bool


def touch(connection: Connection, request: Touch) -> bool:
    """Set or clear `submitted` of an assignment, and extend the lease of all units that its participant has not submitted.

    Returns False, with nothing changed, if the assignment was reclaimed: a slot is free or not, which only one transaction at a time may find
    out (`touch_reclaimed`). What was never assigned to the rater is left alone.
    """
    assignment = _assignment(connection, request)
    if assignment is None:
        return True
    changed = _change(request, assignment)
    still = update(assignments).where(_a.id == assignment.id, _a.state != "reclaimed")  # since it was read
    if changed["state"] is None or not connection.execute(still.values(changed)).rowcount:
        return False
    _extend(connection, request, assignment.participant)
    return True


def touch_reclaimed(connection: Connection, request: Touch) -> None:
    """Do what `touch` does, also for a reclaimed assignment, which gets a free slot if there is one."""
    this = visible_campaigns(campaigns.c.design).where(campaigns.c.texts == request.texts)
    design = connection.execute(this.with_for_update(of=campaigns)).scalar()
    if design is None or (assignment := _assignment(connection, request)) is None:
        return
    changed = _change(request, assignment)
    if changed["state"] is None:
        taken = select(_a.slot).where(_a.unit == assignment.unit, _a.slot.is_not(None))
        free = set(range(1, int(design["overlap"]) + 1)) - set(connection.execute(taken).scalars())
        if free:
            changed |= {"slot": min(free), "lease_until": request.lease_until}
        changed["state"] = "submitted" if request.submitted else "assigned" if free else "reclaimed"
    connection.execute(update(assignments).where(_a.id == assignment.id).values(changed))
    _extend(connection, request, assignment.participant)


def take_free_slots(connection: Connection, campaign_id: int, participant_id: int) -> None:
    """Give the items of a participant who counts again a slot where one is free. The campaign must be locked."""
    overlap = int(require_campaign(connection, campaign_id).design["overlap"])
    lost = (
        _a.participant == participant_id,
        _a.slot.is_(None),
        _a.state != "reclaimed",
        campaign_units.c.kind == "item",
    )
    without_slot = connection.execute(select(_a.id, _a.unit).join_from(assignments, campaign_units).where(*lost)).all()
    taken: dict[int, set[int]] = {}
    for part in parts([row.unit for row in without_slot]):
        theirs = select(_a.unit, _a.slot).where(_a.unit.in_(part), _a.slot.is_not(None))
        for unit, slot in connection.execute(theirs):
            taken.setdefault(unit, set()).add(slot)
    for row in without_slot:
        if free := set(range(1, overlap + 1)) - taken.get(row.unit, set()):
            connection.execute(update(assignments).where(_a.id == row.id).values(slot=min(free)))


def _assignment(connection: Connection, request: Touch) -> Any:
    """Return the rater's assignment of the unit, None if there is none. Nothing of this participant is handed over meanwhile."""
    of, unit = participants.c, campaign_units.c
    mine = select(of.id, of.campaign).join_from(participants, campaigns)
    mine = mine.where(campaigns.c.texts == request.texts, of.rater == request.rater)
    who = connection.execute(mine.with_for_update(of=participants, key_share=True)).first()
    return (
        who
        and connection.execute(
            select(_a.id, _a.unit, _a.participant, _a.state, _a.opened, _a.submitted)
            .join_from(assignments, campaign_units)
            .where(_a.participant == who.id, unit.campaign == who.campaign, unit.name == request.unit)
        ).first()
    )


def _change(request: Touch, assignment: Any) -> dict[str, Any]:
    """Return the new values of the assignment; its state is None if that depends on free slots."""
    state = "submitted" if request.submitted else "assigned"
    return {
        "opened": assignment.opened or request.now,
        "submitted": (assignment.submitted or request.now) if request.submitted else None,
        "state": None if assignment.state == "reclaimed" else state,
    }


def _extend(connection: Connection, request: Touch, participant_id: int) -> None:
    mine = (_a.participant == participant_id, _a.state == "assigned", _a.lease_until.is_not(None))
    connection.execute(update(assignments).where(*mine).values(lease_until=request.lease_until))

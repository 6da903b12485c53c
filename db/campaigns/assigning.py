"""Assign units to participants, and follow what they open and submit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, case, insert, select, update

from core.errors import UserError
from core.ports.campaigns import (
    Assignment,
    AssignmentState,
    ChooseHandOver,
    Draw,
    DrawState,
    HandOver,
    NewAssignment,
)
from db.campaigns.rows import assignments_of, require_campaign, require_participant, units_of
from db.engine import writing
from db.lookup import parts
from db.tables import assignments, campaign_units, participants

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
    if strange := [new.unit_id for new in chosen if new.unit_id not in units]:
        raise ValueError(f"campaign {campaign_id} has no unit {strange[0]}, which was drawn")
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
    for receiver, given in chosen.given.items():
        require_participant(connection, campaign_id, receiver)
        back = {a.unit.id: a.id for a in everything if a.participant_id == receiver and a.state == "reclaimed"}
        first = last.get(receiver, -1) + 1
        for i, new in enumerate(given):
            if new.unit_id in back:
                again = {"slot": new.slot, "state": "assigned", "position": first + i, "lease_until": None}
                connection.execute(update(assignments).where(_a.id == back[new.unit_id]).values(again))
        _insert(connection, given, receiver, first, now, None, had=back)
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
        _row(new, participant_id, first + i, now, lease_until) | {"state": state}
        for i, new in enumerate(chosen)
        if new.unit_id not in had
    ]
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


def _row(
    new: NewAssignment, participant_id: int, position: int, now: datetime, lease_until: datetime | None
) -> dict[str, Any]:
    return {
        "unit": new.unit_id, "participant": participant_id, "slot": new.slot, "position": position,
        "systems": list(new.order), "probability": new.probability, "state": "assigned", "assigned": now,
        "lease_until": lease_until, "opened": None, "submitted": None,
    }  # fmt: skip


class Touch(NamedTuple):
    """The arguments of `core.ports.campaigns.Campaigns.touch`."""

    campaign_id: int
    participant_id: int
    unit: str
    now: datetime
    lease_until: datetime
    submitted: bool


class Reclaimed(Exception):  # noqa: N818  (what the assignment is)
    """The assignment was reclaimed; a slot is free or not, which only one transaction at a time may find out."""


def touch_together(engine: Engine, touches: Sequence[Touch]) -> list[Exception | None]:
    """Carry out several touches in one transaction; return the error of each, `Reclaimed` among them.

    They come in the order of their participants, so that no two processes wait for each other.
    """
    errors: dict[int, Exception | None] = {}
    with writing(engine) as connection:
        for i in sorted(range(len(touches)), key=lambda i: touches[i].participant_id):
            try:
                with connection.begin_nested():
                    touch(connection, touches[i])
                errors[i] = None
            except (UserError, Reclaimed) as error:
                errors[i] = error
    return [errors[i] for i in range(len(touches))]


def touch(connection: Connection, given: Touch) -> None:
    """Change an assignment that has not been reclaimed, and extend the leases of its participant. Raises `Reclaimed`."""
    require_participant(connection, given.campaign_id, given.participant_id, lock=True)
    found = _found(connection, given)
    changed = _change(given, found)
    if changed["state"] is None or not _applied(connection, found.id, changed):
        raise Reclaimed
    _extend(connection, given)


def touch_reclaimed(connection: Connection, given: Touch) -> None:
    """Do what `touch` does, also for a reclaimed assignment, which gets a free slot if there is one."""
    design = require_campaign(connection, given.campaign_id, lock=True).design
    require_participant(connection, given.campaign_id, given.participant_id, lock=True)
    found = _found(connection, given)
    changed = _change(given, found)
    if changed["state"] is None:
        taken = select(_a.slot).where(_a.unit == found.unit, _a.slot.is_not(None))
        free = set(range(1, int(design["overlap"]) + 1)) - set(connection.execute(taken).scalars())
        if free:
            changed |= {"slot": min(free), "lease_until": given.lease_until}
        changed["state"] = "submitted" if given.submitted else "assigned" if free else "reclaimed"
    connection.execute(update(assignments).where(_a.id == found.id).values(changed))
    _extend(connection, given)


def take_free_slots(connection: Connection, campaign_id: int, participant_id: int) -> None:
    """Give the items of a participant who counts again a slot where one is free. The campaign must be locked."""
    overlap = int(require_campaign(connection, campaign_id).design["overlap"])
    lost = (
        _a.participant == participant_id,
        _a.slot.is_(None),
        _a.state != "reclaimed",
        campaign_units.c.kind == "item",
    )
    found = connection.execute(select(_a.id, _a.unit).join_from(assignments, campaign_units).where(*lost)).all()
    taken: dict[int, set[int]] = {}
    for part in parts([row.unit for row in found]):
        theirs = select(_a.unit, _a.slot).where(_a.unit.in_(part), _a.slot.is_not(None))
        for unit, slot in connection.execute(theirs):
            taken.setdefault(unit, set()).add(slot)
    for row in found:
        if free := set(range(1, overlap + 1)) - taken.get(row.unit, set()):
            connection.execute(update(assignments).where(_a.id == row.id).values(slot=min(free)))


def _found(connection: Connection, given: Touch) -> Any:
    unit = campaign_units.c
    row = connection.execute(
        select(_a.id, _a.unit, _a.state, _a.opened, _a.submitted)
        .join_from(assignments, campaign_units)
        .where(_a.participant == given.participant_id, unit.campaign == given.campaign_id, unit.name == given.unit)
    ).first()
    if row is None:
        hint = "Reload the page"
        raise UserError("this text is not assigned to you", got=f"unit “{given.unit}”", hint=hint)
    return row


def _change(given: Touch, found: Any) -> dict[str, Any]:
    """Return the new values of the assignment; its state is None if that depends on free slots."""
    state = "submitted" if given.submitted else "assigned"
    return {
        "opened": found.opened or given.now,
        "submitted": (found.submitted or given.now) if given.submitted else None,
        "state": None if found.state == "reclaimed" else state,
    }


def _applied(connection: Connection, assignment_id: int, changed: dict[str, Any]) -> bool:
    """Change an assignment unless it was reclaimed since it was read."""
    still = update(assignments).where(_a.id == assignment_id, _a.state != "reclaimed")
    return bool(connection.execute(still.values(changed)).rowcount)


def _extend(connection: Connection, given: Touch) -> None:
    mine = (_a.participant == given.participant_id, _a.state == "assigned", _a.lease_until.is_not(None))
    connection.execute(update(assignments).where(*mine).values(lease_until=given.lease_until))

"""Read the rows of campaigns, also tens of thousands of assignments in a fraction of a second."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, String, select, type_coerce
from sqlalchemy.types import NullType

from core.data import SegmentKey
from core.errors import UserError
from core.ports.campaigns import Assignment, Campaign, CampaignUnit, NewUnit
from db.tables import assignments, campaign_units, campaigns, participants, projects

CAMPAIGN = tuple(campaigns.c[name] for name in Campaign._fields)
_of = campaign_units.c
_UNIT = (
    _of.id, _of.name, _of.position, _of.block, _of.kind, _of.of_document, _of.of_segment,
    type_coerce(_of.systems, String), type_coerce(_of.details, String), _of.retired,
)  # fmt: skip
_a = assignments.c
_ASSIGNMENT = (
    _a.id, _a.unit, _a.participant, _a.slot, _a.position, type_coerce(_a.systems, String), _a.probability, _a.state,
    *(type_coerce(c, NullType()) for c in (_a.assigned, _a.lease_until, _a.opened, _a.submitted)),
)  # fmt: skip
"""Lists and times are read as they are stored, because equal ones, of which there are many, are converted once."""
_p = participants.c
PARTICIPANT = (_p.id, _p.campaign, _p.rater, _p.code, _p.joined, _p.excluded, _p.has_left, _p.passed_tutorial)


def visible_campaigns(*columns: ColumnElement[Any]) -> Select[Any]:
    """Select the campaigns that are not just being created or deleted: `columns`, by default those of `Campaign`."""
    of_texts = projects.c.id == campaigns.c.texts
    return select(*columns or CAMPAIGN).join_from(campaigns, projects, of_texts).where(projects.c.importing.is_(None))


def require_campaign(connection: Connection, campaign_id: int, *, lock: bool = False) -> Campaign:
    """Return a campaign. Raises `UserError` if there is none. `lock` lets one transaction at a time continue here."""
    query = visible_campaigns().where(campaigns.c.id == campaign_id)
    row = connection.execute(query.with_for_update(of=campaigns) if lock else query).first()
    if row is None:
        hint = "It may have been deleted; choose another"
        raise UserError("there is no such campaign", got=str(campaign_id), hint=hint)
    return Campaign._make(row)


def require_draft(connection: Connection, campaign_id: int) -> Campaign:
    """Return a campaign, locked. Raises `UserError` if it was ever started."""
    campaign = require_campaign(connection, campaign_id, lock=True)
    any_assignment = select(_a.id).join_from(assignments, campaign_units).where(_of.campaign == campaign_id).limit(1)
    if campaign.state != "draft" or connection.execute(any_assignment).first() is not None:
        hint = "Pause it, or create another campaign"
        raise UserError(
            "the campaign was started, so its set-up can no longer be changed", got=campaign.name, hint=hint
        )
    return campaign


def require_participant(connection: Connection, campaign_id: int, participant_id: int, *, lock: bool = False) -> None:
    """Raise `UserError` if the campaign has no such participant. `lock` keeps other changes of this person's assignments out."""
    query = select(_p.id).where(_p.id == participant_id, _p.campaign == campaign_id)
    if connection.execute(query.with_for_update(key_share=True) if lock else query).first() is None:
        hint = "The campaign may have been deleted. Open its link again"
        raise UserError("there is no such participant", got=str(participant_id), hint=hint)


def units_of(connection: Connection, *where: ColumnElement[bool]) -> list[CampaignUnit]:
    """Return units in the order of position."""
    rows = _in_parts(connection, select(*_UNIT).where(*where).order_by(_of.campaign, _of.position))
    return [
        CampaignUnit(
            i, name, position, block, kind, SegmentKey(doc, segment), _names(systems),
            {} if details == "{}" else json.loads(details), retired,
        )
        for i, name, position, block, kind, doc, segment, systems, details, retired in rows
    ]  # fmt: skip


def assignments_of(
    connection: Connection, units: Mapping[int, CampaignUnit], *where: ColumnElement[bool]
) -> list[Assignment]:
    """Return assignments of these units by participant and position. `where` may name columns of participants too."""
    chosen = select(*_ASSIGNMENT).join_from(assignments, participants).where(*where)
    return [
        Assignment(
            i, units[unit], participant, slot, position, _names(systems), probability, state, _time(assigned),
            lease_until and _time(lease_until), opened and _time(opened), submitted and _time(submitted),
        )
        for i, unit, participant, slot, position, systems, probability, state, assigned, lease_until, opened, submitted
        in _in_parts(connection, chosen.order_by(_a.participant, _a.position))
    ]  # fmt: skip


def unit_rows(campaign_id: int, units: Sequence[NewUnit], first: int) -> list[dict[str, Any]]:
    """Return the rows of new units, whose positions begin with `first`."""
    return [
        {
            "campaign": campaign_id, "name": unit.name, "position": first + i, "block": unit.block, "kind": unit.kind,
            "of_document": unit.of.doc_id, "of_segment": unit.of.segment_id, "systems": list(unit.systems),
            "details": dict(unit.details), "retired": False,
        }
        for i, unit in enumerate(units)
    ]  # fmt: skip


def _in_parts(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    """Yield rows. They are fetched together, which is faster, but not all at once, which makes garbage collection slow."""
    return chain.from_iterable(connection.execute(query).partitions(500))


@lru_cache(maxsize=10_000)
def _names(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))


@lru_cache(maxsize=100_000)
def _time(stored: datetime | str) -> datetime:
    """Return a stored time; SQLite returns its text."""
    return (datetime.fromisoformat(stored) if isinstance(stored, str) else stored).replace(tzinfo=UTC)

"""How far a campaign is: by unit, system and person, its pace, and when it will be done."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import NamedTuple

from core.campaigns.design import design_from_json
from core.campaigns.submitted import UnitJudgement
from core.ports.campaigns import Assignment, Campaign, CampaignUnit
from core.ports.store import Store
from core.services.campaigns.answers import read_labels
from core.services.campaigns.people import WorkDone, work_done

PACE_DAYS = 3
"""The pace is that of the last days, because it changes while people join and leave."""


class SystemProgress(NamedTuple):
    """`ratings` are those submitted, of `wanted`. A unit with several systems counts for each."""

    system: str
    ratings: int
    wanted: int


class CampaignProgress(NamedTuple):
    """`ratings` of `wanted` are submitted by distinct raters, `complete` of `units` have all their raters; `extra` ratings came late.

    `seconds` is the median working time per submitted unit, `per_day` the ratings per day lately, `done_by` when the rest will
    be done at this pace; None without data.
    """

    units: int
    complete: int
    ratings: int
    wanted: int
    extra: int
    systems: tuple[SystemProgress, ...]
    people: tuple[WorkDone, ...]
    seconds: float | None
    per_day: float | None
    done_by: datetime | None
    days: tuple[tuple[datetime, int], ...]


def progress(
    store: Store, campaign: Campaign, now: datetime | None = None, given: Sequence[UnitJudgement] | None = None
) -> CampaignProgress:
    """Return the progress of a campaign."""
    at, design = now or datetime.now(UTC), design_from_json(campaign.design)
    everything = read_labels(store, campaign).answers if given is None else given
    items = [u for u in store.campaigns.units(campaign.id) if u.kind == "item" and not u.retired]
    assigned = [a for a in store.campaigns.assignments(campaign.id) if a.unit.kind == "item" and not a.unit.retired]
    done = [a for a in assigned if a.state == "submitted" and a.slot is not None]
    by_unit: dict[int, int] = {}
    for a in done:
        by_unit[a.unit.id] = by_unit.get(a.unit.id, 0) + 1
    wanted = len(items) * design.overlap
    times = [a.labels.seconds for a in everything if a.labels.submitted and a.unit.kind == "item"]
    per_day = _pace(done, at)
    rest = wanted - len(done)
    return CampaignProgress(
        len(items), sum(n >= design.overlap for n in by_unit.values()), len(done), wanted,
        sum(a.state == "submitted" and a.slot is None for a in assigned),
        _by_system(items, by_unit, design.overlap), tuple(work_done(store, campaign, everything)),
        median(times) if times else None, per_day,
        at + timedelta(days=rest / per_day) if per_day and rest else None, _by_day(done),
    )  # fmt: skip


def _pace(done: Sequence[Assignment], now: datetime) -> float | None:
    """Return the submitted ratings per day over the last days, or since the first one if that is shorter; None before an hour."""
    times = [a.submitted for a in done if a.submitted is not None]
    if not times:
        return None
    begin = max(min(times), now - timedelta(days=PACE_DAYS))
    hours = (now - begin).total_seconds() / 3600
    return None if hours < 1 else sum(t >= begin for t in times) / hours * 24


def _by_day(done: Sequence[Assignment]) -> tuple[tuple[datetime, int], ...]:
    counts: dict[datetime, int] = {}
    for a in done:
        if a.submitted is not None:
            day = a.submitted.replace(hour=0, minute=0, second=0, microsecond=0)
            counts[day] = counts.get(day, 0) + 1
    return tuple(sorted(counts.items()))


def _by_system(items: Sequence[CampaignUnit], by_unit: dict[int, int], overlap: int) -> tuple[SystemProgress, ...]:
    found: dict[str, list[int]] = {}
    for unit in items:
        for system in unit.systems:
            of = found.setdefault(system, [0, 0])
            of[0] += by_unit.get(unit.id, 0)
            of[1] += overlap
    return tuple(SystemProgress(name, *counts) for name, counts in sorted(found.items()))

"""The state of a campaign for its screens: progress by unit, system and person, pace, and completion."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import NamedTuple

from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.submitted import UnitJudgement
from core.data import grouped
from core.ports.campaigns import Assignment, Campaign, CampaignUnit
from core.ports.store import Store
from core.services.campaigns.answers import CampaignLabels, read_labels
from core.services.campaigns.people import WorkDone, work_done

PACE_DAYS = 3
"""The pace is that of the last days, because it changes while people join and leave."""


class SystemProgress(NamedTuple):
    """`ratings` are those submitted, of `planned`. A unit with several systems counts for each."""

    system: str
    ratings: int
    planned: int


class CampaignProgress(NamedTuple):
    """`ratings` of `planned` are submitted by distinct raters, `complete` of `units` have all their raters; `extra` ratings came late.

    `seconds` is the median working time per submitted unit, `per_day` the ratings per day lately, `done_by` when the rest will
    be done at this pace; None without data.
    """

    units: int
    complete: int
    ratings: int
    planned: int
    extra: int
    systems: tuple[SystemProgress, ...]
    people: tuple[WorkDone, ...]
    seconds: float | None
    per_day: float | None
    done_by: datetime | None
    days: tuple[tuple[datetime, int], ...]


def progress(
    store: Store, campaign: Campaign, now: datetime | None = None, known_answers: Sequence[UnitJudgement] | None = None
) -> CampaignProgress:
    """Return the progress of a campaign."""
    at, design = now or datetime.now(UTC), design_from_json(campaign.design)
    everything = read_labels(store, campaign).answers if known_answers is None else known_answers
    items = [u for u in store.campaigns.units(campaign.id) if u.kind == "item" and not u.retired]
    assigned = [a for a in store.campaigns.assignments(campaign.id) if a.unit.kind == "item" and not a.unit.retired]
    done = [a for a in assigned if a.state == "submitted" and a.slot is not None]
    by_unit: dict[int, int] = {}
    for a in done:
        by_unit[a.unit.id] = by_unit.get(a.unit.id, 0) + 1
    planned = len(items) * design.overlap
    times = [a.labels.seconds for a in everything if a.labels.submitted and a.unit.kind == "item"]
    per_day = _pace(done, at)
    rest = planned - len(done)
    return CampaignProgress(
        len(items), sum(n >= design.overlap for n in by_unit.values()), len(done), planned,
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
    by_name: dict[str, list[int]] = {}
    for unit in items:
        for system in unit.systems:
            of = by_name.setdefault(system, [0, 0])
            of[0] += by_unit.get(unit.id, 0)
            of[1] += overlap
    return tuple(SystemProgress(name, *counts) for name, counts in sorted(by_name.items()))


class PersonProgress(NamedTuple):
    """`median_seconds` is per submitted item, None before the first; `open_units` are assigned and not submitted."""

    work: WorkDone
    median_seconds: float | None
    open_units: int


class CampaignSnapshot(NamedTuple):
    """A campaign at one moment."""

    at: datetime
    design: CampaignDesign
    labels: CampaignLabels
    progress: CampaignProgress
    people: tuple[PersonProgress, ...]

    @property
    def answers(self) -> tuple[UnitJudgement, ...]:
        """Return all labels of the participants."""
        return self.labels.answers

    @property
    def ratings_left(self) -> int:
        return max(0, self.progress.planned - self.progress.ratings)

    @property
    def is_complete(self) -> bool:
        """Return whether all ratings are there."""
        return 0 < self.progress.planned <= self.progress.ratings

    @property
    def hours_left(self) -> float:
        """Return the working time for the ratings left, in hours: at the median time so far, or at the planned one."""
        return self.ratings_left * (self.progress.seconds or self.design.seconds_per_unit) / 3600

    @property
    def complete_share(self) -> float:
        return self.progress.complete / self.progress.units if self.progress.units else 0.0


def snapshot(store: Store, campaign: Campaign, now: datetime | None = None) -> CampaignSnapshot:
    """Return the state of a campaign."""
    at, labels = now or datetime.now(UTC), read_labels(store, campaign)
    answers = labels.answers
    campaign_progress = progress(store, campaign, at, answers)
    open_units: dict[int, int] = {}
    for a in store.campaigns.assignments(campaign.id):
        if a.state == "assigned":
            open_units[a.participant_id] = open_units.get(a.participant_id, 0) + 1
    items = grouped(
        (a.participant_id, a.labels.seconds) for a in answers if a.unit.kind == "item" and a.labels.submitted
    )
    people = tuple(
        PersonProgress(
            work,
            median(items[work.participant.id]) if work.participant.id in items else None,
            open_units.get(work.participant.id, 0),
        )
        for work in campaign_progress.people
    )
    return CampaignSnapshot(at, design_from_json(campaign.design), labels, campaign_progress, people)


class Completion(NamedTuple):
    """`ratings` of `planned` are submitted by distinct raters. `people` have joined."""

    ratings: int
    planned: int
    people: int

    @property
    def share(self) -> float:
        return min(1.0, self.ratings / self.planned) if self.planned else 0.0


def completion(store: Store, campaign: Campaign) -> Completion:
    """Return how much of a campaign is done."""
    rest = store.campaigns.remaining_work(campaign.id)
    return Completion(rest.ratings, rest.units * design_from_json(campaign.design).overlap, rest.people)

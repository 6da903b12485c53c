"""What the screens of a campaign show: one reading of its labels, with the progress and every person's work."""

from __future__ import annotations

from datetime import UTC, datetime
from statistics import median
from typing import NamedTuple

from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.submitted import UnitJudgement
from core.data import grouped
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.services.campaigns.answers import CampaignLabels, read_labels
from core.services.campaigns.people import WorkDone
from core.services.campaigns.progress import CampaignProgress, progress


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
        return max(0, self.progress.wanted - self.progress.ratings)

    @property
    def is_complete(self) -> bool:
        """Return whether all ratings are there."""
        return 0 < self.progress.wanted <= self.progress.ratings

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
    given = labels.answers
    found = progress(store, campaign, at, given)
    open_units: dict[int, int] = {}
    for a in store.campaigns.assignments(campaign.id):
        if a.state == "assigned":
            open_units[a.participant_id] = open_units.get(a.participant_id, 0) + 1
    items = grouped((a.participant_id, a.labels.seconds) for a in given if a.unit.kind == "item" and a.labels.submitted)
    people = tuple(
        PersonProgress(
            work,
            median(items[work.participant.id]) if work.participant.id in items else None,
            open_units.get(work.participant.id, 0),
        )
        for work in found.people
    )
    return CampaignSnapshot(at, design_from_json(campaign.design), labels, found, people)

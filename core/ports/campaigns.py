"""Campaigns: human evaluations with many people. Their units, participants and assignments.

The texts of a campaign are kept as they were when it was created, in a project of its own (`texts`), which lists of projects leave
out: each unit is a document of one segment there, whose name says nothing. So labels of a campaign are ordinary labels, of that project.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from core.data import Dataset, SegmentKey
from core.ports.rules import (
    campaign_of_texts,
    change_campaign,
    change_participant,
    change_project,
    extend_campaign,
    read_campaign,
    read_campaigns,
    read_project,
    server_only,
)

CampaignState = Literal["draft", "running", "paused", "finished"]
UnitKind = Literal["item", "check", "repeat", "tutorial"]
AssignmentState = Literal["assigned", "submitted", "reclaimed"]


class Campaign(NamedTuple):
    """`design` is that of `core.campaigns.design`, as plain values. The roles of `project_id` hold for `texts` too."""

    id: int
    project_id: int
    texts: int
    name: str
    design: Mapping[str, Any]
    state: CampaignState
    created: datetime
    created_by: str


class CampaignUnit(NamedTuple):
    """What one rater judges at a time: `systems` of a segment. `name` is its document in the texts project.

    `of` is the segment of the project, also of checks and repeats. Units of a `block` are assigned together, in the order of
    `position`. `details` of a check has what was changed, of a tutorial item the right answers, of a repeat {"unit": name},
    of an item that was added later {"extension": n}. In campaigns with suggestions, they also have the spans of the layer by system.
    A retired unit is not assigned any more.
    """

    id: int
    name: str
    position: int
    block: int
    kind: UnitKind
    of: SegmentKey
    systems: tuple[str, ...]
    details: Mapping[str, Any]
    retired: bool = False


class NewUnit(NamedTuple):
    """A unit to be stored: the fields of `CampaignUnit`."""

    name: str
    block: int
    kind: UnitKind
    of: SegmentKey
    systems: tuple[str, ...]
    details: Mapping[str, Any]


class Participant(NamedTuple):
    """A rater of a campaign. Labels have `rater` as their rater, in the texts project.

    `excluded` is the reason why the labels do not count at present, "" if they do. `left` says that no more units are wanted.
    `code` is the completion code. `passed_tutorial` is None until the tutorial is submitted.
    """

    id: int
    campaign_id: int
    rater: str
    code: str
    joined: datetime
    excluded: str = ""
    left: bool = False
    passed_tutorial: bool | None = None


class Assignment(NamedTuple):
    """A unit given to a participant. At most one per unit and participant, and per unit and slot (1 … k).

    An assignment without a slot is an extra one: a tutorial item, or a unit that was reclaimed and given to somebody else.
    `order` is that of the systems on the screen, `probability` that with which the block was drawn (1 for fixed lists).
    """

    id: int
    unit: CampaignUnit
    participant_id: int
    slot: int | None
    position: int
    order: tuple[str, ...]
    probability: float
    state: AssignmentState
    assigned: datetime
    lease_until: datetime | None
    opened: datetime | None
    submitted: datetime | None


class CampaignVersion(NamedTuple):
    """What the results of a campaign depend on: the number of the newest event (0 without any), and who is excluded."""

    id: int
    newest: int
    excluded: tuple[int, ...]


class RemainingWork(NamedTuple):
    """`units` are the items of a campaign that are not retired, and `ratings` those of them that are submitted, at most k per unit.

    `people` have joined. `gone` of them get no more units: they have left, are excluded or did not pass the tutorial.
    """

    units: int
    ratings: int
    people: int
    gone: int


class NewAssignment(NamedTuple):
    unit_id: int
    slot: int | None
    order: tuple[str, ...]
    probability: float


class DrawState(NamedTuple):
    """What a draw depends on: all units, and all assignments after reclaiming those whose lease has ended."""

    units: Sequence[CampaignUnit]
    assignments: Sequence[Assignment]


Draw = Callable[[DrawState], Sequence[NewAssignment]]


class HandOver(NamedTuple):
    """Units that one participant no longer has to rate, and what others get instead, by participant id."""

    taken: Sequence[NewAssignment]
    shares: Mapping[int, Sequence[NewAssignment]]


ChooseHandOver = Callable[[DrawState], HandOver]


_STATE_ACTS: dict[CampaignState, str] = {
    "draft": "campaign put back to draft", "running": "campaign started", "paused": "campaign paused", "finished": "campaign finished",
}  # fmt: skip


def _retiring(arguments: Mapping[str, Any]) -> str:
    return f"campaign units {'retired' if arguments['retired'] else 'assigned again'}"


class Campaigns(Protocol):
    @change_project("campaign created", "name")
    def create(
        self,
        project_id: int,
        name: str,
        design: Mapping[str, Any],
        settings: Mapping[str, Any],
        texts: Dataset,
        units: Sequence[NewUnit],
        who: str,
    ) -> Campaign:
        """Store a campaign as a draft, with its texts and units, all or nothing. `settings` are those of the texts project.

        Raises `UserError` if the project has a campaign of this name.
        """
        ...

    @change_campaign("campaign draft changed", "name")
    def replace(
        self,
        campaign_id: int,
        name: str,
        design: Mapping[str, Any],
        settings: Mapping[str, Any],
        texts: Dataset,
        units: Sequence[NewUnit],
    ) -> Campaign:
        """Store a draft anew, all or nothing; it has another texts project then. Its people and their links stay.

        Raises `UserError` if it is no draft, units were given to people, or another campaign of the project has this name.
        """
        ...

    @read_campaigns.kept
    def list(self, project_id: int) -> builtins.list[Campaign]: ...

    @read_project.kept
    def has_any(self, project_id: int) -> bool:
        """Return whether the project has campaigns, without reading their designs."""
        ...

    @read_project
    def versions(self, project_id: int) -> builtins.list[CampaignVersion]:
        """Return what the results of each campaign depend on, in the order of `list`, without reading their designs."""
        ...

    @read_campaign.kept
    def get(self, campaign_id: int) -> Campaign:
        """Raises `UserError` if there is no such campaign."""
        ...

    @campaign_of_texts
    def of_texts(self, project_id: int) -> Campaign | None:
        """Return the campaign whose texts project this is."""
        ...

    @change_campaign(lambda arguments: _STATE_ACTS[arguments["state"]])
    def set_state(self, campaign_id: int, state: CampaignState) -> None: ...

    @change_campaign("campaign deleted")
    def delete(self, campaign_id: int) -> None:
        """Delete a campaign with its texts, labels and links."""
        ...

    @read_campaign.kept.or_own_tasks
    def units(self, campaign_id: int) -> builtins.list[CampaignUnit]: ...

    @extend_campaign
    def add_units(self, campaign_id: int, texts: Dataset, units: Sequence[NewUnit]) -> None:
        """Add units, such as those of another system, at the end."""
        ...

    @change_campaign(_retiring, "unit_ids")
    def retire(self, campaign_id: int, unit_ids: Collection[int], retired: bool = True) -> None: ...

    @change_campaign("participant added", "rater").or_own_tasks
    def join(self, campaign_id: int, rater: str, code: str) -> Participant:
        """Add a participant, or return the one of this name."""
        ...

    @read_campaign.kept.or_own_tasks
    def participants(self, campaign_id: int) -> builtins.list[Participant]: ...

    @change_participant.or_own_tasks
    def change(self, participant: Participant) -> None:
        """Store `excluded`, `left` and `passed_tutorial` of a participant. Excluded ones lose their slots, so others get the units.

        Whoever counts again gets the slots that are still free.
        """
        ...

    @read_campaign.kept.or_own_tasks
    def assignments(self, campaign_id: int, participant_id: int | None = None) -> builtins.list[Assignment]:
        """Return the assignments by participant and position."""
        ...

    @read_campaign.or_own_tasks
    def remaining_work(self, campaign_id: int) -> RemainingWork:
        """Return how much of a campaign is submitted, and how many people work on the rest, without reading its units."""
        ...

    @server_only.or_own_tasks
    def assign(
        self, campaign_id: int, participant_id: int, now: datetime, lease_until: datetime | None, draw: Draw
    ) -> builtins.list[Assignment]:
        """Reclaim what has expired, then let `draw` choose units for a participant and store them, in one transaction.

        Simultaneous calls for a campaign wait for each other. The new assignments come last in the participant's list. Those
        reclaimed lose their slot; what was labelled stays. Without `lease_until`, they are never reclaimed.
        """
        ...

    @change_campaign("campaign units handed over", "participant_id")
    def hand_over(self, campaign_id: int, participant_id: int, now: datetime, choose: ChooseHandOver) -> HandOver:
        """Let `choose` decide what of a participant's units others get, and store it, in one transaction.

        What is `taken` loses its slot and is reclaimed unless it was submitted; what the participant had not been given yet is stored
        like that. What others get comes last in their lists; a reclaimed assignment is given again, and no other twice. The labels
        stay. Returns what `choose` decided.
        """
        ...

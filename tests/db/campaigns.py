"""Campaigns that the tests of storage create, and the steps of their participants."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from core.data import Dataset, Output, Segment, SegmentKey
from core.ports.campaigns import Assignment, Campaign, DrawState, NewAssignment, NewUnit
from core.ports.labels import Action, ActionKind, UnitTouch
from core.ports.store import Store

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LEASE = NOW + timedelta(hours=1)
AFTER = LEASE + timedelta(minutes=1)
LATER = AFTER + timedelta(hours=1)
DESIGN = {"overlap": 2, "protocol": {"name": "ESA"}}
SETTINGS = {"protocol": {"asks": ["score"]}, "typology": {"categories": []}}


def texts(*names: str) -> Dataset:
    return Dataset(
        tuple(Segment(name, "0", f"source of {name}") for name in names),
        tuple(Output(system, name, "0", f"{system} of {name}") for name in names for system in "AB"),
    )


def unit(name: str, block: int = 0) -> NewUnit:
    return NewUnit(name, block, "item", SegmentKey("doc", "0"), ("A", "B"), {"from": [1, None]})


def created(store: Store, project: int, name: str = "pilot", units: Sequence[str] = ("u3", "u1", "u2")) -> Campaign:
    new = [unit(u, i) for i, u in enumerate(units)]
    return store.campaigns.create(project, name, DESIGN, SETTINGS, texts(*units), new, "ann")


class Choice:
    """A draw of the units with these names in a slot."""

    def __init__(self, *names: str, slot: int | None = 1) -> None:
        self.names, self.slot, self.seen = names, slot, list[DrawState]()

    def __call__(self, state: DrawState) -> list[NewAssignment]:
        self.seen.append(state)
        ids = {u.name: u.id for u in state.units}
        return [NewAssignment(ids[name], self.slot, ("B", "A"), 0.25) for name in self.names]


def assigned(
    store: Store, campaign: Campaign, rater: str, *names: str, slot: int | None = 1, lease: datetime | None = LEASE
) -> int:
    """Assign units to a participant, who joins if necessary; return the participant's id."""
    who = store.campaigns.join(campaign.id, rater, "CODE").id
    store.campaigns.assign(campaign.id, who, NOW, lease, Choice(*names, slot=slot))
    return who


def touch(
    store: Store, campaign: Campaign, who: int, name: str, submitted: bool, now: datetime = NOW, lease: datetime = LEASE
) -> None:
    """Submit a unit as this participant, or open it again."""
    rater = next(p.rater for p in store.campaigns.participants(campaign.id) if p.id == who)
    label(store, campaign, rater, name, submitted, now, lease)


def label(
    store: Store,
    campaign: Campaign,
    rater: str,
    name: str,
    submitted: bool,
    now: datetime = NOW,
    lease: datetime = LEASE,
) -> None:
    kinds: list[ActionKind] = ["decline", "submit"] if submitted else ["reopen"]
    done = [Action(f"{kind}-{uuid4()}", kind, None, {"reason": "Damaged text"}) for kind in kinds]
    store.labels.append(campaign.texts, rater, SegmentKey(name, "0"), done, UnitTouch(now, lease))


def only(store: Store, campaign: Campaign, who: int) -> Assignment:
    (found,) = store.campaigns.assignments(campaign.id, who)
    return found


def replaced(store: Store, campaign: Campaign, name: str = "pilot 2", units: Sequence[str] = ("n1", "n2")) -> Campaign:
    new, design = [unit(u, i) for i, u in enumerate(units)], {"overlap": 3}
    return store.campaigns.replace(campaign.id, name, design, {"setup": [1]}, texts(*units), new)

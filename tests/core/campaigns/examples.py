"""Small campaigns for the tests of assignment."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from core.campaigns.design import CampaignDesign
from core.campaigns.units import planned_units
from core.data import SegmentKey
from core.ports.campaigns import Assignment, CampaignUnit, DrawState, NewAssignment, UnitKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = "ABCDEFGHIJ"


def outline(documents: int, segments: int, systems: int) -> dict[SegmentKey, tuple[str, ...]]:
    return {
        SegmentKey(f"d{d}", str(s)): tuple(NAMES[:systems]) for d in range(documents) for s in range(segments)
    }  # fmt: skip


def stored(outputs: Mapping[SegmentKey, tuple[str, ...]], design: CampaignDesign) -> list[CampaignUnit]:
    planned = planned_units(outputs, design)
    return [CampaignUnit(i + 1, f"u{i}", i, p.block, "item", p.of, p.systems, {}) for i, p in enumerate(planned)]


def extra(kind: UnitKind, first_id: int, of: Sequence[SegmentKey], **details: str) -> list[CampaignUnit]:
    """Units that are no items, each in a block of its own."""
    return [
        CampaignUnit(first_id + i, f"{kind}{i}", first_id + i, first_id + i, kind, key, ("A",), details)
        for i, key in enumerate(of)
    ]


class Simulation:
    """A campaign in memory with the rules of the store: slots are unique, and lost when an assignment is reclaimed."""

    def __init__(self, units: Sequence[CampaignUnit]) -> None:
        self.units = {unit.id: unit for unit in units}
        self.assignments: list[Assignment] = []

    @property
    def state(self) -> DrawState:
        return DrawState(list(self.units.values()), list(self.assignments))

    def add(self, person: int, drawn: Sequence[NewAssignment], submitted: bool = True) -> None:
        for new in drawn:
            unit, n = self.units[new.unit_id], len(self.assignments)
            assert all(a.participant_id != person for a in self.of(unit.id)), "twice the same person"
            assert new.slot is None or all(a.slot != new.slot for a in self.of(unit.id)), "slot taken"
            assert sorted(new.order) == sorted(unit.systems)
            self.assignments.append(
                Assignment(
                    n, unit, person, new.slot, n, new.order, new.probability, "submitted" if submitted else "assigned",
                    NOW, None, NOW, NOW if submitted else None,
                )
            )  # fmt: skip

    def of(self, unit_id: int) -> list[Assignment]:
        return [a for a in self.assignments if a.unit.id == unit_id]

    def reclaim(self, person: int) -> None:
        """Reclaim what this person has not submitted."""
        self.assignments = [
            a._replace(state="reclaimed", slot=None) if a.participant_id == person and a.submitted is None else a
            for a in self.assignments
        ]

    def retire(self, unit_ids: Collection[int]) -> None:
        self.units |= {i: self.units[i]._replace(retired=True) for i in unit_ids}
        self.assignments = [a._replace(unit=self.units[a.unit.id]) for a in self.assignments]

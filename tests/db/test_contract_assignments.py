"""Units that are assigned, submitted, reclaimed and handed over."""

from collections.abc import Callable, Sequence

import pytest

from core.errors import UserError
from core.ports.campaigns import Campaign, DrawState, HandOver, NewAssignment
from core.ports.store import Store
from tests.db.campaigns import AFTER, LATER, LEASE, NOW, Choice, assigned, created, only, touch


@pytest.fixture
def campaign(store: Store, project: int) -> Campaign:
    return created(store, project)


def test_drawn_units_are_stored_with_all_that_was_drawn(store: Store, campaign: Campaign) -> None:
    rosa = store.campaigns.join(campaign.id, "Rosa", "C").id
    draw = Choice("u2", "u3")
    new = store.campaigns.assign(campaign.id, rosa, NOW, LEASE, draw)
    assert new == store.campaigns.assignments(campaign.id, rosa) == store.campaigns.assignments(campaign.id)
    assert [a.unit.name for a in new] == ["u2", "u3"]
    assert new[0].unit == store.campaigns.units(campaign.id)[2]
    assert new[0][2:] == (rosa, 1, 0, ("B", "A"), 0.25, "assigned", NOW, LEASE, None, None)
    assert list(draw.seen[0].units) == store.campaigns.units(campaign.id)
    assert list(draw.seen[0].assignments) == []
    more = Choice("u1")
    assert [a.position for a in store.campaigns.assign(campaign.id, rosa, NOW, None, more)] == [2]
    assert list(more.seen[0].assignments) == new
    assert store.campaigns.assign(campaign.id, rosa, NOW, LEASE, Choice()) == []
    otto = assigned(store, campaign, "Otto", "u1", slot=2)
    assert [(a.participant_id, a.position) for a in store.campaigns.assignments(campaign.id)] == [
        (rosa, 0), (rosa, 1), (rosa, 2), (otto, 0),
    ]  # fmt: skip


def test_a_draw_that_fails_changes_nothing(store: Store, campaign: Campaign) -> None:
    assigned(store, campaign, "Rosa", "u1")
    otto = assigned(store, campaign, "Otto", "u2")
    before = store.campaigns.assignments(campaign.id)

    def fail(state: DrawState) -> list[NewAssignment]:
        assert {a.state for a in state.assignments} == {"reclaimed"}
        raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        store.campaigns.assign(campaign.id, otto, AFTER, LATER, fail)
    assert store.campaigns.assignments(campaign.id) == before


def test_no_slot_and_no_participant_gets_a_unit_twice(store: Store, campaign: Campaign) -> None:
    assigned(store, campaign, "Rosa", "u1")
    for rater, slot in (("Rosa", 2), ("Otto", 1)):
        with pytest.raises(UserError):
            assigned(store, campaign, rater, "u1", slot=slot)
    for rater in ("Otto", "Eva"):
        assigned(store, campaign, rater, "u1", slot=None)
    assert [a.slot for a in store.campaigns.assignments(campaign.id)] == [1, None, None]


def test_expired_leases_are_reclaimed(store: Store, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1", "u2", "u3")
    assigned(store, campaign, "Fixed", "u1", slot=2, lease=None)
    touch(store, campaign, rosa, "u2", submitted=True)
    otto = store.campaigns.join(campaign.id, "Otto", "C").id
    draw = Choice("u1")
    store.campaigns.assign(campaign.id, otto, AFTER, LATER, draw)
    state = [("reclaimed", None), ("submitted", 1), ("reclaimed", None)]
    assert [(a.state, a.slot) for a in store.campaigns.assignments(campaign.id, rosa)] == state
    assert [(a.state, a.slot) for a in draw.seen[0].assignments] == [*state, ("assigned", 2)]
    assert only(store, campaign, otto).slot == 1


def test_touching_extends_the_leases_of_everything_unsubmitted(store: Store, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1", "u2")
    store.campaigns.assign(campaign.id, rosa, NOW, None, Choice("u3"))
    otto = assigned(store, campaign, "Otto", "u2", slot=2)
    touch(store, campaign, rosa, "u1", False, AFTER, LATER)
    first, second, third = store.campaigns.assignments(campaign.id, rosa)
    assert [a.lease_until for a in (first, second, third)] == [LATER, LATER, None]
    assert [a.opened for a in (first, second, third)] == [AFTER, None, None]
    assert only(store, campaign, otto).lease_until == LEASE
    touch(store, campaign, rosa, "u1", False, LATER, LATER)
    assert store.campaigns.assignments(campaign.id, rosa)[0].opened == AFTER
    touch(store, campaign, otto, "u1", True)  # never assigned to Otto
    assert states(store, campaign, otto) == [("u2", "assigned", 2)]


def test_a_unit_is_submitted_and_reopened(store: Store, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1")
    for now in (NOW, AFTER):
        touch(store, campaign, rosa, "u1", True, now, LEASE)
    mine = only(store, campaign, rosa)
    assert (mine.state, mine.submitted, mine.opened) == ("submitted", NOW, NOW)
    touch(store, campaign, rosa, "u1", False, AFTER, LATER)
    mine = only(store, campaign, rosa)
    assert (mine.state, mine.submitted, mine.slot, mine.lease_until) == ("assigned", None, 1, LATER)


@pytest.mark.parametrize("submitted", [True, False])
def test_a_reclaimed_unit_gets_a_free_slot_again(store: Store, campaign: Campaign, submitted: bool) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1")
    otto = assigned(store, campaign, "Otto", "u2")
    store.campaigns.assign(campaign.id, otto, AFTER, LATER, Choice("u1"))
    touch(store, campaign, rosa, "u1", submitted, AFTER, LATER)
    mine = only(store, campaign, rosa)
    assert (mine.state, mine.slot) == ("submitted" if submitted else "assigned", 2)
    assert mine.lease_until == LATER


def test_without_a_free_slot_a_reclaimed_unit_is_an_extra_one(store: Store, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1")
    otto, eva = (store.campaigns.join(campaign.id, name, "C").id for name in ("Otto", "Eva"))
    for who, slot in ((otto, 1), (eva, 2)):
        store.campaigns.assign(campaign.id, who, AFTER, LATER, Choice("u1", slot=slot))
    touch(store, campaign, rosa, "u1", False, AFTER, LATER)
    assert (only(store, campaign, rosa).state, only(store, campaign, rosa).opened) == ("reclaimed", AFTER)
    touch(store, campaign, rosa, "u1", True, AFTER, LATER)
    mine = only(store, campaign, rosa)
    assert (mine.state, mine.slot, mine.submitted) == ("submitted", None, AFTER)
    assert sorted(a.slot or 0 for a in store.campaigns.assignments(campaign.id)) == [0, 1, 2]


def handed_over(*taken: str, **given: Sequence[str]) -> Callable[[DrawState], HandOver]:
    """A choice of units by name that go from slot 1 of one participant to others, whose ids are `p1`, `p2` …"""

    def choose(state: DrawState) -> HandOver:
        ids = {u.name: u.id for u in state.units}
        return HandOver(
            [NewAssignment(ids[name], None, ("B", "A"), 1.0) for name in taken],
            {int(who[1:]): [NewAssignment(ids[n], 1, ("A", "B"), 1.0) for n in names] for who, names in given.items()},
        )

    return choose


def states(store: Store, campaign: Campaign, who: int) -> list[tuple[str, str, int | None]]:
    return [(a.unit.name, a.state, a.slot) for a in store.campaigns.assignments(campaign.id, who)]


def test_units_are_handed_over(store: Store, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1", "u2", lease=None)
    touch(store, campaign, rosa, "u1", submitted=True)
    otto = assigned(store, campaign, "Otto", "u1", slot=2, lease=None)
    done = store.campaigns.hand_over(campaign.id, rosa, AFTER, handed_over("u2", "u3", **{f"p{otto}": ("u3", "u2")}))
    assert [len(given) for given in done.shares.values()] == [2]
    assert states(store, campaign, rosa) == [
        ("u1", "submitted", 1),
        ("u2", "reclaimed", None),
        ("u3", "reclaimed", None),
    ]
    assert states(store, campaign, otto) == [("u1", "assigned", 2), ("u3", "assigned", 1), ("u2", "assigned", 1)]
    last = store.campaigns.assignments(campaign.id, otto)[-1]
    assert (last.position, last.order, last.assigned, last.lease_until) == (2, ("A", "B"), AFTER, None)
    touch(store, campaign, rosa, "u2", True, AFTER, LATER)
    assert ("u2", "submitted", 2) in states(store, campaign, rosa)


def test_what_was_handed_over_is_given_back_and_not_twice(store: Store, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1", lease=None)
    touch(store, campaign, rosa, "u1", submitted=False)
    otto = assigned(store, campaign, "Otto", "u2", lease=None)
    store.campaigns.hand_over(campaign.id, rosa, NOW, handed_over("u1", **{f"p{otto}": ("u1",)}))
    store.campaigns.hand_over(campaign.id, otto, NOW, handed_over("u1", "u2", **{f"p{rosa}": ("u2", "u1")}))
    assert states(store, campaign, rosa) == [("u2", "assigned", 1), ("u1", "assigned", 1)]
    back = store.campaigns.assignments(campaign.id, rosa)[1]
    assert (back.opened, back.order) == (NOW, ("B", "A"))
    assert states(store, campaign, otto) == [("u2", "reclaimed", None), ("u1", "reclaimed", None)]


def test_a_hand_over_that_fails_changes_nothing(store: Store, project: int, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1", "u2", lease=None)
    otto = assigned(store, campaign, "Otto", "u1", slot=2, lease=None)
    eva = assigned(store, campaign, "Eva", "u3", lease=None)
    before = store.campaigns.assignments(campaign.id)
    elsewhere = store.campaigns.join(created(store, project, "other").id, "Rosa", "C").id
    for wrong in (
        handed_over("u1", **{f"p{otto}": ("u1",)}),  # twice to the same person
        handed_over("u2", **{f"p{otto}": ("u3",)}),  # the slot is Eva's
        handed_over("u2", **{f"p{elsewhere}": ("u2",)}),
    ):
        with pytest.raises(UserError):
            store.campaigns.hand_over(campaign.id, rosa, NOW, wrong)
    with pytest.raises(UserError, match="no such participant"):
        store.campaigns.hand_over(campaign.id, elsewhere, NOW, handed_over())
    assert store.campaigns.assignments(campaign.id) == before
    assert states(store, campaign, eva) == [("u3", "assigned", 1)]

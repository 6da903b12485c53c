"""What every implementation of `Campaigns` does, and what the rest of storage does with the texts of campaigns."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from core.data import Dataset, Output, Segment, SegmentKey
from core.errors import UserError
from core.ports.campaigns import Assignment, Campaign, DrawState, HandOver, NewAssignment, NewUnit
from core.ports.labels import Action
from core.ports.store import Store
from tests.fakes import small_dataset

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LEASE = NOW + timedelta(hours=1)
AFTER = LEASE + timedelta(minutes=1)
LATER = AFTER + timedelta(hours=1)
DESIGN = {"overlap": 2, "protocol": {"name": "ESA"}}
SETTINGS = {"protocol": {"asks": ["score"]}, "typology": {"categories": []}}


@pytest.fixture
def store(each_store: Store) -> Store:
    return each_store


@pytest.fixture
def project(store: Store) -> int:
    made = store.projects.create("news").id
    store.projects.add(made, small_dataset())
    return made


@pytest.fixture
def campaign(store: Store, project: int) -> Campaign:
    return created(store, project)


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
    store.campaigns.touch(campaign.id, who, name, now, lease, submitted=submitted)


def only(store: Store, campaign: Campaign, who: int) -> Assignment:
    (found,) = store.campaigns.assignments(campaign.id, who)
    return found


def test_a_campaign_has_its_own_texts_and_settings(store: Store, project: int, campaign: Campaign) -> None:
    assert (campaign.project_id, campaign.name, campaign.state, campaign.created_by) == (
        project,
        "pilot",
        "draft",
        "ann",
    )
    assert dict(campaign.design) == DESIGN
    assert campaign.created.tzinfo is not None
    assert store.campaigns.get(campaign.id) == campaign == store.campaigns.of_texts(campaign.texts)
    assert store.campaigns.of_texts(project) is None
    assert store.campaigns.list(project) == [campaign]
    assert store.projects.dataset(campaign.texts) == texts("u3", "u1", "u2")
    assert store.projects.document(campaign.texts, "u1").segments == texts("u1").segments
    outline = store.projects.outline(campaign.texts)
    assert list(outline.items()) == [(SegmentKey(name, "0"), ("A", "B")) for name in ("u3", "u1", "u2")]
    assert {name: store.settings.get(campaign.texts, name) for name in SETTINGS} == SETTINGS


def test_units_keep_their_order_and_details(store: Store, campaign: Campaign) -> None:
    units = store.campaigns.units(campaign.id)
    assert [(u.name, u.position, u.block, u.kind, u.retired) for u in units] == [
        (name, i, i, "item", False) for i, name in enumerate(("u3", "u1", "u2"))
    ]
    assert {(u.of, u.systems) for u in units} == {(SegmentKey("doc", "0"), ("A", "B"))}
    assert [dict(u.details) for u in units] == [{"from": [1, None]}] * 3


def test_names_of_campaigns_are_unique_per_project(store: Store, project: int, campaign: Campaign) -> None:
    for name in ("pilot", " pilot ", " ", ""):
        with pytest.raises(UserError):
            created(store, project, name)
    assert store.campaigns.list(project) == [campaign]
    other = store.projects.create("other").id
    assert created(store, other).name == "pilot"
    assert created(store, project, "main").id > campaign.id
    assert [c.name for c in store.campaigns.list(project)] == ["pilot", "main"]


def test_texts_projects_are_in_no_list(store: Store, project: int, campaign: Campaign) -> None:
    assert [p.id for p in store.projects.list()] == [project]
    assert store.projects.get(campaign.texts).n_outputs == 6
    assert store.projects.get(campaign.texts).name == "pilot"
    assert store.projects.create("pilot").name == "pilot"
    with pytest.raises(UserError, match="no such project"):
        store.projects.rename(campaign.texts, "mine")


def test_a_campaign_that_cannot_be_created_leaves_nothing(store: Store, project: int) -> None:
    with pytest.raises(UserError):
        created(store, 999)
    with pytest.raises(ValueError, match="unit"):
        store.campaigns.create(project, "pilot", DESIGN, SETTINGS, texts("u1"), [unit("u2")], "ann")
    with pytest.raises(ValueError, match="unit"):
        store.campaigns.create(project, "pilot", DESIGN, SETTINGS, texts("u1"), [unit("u1"), unit("u1")], "ann")
    twice = Dataset(texts("u1").segments, (Output("A", "u1", "0", "x"), Output("A", "u1", "0", "y")))
    with pytest.raises(UserError):
        store.campaigns.create(project, "pilot", DESIGN, SETTINGS, twice, [unit("u1")], "ann")
    assert store.campaigns.list(project) == []
    assert created(store, project).name == "pilot"
    assert [p.name for p in store.projects.list()] == ["news"]


def test_labels_links_and_settings_work_on_texts(store: Store, campaign: Campaign) -> None:
    segment = SegmentKey("u1", "0")
    store.labels.append(campaign.texts, "Rosa", segment, [Action("1", "verdict", "A", {"value": "no_error"})])
    assert [e.segment for e in store.labels.events(campaign.texts)] == [segment]
    assert store.labels.raters(campaign.texts) == ["Rosa"]
    link = store.people.add_link(campaign.texts, "Rosa", None, "a" * 64, None, "ann")
    assert store.people.links(campaign.texts) == [link]
    store.settings.put(campaign.texts, "protocol", {"asks": ["spans"]})
    assert store.settings.get(campaign.texts, "protocol") == {"asks": ["spans"]}


def test_a_deleted_campaign_takes_its_texts_labels_and_links(store: Store, project: int, campaign: Campaign) -> None:
    kept = created(store, project, "kept")
    assigned(store, campaign, "Rosa", "u1")
    assigned(store, kept, "Rosa", "u1")
    test_labels_links_and_settings_work_on_texts(store, campaign)
    store.campaigns.delete(campaign.id)
    assert store.campaigns.list(project) == [kept]
    assert store.campaigns.of_texts(campaign.texts) is None
    assert store.labels.events(campaign.texts) == []
    assert store.people.link("a" * 64) is None
    assert len(store.campaigns.assignments(kept.id)) == 1
    assert store.projects.get(project).n_segments == 3
    for gone in (
        lambda: store.campaigns.get(campaign.id),
        lambda: store.campaigns.delete(campaign.id),
        lambda: store.campaigns.units(campaign.id),
        lambda: store.campaigns.join(campaign.id, "Otto", "C"),
        lambda: store.campaigns.set_state(campaign.id, "running"),
        lambda: store.projects.get(campaign.texts),
    ):
        with pytest.raises(UserError, match="no such"):
            gone()
    assert created(store, project).id > kept.id


def test_a_deleted_project_takes_its_campaigns(store: Store, project: int, campaign: Campaign) -> None:
    other = store.projects.create("other").id
    kept = created(store, other)
    assigned(store, campaign, "Rosa", "u1")
    test_labels_links_and_settings_work_on_texts(store, campaign)
    store.projects.delete(project)
    for gone in (project, campaign.texts):
        with pytest.raises(UserError, match="no such project"):
            store.projects.get(gone)
    assert store.campaigns.list(project) == []
    assert store.people.link("a" * 64) is None
    assert store.labels.events(campaign.texts) == []
    assert store.campaigns.list(other) == [kept]
    assert len(store.projects.dataset(kept.texts).segments) == 3


def replaced(store: Store, campaign: Campaign, name: str = "pilot 2", units: Sequence[str] = ("n1", "n2")) -> Campaign:
    new, design = [unit(u, i) for i, u in enumerate(units)], {"overlap": 3}
    return store.campaigns.replace(campaign.id, name, design, {"setup": [1]}, texts(*units), new)


def test_a_replaced_draft_keeps_its_people_and_links(store: Store, project: int, campaign: Campaign) -> None:
    other = created(store, project, "other")
    rosa = store.campaigns.join(campaign.id, "Rosa", "ABC")
    link = store.people.add_link(campaign.texts, "Rosa", None, "a" * 64, None, "ann")
    new = replaced(store, campaign)
    assert new == campaign._replace(name="pilot 2", design={"overlap": 3}, texts=new.texts)
    assert store.campaigns.list(project) == [new, other]
    assert [(u.name, u.position) for u in store.campaigns.units(new.id)] == [("n1", 0), ("n2", 1)]
    assert store.projects.dataset(new.texts) == texts("n1", "n2")
    assert [store.settings.get(new.texts, name) for name in ("setup", "protocol")] == [[1], None]
    assert store.campaigns.participants(new.id) == [rosa]
    assert store.people.link("a" * 64) == link._replace(project_id=new.texts)
    assert store.campaigns.of_texts(campaign.texts) is None
    with pytest.raises(UserError, match="no such project"):
        store.projects.get(campaign.texts)
    assert [p.id for p in store.projects.list()] == [project]


def test_a_draft_that_cannot_be_replaced_stays_as_it_was(store: Store, project: int, campaign: Campaign) -> None:
    created(store, project, "other")
    before = store.campaigns.list(project), store.campaigns.units(campaign.id), store.projects.dataset(campaign.texts)
    for name in ("other", " "):
        with pytest.raises(UserError):
            replaced(store, campaign, name)
    with pytest.raises(ValueError, match="unit"):
        store.campaigns.replace(campaign.id, "pilot", DESIGN, SETTINGS, texts("u1"), [unit("u2")])
    with pytest.raises(UserError, match="no such campaign"):
        replaced(store, campaign._replace(id=999))
    after = store.campaigns.list(project), store.campaigns.units(campaign.id), store.projects.dataset(campaign.texts)
    assert after == before
    assert replaced(store, campaign, "pilot").name == "pilot"


def test_a_started_campaign_is_not_replaced(store: Store, campaign: Campaign) -> None:
    store.campaigns.set_state(campaign.id, "paused")
    with pytest.raises(UserError, match="was started"):
        replaced(store, campaign)
    assigned(store, campaign, "Rosa", "u1")
    store.campaigns.set_state(campaign.id, "draft")
    with pytest.raises(UserError, match="was started"):
        replaced(store, campaign)
    assert len(store.campaigns.units(campaign.id)) == 3


def test_the_state_of_a_campaign_changes(store: Store, campaign: Campaign) -> None:
    store.campaigns.set_state(campaign.id, "running")
    assert store.campaigns.get(campaign.id) == campaign._replace(state="running")


def test_units_are_added_at_the_end(store: Store, campaign: Campaign) -> None:
    before = store.campaigns.units(campaign.id)
    store.campaigns.add_units(campaign.id, texts("u9", "u8"), [unit("u9", 7), unit("u8", 7)])
    after = store.campaigns.units(campaign.id)
    assert after[:3] == before
    assert [(u.name, u.position, u.block) for u in after[3:]] == [("u9", 3, 7), ("u8", 4, 7)]
    assert [key.doc_id for key in store.projects.outline(campaign.texts)] == ["u3", "u1", "u2", "u9", "u8"]


def test_units_that_cannot_be_added_change_nothing(store: Store, campaign: Campaign) -> None:
    before = store.campaigns.units(campaign.id), store.projects.dataset(campaign.texts)
    with pytest.raises(UserError):
        store.campaigns.add_units(campaign.id, texts("u9"), [unit("u9"), unit("u1")])
    with pytest.raises(ValueError, match="unit"):
        store.campaigns.add_units(campaign.id, texts("u9"), [unit("u8")])
    assert (store.campaigns.units(campaign.id), store.projects.dataset(campaign.texts)) == before


def test_units_are_retired_and_assigned_again(store: Store, campaign: Campaign) -> None:
    first, second, _ = store.campaigns.units(campaign.id)
    who = assigned(store, campaign, "Rosa", "u3")
    store.campaigns.retire(campaign.id, [first.id, second.id])
    assert [u.retired for u in store.campaigns.units(campaign.id)] == [True, True, False]
    assert only(store, campaign, who).unit.retired
    store.campaigns.retire(campaign.id, [second.id], retired=False)
    assert [u.retired for u in store.campaigns.units(campaign.id)] == [True, False, False]


def test_a_participant_joins_once(store: Store, project: int, campaign: Campaign) -> None:
    rosa = store.campaigns.join(campaign.id, "Rosa", "ABC")
    assert (rosa.rater, rosa.code, rosa.excluded, rosa.left, rosa.passed_tutorial) == ("Rosa", "ABC", "", False, None)
    assert store.campaigns.join(campaign.id, "Rosa", "XYZ") == rosa
    otto = store.campaigns.join(campaign.id, "Otto", "DEF")
    assert store.campaigns.participants(campaign.id) == [rosa, otto]
    assert store.campaigns.join(created(store, project, "other").id, "Rosa", "ABC").id not in (rosa.id, otto.id)
    with pytest.raises(UserError):
        store.campaigns.join(campaign.id, " ", "ABC")


def test_participants_are_changed(store: Store, campaign: Campaign) -> None:
    rosa = store.campaigns.join(campaign.id, "Rosa", "ABC")
    changed = rosa._replace(excluded="too fast", left=True, passed_tutorial=False)
    store.campaigns.change(changed._replace(rater="other", code="other"))
    assert store.campaigns.participants(campaign.id) == [changed]
    store.campaigns.change(rosa)
    assert store.campaigns.participants(campaign.id) == [rosa]
    for wrong in (rosa._replace(id=999), rosa._replace(campaign_id=999)):
        with pytest.raises(UserError, match="no such"):
            store.campaigns.change(wrong)


def test_a_participant_of_another_campaign_is_unknown(store: Store, project: int, campaign: Campaign) -> None:
    other = store.campaigns.join(created(store, project, "other").id, "Rosa", "C")
    for wrong in (other.id, 999):
        with pytest.raises(UserError, match="no such participant"):
            store.campaigns.assign(campaign.id, wrong, NOW, LEASE, Choice("u1"))
        with pytest.raises(UserError, match="no such participant"):
            touch(store, campaign, wrong, "u1", False)
        assert store.campaigns.assignments(campaign.id, wrong) == []


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
    with pytest.raises(UserError, match="not assigned"):
        touch(store, campaign, otto, "u1", True)


def test_a_unit_is_submitted_and_reopened(store: Store, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1")
    for now in (NOW, AFTER):
        touch(store, campaign, rosa, "u1", True, now, LEASE)
    found = only(store, campaign, rosa)
    assert (found.state, found.submitted, found.opened) == ("submitted", NOW, NOW)
    touch(store, campaign, rosa, "u1", False, AFTER, LATER)
    found = only(store, campaign, rosa)
    assert (found.state, found.submitted, found.slot, found.lease_until) == ("assigned", None, 1, LATER)


@pytest.mark.parametrize("submitted", [True, False])
def test_a_reclaimed_unit_gets_a_free_slot_again(store: Store, campaign: Campaign, submitted: bool) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1")
    otto = assigned(store, campaign, "Otto", "u2")
    store.campaigns.assign(campaign.id, otto, AFTER, LATER, Choice("u1"))
    touch(store, campaign, rosa, "u1", submitted, AFTER, LATER)
    found = only(store, campaign, rosa)
    assert (found.state, found.slot) == ("submitted" if submitted else "assigned", 2)
    assert found.lease_until == LATER


def test_without_a_free_slot_a_reclaimed_unit_is_an_extra_one(store: Store, campaign: Campaign) -> None:
    rosa = assigned(store, campaign, "Rosa", "u1")
    otto, eva = (store.campaigns.join(campaign.id, name, "C").id for name in ("Otto", "Eva"))
    for who, slot in ((otto, 1), (eva, 2)):
        store.campaigns.assign(campaign.id, who, AFTER, LATER, Choice("u1", slot=slot))
    touch(store, campaign, rosa, "u1", False, AFTER, LATER)
    assert (only(store, campaign, rosa).state, only(store, campaign, rosa).opened) == ("reclaimed", AFTER)
    touch(store, campaign, rosa, "u1", True, AFTER, LATER)
    found = only(store, campaign, rosa)
    assert (found.state, found.slot, found.submitted) == ("submitted", None, AFTER)
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
    assert [len(given) for given in done.given.values()] == [2]
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


def test_roles_of_a_project_hold_for_its_campaigns(store: Store, project: int, campaign: Campaign) -> None:
    ann = store.people.add_account("ann", None, manager=False)
    assert store.people.roles(ann.id) == {}
    store.people.set_role(project, ann.id, "viewer")
    assert store.people.roles(ann.id) == {project: "viewer", campaign.texts: "viewer"}
    assert store.people.members(campaign.texts) == store.people.members(project) == [(ann, "viewer")]
    with pytest.raises(UserError, match="roles of its project"):
        store.people.set_role(campaign.texts, ann.id, "manager")
    store.people.set_role(project, ann.id, None)
    assert store.people.roles(ann.id) == {}


def test_accounts_take_part_in_a_campaign_without_a_role_in_its_project(
    store: Store, project: int, campaign: Campaign
) -> None:
    eva, ann = (store.people.add_account(name, None, manager=False) for name in ("eva", "ann"))
    later = created(store, project, "later")
    for texts_id, account in ((later.texts, eva), (campaign.texts, eva), (campaign.texts, ann)):
        store.people.set_role(texts_id, account.id, "annotator")
    assert store.people.campaigns(eva.id) == [campaign.texts, later.texts]
    assert store.people.taking_part(campaign.texts) == [ann, eva]
    assert store.people.taking_part(project) == store.people.members(campaign.texts) == []
    assert store.people.roles(ann.id) == {campaign.texts: "annotator"}
    store.people.set_role(project, ann.id, "viewer")
    assert store.people.roles(ann.id) == {project: "viewer", campaign.texts: "viewer", later.texts: "viewer"}
    assert store.people.campaigns(ann.id) == [campaign.texts]
    assert store.people.taking_part(project) == []
    store.people.set_role(campaign.texts, eva.id, None)
    assert store.people.campaigns(eva.id) == [later.texts]
    store.campaigns.delete(later.id)
    assert store.people.campaigns(eva.id) == []
    assert store.people.roles(eva.id) == {}

"""The rest of a fixed list goes to others: what people see, what counts, and what is recorded."""

from __future__ import annotations

import pytest

from core.campaigns.design import TutorialItem
from core.data import OutputKey
from core.errors import UserError
from core.ports.campaigns import Participant
from core.ports.store import Store
from core.services.campaigns import people, running, work
from core.services.campaigns.monitor import progress
from core.services.campaigns.people import Share
from tests.core.services.campaigns.world import CampaignWorld, campaign_world, scores

PEOPLE = ("Ana", "Ben", "Cem")


def world_of(store: Store | None = None, *, names: tuple[str, ...] = PEOPLE, **design: object) -> CampaignWorld:
    wanted = {"overlap": 2, "people": 3, "assigning": "fixed"} | design
    world = campaign_world("da", store, **wanted)
    for name in names:
        work.participant(world.store, world.campaign, name)
    return world


def who(world: CampaignWorld, name: str) -> Participant:
    return next(p for p in world.store.campaigns.participants(world.campaign.id) if p.rater == name)


def hand_over(world: CampaignWorld, name: str, to: str | None = None, reason: str = "moved away") -> list[Share]:
    receiver = None if to is None else who(world, to).id
    return people.hand_over(world.store, "ann", world.campaign, who(world, name).id, receiver, reason, world.now)


def left(world: CampaignWorld) -> dict[str, int]:
    rests = people.rests(world.store, world.campaign)
    return {p.rater: len(rests[p.id].items) for p in world.store.campaigns.participants(world.campaign.id)}


def complete(world: CampaignWorld) -> bool:
    found = progress(world.store, world.campaign, world.now)
    return found.ratings == found.planned and found.complete == found.units and not found.extra


def test_the_list_of_somebody_who_never_comes_goes_to_a_new_person() -> None:
    world = world_of(names=(*PEOPLE, "Dora"))
    with pytest.raises(UserError, match="nothing to label"):
        world.page("Dora")
    for name in ("Ana", "Ben"):
        world.work(name, scores())
    assert left(world) == {"Ana": 0, "Ben": 0, "Cem": 6, "Dora": 0}
    assert hand_over(world, "Cem", "Dora") == [Share("Dora", 6)]
    assert world.work("Dora", scores()) == 6
    assert complete(world)
    with pytest.raises(UserError, match="nothing to label"):
        world.page("Cem")


def test_units_of_an_excluded_person_are_rated_again() -> None:
    world = world_of(names=(*PEOPLE, "Dora"))
    for name in PEOPLE:
        world.work(name, scores())
    people.exclude(world.store, "ann", world.campaign, who(world, "Ana").id, "too fast")
    assert left(world)["Ana"] == 6
    assert hand_over(world, "Ana", "Dora") == [Share("Dora", 6)]
    assert not who(world, "Ana").left
    assert world.work("Dora", scores()) == 6
    assert progress(world.store, world.campaign, world.now).ratings == 18
    people.exclude(world.store, "ann", world.campaign, who(world, "Ana").id, "")
    assert progress(world.store, world.campaign, world.now).extra == 6


def test_both_people_and_the_reason_are_recorded() -> None:
    world = world_of(overlap=1)
    hand_over(world, "Ana")
    found = [e for e in world.store.audit.entries(world.project) if e.act == "list handed over"]
    shown = {"campaign": "pilot", "name": "Ana", "reason": "moved away"}
    assert [(e.who, dict(e.details)) for e in reversed(found)] == [
        ("ann", shown | {"to": "Ben", "units": 2}),
        ("ann", shown | {"to": "Cem", "units": 1}),
    ]
    assert who(world, "Ana").left


def test_begun_units_stay_on_the_page_and_late_labels_are_extra() -> None:
    world = world_of(overlap=1)
    world.work("Ana", scores(), units=1)
    begun = world.page("Ana", "unlabelled")
    assert people.rests(world.store, world.campaign)[who(world, "Ana").id].begun == 1
    hand_over(world, "Ana", "Ben")
    shown = world.page("Ana", "unlabelled")
    assert (shown["doc"], shown["total"], shown["done"]) == (begun["doc"], 2, 1)
    assert world.work("Ben", scores()) == 5
    assert world.send("Ana", begun, [*scores()(begun), {"kind": "submit"}]) == []
    assert progress(world.store, world.campaign, world.now).extra == 1
    assert world.page("Ana")["campaign"]["code"] == who(world, "Ana").code


def test_what_nobody_else_may_rate_stays_and_is_said() -> None:
    world = world_of(overlap=3)
    shown = people.preview(world.store, world.campaign, who(world, "Ana").id)
    assert (shown.units, shown.shares, shown.staying) == (9, (), 9)
    with pytest.raises(UserError, match="nobody else"):
        hand_over(world, "Ana")
    assert not who(world, "Ana").left
    assert left(world)["Ana"] == 9


def test_what_is_missing_or_not_possible_changes_nothing() -> None:
    world = world_of()
    before = world.store.campaigns.assignments(world.campaign.id), len(world.store.audit.entries())
    work.leave(world.store, world.campaign, "Cem")
    for wrong in ({"reason": " "}, {"to": "Cem"}, {"to": "Ana"}):
        with pytest.raises(UserError):
            hand_over(world, "Ana", **wrong)
    world.store.campaigns.set_state(world.campaign.id, "finished")
    world.campaign = world.store.campaigns.get(world.campaign.id)
    with pytest.raises(UserError, match="finished"):
        hand_over(world, "Ana", "Ben")
    assert (world.store.campaigns.assignments(world.campaign.id), len(world.store.audit.entries())) == before


def test_campaigns_without_lists_hand_nothing_over() -> None:
    world = world_of(assigning="dynamic")
    assert people.rests(world.store, world.campaign) == {}
    with pytest.raises(UserError, match="no fixed lists"):
        hand_over(world, "Ana", "Ben")


@pytest.mark.parametrize("passes", [True, False])
def test_handed_over_units_wait_for_the_tutorial(passes: bool) -> None:
    item = TutorialItem(OutputKey("Ada", "doc 0", "0"), (), (0, 50), "")
    world = world_of(names=(*PEOPLE, "Dora"), overlap=1, tutorial=(item,), pass_mark=0.5)
    hand_over(world, "Ana", "Dora")
    unit = world.page("Dora")
    assert unit["campaign"]["tutorial"] == {"at": 1, "of": 1}
    assert unit["total"] == 1
    assert world.send("Dora", unit, [*scores(20 if passes else 100)(unit), {"kind": "submit"}]) == []
    after = world.page("Dora", "unlabelled")
    assert (after["campaign"]["passed"], after["total"]) == (passes, 4 if passes else 1)
    assert left(world)["Dora"] == 3


def test_an_extension_of_a_planned_list_can_be_handed_over() -> None:
    world = world_of(systems=("Ada", "Bob"), names=(*PEOPLE, "Dora"))
    world.work("Ana", scores())
    work.leave(world.store, world.campaign, "Ana")
    running.add_system(world.store, "ann", world.campaign, "Cyd")
    added = left(world)["Ana"]
    assert added in (1, 2, 3)
    assert hand_over(world, "Ana", "Dora") == [Share("Dora", added)]
    for name in (*PEOPLE, "Dora"):
        world.work(name, scores())
    assert complete(world)

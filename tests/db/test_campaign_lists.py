"""Fixed lists of units: somebody stops, and the campaign is extended."""

from __future__ import annotations

from core.ports.store import Store
from core.services.campaigns import people, running
from core.services.campaigns.people import HandOverPreview, Share
from tests.core.services.campaigns.test_handing_over import PEOPLE, complete, hand_over, left, who, world_of
from tests.core.services.campaigns.world import scores


def test_a_campaign_is_completed_after_somebody_stops(store: Store) -> None:
    world = world_of(store, overlap=1, segments=4)
    assert world.work("Ana", scores(), units=1) == 1
    assert left(world) == {"Ana": 3, "Ben": 4, "Cem": 4}
    shown = people.preview(world.store, world.campaign, who(world, "Ana").id)
    assert shown == HandOverPreview("Ana", 3, 0, (Share("Ben", 1), Share("Cem", 2)), 0)
    assert hand_over(world, "Ana") == list(shown.shares)
    assert left(world) == {"Ana": 0, "Ben": 5, "Cem": 6}
    assert [world.work(name, scores()) for name in PEOPLE] == [0, 5, 6]
    assert complete(world)


def test_an_extension_comes_at_the_end_of_lists_that_people_have_begun(store: Store) -> None:
    world = world_of(store, systems=("Ada", "Bob"))
    world.work("Ana", scores(), units=2)
    world.work("Ben", scores())
    before = {a.id: a for a in world.store.campaigns.assignments(world.campaign.id)}
    assert running.add_system(world.store, "ann", world.campaign, "Cyd") == 3
    after = {a.id: a for a in world.store.campaigns.assignments(world.campaign.id)}
    assert after == before
    first = [a.unit.id for a in world.store.campaigns.assignments(world.campaign.id, who(world, "Ana").id)]
    for name in PEOPLE:
        world.work(name, scores())
    mine = [a.unit.id for a in world.store.campaigns.assignments(world.campaign.id, who(world, "Ana").id)]
    assert mine[: len(first)] == first
    assert complete(world)

"""Files of campaigns hold what was rated, and are made without reading the rest of the project; fixed lists of units are completed and extended."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from core.campaigns.protocol import ProtocolName
from core.data import Dataset, SegmentKey
from core.ports.store import Store
from core.services.campaigns import files, people, running
from core.services.campaigns.answers import read_labels
from core.services.campaigns.people import HandOverPreview, Share
from tests.core.services.campaigns.test_handing_over import PEOPLE, complete, hand_over, left, who, world_of
from tests.core.services.campaigns.world import CampaignWorld, campaign_world, scores
from tests.postgres import on_sqlite


def rated_world(store: Store, protocol: ProtocolName) -> CampaignWorld:
    world = campaign_world(protocol, store, overlap=2, people=2, checks=0.2)
    world.work("Ana", scores(80))
    world.work("Ben", scores(60), units=2)
    return world


@pytest.mark.parametrize("protocol", ["esa", "da"])
@on_sqlite
def test_a_campaign_file_has_the_rated_outputs_in_document_order(store: Store, protocol: ProtocolName) -> None:
    world = rated_world(store, protocol)
    made = files.campaign_file(store, world.campaign)
    rated = {r.key for r in made.ratings if r.kind == "item"}
    whole = store.projects.dataset(world.project)
    assert made.dataset == Dataset(
        tuple(s for s in whole.segments if s.key in {key.segment for key in rated}),
        tuple(o for o in whole.outputs if o.key in rated),
    )
    assert len(made.ratings) == len(read_labels(store, world.campaign).answers)


@pytest.mark.parametrize("name", files.FORMATS)
@on_sqlite
def test_a_campaign_file_reads_only_rated_segments(store: Store, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = campaign_world("esa", store)
    world.work("Ana", scores(80), units=2)
    read: list[str] = []
    texts = type(store.projects).texts

    def some(
        self: object, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None
    ) -> Dataset:
        part = texts(store.projects, project_id, segments, systems)
        read.extend(s.segment_id for s in part.segments if project_id == world.project)
        return part

    monkeypatch.setattr(type(store.projects), "texts", some)
    monkeypatch.setattr(type(store.projects), "dataset", lambda *_: pytest.fail("the whole project is read"))
    assert files.export(store, world.campaign, name).texts
    assert 0 < len(read) <= 2
    made = files.as_file(store, world.campaign, name)
    assert made.startswith(b"PK") == files.FORMATS[name].several, "several files as one are none"


@on_sqlite
def test_a_campaign_without_ratings_is_an_empty_file(store: Store) -> None:
    world = campaign_world("esa", store)
    assert files.campaign_file(store, world.campaign).dataset == Dataset((), ())


@on_sqlite
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


@on_sqlite
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

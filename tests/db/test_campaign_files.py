"""Files of campaigns hold what was rated, and are made without reading the rest of the project."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from core.campaigns.protocol import ProtocolName
from core.data import Dataset, SegmentKey
from core.ports.store import Store
from core.services.campaigns import files
from core.services.campaigns.answers import read_labels
from tests.core.services.campaigns.world import CampaignWorld, campaign_world, scores


def world_of(store: Store, protocol: ProtocolName) -> CampaignWorld:
    world = campaign_world(protocol, store, overlap=2, people=2, checks=0.2)
    world.work("Ana", scores(80))
    world.work("Ben", scores(60), units=2)
    return world


@pytest.mark.parametrize("protocol", ["esa", "da"])
def test_a_campaign_file_has_the_rated_outputs_in_document_order(store: Store, protocol: ProtocolName) -> None:
    world = world_of(store, protocol)
    made = files.campaign_file(store, world.campaign)
    rated = {r.key for r in made.ratings if r.kind == "item"}
    whole = store.projects.dataset(world.project)
    assert made.dataset == Dataset(
        tuple(s for s in whole.segments if s.key in {key.segment for key in rated}),
        tuple(o for o in whole.outputs if o.key in rated),
    )
    assert len(made.ratings) == len(read_labels(store, world.campaign).answers)


@pytest.mark.parametrize("name", files.FORMATS)
def test_a_campaign_file_reads_only_rated_segments(store: Store, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = campaign_world("esa", store)
    world.work("Ana", scores(80), units=2)
    read: list[str] = []
    texts = type(store.projects).texts

    def some(
        self: object, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None
    ) -> Dataset:
        found = texts(store.projects, project_id, segments, systems)
        read.extend(s.segment_id for s in found.segments if project_id == world.project)
        return found

    monkeypatch.setattr(type(store.projects), "texts", some)
    monkeypatch.setattr(type(store.projects), "dataset", lambda *_: pytest.fail("the whole project is read"))
    assert files.export(store, world.campaign, name).texts
    assert 0 < len(read) <= 2
    made = files.as_file(store, world.campaign, name)
    assert made.startswith(b"PK") == files.FORMATS[name].several, "several files as one are none"


def test_a_campaign_without_ratings_is_an_empty_file(store: Store) -> None:
    world = campaign_world("esa", store)
    assert files.campaign_file(store, world.campaign).dataset == Dataset((), ())

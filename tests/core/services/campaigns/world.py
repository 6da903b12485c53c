"""A small project, campaigns on it, and people who label by the annotator's page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.data import Dataset, Output, Segment, SegmentKey
from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.labels import UnitTouch
from core.ports.store import Store
from core.services.campaigns import setup
from core.services.campaigns.work import may_label, unit_page, unit_touch
from core.services.labels.editor import receive
from core.services.spans.layers import add_layer
from core.spans.layers import SpanLayer
from tests.stores import new_store

SYSTEMS = ("Ada", "Bob", "Cyd")
BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
Say = Callable[[dict[str, Any]], list[dict[str, Any]]]
"""Returns the actions of a person on the unit that the page shows, without their ids."""


def dataset(documents: int = 2, segments: int = 3, systems: Iterable[str] = SYSTEMS) -> Dataset:
    places = [(f"doc {d}", str(s)) for d in range(documents) for s in range(segments)]
    made = tuple(Segment(*p, f"The source {p[1]} of {p[0]} is about twelve quiet cats in the garden.") for p in places)
    texts = tuple(
        Output(name, *p, f"{name} says in {p[0]}, {p[1]}: twelve quiet cats sat in the old garden and slept.")
        for p in places
        for name in systems
    )
    return Dataset(made, texts)


@dataclass
class CampaignWorld:
    store: Store
    project: int
    campaign: Campaign
    now: datetime = BEGIN

    def later(self, **by: float) -> None:
        self.now += timedelta(**by)

    def page(self, rater: str, step: Any = "here", here: SegmentKey | None = None) -> dict[str, Any]:
        self.campaign = self.store.campaigns.get(self.campaign.id)
        return unit_page(self.store, self.campaign, rater, here, step, self.now)

    def send(self, rater: str, unit: dict[str, Any], actions: list[dict[str, Any]]) -> list[str]:
        """Send actions as the browser does; return the reasons of refusals."""
        given = [{"id": f"{rater}-{next(_ids)}", "time": "", "output": None, "payload": {}} | a for a in actions]
        batch = {"project": unit["project"], "doc": unit["doc"], "segment": unit["segment"], "actions": given}
        return list(receive(self.store, rater, [batch], partial(self.admit, rater)).refused.values())

    def admit(self, rater: str, project: int, segment: SegmentKey) -> UnitTouch:
        if not may_label(self.store, self.campaign, rater, segment):
            raise UserError("this segment is not among those that you label")
        return unit_touch(self.campaign, self.now)

    def work(self, rater: str, say: Say, units: int = 10_000) -> int:
        """Let a person label and submit what comes; return how many units."""
        done = 0
        while done < units:
            try:
                unit = self.page(rater, "unlabelled")
            except UserError:
                return done
            if unit["campaign"]["finished"]:
                return done
            refused = self.send(rater, unit, [*say(unit), {"kind": "submit", "payload": {}}])
            assert refused == []
            done += 1
        return done


_ids = count()


def campaign_world(
    protocol: ProtocolName = "esa",
    store: Store | None = None,
    segments: int = 3,
    layer: SpanLayer | None = None,
    **design: Any,
) -> CampaignWorld:
    """A running campaign on a project of one document with 3 systems."""
    there = store or new_store()
    project = there.projects.create("cats").id
    there.projects.add(project, dataset(1, segments))
    wanted = replace(CampaignDesign(PROTOCOLS[protocol], block_size=2, lease_minutes=30), **design)
    if layer is not None:
        add_layer(there, project, layer.label, layer.spans, layer.provenance, {})
    made = setup.create(there, "ann", project, "pilot", wanted)
    there.campaigns.set_state(made.id, "running")
    return CampaignWorld(there, project, there.campaigns.get(made.id))


def scores(value: float = 70) -> Say:
    """Give every output this score."""
    return lambda unit: [{"kind": "score", "output": o["id"], "payload": {"value": value}} for o in unit["outputs"]]


def no_errors(unit: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"kind": "verdict", "output": o["id"], "payload": {"value": "no_error"}} for o in unit["outputs"]]


def prefer_first(unit: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"kind": "prefer", "payload": {"winner": unit["outputs"][0]["id"]}}]


def span(
    unit: dict[str, Any], output: int, start: int, end: int, severity: str = "Major", category: str = "Unspecified"
) -> dict[str, Any]:
    text = unit["outputs"][output]["text"]
    payload = {
        "mark": f"m{next(_ids)}", "side": "output", "start": start, "end": end, "quote": text[start:end],
        "severity": severity, "category": category, "note": "",
    }  # fmt: skip
    return {"kind": "add", "output": unit["outputs"][output]["id"], "payload": payload}

"""Labels over HTTP: what is acknowledged is on disk once, and what is refused changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api import actions, endpoint
from api.endpoint import MOST_VALUES, AtOnce, RateLimit, RequestRefused
from core.data import OutputKey, SegmentKey
from core.errors import Unavailable
from core.ports.calibration import Chosen, SavedBatch
from core.ports.labels import SavedActions
from tests.api.conftest import HERE, NEXT, Site, no_error, token_hash


def post(site: Site, *batches: Any, rater: str = "Ana", **headers: str) -> Any:
    return site.client.post(
        "/api/actions", json={"rater": rater, "batches": list(batches)}, headers={**(headers or site.link)}
    )


def test_what_is_acknowledged_is_on_disk_and_sent_again_it_is_recorded_once(site: Site) -> None:
    ids = site.opened("Ana")
    for _ in range(2):
        answer = post(site, site.batch(no_error("a1", ids["Aardvark"]))).json()
        assert answer == {"acknowledged": ["a1"], "refused": {}, "stale": [], "segments": [], "why": ""}
    assert site.recorded() == ["a1"]


def test_a_wrong_action_is_refused_by_name_with_the_saved_labels(site: Site) -> None:
    ids = site.opened("Ana")
    wrong = no_error("a1", "o-unknown")
    answer = post(site, site.batch(wrong, no_error("a2", ids["Buzzard"]))).json()
    assert (answer["acknowledged"], list(answer["refused"])) == (["a2"], ["a1"])
    (state,) = answer["segments"]
    assert [e["id"] for e in state["events"]] == ["a2"]


def test_a_batch_without_actions_asks_for_the_saved_labels(site: Site) -> None:
    ids = site.opened("Ana")
    post(site, site.batch(no_error("a1", ids["Buzzard"])))
    (state,) = post(site, site.batch()).json()["segments"]
    assert [(e["id"], e["output"]) for e in state["events"]] == [("a1", ids["Buzzard"])]
    assert state["locked"] == []


def test_without_accounts_the_page_of_the_same_server_saves_under_the_name_that_was_typed(site: Site) -> None:
    ids = site.opened("Ben")
    done = site.batch(no_error("a1", ids["Aardvark"]))
    for headers in ({"x-nothing": ""}, {"x-errorscope-token": "0" * 64}, {"x-errorscope-token": "é"}):
        sent = {k.encode(): v.encode() for k, v in headers.items()}
        body = json.dumps({"rater": "Ben", "batches": [done]})
        kind = {b"content-type": b"application/json"}
        assert site.client.post("/api/actions", content=body, headers={**sent, **kind}).status_code == 403
    assert site.recorded() == []
    assert post(site, done, rater="Ben", **site.local).json()["acknowledged"] == ["a1"]


def test_an_unpaired_surrogate_in_a_note_refuses_this_action_only(site: Site) -> None:
    ids = site.opened("Ana")
    span = {"mark": "m", "side": "output", "start": 2, "end": 5, "quote": "bad", "severity": "Major"}
    bad = {
        "id": "a1",
        "kind": "add",
        "output": ids["Aardvark"],
        "payload": {**span, "category": "Other", "note": "\ud83d"},
    }
    body = json.dumps({"rater": "Ana", "batches": [site.batch(bad, no_error("a2", ids["Buzzard"]))]})
    answer = site.client.post("/api/actions", content=body, headers={**site.link, "Content-Type": "application/json"})
    assert (answer.json()["acknowledged"], list(answer.json()["refused"])) == (["a2"], ["a1"])


def test_storage_that_takes_nothing_acknowledges_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = site.opened("Ana")

    def full(*given: object) -> SavedActions:
        raise Unavailable("the disk of the database is full", where="/secret/path")

    with monkeypatch.context() as patched:
        patched.setattr(site.store.labels, "append_valid", full)
        answer = post(site, site.batch(no_error("a1", ids["Aardvark"])))
    assert "/secret/path" not in answer.text
    assert (answer.json()["acknowledged"], answer.json()["refused"]) == ([], {})
    assert answer.json()["why"] == "The disk of the database is full"
    assert post(site, site.batch(no_error("a1", ids["Aardvark"]))).json()["acknowledged"] == ["a1"]


def test_a_batch_of_more_actions_than_allowed_saves_nothing(site: Site) -> None:
    ids = site.opened("Ana")
    sent = [no_error(f"a{n}", ids["Aardvark"]) for n in range(actions.LARGEST_BATCH + 1)]
    answer = post(site, site.batch(*sent))
    assert (answer.status_code, "201 actions, expected at most 200" in answer.json()["error"]) == (422, True)
    assert site.recorded() == []
    assert len(post(site, site.batch(*sent[1:])).json()["acknowledged"]) == actions.LARGEST_BATCH
    for large, status in (
        ([[]] * MOST_VALUES, 413),
        ([""] * 4 * MOST_VALUES, 413),
        (',[{\\"' * (MOST_VALUES // 3), 200),
    ):
        sent[0]["payload"] = {"value": large}  # which nobody else waits for until it is read
        assert post(site, site.batch(sent[0])).status_code == status


def test_one_person_has_a_limited_number_of_requests_at_work(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = site.opened("Ana")
    monkeypatch.setattr(actions, "AT_WORK", limit := AtOnce(1))
    with limit.one(("link", site.store.people.links(site.project)[0].id)):
        assert post(site, site.batch(no_error("a1", ids["Aardvark"]))).status_code == 429
        assert post(site, site.batch(), rater="Eve", **site.local).status_code == 200
    assert post(site, site.batch(no_error("a1", ids["Aardvark"]))).json()["acknowledged"] == ["a1"]


def test_too_many_requests_are_refused_until_time_has_passed() -> None:
    now = [0.0]
    limit = RateLimit(per_second=2, at_once=3, keys=2, clock=lambda: now[0])
    for _ in range(3):
        limit.take("ana")
    with pytest.raises(RequestRefused, match="Too many"):
        limit.take("ana")
    limit.take("ben")
    for wait, allowed in ((0.5, 1), (1000.0, 3)):  # an idle hour leaves no more than the requests at once
        now[0] += wait
        for _ in range(allowed):
            limit.take("ana")
        with pytest.raises(RequestRefused):
            limit.take("ana")


def test_the_limit_of_requests_is_counted_by_person(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "REQUESTS", RateLimit(0.001, 2))
    site.opened("Ana")
    assert [post(site, site.batch()).status_code for _ in range(3)] == [200, 200, 429]
    assert post(site, site.batch(), rater="Ben", **site.local).status_code == 200


def test_links_of_a_calibration_set_label_its_segments_only(site: Site) -> None:
    chosen = (Chosen(OutputKey("Buzzard", *NEXT), 0.5),)
    site.store.batches.save(site.project, SavedBatch("set", "uniform", 1, "s", chosen, 4))
    site.store.people.add_link(site.project, "Cy", "set", token_hash("c" * 43), None, "manager")
    headers = {"Authorization": f"Bearer {'c' * 43}"}
    unit = site.unit(headers).json()
    assert (unit["segment"], unit["total"], [o["text"] for o in unit["outputs"]]) == ("2", 1, ["A good text."])
    (output,) = unit["outputs"]
    site.opened("Cy")
    done = [
        site.batch(no_error("here", output["id"]), segment=HERE),
        site.batch(no_error("a", output["id"]), segment=NEXT),
    ]
    answer = post(site, *done, rater="Cy", **headers).json()
    assert (answer["acknowledged"], list(answer["refused"])) == (["a"], ["here"])
    site.store.batches.archive(site.project, "set")
    assert site.unit(headers).status_code == 422
    late = post(site, site.batch(no_error("late", output["id"]), segment=NEXT), rater="Cy", **headers).json()
    assert late["acknowledged"] == ["late"]


def test_a_calibration_set_made_again_under_its_name_takes_labels(site: Site) -> None:
    def make(segment: SegmentKey) -> None:
        chosen = (Chosen(OutputKey("Buzzard", *segment), 0.5),)
        site.store.batches.save(site.project, SavedBatch("set", "uniform", 1, "s", chosen, 4))

    make(HERE)
    site.store.people.add_link(site.project, "Cy", "set", token_hash("c" * 43), None, "manager")
    headers = {"Authorization": f"Bearer {'c' * 43}"}

    def label(name: str, segment: SegmentKey) -> list[str]:
        done = site.batch(no_error(name, site.opened("Cy", segment)["Buzzard"]), segment=segment)
        saved: list[str] = post(site, done, rater="Cy", **headers).json()["acknowledged"]
        return saved

    assert (label("a", HERE), label("b", NEXT)) == (["a"], [])
    site.store.batches.delete(site.project, "set")
    make(NEXT)
    assert site.unit(headers).json()["segment"] == NEXT.segment_id
    assert (label("c", NEXT), label("late", HERE)) == (["c"], ["late"])


def test_links_share_an_outbox_only_where_they_open_the_same_outputs(site: Site) -> None:
    chosen = (Chosen(OutputKey("Buzzard", *HERE), 0.5),)
    for name in ("one", "two"):
        site.store.batches.save(site.project, SavedBatch(name, "uniform", 1, "s", chosen, 4))
    other = site.store.projects.create("other").id
    site.store.projects.add(other, site.store.projects.dataset(site.project))
    places = [(site.project, None), (site.project, "one"), (site.project, "two"), (other, None)]

    def outbox(number: int, project: int, batch: str | None) -> str:
        token = f"{number:043}"
        site.store.people.add_link(project, "Cy", batch, token_hash(token), None, "manager")
        answer = site.unit({"Authorization": f"Bearer {token}"}).json()
        return str(answer["outbox"])

    first = [outbox(number, *place) for number, place in enumerate(places)]
    renewed = [outbox(number + 10, *place) for number, place in enumerate(places)]
    assert len(set(first)) == len(places)
    assert renewed == first


def test_exports_are_for_those_who_see_the_project(site: Site) -> None:
    address = f"/api/projects/{site.project}/exports/csv"
    assert site.client.get(address, headers=site.link).status_code == 403
    answer = site.client.get(address)
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    (entry,) = site.store.audit.entries(site.project)
    assert (entry.who, entry.act, entry.details) == ("local manager", "exported", {"file": "csv"})
    assert site.client.get(address.replace("csv", "../x")).status_code == 404
    assert site.client.get(f"/api/projects/{10**30}/exports/csv").status_code == 403

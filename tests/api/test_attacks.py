"""Attacks on the routes: each is refused with a plain answer, leaves a line in the audit record, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from api import endpoint
from api.endpoint import RateLimit
from api.task import page
from core.services.people import links
from core.services.people.sessions import CSRF_HEADER, SESSION_COOKIE, end, start
from db.store import shared_store
from tests.api.blindness import SEGMENTS, SYSTEMS, World, world
from tests.templates import empty_database

Attack = Callable[[World], httpx.Response]
SQL = "'; DROP TABLE events; --"
HTML = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return one world for all attacks, because none of them may change it."""
    folder = tmp_path_factory.mktemp("attacks")
    url = empty_database(folder / "home" / "errorscope.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERRORSCOPE_HOME", str(folder))
        patch.setenv("ERRORSCOPE_DB", url)
        for module, limit in ((endpoint, "REQUESTS"), (page, "GUESSES"), (endpoint, "REFUSALS")):
            patch.setattr(module, limit, RateLimit(1e6, 10**6))
        yield world(shared_store(url))


def get(path: str, role: str = "nobody", **headers: str) -> Attack:
    return lambda w: w.client.get(path.format(w=w), headers=w.people[role] | headers)


def opened(w: World, headers: dict[str, str], **choice: str) -> httpx.Response:
    return w.client.post("/api/unit", json=choice, headers=headers)


def with_token(token: str) -> Attack:
    return lambda w: opened(w, {"Authorization": f"Bearer {token}"})


def unit_of(w: World, role: str) -> dict[str, Any]:
    answer: dict[str, Any] = opened(w, w.people[role]).json()
    return answer


def verdict(w: World, of: str = "link of Ana", **change: Any) -> dict[str, Any]:
    """A batch with one good action of this person, with some fields of the batch or the action changed."""
    shown = unit_of(w, of)
    action = {"id": "attack", "kind": "verdict", "output": shown["outputs"][0]["id"], "payload": {"value": "no_error"}}
    action |= {name: value for name, value in change.items() if name in ("id", "kind", "output", "payload")}
    place = {"project": w.project, "doc": shown["doc"], "segment": shown["segment"]}
    return (
        place
        | {"actions": [action]}
        | {n: v for n, v in change.items() if n in ("project", "doc", "segment", "actions")}
    )


def post(role: str, rater: str, batch: Callable[[World], dict[str, Any]] = verdict, **headers: str) -> Attack:
    def send(w: World) -> httpx.Response:
        body = json.dumps({"rater": rater, "batches": [batch(w)]}).encode()
        sent = w.people[role] | {"Content-Type": "application/json"} | headers
        return w.client.post("/api/actions", content=body, headers=sent)

    return send


def raw(role: str, content: bytes, kind: str = "application/json", **headers: str) -> Attack:
    return lambda w: w.client.post(
        "/api/actions", content=content, headers=w.people[role] | {"Content-Type": kind} | headers
    )


def login(fields: str, **headers: str) -> Attack:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return lambda w: w.client.post("/login", content=fields.encode(), headers=kind | headers)


def replayed_session(w: World) -> httpx.Response:
    """The cookie of a session that was ended."""
    boss = next(a for a in w.store.people.accounts() if a.manager)
    token = start(w.store, boss).token
    end(w.store, token)
    return w.client.get(f"/api/projects/{w.project}/exports/csv", headers={"Cookie": f"{SESSION_COOKIE}={token}"})


def revoked_link(w: World) -> httpx.Response:
    token = links.create(w.store, "boss", w.project, "Cid", "secret-set").token
    for link in w.store.people.links(w.project):
        if link.rater == "Cid":
            links.revoke(w.store, "boss", link)
    return opened(w, {"Authorization": f"Bearer {token}"})


def swapped_csrf(w: World) -> httpx.Response:
    """The session of a manager with the token of another session."""
    headers = w.people["boss"] | {CSRF_HEADER: w.people["worker"][CSRF_HEADER]}
    return w.client.post("/api/actions", json={"rater": "boss", "batches": []}, headers=headers)


def without_csrf(w: World) -> httpx.Response:
    headers = {"Cookie": w.people["boss"]["Cookie"]}
    return w.client.post("/api/actions", json={"rater": "boss", "batches": []}, headers=headers)


def another_ids(w: World) -> httpx.Response:
    """Ana labels with the id of an output that Ben sees."""
    return post("link of Ana", "Ana", lambda w: verdict(w, output=unit_of(w, "link of Ben")["outputs"][0]["id"]))(w)


SEND, WRITE = 400, 422
ATTACKS: dict[str, tuple[Attack, set[int]]] = {
    "a guessed link": (get("/t/" + "A" * 43), {404}),
    "a link that is a path": (get("/t/..%2f..%2fetc%2fpasswd"), {404}),
    "a link of ten thousand characters": (get("/t/" + "A" * 10_000), {404}),
    "a link with SQL": (get("/t/' OR 1=1 --"), {404}),
    "a link with a NUL": (get("/t/%00"), {404}),
    "a guessed bearer token": (with_token("A" * 43), {401}),
    "a bearer token with SQL": (with_token("' OR '1'='1"), {401}),
    "an empty bearer token": (with_token(""), {401}),
    "a guessed session": (get("/api/projects/{w.project}/exports/csv", Cookie=f"{SESSION_COOKIE}={'A' * 43}"), {401}),
    "a session that ended": (replayed_session, {401}),
    "a revoked link": (revoked_link, {401}),
    "no login at all": (get("/api/projects/{w.project}/exports/csv"), {401}),
    "an export by a link": (get("/api/projects/{w.project}/exports/csv", "link of Ana"), {403}),
    "an export by an annotator": (get("/api/projects/{w.project}/exports/csv", "worker"), {403}),
    "an export that is a path": (get("/api/projects/{w.project}/exports/..%2f..%2fx", "boss"), {404, 422}),
    "an export of a project of 400 digits": (get(f"/api/projects/{'9' * 400}/exports/csv", "boss"), {403, 404, 422}),
    "the measures, read by an annotator": (get("/metrics", "worker"), {403}),
    "pages, opened with a link": (get("/compare", "link of Ana"), {401, 403}),
    "pages, opened by an annotator": (get("/projects?project={w.project}", "worker"), {403}),
    "the websocket path as a page": (get("/_stcore/stream", "link of Ana"), {401, 403}),
    "no CSRF token": (without_csrf, {403}),
    "the CSRF token of another session": (swapped_csrf, {403}),
    "a form of another site": (login("name=boss&password=x", Origin="https://evil.example"), {403}),
    "labels sent by another site": (post("link of Ana", "Ana", Origin="https://evil.example"), {403}),
    "labels from a page without origin": (post("link of Ana", "Ana", Origin="null"), {403}),
    "a foreign name of this server": (get("/login", Host="evil.example"), {421}),
    "a foreign name and origin that agree": (get("/login", Host="evil.example", Origin="http://evil.example"), {421}),
    "two hosts in one name": (get("/login", Host="127.0.0.1@evil.example"), {400, 421}),
    "labels under another name": (post("link of Ana", "Ben"), {403}),
    "labels by a manager under another name": (post("boss", "Ana"), {403}),
    "a form in place of JSON": (raw("link of Ana", b"rater=Ana", "application/x-www-form-urlencoded"), {415}),
    "JSON sent as text": (raw("link of Ana", b'{"rater": "Ana", "batches": []}', "text/plain"), {415}),
    "no body": (raw("link of Ana", b""), {422}),
    "half of a body": (raw("link of Ana", b"{"), {422}),
    "a list in place of fields": (raw("link of Ana", b"[]"), {422}),
    "a body without batches": (raw("link of Ana", b'{"rater": "Ana"}'), {422}),
    "two hundred batches": (raw("link of Ana", b'{"rater": "Ana", "batches": [' + b"0," * 200 + b"0]}"), {422}),
    "five megabytes": (raw("link of Ana", b'{"rater": "' + b"x" * 5_000_000 + b'"}'), {413}),
    "a hundred thousand brackets": (raw("link of Ana", b"[" * 100_000), {422}),
    "a number of five thousand digits": (raw("link of Ana", b'{"rater": ' + b"9" * 5000 + b"}"), {422}),
    "a login form of a megabyte": (login("name=" + "x" * 1_000_000), {413}),
    "a login with SQL": (login("name=' OR 1=1 --&password=x"), {403}),
    "a login that leads to another site": (login("name=x&password=y&next=//evil.example"), {403}),
    "a step that does not exist": (lambda w: opened(w, w.people["link of Ana"], step=HTML), {422}),
    "a file beside the assets": (get("/assets/..%2fpage.py"), {404}),
    "a tenth of a million raters": (
        raw("link of Ana", json.dumps({"rater": "x" * 100_000, "batches": []}).encode()),
        {422},
    ),
}
"""Attacks that are refused as a whole."""
PARTLY: dict[str, Callable[[World], dict[str, Any]]] = {
    "another project": lambda w: verdict(w, project=w.project + 1),
    "a segment that was not assigned": lambda w: verdict(w, doc="hidden-document", segment="9"),
    "a system's name in place of an id": lambda w: verdict(w, output=SYSTEMS[0]),
    "SQL in place of an id": lambda w: verdict(w, output=SQL),
    "HTML in place of a kind": lambda w: verdict(w, kind=HTML),
    "revealing the names": lambda w: verdict(w, kind="reveal", payload={"systems": list(SYSTEMS)}),
    "opening with another order": lambda w: verdict(w, kind="open", payload={"order": list(SYSTEMS)}),
    "an id with a line break": lambda w: verdict(w, id="a\nb"),
    "a payload that is a list": lambda w: verdict(w, payload=[1, 2]),
    "a place that is a formula": lambda w: verdict(w, doc="=1+1", segment="@SUM(A1)"),
}
"""Attacks with one wrong action in a request that is allowed."""


def state(w: World) -> tuple[object, ...]:
    events = [e for e in w.store.labels.events(w.project) if e.action.kind != "open"]
    return events, w.store.people.accounts(), w.store.projects.list()


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_recorded_and_changes_nothing(name: str, found: World) -> None:
    attack, statuses = ATTACKS[name]
    unit_of(found, "link of Ana"), unit_of(found, "link of Ben")
    before, audited = state(found), len(found.store.audit.entries(limit=1000))
    answer = attack(found)
    assert answer.status_code in statuses
    assert HTML not in answer.text
    assert len(answer.text) < (600 if "text/html" not in answer.headers["content-type"] else 9000)
    assert state(found) == before
    if answer.status_code != 403 or "login" not in str(answer.url):
        assert len(found.store.audit.entries(limit=1000)) > audited


@pytest.mark.parametrize("name", PARTLY)
def test_a_wrong_action_is_refused_and_changes_nothing(name: str, found: World) -> None:
    unit_of(found, "link of Ana")
    before = state(found)
    answer = post("link of Ana", "Ana", PARTLY[name])(found)
    assert answer.status_code == 200
    assert answer.json()["acknowledged"] == []
    assert len(answer.json()["refused"]) == 1
    assert state(found) == before


def test_ids_of_another_annotator_are_refused(found: World) -> None:
    assert list(another_ids(found).json()["refused"]) == ["attack"]


def test_html_and_sql_in_every_field_are_data(found: World) -> None:
    """What an annotator may type comes back as it was typed, in the JSON of the page only."""
    shown = unit_of(found, "link of Ana")
    span = {
        "mark": "m",
        "side": "output",
        "start": 0,
        "end": 4,
        "quote": "Text",
        "severity": "Major",
        "category": "Other",
    }
    span["note"] = HTML + SQL
    batch = verdict(found, id="typed", kind="add", payload=span)
    assert post("link of Ana", "Ana", lambda w: batch)(found).json()["acknowledged"] == ["typed"]
    token = found.people["link of Ana"]["Authorization"].removeprefix("Bearer ")
    assert HTML not in found.client.get(f"/t/{token}?doc={shown['doc']}&segment={shown['segment']}").text
    again = opened(found, found.people["link of Ana"], doc=shown["doc"], segment=shown["segment"])
    assert again.headers["content-type"] == "application/json"
    assert HTML + SQL in {e["payload"].get("note") for e in again.json()["events"]}
    assert shown["segment"] in {key.segment_id for key in SEGMENTS}

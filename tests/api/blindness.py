"""What must not reach an annotator's browser, and a walk through every route that looks for it in all bytes of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
from starlette.applications import Starlette
from starlette.testclient import TestClient

from api.access import AccessControl
from api.documentation import routes
from core.data import Dataset, HumanScore, Output, OutputKey, Segment, SegmentKey, Value
from core.ports.calibration import Chosen, SavedBatch
from core.ports.labels import Action
from core.ports.store import Store
from core.services.labels import labels as work
from core.services.people import accounts, links
from core.signature import content_key
from tests.api.conftest import session_headers
from tests.stores import project_with

SYSTEMS = tuple(f"Zebra-{n}-system" for n in range(4))
SEGMENTS = tuple(SegmentKey("news", str(n)) for n in range(3))
UNASSIGNED = SegmentKey("hidden-document", "9")
SECRETS = (
    *SYSTEMS, "Quokka", "secret-note", "secret-score", "secret-metric", "secret-project", "other-project", "other-text", "hidden-document",
    "hidden-text", "secret-set", "boss", "Traceback", "sqlite", "errorscope.db",
)  # fmt: skip
"""Names of systems, another annotator and the text of a note, scores and metrics, this and another project, segments that were
not assigned, managers, and the inside of the program."""


class Answer(NamedTuple):
    role: str
    asked: str
    data: bytes


class World(NamedTuple):
    """A project with everything an annotator must not see, and people of each role."""

    client: TestClient
    store: Store
    project: int
    people: dict[str, dict[str, str]]  # headers by role


def world(store: Store) -> World:
    project = store.projects.create("secret-project").id
    texts = {s: f"Text number {n} of this segment." for n, s in enumerate(SYSTEMS)}
    segments = tuple(Segment(*key, f"Quelle {key.segment_id}") for key in SEGMENTS) + (
        Segment(*UNASSIGNED, "hidden-text"),
    )
    outputs = tuple(Output(s, *seg.key, text) for seg in segments for s, text in texts.items())
    scores = tuple(HumanScore(o.system, o.doc_id, o.segment_id, "secret-score", 0.123456) for o in outputs)
    store.projects.add(project, Dataset(segments, outputs, scores))
    store.scores.put(
        "secret-metric",
        "secret-metric|v:1",
        {content_key(f"Quelle {SEGMENTS[0].segment_id}", texts[SYSTEMS[0]], ()): Value(0.5)},
        0.1,
    )
    project_with(
        store, Dataset((Segment("d", "1", "other-text"),), (Output("X", "d", "1", "other-text"),)), "other-project"
    )
    chosen = tuple(Chosen(OutputKey(s, *key), 0.5) for key in SEGMENTS for s in SYSTEMS)
    store.batches.save(project, SavedBatch("secret-set", "uniform", 1, "s", chosen, 16))
    note = {
        "mark": "m",
        "side": "output",
        "start": 0,
        "end": 4,
        "quote": "Text",
        "severity": "Major",
        "category": "Other",
        "note": "secret-note",
    }
    work.open_segment(store, project, "Quokka", SEGMENTS[0], SYSTEMS)
    store.labels.append(project, "Quokka", SEGMENTS[0], [Action("q1", "add", SYSTEMS[0], note)])
    boss = accounts.add(store, "setup", "boss", "a long password 1", manager=True)
    worker = accounts.add(store, "setup", "worker", "a long password 2", manager=False)
    accounts.set_role(store, "boss", project, worker, "annotator")
    people = {"nobody": {}}
    for rater in ("Ana", "Ben"):
        token = links.create(store, "boss", project, rater, "secret-set").token
        people[f"link of {rater}"] = {"Authorization": f"Bearer {token}"}
    for account in (worker, boss):
        people[account.name] = session_headers(store, account.name)
    client = TestClient(AccessControl(Starlette(routes=routes())), base_url="http://127.0.0.1", follow_redirects=False)
    return World(client, store, project, people)


BLIND = ("nobody", "link of Ana", "link of Ben", "worker")
"""The roles that must see no secret."""


def leaks(found: World) -> list[str]:
    """Return what an annotator's browser received and must not have: one line per place."""
    answers = [answer for role in BLIND for answer in _answers(found, role)]
    assert len(answers) > 80, "too few answers: the walk has looked at too little"
    bad = [
        f"{a.role}: {a.asked}: {secret}"
        for a in answers
        for secret in SECRETS
        if secret.lower().encode() in a.data.lower()
    ]
    return bad + _order(found)


def _answers(found: World, role: str) -> Iterator[Answer]:
    headers = found.people[role]
    token = headers.get("Authorization", "Bearer none").removeprefix("Bearer ")
    for method, path, body in _requests(found, token, _unit(found, headers)):
        content = body if isinstance(body, bytes) else None
        response = found.client.request(
            method, path, headers=headers, content=content, json=None if content is not None else body
        )
        yield Answer(role, f"{method} {path} {response.status_code}", _bytes(response))


def _bytes(response: httpx.Response) -> bytes:
    return b"\n".join(k + b": " + v for k, v in response.headers.raw) + b"\n\n" + response.content


def _unit(found: World, headers: dict[str, str]) -> dict[str, Any]:
    answer = found.client.post("/api/unit", json={"project": found.project}, headers=headers)
    data: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
    return data


def _requests(found: World, token: str, unit: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    rater = unit.get("rater", "worker")
    outputs = [o["id"] for o in unit.get("outputs", ())] or ["o-none"]
    place = {"project": found.project, "doc": unit.get("doc", "news"), "segment": unit.get("segment", "0")}
    yield "GET", f"/t/{token}", None
    yield "GET", f"/t/{token}?doc=hidden-" + "document&segment=9", None
    yield "GET", "/t/unknown", None
    for choice in (
        {},
        {"step": "next", "doc": "news", "segment": "0"},
        {"step": "unlabelled"},
        {"step": "previous", "doc": "news", "segment": "2"},
        {"step": "x"},
        {"doc": "a", "segment": "b"},
        {"doc": UNASSIGNED.doc_id, "segment": UNASSIGNED.segment_id},
    ):
        yield "POST", "/api/unit", choice
    verdict = {"kind": "verdict", "output": outputs[0], "payload": {"value": "no_error"}}
    actions = (
        [],
        [verdict | {"id": f"{rater}-1"}],
        [verdict | {"id": f"{rater}-stale", "payload": {"value": None, "seen": "other"}}],
        [{"id": f"{rater}-2", "kind": "submit", "output": None, "payload": {"outputs": outputs}}],
        [{"id": f"{rater}-3", "kind": "open", "output": None, "payload": {"order": [outputs[0]]}}],
        [{"id": f"{rater}-4", "kind": "reveal", "output": None, "payload": {"systems": outputs}}],
        [
            {
                "id": f"{rater}-5",
                "kind": "add",
                "output": outputs[0],
                "payload": {"mark": "m", "side": "output", "start": 0, "end": 9999},
            }
        ],
        [verdict | {"id": f"{rater}-6", "output": "o-unknown"}],
        [{"id": f"{rater}-7"}, 7, None],
    )
    for done in actions:
        yield "POST", "/api/actions", {"rater": rater, "batches": [place | {"actions": done}]}
    for where in ({"project": found.project + 1}, {"doc": UNASSIGNED.doc_id[:6], "segment": "9"}, {"project": 99}):
        yield (
            "POST",
            "/api/actions",
            {"rater": rater, "batches": [place | where | {"actions": [verdict | {"id": f"{rater}-{where}"}]}]},
        )
    yield "POST", "/api/actions", {"rater": "somebody", "batches": []}
    yield "POST", "/api/actions", b"{"
    yield "POST", "/api/actions", b"[" * 5000
    for name in ("csv", "scores-csv", "judgements-csv", "nothing"):
        yield "GET", f"/api/projects/{found.project}/exports/{name}", None
    for path in (
        "/metrics",
        "/readyz",
        "/healthz",
        "/api/openapi.json",
        "/tasks",
        f"/tasks/{found.project}",
        f"/tasks/{found.project + 1}",
        "/login",
        "/logout",
        "/assets/none.js",
        "/",
        "/compare",
        "/projects",
        "/none",
        "/../x",
    ):
        yield "GET", path, None
    yield "POST", "/login", b"name=x&password=y"


def _order(found: World) -> list[str]:
    """Return how ids or the order of outputs tell which system wrote what, over twenty annotators."""
    ids: list[str] = []
    orders: set[tuple[str, ...]] = set()
    for number in range(20):
        token = links.create(found.store, "boss", found.project, f"reader {number}", "secret-set").token
        unit = _unit(found, {"Authorization": f"Bearer {token}"})
        ids += [o["id"] for o in unit.get("outputs", ())]
        orders.add(tuple(o["text"] for o in unit.get("outputs", ())))
    bad = ["the ids of two annotators are equal"] if len(set(ids)) < len(ids) else []
    return bad + (["all annotators see the same order"] if len(orders) == 1 else [])


def unit_json(found: World) -> str:
    return json.dumps(_unit(found, found.people["link of Ana"]))

"""No annotator receives anything the protocol does not show; each of twenty leaks that are planted here is found."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from api import actions, endpoint, exports
from api.endpoint import RateLimit
from api.task import page
from core.data import SegmentKey
from core.errors import UserError
from core.mqm.log import fold_segment
from core.ports.labels import RecordedSegment
from core.services.labels import editor
from db.store import shared_store
from tests.api.blindness import SYSTEMS, World, leaks, unit_json, world
from tests.templates import empty_database

Patch = Callable[[pytest.MonkeyPatch, World], None]


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    url = empty_database(tmp_path / "home" / "errorscope.db")
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_DB", url)
    monkeypatch.setattr(endpoint, "REQUESTS", RateLimit(1e6, 10**6))
    monkeypatch.setattr(page, "GUESSES", RateLimit(1e6, 10**6))
    return world(shared_store(url))


def test_no_route_gives_an_annotator_anything_that_is_hidden(found: World) -> None:
    assert leaks(found) == []
    assert "Text number 1" in unit_json(found)  # and what is not hidden arrives


def test_a_manager_receives_what_is_hidden_from_annotators(found: World) -> None:
    made = found.client.get(f"/api/projects/{found.project}/exports/csv", headers=found.people["boss"])
    assert all(secret in made.text for secret in ("Quokka", "secret-note", SYSTEMS[0]))


def wrapped(module: Any, name: str, change: Callable[[Any], Any]) -> Patch:
    """A leak: the value of a function is changed."""

    def plant(patch: pytest.MonkeyPatch, found: World) -> None:
        original = getattr(module, name)
        patch.setattr(module, name, lambda *args, **options: change(original(*args, **options)))

    return plant


def answered(path: str, change: Callable[[httpx.Response], httpx.Response]) -> Patch:
    """A leak: the answers of the routes that begin with this path are changed."""

    def plant(patch: pytest.MonkeyPatch, found: World) -> None:
        original = found.client.request

        def request(method: str, url: str, **options: Any) -> httpx.Response:
            answer = original(method, url, **options)
            return change(answer) if url.startswith(path) else answer

        patch.setattr(found.client, "request", request)

    return plant


def with_json(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[httpx.Response], httpx.Response]:
    def changed(answer: httpx.Response) -> httpx.Response:
        data = answer.json() if answer.headers["content-type"].startswith("application/json") else None
        return httpx.Response(answer.status_code, json=change(data)) if isinstance(data, dict) else answer

    return changed


def with_comment(answer: httpx.Response) -> httpx.Response:
    return httpx.Response(answer.status_code, content=answer.content + b"<!-- secret-project -->")


def with_cookie(answer: httpx.Response) -> httpx.Response:
    return httpx.Response(answer.status_code, headers={"Set-Cookie": "others=Quokka"}, content=answer.content)


def with_names_in_refusals(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"refused": dict.fromkeys(data.get("refused", {}), f"no such output; expected {', '.join(SYSTEMS)}")}


def with_names_in_states(data: dict[str, Any]) -> dict[str, Any]:
    opening = {"id": "x", "kind": "open", "output": None, "payload": {"order": list(SYSTEMS)}}
    return data | {"segments": [s | {"events": [*s["events"], opening]} for s in data.get("segments", ())]}


def sorted_by_text(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"outputs": sorted(data["outputs"], key=lambda o: str(o["text"]))} if "outputs" in data else data


def with_name(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"outputs": [o | {"name": system} for o, system in zip(data["outputs"], SYSTEMS, strict=False)]}


def hashed_ids(patch: pytest.MonkeyPatch, found: World) -> None:
    """The ids of earlier versions: the same for everybody."""
    original = found.store.labels.recorded

    def recorded(*place: Any) -> RecordedSegment:
        of = original(*place)
        ids = {s: "o" + hashlib.sha256(s.encode()).hexdigest()[:12] for s in of.labels.ids}
        return of._replace(labels=replace(of.labels, ids=ids))

    patch.setattr(found.store.labels, "recorded", recorded)


def all_segments(patch: pytest.MonkeyPatch, found: World) -> None:
    outline = editor.outline
    patch.setattr(editor, "outline", lambda store, project, batch=None, **more: outline(found.store, project))


def labels_of_all(patch: pytest.MonkeyPatch, found: World) -> None:
    def everything(project: int, rater: str, segment: SegmentKey) -> RecordedSegment:
        events = found.store.labels.events(project, segment=segment)
        return RecordedSegment(events, fold_segment(events))

    patch.setattr(found.store.labels, "recorded", everything)


def exports_for_all(patch: pytest.MonkeyPatch, found: World) -> None:
    patch.setattr(
        exports, "make", lambda who, project, name, progress: exports.EXPORTS["csv"].make(found.store, project)
    )


def file_named_after_project(patch: pytest.MonkeyPatch, found: World) -> None:
    original = endpoint.failed
    name = {"Content-Disposition": 'attachment; filename="secret-project.csv"'}

    def failed(status: int, sentence: str) -> JSONResponse:
        answer = original(status, sentence)
        answer.headers.update(name)
        return answer

    patch.setattr(endpoint, "failed", failed)


def tracebacks(patch: pytest.MonkeyPatch, found: World) -> None:
    def broken(*given: object) -> None:
        raise UserError("Traceback (most recent call last)", where="errorscope.db")

    patch.setattr(actions, "opened", broken)


def unit_for_anybody(patch: pytest.MonkeyPatch, found: World) -> None:
    data = {"rater": "Quokka", "outputs": []}
    patch.setattr(actions, "opened", lambda who, project, here, step: data)


def local_manager_without_login(patch: pytest.MonkeyPatch, found: World) -> None:
    patch.setattr(endpoint, "accounts_required", lambda people, settings: False)


LEAKS: dict[str, Patch] = {
    "names of systems beside the outputs": wrapped(editor, "editor_data", with_name),
    "scores in the unit": wrapped(editor, "editor_data", lambda d: d | {"scores": {"secret-metric": 0.5}}),
    "human scores in the unit": wrapped(editor, "editor_data", lambda d: d | {"secret-score": 0.123456}),
    "the name of the calibration set": wrapped(editor, "editor_data", lambda d: d | {"batch": "secret-set"}),
    "the name of the project": wrapped(editor, "editor_data", lambda d: d | {"title": "secret-project"}),
    "who made the link": wrapped(editor, "editor_data", lambda d: d | {"by": "boss"}),
    "the systems of the order": wrapped(editor, "editor_data", lambda d: d | {"order": list(SYSTEMS)}),
    "ids made from names": hashed_ids,
    "outputs sorted by name": answered("/api/unit", with_json(sorted_by_text)),
    "segments of others": all_segments,
    "labels of others": labels_of_all,
    "names in refusals": answered("/api/actions", with_json(with_names_in_refusals)),
    "exports for everybody": exports_for_all,
    "a file name": file_named_after_project,
    "the inside of the program": tracebacks,
    "names in the state after an action": answered("/api/actions", with_json(with_names_in_states)),
    "a comment in the page": answered("/t/", with_comment),
    "a cookie": answered("/t/", with_cookie),
    "another annotator's unit": unit_for_anybody,
    "everybody is the local manager": local_manager_without_login,
}


IN_SHORT = ("labels of others",)
"""What `make test` plants: each leak costs a walk through all routes, and tests the walk alone."""


@pytest.mark.parametrize("leak", [pytest.param(k, marks=[] if k in IN_SHORT else pytest.mark.extended) for k in LEAKS])
def test_a_planted_leak_is_found(leak: str, found: World, monkeypatch: pytest.MonkeyPatch) -> None:
    LEAKS[leak](monkeypatch, found)
    assert leaks(found)

"""The routes over a real database, without Streamlit: a project with two systems, and a personal link."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from api import endpoint
from api.documentation import routes
from api.endpoint import RateLimit
from api.task import page
from core.data import Dataset, Output, Segment, SegmentKey
from core.ports.store import Store
from core.services.labels import labels as work
from core.services.people import accounts, sessions
from core.services.people.sessions import CSRF_HEADER, SESSION_COOKIE, csrf_token
from db.engine import connect
from db.store import shared_store, store_over
from tests.templates import empty_database

TEXTS = {"Aardvark": "😀 bad <b>text</b>", "Buzzard": "A good text."}
HERE, NEXT = SegmentKey("news", "1"), SegmentKey("news", "2")


class Site(NamedTuple):
    """A client of the routes, the storage behind them, a project in it, and an annotator's token."""

    client: TestClient
    store: Store
    project: int
    token: str

    @property
    def link(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def local(self) -> dict[str, str]:
        return {CSRF_HEADER: csrf_token(self.store.people.secret(), "")}

    def opened(self, rater: str, segment: SegmentKey = HERE) -> dict[str, str]:
        """Open a segment; return the ids of its outputs by system."""
        return dict(work.open_segment(self.store, self.project, rater, segment, TEXTS).labels.ids)

    def unit(self, headers: dict[str, str] | None = None, **choice: Any) -> Any:
        """Open a segment as the page's script does, by default with the link; return the answer."""
        return self.client.post("/api/unit", json=choice, headers=headers or self.link)

    def batch(self, *done: dict[str, Any], segment: SegmentKey = HERE) -> dict[str, Any]:
        return {"project": self.project, "doc": segment.doc_id, "segment": segment.segment_id, "actions": list(done)}

    def recorded(self) -> list[str]:
        return [e.action.id for e in self.store.labels.events(self.project) if e.action.kind != "open"]


def no_error(name: str, output: str) -> dict[str, Any]:
    return {"id": name, "kind": "verdict", "output": output, "payload": {"value": "no_error"}, "time": ""}


def session_headers(store: Store, name: str) -> dict[str, str]:
    """Log an account in; return the headers of its requests."""
    token = sessions.start(store, accounts.find(store.people, name)).token
    return {"Cookie": f"{SESSION_COOKIE}={token}", CSRF_HEADER: csrf_token(store.people.secret(), token)}


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


TOKEN = "t" * 43
PASSWORD = "correct horse battery"


@pytest.fixture(scope="session")
def site_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one project and the link of `Ana`, to be copied."""
    path = tmp_path_factory.mktemp("site") / "errorscope.db"
    engine = connect(empty_database(path))
    store = store_over(engine)
    project = store.projects.create("pilot").id
    segments = tuple(Segment(*key, f"Quelle {key.segment_id}") for key in (HERE, NEXT))
    outputs = tuple(Output(name, *s.key, text) for s in segments for name, text in TEXTS.items())
    store.projects.add(project, Dataset(segments, outputs))
    store.people.add_link(project, "Ana", None, token_hash(TOKEN), None, "manager")
    engine.dispose()
    return path


@pytest.fixture(scope="session")
def team_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a manager, and a viewer and an annotator of a project, to be copied."""
    path = tmp_path_factory.mktemp("team") / "errorscope.db"
    engine = connect(empty_database(path))
    store = store_over(engine)
    project = store.projects.create("news").id
    accounts.add(store, "test", "ann", PASSWORD, manager=True)
    for name, role in (("vera", "viewer"), ("anton", "annotator")):
        accounts.set_role(store, "test", project, accounts.add(store, "test", name, PASSWORD, manager=False), role)
    engine.dispose()
    return path


@pytest.fixture
def site(site_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    url = f"sqlite:///{shutil.copy(site_database, tmp_path / 'errorscope.db')}"
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_DB", url)
    monkeypatch.setattr(endpoint, "REQUESTS", RateLimit(1000, 1000))
    monkeypatch.setattr(page, "GUESSES", RateLimit(1000, 1000))
    store = shared_store(url)
    [project] = store.projects.list()
    with TestClient(Starlette(routes=routes()), base_url="http://127.0.0.1") as client:
        yield Site(client, store, project.id, TOKEN)

"""What monitoring reads on a server where everybody logs in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from api.access import AccessControl
from api.documentation import routes
from api.health import TOKEN
from core.ports.store import Store
from core.services.people import accounts, links, sessions
from core.services.people.sessions import SESSION_COOKIE
from tests.api.test_login import URL, store

__all__ = ["store"]

SECRET = "a token for the measures"
RIGHT = {"authorization": f"Bearer {SECRET}"}


@pytest.fixture
def visitor(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("ERRORSCOPE_TEAM", "1")
    monkeypatch.setenv(TOKEN, SECRET)
    app = Starlette(routes=routes(), middleware=[Middleware(AccessControl)])
    with TestClient(app, base_url=URL, client=("192.0.2.7", 50000), follow_redirects=False) as made:
        yield made


def test_health_needs_no_login(visitor: TestClient) -> None:
    assert visitor.get("/healthz").text == "ok"
    assert visitor.get("/readyz").text == "ready"


def test_the_token_reads_the_measures_without_login(visitor: TestClient) -> None:
    read = visitor.get("/metrics", headers=RIGHT)
    assert read.status_code == 200
    assert read.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "errorscope_scoring_jobs 0.0" in read.text


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer ", "Bearer wrong", f"Bearer {SECRET}x", "Bearer tökén"])
def test_without_the_token_the_measures_are_refused(visitor: TestClient, sent: str) -> None:
    headers = [("authorization", sent.encode())] if sent else []
    assert visitor.get("/metrics", headers=headers).status_code == 401


def test_an_unset_token_is_no_token(visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, ""):
        monkeypatch.delenv(TOKEN) if value is None else monkeypatch.setenv(TOKEN, value)
        assert visitor.get("/metrics", headers={"authorization": "Bearer "}).status_code == 401
        assert visitor.get("/metrics", headers={"host": "10.0.0.5:8501", "authorization": ""}).status_code == 421


def test_managers_read_the_measures_and_others_do_not(visitor: TestClient, store: Store) -> None:
    link = links.create(store, "ann", store.projects.list()[0].id, "Rosa")
    assert visitor.get("/metrics", headers={"authorization": f"Bearer {link.token}"}).status_code == 403
    for name, status in (("ann", 200), ("vera", 403), ("anton", 403)):
        visitor.cookies.set(SESSION_COOKIE, sessions.start(store, accounts.find(store.people, name)).token)
        assert visitor.get("/metrics").status_code == status


def test_the_token_reads_a_process_under_its_address(visitor: TestClient) -> None:
    address = {"host": "10.0.0.5:8501"}
    assert visitor.get("/metrics", headers=RIGHT | address).status_code == 200
    assert visitor.get("/metrics", headers=address).status_code == 421
    assert visitor.get("/metrics", headers={"authorization": "Bearer wrong"} | address).status_code == 421


def test_the_token_opens_nothing_else(visitor: TestClient) -> None:
    for path in ("/", "/metrics/", "/api/projects/1/exports/labels.tsv", "/_stcore/metrics"):
        assert visitor.get(path, headers=RIGHT | {"host": "10.0.0.5:8501"}).status_code == 421
        assert visitor.get(path, headers=RIGHT).status_code == 401

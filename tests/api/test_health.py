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


def test_health_needs_no_login_and_the_measures_need_the_token(
    visitor: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (visitor.get("/healthz").text, visitor.get("/readyz").text) == ("ok", "ready")
    address = {"host": "10.0.0.5:8501"}  # of a process, under which Prometheus reads it
    for headers in (RIGHT, RIGHT | address):
        read = visitor.get("/metrics", headers=headers)
        assert (read.status_code, "errorscope_scoring_jobs 0.0" in read.text) == (200, True)
        assert read.headers["content-type"].startswith("text/plain; version=0.0.4")
    for sent in ("", "Bearer", "Bearer ", "Bearer wrong", f"Bearer {SECRET}x", "Bearer tökén"):
        pairs = [("authorization", sent.encode())] if sent else []
        assert visitor.get("/metrics", headers=pairs).status_code == 401, sent
    for headers in (address, {"authorization": "Bearer wrong"} | address):
        assert visitor.get("/metrics", headers=headers).status_code == 421
    for path in ("/", "/metrics/", "/api/projects/1/exports/labels.tsv", "/_stcore/metrics"):
        assert visitor.get(path, headers=RIGHT | address).status_code == 421, "the token opens nothing else"
        assert visitor.get(path, headers=RIGHT).status_code == 401
    for value in (None, ""):
        monkeypatch.delenv(TOKEN) if value is None else monkeypatch.setenv(TOKEN, value)
        assert visitor.get("/metrics", headers={"authorization": "Bearer "}).status_code == 401, (
            "an unset token is none"
        )
        assert visitor.get("/metrics", headers=address | {"authorization": ""}).status_code == 421


def test_managers_read_the_measures_and_others_do_not(visitor: TestClient, store: Store) -> None:
    link = links.create(store, "ann", store.projects.list()[0].id, "Rosa")
    assert visitor.get("/metrics", headers={"authorization": f"Bearer {link.token}"}).status_code == 403
    for name, status in (("ann", 200), ("vera", 403), ("anton", 403)):
        visitor.cookies.set(SESSION_COOKIE, sessions.start(store, accounts.find(store.people, name)).token)
        assert visitor.get("/metrics").status_code == status

"""Who may reach what, over HTTP and websockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from api.access import AccessControl, is_local_address, on_this_machine
from core.ports.store import Store
from core.services.people import accounts, links, sessions
from core.services.people.sessions import SESSION_COOKIE
from tests.api.test_login import URL, store

__all__ = ["store"]

WEBSOCKETS = URL.replace("http", "ws")

PAGES = (
    "/", "/compare", "/_stcore/host-config", "/_stcore/upload_file/x/y", "/media/x", "/component/x", "/static/x",
    "/_stcore/metrics", "/loginx", "/apix", "/t", "/_stcore/healthy", "/login/other", "/documentation/docs/formats.md",
)  # fmt: skip
OPEN = ("/login", "/logout", "/healthz", "/readyz", "/t/x", "/r/x", "/api/actions", "/assets/x.js", "/_stcore/health")


async def answered(request: Request) -> PlainTextResponse:
    return PlainTextResponse("inside")


async def accepted(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("inside")
    await websocket.close()


@contextmanager
def visiting(token: str = "", client: str = "127.0.0.1", url: str = URL) -> Iterator[TestClient]:
    methods = ["GET", "POST", "PUT", "DELETE"]
    inner = [WebSocketRoute("/{path:path}", accepted), Route("/{path:path}", answered, methods=methods)]
    app = Starlette(routes=inner, middleware=[Middleware(AccessControl)])
    cookies = {SESSION_COOKIE: token} if token else {}
    with TestClient(app, base_url=url, client=(client, 50000), cookies=cookies, follow_redirects=False) as made:
        yield made


def session(store: Store, name: str) -> str:
    return sessions.start(store, accounts.find(store.people, name)).token


def opens(visitor: TestClient, path: str = "/_stcore/stream", **headers: str) -> bool:
    try:
        with visitor.websocket_connect(f"{WEBSOCKETS}{path}", headers=headers) as websocket:
            return websocket.receive_text() == "inside"
    except WebSocketDisconnect:
        return False


def test_managers_and_viewers_reach_everything(store: Store) -> None:
    for name in ("ann", "vera"):
        with visiting(session(store, name)) as visitor:
            assert {visitor.get(path).text for path in (*PAGES, *OPEN)} == {"inside"}, name
            assert opens(visitor), name


def test_only_managers_send_files(store: Store) -> None:
    path = "/_stcore/upload_file/session/file"
    for name, status in (("ann", 200), ("vera", 403)):
        with visiting(session(store, name)) as visitor:
            assert {visitor.put(path).status_code, visitor.post(path).status_code} == {status}, name
            assert visitor.get("/").status_code == 200


def test_nobody_reaches_a_page_without_login(store: Store) -> None:
    with visiting() as visitor:
        for path in PAGES:
            page = visitor.get(f"{path}?a=b", headers={"accept": "text/html,*/*"})
            assert page.status_code == 303
            assert page.headers["location"].startswith("/login?next=%2F")
            assert visitor.get(path).status_code == 401
            assert visitor.put(path).status_code == 401
        assert {visitor.get(path).text for path in OPEN} == {"inside"}
        assert not opens(visitor)
        assert visitor.get("/", headers={"accept": "application/json"}).json() == {"error": "Log in to open this."}


def test_annotators_and_links_never_reach_a_page(store: Store) -> None:
    made = links.create(store, "ann", store.projects.list()[0].id, "Rosa")
    with visiting(session(store, "anton")) as visitor:
        assert {visitor.get(path).status_code for path in PAGES} == {403}
        assert not opens(visitor)
        page = visitor.get("/compare", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/tasks")
    with visiting() as visitor:
        bearer = {"authorization": f"Bearer {made.token}"}
        assert {visitor.get(path, headers=bearer).status_code for path in PAGES} == {403}
        assert not opens(visitor, **bearer)
    with visiting(made.token) as visitor:
        assert {visitor.get(path).status_code for path in PAGES} == {401}


def test_a_revoked_session_opens_nothing_more(store: Store) -> None:
    token = session(store, "vera")
    with visiting(token) as visitor:
        assert visitor.get("/").text == "inside"
        accounts.set_active(store, "test", accounts.find(store.people, "vera"), False)
        assert visitor.get("/").status_code == 401
        assert not opens(visitor)


FOREIGN = (
    "evil.example",
    "evil.example:8501",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "127.0.0.2",
    "0.0.0.0",
    "[::2]",
)
NO_HOSTS = ("", "a b", "user@127.0.0.1", "127.0.0.1/x", "127.0.0.1:port", "127.0.0.1?x")
OWN = ("127.0.0.1:8501", "localhost:8501", "LOCALHOST:8501", "[::1]:8501", "localhost.:8501")


def test_only_names_of_this_machine_are_accepted(store: Store) -> None:
    with visiting(session(store, "ann")) as visitor:
        for host in FOREIGN:
            rebound = {"host": host, "origin": f"http://{host}"}
            for path in (*PAGES, *OPEN):
                assert visitor.get(path, headers={"host": host}).status_code == 421, (host, path)
                assert visitor.post(path, headers=rebound).status_code == 421, (host, path)
            assert not opens(visitor, **rebound), host
            assert not opens(visitor, host=host), host
        for host in NO_HOSTS:
            assert visitor.get("/", headers={"host": host}).status_code in (400, 421), host
        two = [("host", "127.0.0.1"), ("host", "evil.example")]
        assert visitor.get("/", headers=two).status_code == 400
        for host in OWN:
            assert visitor.get("/", headers={"host": host, "origin": f"http://{host}"}).text == "inside", host
            assert opens(visitor, host=host, origin=f"http://{host}"), host


def test_websockets_and_writes_of_another_origin_are_refused(store: Store) -> None:
    with visiting(session(store, "ann")) as visitor:
        for origin in (
            "https://evil.example",
            "null",
            "http://127.0.0.1:3000",
            "http://localhost:8501",
            "file://",
            "x",
            "",
        ):
            assert not opens(visitor, origin=origin), origin
            assert not opens(visitor, "/api/x", origin=origin), origin
            for method in ("POST", "PUT", "DELETE"):
                assert visitor.request(method, "/api/actions", headers={"origin": origin}).status_code == 403, origin
        assert opens(visitor, origin=URL)


def test_a_configured_name_is_accepted_with_its_own_origin(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_HOSTS", "eval.example.org, other.example.org")
    with visiting(session(store, "ann")) as visitor:
        host = "eval.example.org"
        assert opens(visitor, host=host, origin=f"https://{host}")
        assert opens(visitor, host=f"{host}:443", origin=f"https://{host}")
        assert not opens(visitor, host=host, origin="https://other.example.org")
        assert not opens(visitor, host=host, origin=f"https://{host}:8443")
        assert visitor.get("/", headers={"host": "third.example.org"}).status_code == 421


DATA = (
    "/",
    "/api/projects/1/exports/outputs",
    "/api/actions",
    "/r/x",
    "/api/unit",
    "/api/new",
    "/metrics",
    "/tasks/1",
    "/t/x",
    "/login",
    "/assets/x.js",
)


def test_without_accounts_only_this_machine_is_served(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_METRICS_TOKEN", "m" * 20)
    for module in ("endpoint", "access"):
        monkeypatch.setattr(f"api.{module}.accounts_required", lambda people, settings: False)
    for address, status in (
        ("127.0.0.1", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        ("192.0.2.1", 403),
        ("testclient", 403),
    ):
        with visiting(client=address) as visitor:
            assert {visitor.get(path).status_code for path in DATA} == {status}, address
            assert opens(visitor) == (status == 200)
            assert visitor.get("/healthz").status_code == 200
            assert visitor.get("/metrics", headers={"authorization": f"Bearer {'m' * 20}"}).status_code == 200


def test_without_accounts_no_request_comes_through_a_proxy(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, visiting() as visitor:
        for module in ("endpoint", "access"):
            patched.setattr(f"api.{module}.accounts_required", lambda people, settings: False)
        for name in ("Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "x-forwarded-anything", "X-Real-IP", "Via"):
            headers = {name: "127.0.0.1"}
            assert {visitor.get(path, headers=headers).status_code for path in DATA} == {403}, name
            assert not opens(visitor, **headers)
    with visiting(session(store, "ann")) as visitor:  # with accounts
        assert visitor.get("/", headers={"X-Forwarded-For": "192.0.2.1"}).text == "inside"
    scope = {"type": "http", "client": ("127.0.0.1", 5), "headers": []}
    assert on_this_machine(HTTPConnection(scope | {"http_version": "1.1"}))
    assert not on_this_machine(HTTPConnection(scope | {"http_version": "1.0"}))  # nginx by default


def test_a_database_that_cannot_be_read_lets_nobody_in(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_DB", "nonsense://x")
    with visiting() as visitor:
        assert visitor.get("/").status_code == 503
        assert not opens(visitor)


def test_local_addresses_are_those_of_this_machine() -> None:
    assert [a for a in ("localhost", "127.0.0.1", "127.0.0.2", "::1") if not is_local_address(a)] == []
    assert [a for a in (None, "", "0.0.0.0", "::", "192.0.2.1", "eval.example.org") if is_local_address(a)] == []

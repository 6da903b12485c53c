"""Login and logout over HTTP."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.testclient import TestClient
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from api import auth, endpoint
from api.access import AccessControl
from api.documentation import routes
from api.endpoint import RateLimit
from api.endpoint import unguarded as opened
from api.task import page
from core.errors import Unavailable
from core.ports.store import Store
from core.services.people import accounts, links, sessions
from core.services.people.sessions import SESSION_COOKIE, LoginThrottle
from tests.api.conftest import PASSWORD
from tests.templates import empty_database

URL = "http://127.0.0.1:8501"


@pytest.fixture
def store(team_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Storage with a manager, a viewer and an annotator of a project."""
    monkeypatch.setenv("ERRORSCOPE_DB", f"sqlite:///{shutil.copy(team_database, tmp_path / 'errorscope.db')}")
    monkeypatch.setattr(auth, "THROTTLE", LoginThrottle())
    monkeypatch.setattr(endpoint, "REFUSALS", RateLimit(0.2, 60))
    return opened()


def client(url: str = URL, base: str = "") -> TestClient:
    app = Starlette(routes=auth.routes(base), middleware=[Middleware(AccessControl, base=base)])
    return TestClient(app, base_url=url, client=("127.0.0.1", 50000), follow_redirects=False)


@pytest.fixture
def browser(store: Store) -> Iterator[TestClient]:
    with client() as made:
        yield made


def token(browser: TestClient, **query: str) -> str:
    field = re.search(r'name="token" value="([0-9a-f]{64})"', browser.get("/login", params=query).text)
    assert field
    return field[1]


def log_in(browser: TestClient, name: str = "ann", password: str = PASSWORD, **fields: str) -> tuple[int, str]:
    data = {"token": token(browser), "name": name, "password": password, **fields}
    response = browser.post("/login", data=data)
    return response.status_code, response.text or response.headers["location"]


def who(browser: TestClient) -> str | None:
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    scope = {"type": "http", "headers": [(b"cookie", cookies.encode())]}
    identity = endpoint.identity_of(HTTPConnection(scope))
    return identity.who if identity else None


def test_the_right_password_starts_a_session(browser: TestClient, store: Store) -> None:
    assert who(browser) is None
    assert log_in(browser, next="/compare?project=1") == (303, "/compare?project=1")
    assert who(browser) == "ann"
    assert store.audit.entries(limit=1)[0].act == "logged in"
    assert browser.get("/login", params={"next": "/compare"}).headers["location"] == "/compare", "no form"


def test_the_cookie_cannot_be_read_by_scripts_or_sent_by_other_sites(store: Store) -> None:
    for url in (URL, URL.replace("http", "https")):
        with client(url) as browser:
            data = {"token": token(browser), "name": "ann", "password": PASSWORD}
            cookies = browser.post("/login", data=data).headers.get_list("set-cookie")
        [cookie] = [of for of in cookies if SESSION_COOKIE in of]
        assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
        assert ("Secure" in cookie) == url.startswith("https")


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(browser: TestClient, store: Store) -> None:
    accounts.set_active(store, "test", accounts.find(store.people, "vera"), False)
    for name, password in (
        ("ann", "wrong"),
        ("my password typed as name", PASSWORD),
        ("", ""),
        ("ann", ""),
        ("vera", PASSWORD),
    ):
        status, text = log_in(browser, name, password)
        assert (status, auth.FAILED in text, who(browser)) == (401, True, None), name
    refused = [(e.who, e.details) for e in store.audit.entries() if e.act == "login refused"]
    assert sorted(refused) == [("ann", {}), ("ann", {}), ("vera", {})], "those of accounts, without what was typed"


def test_a_token_that_was_planted_before_login_is_worth_nothing(browser: TestClient) -> None:
    browser.cookies.set(SESSION_COOKIE, "planted", domain="127.0.0.1")
    log_in(browser)
    values = {cookie.value for cookie in browser.cookies.jar if cookie.name == SESSION_COOKIE}
    assert len(values - {"planted"}) == 1
    browser.cookies.clear()
    browser.cookies.set(SESSION_COOKIE, "planted", domain="127.0.0.1")
    assert who(browser) is None


def test_a_second_login_ends_the_first_session(browser: TestClient, store: Store) -> None:
    log_in(browser)
    first = browser.cookies[SESSION_COOKIE]
    form = {"token": "", "name": "vera", "password": PASSWORD}
    browser.cookies.set(auth.FORM_COOKIE, "known", domain="127.0.0.1")
    form["token"] = auth.csrf_token(store.people.secret(), "login\x1fknown")
    assert browser.post("/login", data=form).status_code == 303
    assert sessions.resolve(store.people, first) is None
    assert who(browser) == "vera"


def test_guessing_is_slowed_down(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        auth, "THROTTLE", LoginThrottle(clock=lambda: 0.0)
    )  # checking a password may take longer than the wait
    statuses = [log_in(browser, password=f"guess {k}")[0] for k in range(8)]
    assert statuses == [401] * 5 + [429] * 3
    answer = browser.post("/login", data={"token": token(browser), "name": "ann", "password": PASSWORD})
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 2
    assert log_in(browser, "vera")[0] == 303


def test_a_browser_that_has_logged_in_is_not_kept_out_by_guesses(
    browser: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "THROTTLE", LoginThrottle(clock=lambda: 0.0))
    assert log_in(browser, "ann")[0] == 303
    browser.post("/logout")
    with client() as other:
        assert [log_in(other, password=f"guess {k}")[0] for k in range(7)] == [401] * 5 + [429] * 2
        assert log_in(other, "ann")[0] == 429
        other.cookies.set(auth.KNOWN_COOKIE, "f" * 64)
        assert log_in(other, "ann")[0] == 429
    assert log_in(browser, "ann")[0] == 303


def test_checking_passwords_holds_up_no_other_requests(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[str] = set()

    def check(*_: object) -> None:
        used.add(threading.current_thread().name)

    monkeypatch.setattr(auth, "check_password", check)
    assert log_in(browser, "ann")[0] == 401
    assert [name.startswith("password") for name in used] == [True]


@pytest.mark.parametrize("given", ["", "0" * 64, "é", "another browser"])
def test_a_form_from_elsewhere_is_refused(browser: TestClient, given: str) -> None:
    with client() as other:
        assert log_in(browser, token=token(other) if given == "another browser" else given)[0] == 403
    assert who(browser) is None


def test_a_form_that_is_too_large_is_refused(browser: TestClient) -> None:
    assert browser.post("/login", data={"name": "x" * 30_000}).status_code == 413


OWN_PATHS = ("/compare?project=1", "/a b")
NOT_OWN = (
    "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "javascript:alert(1)", "/\t/evil.example",
    "/a\r\nset-cookie: x=1", "//[", "compare", "/logout", "/login?next=/", "",
)  # fmt: skip


def test_login_leads_to_own_pages_only_and_a_base_path_is_kept(store: Store) -> None:
    assert [auth.own_path(path) for path in (*OWN_PATHS, *NOT_OWN)] == [*OWN_PATHS, *["/"] * len(NOT_OWN)]
    assert auth.own_path("/other/x", "/base") == "/base/"
    assert auth.own_path("/base/compare", "/base") == "/base/compare"
    with client() as browser:
        assert log_in(browser, next="//evil.example") == (303, "/")
        assert browser.get("/login", params={"next": "//evil.example"}).headers["location"] == "/"
    with client(base="/base") as browser:
        page = browser.get("/base/login")
        assert 'action="/base/login"' in page.text
        assert browser.get("/base/compare", headers={"accept": "text/html"}).headers["location"] == (
            "/base/login?next=%2Fbase%2Fcompare"
        )


def test_what_was_typed_is_text_on_the_page(browser: TestClient) -> None:
    _, text = log_in(browser, '"><script>alert(1)</script>', "x", next='/"><b>')
    assert "<script>" not in text
    assert "<b>" not in text
    assert "&lt;script&gt;" in text


def test_logout_ends_the_session_on_the_server(browser: TestClient, store: Store) -> None:
    log_in(browser)
    kept = browser.cookies[SESSION_COOKIE]
    assert "You are logged in as ann" in browser.get("/logout").text
    assert who(browser) == "ann"
    assert browser.post("/logout").headers["location"] == "/login"
    assert SESSION_COOKIE not in browser.cookies
    assert sessions.resolve(store.people, kept) is None


def test_a_busy_database_is_said_on_a_page(browser: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise Unavailable("the database is locked by another program", where="/secret/errorscope.db")

    known = {"token": token(browser), "name": "ann", "password": PASSWORD}
    with monkeypatch.context() as patched:
        patched.setattr(sessions, "start", busy)
        answers = [browser.post("/login", data=known)]
    assert log_in(browser, "ann")[0] == 303
    with monkeypatch.context() as patched:
        patched.setattr(sessions, "end", busy)
        answers.append(browser.post("/logout"))
    for name, path in (("_secret", "/login"), ("identity_of", "/logout")):
        with monkeypatch.context() as patched, client() as other:
            patched.setattr(auth, name, busy)
            answers.append(other.get(path))
    for answer in answers:
        assert (answer.status_code, "Try again in a moment" in answer.text) == (503, True)
        assert "The database is locked by another program" in answer.text
        assert "secret" not in answer.text


def test_another_site_can_neither_log_in_nor_out(browser: TestClient) -> None:
    log_in(browser)
    for origin in ("https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:8501"):
        for path in ("/login", "/logout"):
            assert browser.post(path, headers={"origin": origin}).status_code == 403
    assert who(browser) == "ann"


def test_without_accounts_nobody_logs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_DB", empty_database(tmp_path / "errorscope.db"))
    with client() as browser:
        assert who(browser) == "local manager"
        assert browser.get("/login").headers["location"] == "/"
        monkeypatch.setenv("ERRORSCOPE_TEAM", "1")
        assert who(browser) is None


def test_a_link_is_an_identity_in_the_header_only(store: Store) -> None:
    project = store.projects.list()[0].id
    made = links.create(store, "ann", project, "Rosa", expires=datetime.now(UTC) + timedelta(days=1))

    def found(header: str, value: str) -> str | None:
        identity = endpoint.identity_of(
            HTTPConnection({"type": "http", "headers": [(header.encode(), value.encode())]})
        )
        return identity.who if identity else None

    assert found("authorization", f"Bearer {made.token}") == f"Rosa (link {made.link.id})"
    assert found("authorization", f"bearer {made.token}") == f"Rosa (link {made.link.id})"
    assert found("cookie", f"{SESSION_COOKIE}={made.token}") is None
    for wrong in ("Bearer ", "Bearer x", f"Basic {made.token}", made.token):
        assert found("authorization", wrong) is None
    links.revoke(store, "ann", made.link)
    assert found("authorization", f"Bearer {made.token}") is None


def test_the_sender_is_a_network_for_ipv6() -> None:
    def of(host: str) -> str:
        return endpoint.network(HTTPConnection({"type": "http", "headers": [], "client": (host, 1)}))

    assert of("192.0.2.7") == "192.0.2.7"
    assert of("2001:db8:1:2:3:4:5:6") == of("2001:db8:1:2::1") == "2001:db8:1:2::/64"
    assert of("::ffff:192.0.2.7") == "192.0.2.7"
    assert of("testclient") == "testclient"


@pytest.mark.extended
def test_limits_count_ipv6_addresses_of_one_network_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "GUESSES", RateLimit(0.0, 3))
    monkeypatch.setattr(endpoint, "REFUSALS", RateLimit(0.0, 3))
    statuses = []
    for k in range(6):
        with TestClient(
            Starlette(routes=routes(), middleware=[Middleware(AccessControl)]),
            client=(f"2001:db8::{k}", 1),
            base_url=URL,
        ) as made:
            statuses.append(made.get(f"/t/{k}" + "x" * 42).status_code)
    assert statuses.count(429) == 3
    assert len([entry for entry in store.audit.entries() if entry.act == "request refused"]) == 3


SECRETS = {"redirect_uri": f"{URL}/oauth2callback", "cookie_secret": "s" * 40, "client_id": "x"}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider in Streamlit's secrets, and the secret that signs its cookies."""
    monkeypatch.setattr(auth, "providers", lambda: ("default",))
    monkeypatch.setattr(
        "streamlit.web.server.starlette.starlette_websocket.get_cookie_secret", lambda: SECRETS["cookie_secret"]
    )


def provider_cookie(secret: str = SECRETS["cookie_secret"], **changes: object) -> str:
    user = {"is_logged_in": True, "origin": URL, "email": "Eva@example.org", "email_verified": True} | changes
    return create_signed_value(secret, auth.USER_COOKIE_NAME, json.dumps(user)).decode()


def test_a_verified_email_opens_its_account(browser: TestClient, store: Store, provider: None) -> None:
    assert "Log in with your organization" in browser.get("/login").text
    accounts.add(store, "test", "eva@example.org", None, manager=False)
    browser.cookies.set(auth.USER_COOKIE_NAME, provider_cookie(), domain="127.0.0.1")
    assert browser.get("/login", params={"next": "/compare"}).headers["location"] == "/compare"
    assert who(browser) == "eva@example.org"
    assert auth.USER_COOKIE_NAME not in browser.cookies  # it would open another session for 30 days


def test_other_provider_cookies_open_nothing(browser: TestClient, store: Store, provider: None) -> None:
    accounts.add(store, "test", "eva@example.org", None, manager=False)
    for cookie in (
        provider_cookie(email_verified=False),
        provider_cookie(email_verified="yes"),
        provider_cookie(email="someone@example.org"),
        provider_cookie(origin="https://other.example"),
        provider_cookie(is_logged_in=False),
        provider_cookie(secret="another secret of enough length"),
        "nonsense",
    ):
        browser.cookies.set(auth.USER_COOKIE_NAME, cookie, domain="127.0.0.1")
        answer = browser.get("/login")
        assert answer.status_code == 403, cookie
        assert "There is no active account" in answer.text
        assert who(browser) is None


def test_without_a_provider_its_cookie_means_nothing(browser: TestClient, store: Store) -> None:
    accounts.add(store, "test", "eva@example.org", None, manager=False)
    browser.cookies.set(auth.USER_COOKIE_NAME, provider_cookie(), domain="127.0.0.1")
    assert browser.get("/login").status_code == 200
    assert browser.get("/login/provider", params={"name": "default"}).headers["location"] == "/login"
    assert who(browser) is None

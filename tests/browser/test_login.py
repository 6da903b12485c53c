"""Login, roles and foreign names in a real browser and over real websockets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from core.services.people import accounts, links, sessions
from core.services.people.identity import SESSION_COOKIE
from tests.browser.conftest import PATIENCE, Server, at_rest, serving
from tests.fakes import small_dataset
from tests.templates import sample_database

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a manager, a viewer of the sample, and an annotator."""
    home = tmp_path_factory.mktemp("team")
    sample_database(home / "errorscope.db")
    with serving(home, ERRORSCOPE_DB="", ERRORSCOPE_WORKER="off") as running:
        store = running.store()
        accounts.add(store, "test", "ann", PASSWORD, manager=True)
        for name, role in (("vera", "viewer"), ("anton", "annotator")):
            account = accounts.add(store, "test", name, PASSWORD, manager=False)
            accounts.set_role(store, "test", store.projects.list()[0].id, account, role)
        store.projects.create("hidden from vera")
        yield running


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def answer(team: Server, **headers: str) -> int:
    """The status of Streamlit's websocket; 101 if it opens."""
    address = f"{team.url.replace('http', 'ws')}/_stcore/stream"
    try:
        with connect(address, additional_headers=headers, subprotocols=["streamlit"], open_timeout=PATIENCE / 1000):  # type: ignore[list-item]
            return 101
    except InvalidStatus as error:
        return error.response.status_code


def test_login_opens_the_page_that_was_asked_for(team: Server, page: Page) -> None:
    page.goto(f"{team.url}/compare")
    expect(page).to_have_url(f"{team.url}/login?next=%2Fcompare")
    log_in(page, "vera", "wrong password")
    expect(page.get_by_role("alert")).to_have_text("Name or password is wrong.")
    log_in(page, "vera")
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    expect(page.get_by_test_id("stSidebarNav").get_by_text("Annotate")).to_have_count(0)
    assert "hidden from vera" not in page.content()
    page.get_by_role("link", name="Log out").click()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{team.url}/login")
    page.goto(f"{team.url}/compare")
    expect(page).to_have_url(f"{team.url}/login?next=%2Fcompare")


def test_an_open_page_ends_when_the_account_is_disabled(team: Server, page: Page) -> None:
    store = team.store()
    page.goto(f"{team.url}/models")
    log_in(page, "vera")
    expect(page.get_by_role("heading", name="Models", exact=True)).to_be_visible()
    vera = accounts.find(store.people, "vera")
    accounts.set_active(store, "test", vera, False)
    page.get_by_test_id("stSidebarNav").get_by_text("Compare").click()
    expect(page.get_by_text("You are no longer logged in")).to_be_visible()
    accounts.set_active(store, "test", vera, True)


def test_an_open_segment_is_the_last_one_when_the_role_is_withdrawn(team: Server, page: Page) -> None:
    store = team.store()
    project = store.projects.create("for a while").id
    store.projects.add(project, small_dataset())
    vera = accounts.find(store.people, "vera")
    accounts.set_role(store, "test", project, vera, "viewer")
    page.goto(f"{team.url}/compare?project={project}")
    log_in(page, "vera")
    expect(page.locator(".esc-card").first).to_contain_text("A output 0")
    at_rest(page)
    accounts.set_role(store, "test", project, vera, None)
    page.get_by_role("button", name="next segment").click()
    expect(page.get_by_text("There is no such project")).to_be_visible()
    expect(page.get_by_text("A output 1")).to_have_count(0)


def test_an_annotator_gets_the_page_with_the_editor_and_no_other(team: Server, page: Page) -> None:
    page.goto(f"{team.url}/")
    log_in(page, "anton")
    expect(page.get_by_role("heading", name="Mark the errors")).to_be_visible()
    expect(page.locator(".esa-output").first).to_be_visible()
    assert page.locator("#root").count() == 0
    page.goto(f"{team.url}/compare")
    expect(page.get_by_role("heading", name="Mark the errors")).to_be_visible()
    page.goto(f"{team.url}/logout")
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{team.url}/login")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 420)])
def test_the_login_page_has_no_barrier_and_needs_no_script(team: Server, page: Page, scheme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{team.url}/login")
    assert page.locator("script").count() == 0
    log_in(page, "nobody at all", "wrong password")
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [v["id"] for v in Axe().run(page).response["violations"] if v["impact"] in ("serious", "critical")] == []


def test_websockets_open_for_the_own_origin_and_people_with_pages_only(team: Server) -> None:
    store = team.store()
    cookies = {
        name: f"{SESSION_COOKIE}={sessions.start(store, accounts.find(store.people, name)).token}"
        for name in ("ann", "vera", "anton")
    }
    link = links.create(store, "ann", store.projects.list()[0].id, "Rosa").token
    assert answer(team, Cookie=cookies["ann"], Origin=team.url) == 101
    assert answer(team, Cookie=cookies["vera"], Origin=team.url) == 101
    assert answer(team, Cookie=cookies["anton"], Origin=team.url) == 403
    assert answer(team, Origin=team.url) == 403
    assert answer(team, Origin=team.url, Authorization=f"Bearer {link}") == 403
    for origin in ("http://evil.example", "null", f"http://localhost:{team.port}", "http://127.0.0.1:1"):
        assert answer(team, Cookie=cookies["ann"], Origin=origin) == 403


def test_a_name_that_was_rebound_to_this_machine_is_refused(shared: Server, page: Page) -> None:
    foreign = {"Host": f"evil.example:{shared.port}", "Origin": f"http://evil.example:{shared.port}"}
    for path in ("/", "/_stcore/host-config", "/api/actions", "/login", "/static/none.js"):
        assert page.request.get(f"{shared.url}{path}", headers=foreign).status == 421
        assert page.request.post(f"{shared.url}{path}", headers=foreign).status == 421

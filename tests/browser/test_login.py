"""Login, roles and foreign names in a real browser and over real websockets."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from core.services.people import accounts, links, sessions
from core.services.people.sessions import SESSION_COOKIE
from tests.browser.conftest import PATIENCE, Server, at_rest, log_in
from tests.builders import small_dataset


def answer(team: Server, **headers: str) -> int:
    """The status of Streamlit's websocket; 101 if it opens."""
    address = f"{team.url.replace('http', 'ws')}/_stcore/stream"
    try:
        with connect(address, additional_headers=headers, subprotocols=["streamlit"], open_timeout=PATIENCE / 1000):  # type: ignore[list-item]
            return 101
    except InvalidStatus as error:
        return error.response.status_code


def test_an_open_page_shows_nothing_further_without_the_role_and_ends_without_the_account(
    team: Server, page: Page
) -> None:
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
    at_rest(page)
    accounts.set_active(store, "test", vera, False)
    page.get_by_test_id("stSidebarNav").get_by_text("Models").click()
    expect(page.get_by_text("You are no longer logged in")).to_be_visible()
    accounts.set_active(store, "test", vera, True)


def test_an_annotator_gets_the_page_with_the_editor_and_no_other(team: Server, page: Page) -> None:
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.goto(f"{team.url}/")
    log_in(page, "anton")
    expect(page.get_by_role("heading", name="Mark the errors")).to_be_visible()
    expect(page.locator(".esa-output").first).to_be_visible()
    assert page.locator("#root").count() == 0
    page.goto(f"{team.url}/compare")
    expect(page.get_by_role("heading", name="Mark the errors")).to_be_visible()
    assert sockets == []
    page.goto(f"{team.url}/logout")
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{team.url}/login")


def test_the_login_page_has_no_barrier_and_needs_no_script(team: Server, page: Page) -> None:
    page.goto(f"{team.url}/login")
    assert page.locator("script").count() == 0
    log_in(page, "nobody at all", "wrong password")
    for scheme, width in (("light", 1280), ("dark", 420)):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(page.get_by_role("alert")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert [v["id"] for v in Axe().run(page).response["violations"] if v["impact"] in ("serious", "critical")] == []


def test_websockets_open_only_for_the_own_origin_and_page_roles(team: Server) -> None:
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

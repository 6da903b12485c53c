"""Every byte that reaches a real browser, websocket frames included: nobody receives what the role must not see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Page, Response, WebSocket, expect

from core.services.people import sessions
from core.services.people.identity import SESSION_COOKIE
from tests.api.blindness import SECRETS, SYSTEMS, World, world
from tests.browser.conftest import PATIENCE, Server, at_rest, serving
from tests.browser.span_editor import saved

PAGES = ("", "compare", "annotate", "labels_and_raters", "meta_evaluation", "calibrate", "robustness", "models", "help")
OTHER = ("other-project", "other-text")


class Received:
    """All bytes that a tab received, and the websockets that it opened."""

    def __init__(self, tab: Page) -> None:
        self.parts: list[bytes] = []
        self.sockets: list[str] = []
        tab.on("response", self._response)
        tab.on("websocket", self._socket)

    def _response(self, response: Response) -> None:
        self.parts.append(response.url.encode())
        if "/static/" in response.url or "/assets/" in response.url:
            return  # files of the program, the same for everybody
        with suppress(Exception):  # redirects have no body
            self.parts.append(response.body())

    def _socket(self, socket: WebSocket) -> None:
        self.sockets.append(socket.url)
        socket.on("framereceived", lambda data: self.parts.append(data if isinstance(data, bytes) else data.encode()))

    def found(self, secrets: tuple[str, ...]) -> list[str]:
        everything = b"\n".join(self.parts)
        return [secret for secret in secrets if secret.encode() in everything]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, World]]:
    home = tmp_path_factory.mktemp("home")
    with serving(home, ERRORSCOPE_DB="", ERRORSCOPE_WORKER="off") as server:
        found = world(server.store())
        viewer = found.store.people.add_account("vera", None, manager=False)
        found.store.people.set_role(found.project, viewer.id, "viewer")
        yield server, found


def tab_of(browser: Browser, server: Server, found: World, name: str = "") -> Page:
    """A tab of a browser in which this account is logged in."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.set_default_timeout(PATIENCE)
    if name:
        account = next(a for a in found.store.people.accounts() if a.name == name)
        token = sessions.start(found.store, account).token
        context.add_cookies([{"name": SESSION_COOKIE, "value": token, "url": server.url}])
    return context.new_page()


def test_the_page_of_a_link_receives_nothing_hidden_and_opens_no_websocket(
    team: tuple[Server, World], browser: Browser
) -> None:
    server, found = team
    tab = tab_of(browser, server, found)
    received = Received(tab)
    token = found.people["link of Ana"]["Authorization"].removeprefix("Bearer ")
    tab.goto(f"{server.url}/t/{token}")
    for segment in range(1, 4):
        expect(tab.locator("#place")).to_have_text(f"{segment} / 3")
        for output in tab.locator(".esa-output").all():
            output.get_by_role("button", name="No error").click()
        tab.get_by_test_id("submit").click()
        expect(tab.locator(".esa-said")).to_contain_text("Submitted")
        saved(tab)
        tab.reload()
        if segment < 3:
            tab.get_by_role("button", name="Next", exact=True).click()
    expect(tab.locator("#progress")).to_have_text("3 of 3 segments submitted")
    for page in PAGES:
        tab.goto(f"{server.url}/{page}?project={found.project}")
    assert received.sockets == []
    assert received.found(SECRETS) == []
    tab.context.close()


@pytest.mark.parametrize("name", ["vera", "boss"])
def test_a_viewer_receives_nothing_of_other_projects(team: tuple[Server, World], browser: Browser, name: str) -> None:
    """The manager shows that the bytes are read: for her the other project is in the list of projects."""
    server, found = team
    tab = tab_of(browser, server, found, name)
    received = Received(tab)
    for page in PAGES:
        tab.goto(f"{server.url}/{page}?project={found.project}")
        at_rest(tab)
    tab.goto(f"{server.url}/compare?project={found.project + 1}")
    at_rest(tab)
    tab.wait_for_timeout(500)
    assert received.sockets
    assert received.found((SYSTEMS[0],)) == [SYSTEMS[0]]
    assert bool(received.found(OTHER)) == (name == "boss")
    tab.context.close()

"""Every byte that reaches a browser, websocket frames included: nobody receives what the role must not see.

What annotators receive needs no browser: tests/api/test_blindness.py.
"""

from __future__ import annotations

from contextlib import suppress

from playwright.sync_api import BrowserContext, Page, Response, WebSocket

from core.data import Dataset, Output, Segment
from core.services.people import accounts, sessions
from core.services.people.sessions import SESSION_COOKIE
from tests.browser.conftest import Server, settled

PAGES = ("", "compare", "campaigns", "models")  # all lists of projects


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

    def revealed(self, secrets: tuple[str, ...]) -> list[str]:
        everything = b"\n".join(self.parts)
        return [secret for secret in secrets if secret.encode() in everything]


def receive(context: BrowserContext, team: Server, name: str, addresses: list[str]) -> Received:
    """Open addresses with the login of an account; return what the browser received."""
    store = team.store()
    token = sessions.start(store, accounts.find(store.people, name)).token
    context.clear_cookies()
    context.add_cookies([{"name": SESSION_COOKIE, "value": token, "url": team.url}])
    tab = context.new_page()
    received = Received(tab)
    for address in addresses:
        tab.goto(f"{team.url}/{address}")
        settled(tab)
    return received


def test_a_viewer_receives_nothing_of_other_projects(team: Server, page: Page) -> None:
    """What the manager receives shows that the bytes are read: the other project is in the list of projects."""
    store, own_text, other_text = team.store(), "text-of-the-viewer", "text-of-others"
    shown, hidden = (store.projects.create(name).id for name in ("project-of-the-viewer", "project-of-others"))
    for project, text in ((shown, own_text), (hidden, other_text)):
        store.projects.add(project, Dataset((Segment("d", "1", text),), (Output(f"system-{text}", "d", "1", text),)))
    accounts.set_role(store, "test", shown, accounts.find(store.people, "vera"), "viewer")
    pages = [f"{page}?project={shown}" for page in PAGES]
    received = receive(page.context, team, "vera", [*pages, f"compare?project={hidden}"])
    assert received.sockets
    assert received.revealed((f"system-{own_text}", other_text, "project-of-others")) == [f"system-{own_text}"]
    received = receive(page.context, team, "ann", [f"compare?project={hidden}"])
    assert set(received.revealed((other_text, "project-of-others"))) == {other_text, "project-of-others"}

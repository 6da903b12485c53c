"""What a component sends arrives, once, though the first frame that carries it is lost on the way."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests import hostile
from tests.browser.conftest import Server
from tests.browser.test_inspector import inspected

DROP = """
window.dropped = [];
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (frame) {
  const text = new TextDecoder().decode(frame);
  const lost = window.lose && text.includes(window.lose) ? window.lose : null;
  if (!lost) return send.call(this, frame);
  window.lose = null;
  window.dropped.push(lost);
};
"""


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    return shared


def lose(page: Page, name: str) -> None:
    """Lose the next frame with a message of this name."""
    page.evaluate("(name) => { window.lose = name; }", f'"name":"{name}"')


def lost(page: Page) -> int:
    return int(page.evaluate("window.dropped.length"))


def test_a_lost_close_and_a_lost_inspect_arrive(server: Server, page: Page) -> None:
    page.add_init_script(DROP)
    desk, _, key = inspected(server, page)
    lose(page, "close")
    page.get_by_role("button", name="close", exact=True).click()
    expect(desk).to_have_count(0)
    assert lost(page) == 1
    lose(page, "inspect")
    page.get_by_role("button", name="inspect ").first.click()
    expect(desk).to_be_visible()
    assert lost(page) == 2
    page.wait_for_timeout(6000)  # a repeat that is taken twice would close it again
    expect(desk).to_be_visible()
    assert key.segment_id in page.url


def test_a_lost_step_to_the_next_segment_is_taken_once(server: Server, page: Page, hostile_project: int) -> None:
    page.add_init_script(DROP)
    page.goto(f"{server.url}/compare?project={hostile_project}")
    count = page.locator(".esc-nav b")
    expect(count).to_have_text("1 / 8")
    lose(page, "go")
    page.get_by_role("button", name="next segment").click()
    expect(page.locator(".esc-place")).to_contain_text(hostile.name(1, "G1"))
    page.wait_for_timeout(5000)
    expect(count).to_have_text("2 / 8")
    assert lost(page) == 1
    page.goto(f"{server.url}/annotate?project={hostile_project}")
    page.get_by_label("Name").fill("Cleo")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("1 / 8")).to_be_visible()
    page.locator(".esa-read").click()
    lose(page, "go")
    page.keyboard.press("j")
    expect(page.get_by_text("2 / 8")).to_be_visible()
    page.wait_for_timeout(5000)
    expect(page.get_by_text("2 / 8")).to_be_visible()
    assert lost(page) == 1

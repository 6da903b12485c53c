"""What a component sends arrives, once, though the first frame that carries it is lost on the way."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests import hostile
from tests.browser.conftest import Server, at_rest, settled
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

REPEATS_MS = 6000


@pytest.fixture
def page(own: BrowserContext) -> Page:
    """A tab that can lose messages, and whose clock can be put forward."""
    tab = own.new_page()
    tab.clock.install()
    tab.add_init_script(DROP)
    return tab


def lose(page: Page, name: str) -> None:
    """Lose the next frame with a message of this name."""
    page.evaluate("(name) => { window.lose = name; }", f'"name":"{name}"')


def lost(page: Page) -> int:
    return int(page.evaluate("window.dropped.length"))


def later(page: Page) -> None:
    """Put the clock past the next repeats. A repeat that the server takes again would change the page until it is settled."""
    at_rest(page)
    page.clock.fast_forward(REPEATS_MS)
    settled(page)


def test_a_lost_close_and_a_lost_inspect_arrive(shared: Server, page: Page) -> None:
    desk, _, key = inspected(shared, page)
    lose(page, "close")
    page.get_by_role("button", name="close", exact=True).click()
    expect(desk).to_have_count(0)
    assert lost(page) == 1
    lose(page, "inspect")
    page.get_by_role("button", name="inspect ").first.click()
    expect(desk).to_be_visible()
    assert lost(page) == 2
    later(page)
    expect(desk).to_be_visible()
    assert key.segment_id in page.url


def test_a_lost_step_to_the_next_segment_is_taken_once(shared: Server, page: Page, hostile_project: int) -> None:
    page.goto(f"{shared.url}/compare?project={hostile_project}")
    count = page.locator(".esc-nav b")
    expect(count).to_have_text("1 / 8")
    lose(page, "go")
    page.get_by_role("button", name="next segment").click()
    expect(page.locator(".esc-place")).to_contain_text(hostile.name(1, "G1"))
    later(page)
    expect(count).to_have_text("2 / 8")
    assert lost(page) == 1
    page.goto(f"{shared.url}/annotate?project={hostile_project}")
    page.get_by_label("Name").fill("Cleo")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("1 / 8")).to_be_visible()
    page.locator(".esa-read").click()
    lose(page, "go")
    page.keyboard.press("j")
    page.wait_for_function("() => window.dropped.length === 1")
    later(page)  # the page waits for the repeat
    expect(page.get_by_text("2 / 8")).to_be_visible()
    assert lost(page) == 1

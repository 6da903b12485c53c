"""The span editor on a phone: taps mark words, a swipe scrolls and marks nothing, and what is tapped is large enough."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE, Server
from tests.browser.span_editor import Host, edits, place, project, saved, spans

__all__ = ["project"]
SMALLEST = 36
"""Height in CSS pixels of what a finger taps; WCAG 2.2 AA asks for 24."""


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    return shared


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def host(server: Server, project: int) -> Host:
    return Host(server, project, by_link=True)


def tap(phone: Page, word: str) -> None:
    _, _, x, y = place(phone, word)
    phone.touchscreen.tap(x, y)
    expect(phone.locator(".esa-p.chosen").last).to_contain_text(word)


def swipe(phone: Page, word: str) -> None:
    _, _, x, y = place(phone, word)
    finger = phone.context.new_cdp_session(phone)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(10):
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y - 15 * step}]})
    phone.wait_for_timeout(200)  # the finger rests: else the page scrolls on, and the next tap only stops it
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_segment_is_labelled_by_touch_alone(host: Host, phone: Page) -> None:
    host.open(phone, "touch")
    phone.locator("#instructions summary").tap()
    phone.locator(".esa-text", has_text="weather").evaluate("e => e.scrollIntoView({ block: 'center' })")
    swipe(phone, "weather")
    expect(phone.locator(".esa-p.chosen")).to_have_count(0)
    phone.locator(".esa-text", has_text="weather").evaluate("e => e.scrollIntoView({ block: 'center' })")
    tap(phone, "weather")
    tap(phone, "kept")
    tool = phone.locator(".esa-tool")
    tool.get_by_role("button", name="Major").tap()
    picker = phone.locator(".esa-picker")
    expect(picker).to_be_visible()
    other = phone.locator("[data-verdict=no_error]").last
    other.scroll_into_view_if_needed()
    other.tap()
    expect(picker).to_be_hidden()
    assert other.get_attribute("aria-pressed") == "false"  # a tap beside the list closes it and does nothing else
    tool.get_by_role("button", name="Major").tap()
    expect(picker).to_be_visible()
    small = phone.locator(".esa button:visible, .task-head button:visible").evaluate_all(
        "(all, least) => all.filter((b) => b.getBoundingClientRect().height < least).map((b) => b.textContent)",
        SMALLEST,
    )
    assert small == []
    picker.get_by_role("option", name="Grammar").tap()
    saved(phone)
    ((side, _, _, quote, severity, category),) = spans(edits(host, "touch", "add"))
    assert (side, severity, category) == ("output", "Major", "Fluency/Grammar")
    assert quote.startswith("weather")
    assert quote.endswith("kept")
    tool.get_by_role("button", name="Delete").tap()  # at the span, because the list of spans is out of sight
    for button in phone.locator("[data-verdict=no_error]").all():
        button.tap()
    phone.get_by_test_id("submit").tap()
    expect(phone.locator(".esa-said")).to_contain_text("Submitted. Go on with the button below.")
    assert phone.evaluate("document.documentElement.scrollWidth") == 390

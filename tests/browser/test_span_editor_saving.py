"""What the span editor saved: after a reload, in a second tab, after a killed server, and in locked segments."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE, Server
from tests.browser.span_editor import (
    TEXTS,
    Host,
    annotate,
    category,
    click,
    drag,
    edits,
    host,
    opened,
    own_server,
    project,
    saved,
    spans,
    tab_of,
    text,
)

__all__ = ["annotate", "host", "own_server", "project"]


@pytest.fixture(scope="module")
def server(own_server: Server) -> Server:
    return own_server


def test_a_reload_and_a_second_tab_show_what_was_saved_and_nobody_else_sees_it(
    host: Host, page: Page, browser: Browser
) -> None:
    opened(host, page, "again")
    click(page, "weather")
    page.keyboard.press("1")
    category(page, "spell")
    saved(page)
    host.known(page)
    page.reload()
    expect(page.locator(".esa-p.marked")).to_have_text("weather")
    second = opened(host, page.context.new_page())
    expect(second.locator(".esa-p.marked")).to_have_text("weather")
    other = opened(host, tab_of(browser.new_context()), "somebody else")
    expect(other.locator(".esa-p.marked")).to_have_count(0)
    for name in TEXTS:
        assert name not in other.content()


def marked_beside_a_second_tab(host: Host, page: Page, name: str) -> Page:
    """Mark an error in `page` and return a tab that was opened before it, so that it is stale."""
    opened(host, page, name)
    host.known(page)
    second = opened(host, page.context.new_page())
    click(page, "weather")
    page.keyboard.press("1")
    category(page, "spell")
    saved(page)
    return second


def test_no_error_in_a_stale_tab_erases_nothing_and_shows_both_versions(host: Host, page: Page) -> None:
    second = marked_beside_a_second_tab(host, page, "stale")
    card = second.locator(".esa-output", has_text="weather")
    card.get_by_role("button", name="No error").click()
    versions = second.get_by_role("dialog", name="Two versions").locator(".esa-versions")
    expect(versions).to_contain_text(
        "Saved\nMajor · Fluency/Spelling · “weather”\nYours\nNo error", use_inner_text=True
    )
    assert [a.kind for a in edits(host, "stale")] == ["add"]
    second.get_by_role("button", name="Keep the saved version").click()
    expect(second.locator(".esa-p.marked")).to_have_text("weather")
    card.get_by_role("button", name="No error").click()  # now that she has seen the mark
    saved(second)
    assert [a.kind for a in edits(host, "stale")] == ["add", "verdict"]
    click(page, "home")  # and the first tab has become the stale one
    page.keyboard.press("2")
    category(page, "gram")
    page.get_by_role("button", name="Use my version").click()
    saved(page)
    expect(page.locator(".esa-p.marked")).to_have_text(["weather", "home"])
    assert [a.kind for a in edits(host, "stale")] == ["add", "verdict", "add", "add"]


def test_a_stale_action_is_compared_before_the_segment_is_left(host: Host, page: Page) -> None:
    second = marked_beside_a_second_tab(host, page, "left")
    second.locator(".esa-output", has_text="weather").get_by_role("button", name="No error").click()
    second.keyboard.press("j")
    versions = second.get_by_role("dialog", name="Two versions").locator(".esa-versions")
    expect(versions).to_contain_text("Major · Fluency/Spelling · “weather”")
    expect(versions).to_contain_text("No error")
    assert [a.kind for a in edits(host, "left")] == ["add"]
    second.get_by_role("button", name="Keep the saved version").click()
    second.keyboard.press("j")
    expect(text(second, "Und dann?")).to_be_visible()


def test_a_segment_whose_system_names_were_shown_is_locked(annotate: Host, page: Page) -> None:
    opened(annotate, page, "locked")
    for card in page.locator(".esa-output").all():
        card.get_by_role("button", name="No error").click()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Reveal system names").click()
    page.get_by_role("button", name="Reveal and lock this segment").click()
    expect(page.locator(".esa-name").first).not_to_be_empty()
    expect(page.locator(".esa-said")).to_contain_text("Locked")
    expect(page.locator(".esa-verdicts button:not(:disabled)")).to_have_count(0)
    click(page, "weather")
    page.keyboard.press("1")
    expect(page.locator(".esa-picker")).to_be_hidden()
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    assert [a.kind for a in edits(annotate, "locked")] == ["verdict"] * 3 + ["submit", "reveal"]


def test_a_server_killed_right_after_saved_has_every_label(host: Host, page: Page) -> None:
    opened(host, page, "killed")
    for first, last, severity in (("bad", "bad", "1"), ("kept", "people", "2"), ("home", "home", "3")):
        drag(page, first, last)
        page.keyboard.press(severity)
        category(page, "gram")
    page.locator(".esa-output").nth(2).get_by_role("button", name="Non-translation").click()
    saved(page)
    host.server.kill()
    try:
        kept = edits(host, "killed")
        assert sorted((a.payload["quote"], a.payload["severity"]) for a in kept if a.kind == "add") == [
            ("bad", "Major"),
            ("home", "Neutral"),
            ("kept people", "Minor"),
        ]
        assert [a.payload["value"] for a in kept if a.kind == "verdict"] == ["non_translation"]
    finally:
        host.server.start()


def test_what_a_dead_server_did_not_record_waits_and_is_recorded_once(host: Host, page: Page) -> None:
    opened(host, page, "outage")
    click(page, "weather")
    page.keyboard.press("1")
    category(page, "spell")
    saved(page)
    host.server.kill()
    click(page, "home")
    page.keyboard.press("2")
    category(page, "spell")
    expect(page.get_by_test_id("saved-state")).to_contain_text("not saved yet", timeout=PATIENCE)
    assert len(edits(host, "outage")) == 1
    host.server.start()
    saved(page)
    assert [s[3] for s in spans(edits(host, "outage"))] == ["weather", "home"]


def test_what_waits_in_the_browser_survives_a_reload(host: Host, page: Page) -> None:
    opened(host, page, "reload")
    host.known(page)
    host.server.kill()
    click(page, "home")
    page.keyboard.press("2")
    category(page, "spell")
    expect(page.get_by_test_id("saved-state")).to_contain_text("not saved yet", timeout=PATIENCE)
    host.server.start()
    page.reload()
    expect(page.locator(".esa-p.marked")).to_have_text("home")
    saved(page)
    assert len(edits(host, "reload")) == 1

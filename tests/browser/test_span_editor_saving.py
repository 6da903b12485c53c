"""What the span editor saved: after a reload, in a second tab, and in locked segments."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.span_editor import TEXTS, Host, click, edits, mark, opened, saved, text


def test_only_the_annotator_sees_labels_again_in_any_tab(annotate: Host, link: Host, page: Page) -> None:
    opened(annotate, page, "again")
    mark(page, "weather")
    saved(page)
    annotate.known(page)
    page.reload()
    expect(page.locator(".esa-p.marked")).to_have_text("weather")
    second = opened(annotate, page.context.new_page())
    expect(second.locator(".esa-p.marked")).to_have_text("weather")
    other = opened(link, page.context.new_page(), "somebody else")
    expect(other.locator(".esa-p.marked")).to_have_count(0)
    for name in TEXTS:
        assert name not in other.content()


def test_a_stale_action_is_compared_before_its_segment_is_left(annotate: Host, page: Page) -> None:
    opened(annotate, page, "left")
    annotate.known(page)
    second = opened(annotate, page.context.new_page())
    mark(page, "weather")
    saved(page)
    second.locator(".esa-output", has_text="weather").get_by_role("button", name="No error").click()
    second.keyboard.press("j")
    versions = second.get_by_role("dialog", name="Two versions").locator(".esa-versions")
    expect(versions).to_contain_text("Major · Fluency/Spelling · “weather”")
    expect(versions).to_contain_text("No error")
    assert [a.kind for a in edits(annotate, "left")] == ["add"]
    second.get_by_role("button", name="Keep the saved version").click()
    second.keyboard.press("j")
    expect(text(second, "Und dann?")).to_be_visible()


def test_system_names_are_shown_after_submission_and_lock_it(annotate: Host, page: Page) -> None:
    opened(annotate, page, "locked")
    for card in page.locator(".esa-output").all():
        card.get_by_role("button", name="No error").click()
    expect(page.get_by_text("Reveal system names")).to_have_count(0)
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

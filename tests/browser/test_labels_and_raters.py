"""People in a real browser: marks are drawn as text, and a batch of single outputs is labelled output by output."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, SegmentKey, Span
from core.mqm.actions import label_actions
from core.mqm.log import fold
from core.ports.calibration import Chosen, SavedBatch
from tests.browser.conftest import Server

TEXT = "😀 <b>bad</b> <img src=x onerror=alert(1)> **house**"
SYSTEMS = ("A", "B")


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    store = shared.store()
    project = store.projects.create("people").id
    segments = tuple(Segment("d", str(i), "Quelle") for i in range(3))
    outputs = tuple(Output(s, "d", str(i), f"{TEXT} {s} {i}") for i in range(3) for s in SYSTEMS)
    store.projects.add(project, Dataset(segments, outputs))
    marks = (
        Span("output", 2, 12, TEXT[2:12], "Major", "Accuracy/Addition", "a *note*"),
        Span("output", 5, 30, TEXT[5:30], "Minor", "Style/Unnatural or awkward"),
        Span("source", 0, 6, "Quelle", "Neutral", "Accuracy/Omission"),
    )
    rated = [RatedOutput(OutputKey("A", "d", "0"), rater, found) for rater, found in (("ann", marks), ("bob", ()))]
    for (rater, segment), actions in label_actions(rated).actions.items():
        store.labels.append(project, rater, segment, actions)
    chosen = tuple(Chosen(OutputKey(*key), 0.5) for key in (("B", "d", "2"), ("A", "d", "1"), ("B", "d", "1")))
    store.batches.save(project, SavedBatch("pilot & co", "stratified", 0, "s", chosen, 6))
    return shared


def test_marks_of_both_raters_are_drawn_as_text_after_one_click(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/labels_and_raters?project={server.project('people')}")
    page.get_by_role("tab", name="Largest disagreements").click()
    expect(page.get_by_text("is hidden until you submit")).to_be_visible()
    expect(page.locator(".esm")).to_have_count(0)
    page.get_by_text("Show error spans of all annotators").click()
    columns = page.locator(".esm section")
    expect(columns).to_have_count(2)
    text = f"{TEXT} A 0"
    drawn = columns.first.locator(".esm-text").first.evaluate(
        "p => { const c = p.cloneNode(true); c.querySelectorAll('sup').forEach((s) => s.remove()); return c.textContent; }"
    )
    assert drawn == text
    severities = (
        columns.first.locator(".esm-text")
        .first.locator("mark")
        .evaluate_all(
            "marks => marks.map((m) => [m.className, m.querySelector('bdi').textContent, m.querySelector('sup')?.textContent ?? ''])"
        )
    )
    # the worst severity where marks overlap; each number once, where its mark ends
    assert severities == [["major", text[2:5], ""], ["major", text[5:12], "1"], ["minor", text[12:30], "2"]]
    expect(columns.first.locator(".esm-text").nth(1).locator("mark.neutral")).to_have_text("Quelle3")
    expect(columns.last).to_contain_text("No errors.")
    assert page.locator(".esm img, .esm section b b").count() == 0
    page.get_by_test_id("stMain").get_by_role("link", name="Compare").first.click()
    page.wait_for_url("**/compare?*segment=0*")


def test_the_link_of_a_set_is_copied_and_leads_to_its_outputs_one_by_one(server: Server, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    page.add_init_script(
        "const later = setTimeout; window.setTimeout = (f, ms, ...given) => later(f, ms === 2500 ? 1e8 : ms, ...given)"
    )  # what the button says stays until it is read
    page.goto(f"{server.url}/labels_and_raters?project={server.project('people')}")
    page.get_by_role("tab", name="Calibration sets").click()
    annotate = page.get_by_role("link", name="Annotate this set").get_attribute("href") or ""
    assert annotate.endswith("batch=pilot+%26+co")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    page.get_by_role("button", name="Copy link").click()
    link = f"{server.url}/annotate?project={server.project('people')}&batch=pilot+%26+co"
    expect(page.get_by_label("Link", exact=True)).to_have_value(link)
    page.evaluate("delete navigator.clipboard")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    page.get_by_label("Name", exact=True).fill("zoe")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("0 / 3 labelled")).to_be_visible()
    cards = page.locator(".esa-output")
    expect(cards).to_have_count(1)
    expect(page.get_by_role("textbox", name="Output", exact=True)).to_be_focused()
    expect(cards).to_contain_text("B 2")
    cards.get_by_role("button", name="No error").click()
    page.get_by_test_id("submit").click()
    expect(page.get_by_text("1 / 3 labelled")).to_be_visible()
    page.get_by_test_id("submit").click()  # next unlabelled
    expect(cards).to_have_count(2)
    for number in (0, 1):
        cards.nth(number).get_by_role("button", name="No error").click()
    page.get_by_test_id("submit").click()
    expect(page.get_by_text("3 / 3 labelled")).to_be_visible()
    expect(page.get_by_text("2 of 2 segments of this calibration set submitted")).to_be_visible()
    labels = fold(server.store().labels.events(server.project("people"), rater="zoe"))
    only = labels["zoe", SegmentKey("d", "2")]
    assert only.submitted
    assert (only.of("B").verdict, only.of("A").complete) == ("no_error", False)
    assert "batch=pilot" in page.url
    # outside the batch the other output of that segment is still to be labelled, and can be
    page.goto(f"{server.url}/annotate?project={server.project('people')}&doc=d&segment=2")
    expect(cards).to_have_count(2)
    expect(page.get_by_test_id("submit")).to_contain_text("Submit ⏎")
    next(c for c in cards.all() if "A 2" in c.inner_text()).get_by_role("button", name="No error").click()
    page.get_by_test_id("submit").click()
    expect(page.get_by_text("2 of 3 segments submitted")).to_be_visible()
    for button, shown in (
        ("Annotate all segments", "2 of 3 segments submitted"),
        ("Open “pilot & co”", "3 / 3 labelled"),
    ):
        page.goto(f"{server.url}/annotate?project={server.project('people')}&batch=gone")
        expect(page.get_by_text("has no calibration set “gone”")).to_be_visible()
        page.get_by_role("button", name=button).click()
        expect(page.get_by_text(shown)).to_be_visible()
        expect(page.get_by_text("has no calibration set")).to_have_count(0)

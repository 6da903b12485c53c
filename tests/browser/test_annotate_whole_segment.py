"""A whole segment with every action, by keyboard alone and by mouse alone; where the focus is; long texts and many outputs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from core.data import Dataset, Output, Segment, SegmentKey
from tests.browser.conftest import Server, at_rest
from tests.browser.span_editor import Host, category, drag, saved

PROJECT = "whole segments"
SOURCE = "Gestern regnete es stark. Trotzdem kam Anna."
OUTPUTS = ("It rained hard yesterday. Anna came.", "Rain fell. Anna came anyway.", "Nothing of this.")
LONG = " ".join(f"In {1900 + i} the town of Arden{i} built bridge number {i}." for i in range(150))


@pytest.fixture(scope="module")
def project(shared: Server) -> int:
    store = shared.store()
    project = store.projects.create(PROJECT).id
    short = tuple(Segment("news", str(i), f"{SOURCE} Seite {i}.") for i in (1, 2))
    outputs = [Output(f"sys{n}", *s.key, text) for s in short for n, text in enumerate(OUTPUTS)]
    many = [Output(f"sys{n:02}", "long", "1", f"The town of Arden{n + 60} has a new bridge. " * 5) for n in range(14)]
    outputs.append(Output("sys0", "no source", "1", OUTPUTS[0]))
    segments = (*short, Segment("long", "1", LONG), Segment("no source", "1", None, (LONG,)))
    store.projects.add(project, Dataset(segments, (*outputs, *many)))
    return project


def opened(host: Host, page: Page, name: str, doc: str = "news") -> None:
    host.open(page, name, doc)
    expect(output(page, 1)).to_be_focused()


def output(page: Page, number: int) -> Locator:
    return page.get_by_role("textbox", name=re.compile(rf"^Output( {number})?$"))  # a single one has no number


def shown(page: Page, doc: str, segment: str) -> None:
    """Wait until the address and the editor are at this segment."""
    expect(page).to_have_url(re.compile(f"doc={doc}&segment={segment}"))
    source = LONG if doc == "long" else f"Seite {segment}."
    expect(page.get_by_role("textbox", name="Source", exact=True)).to_contain_text(source)


def kinds(host: Host, rater: str, segment: str = "1") -> list[str]:
    events = host.server.store().labels.events(
        host.project, rater=host.rater(rater), segment=SegmentKey("news", segment)
    )
    return [e.action.kind for e in events if e.action.kind != "open"]


def test_a_segment_with_every_action_by_keyboard_alone(host: Host, page: Page) -> None:
    press, typed = page.keyboard.press, page.keyboard.type
    if host.by_link:
        host.open(page, "Keys")
    else:
        host.open(page)
        expect(page.get_by_label("Name", exact=True)).to_be_visible()
        at_rest(page)  # Enter sends the form once its button is there
        for _ in range(40):
            if page.evaluate("document.activeElement.getAttribute('aria-label') === 'Name'"):
                break
            press("Tab")
        typed("Keys")
        press("Enter")
    expect(output(page, 1)).to_be_focused()  # without a Tab
    press("ArrowRight")
    press("Shift+ArrowRight")
    press("1")
    category(page, "mistr")
    press("3")  # its severity
    press("c")
    category(page, "gram")
    press("t")
    press("k")  # a note of one letter: a longer one would be saved at each pause in typing
    press("Escape")
    press("b")
    press("Shift+ArrowRight")
    press("Enter")
    saved(page)
    assert kinds(host, "Keys") == ["add", "change", "change", "change", "change"]
    press("Escape")
    press("End")
    press("ArrowLeft")
    press("2")
    category(page, "punct")
    press("m")
    press("Shift+M")
    press("Delete")
    press("u")
    press("r")
    press("Control+z")
    press("Control+y")
    saved(page)
    assert kinds(host, "Keys")[5:] == ["add", "delete", "undo", "redo", "undo", "redo"]
    press("Escape")
    press("Shift+Tab")
    expect(page.get_by_role("textbox", name="Source", exact=True)).to_be_focused()
    press("o")  # the omission is in Output 2
    press("ArrowRight")
    press("1")
    saved(page)
    press("Tab")
    press("Tab")
    expect(output(page, 2)).to_be_focused()
    press("d")
    press("d")
    press("?")
    expect(page.get_by_role("dialog", name="Definitions and keys")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog", name="Definitions and keys")).to_be_hidden()
    press("Enter")  # Output 3 is missing: it goes there
    expect(page.locator(".esa-said")).to_contain_text("Output 3: mark an error, or choose")
    expect(output(page, 3)).to_be_focused()
    press("n")
    press("x")
    press("Enter")
    saved(page)
    assert kinds(host, "Keys")[11:] == ["add", "verdict", "verdict", "submit"]
    if not host.by_link:  # there, the names of the systems can be shown now
        press("Enter")
    shown(page, "news", "2")
    expect(output(page, 1)).to_be_focused()
    press("n")
    press("k")
    shown(page, "news", "1")
    expect(output(page, 1)).to_be_focused()  # all are judged, so it is the first
    press("j")
    shown(page, "news", "2")
    expect(output(page, 2)).to_be_focused()  # the first one not judged
    press("g")
    shown(page, "long", "1")
    expect(output(page, 1)).to_be_focused()
    assert kinds(host, "Keys", "2") == ["verdict"]


def test_a_segment_with_every_action_by_mouse_alone(link: Host, page: Page) -> None:
    opened(link, page, "Mouse")
    texts = [output(page, n).inner_text() for n in (1, 2, 3)]
    first, last = texts[0].split()[0], texts[0].split()[-1].rstrip(".")

    def button(name: str) -> Locator:
        return page.locator(".esa").get_by_role("button", name=name)

    drag(page, first, first)
    page.locator(".esa-tool").get_by_role("button", name="Major").click()
    page.get_by_role("option", name="Mistranslation").click()
    button("Neutral").click()
    page.locator(".esa-category").click()
    page.get_by_role("option", name="Grammar").click()
    page.get_by_label("Note on error span 1").click()
    page.keyboard.insert_text("a note")
    button("boundaries").hover()
    page.mouse.down()
    saved(page)  # the note is saved while the button is pressed
    page.mouse.up()
    expect(page.locator(".esa-said")).to_contain_text("Select the new passage")
    drag(page, first, last)
    button("Set boundaries").click()
    saved(page)
    assert kinds(link, "Mouse") == ["add", "change", "change", "change", "change"]
    page.get_by_role("button", name="Delete error span 1").click()
    button("Undo").click()
    expect(page.locator(".esa-p.marked")).not_to_have_count(0)
    button("Redo").click()
    expect(page.locator(".esa-p.marked")).to_have_count(0)
    button("Undo").click()
    saved(page)
    assert kinds(link, "Mouse")[5:] == ["delete", "undo", "redo", "undo"]
    chips = page.get_by_role("group", name="Omission in output").get_by_role("button")
    assert chips.all_inner_texts() == [
        "Output 1",
        "Output 2",
        "Output 3",
    ]  # no bare numbers: they are keys of severities
    chips.nth(1).click()
    drag(page, "Trotzdem", "Trotzdem")
    page.locator(".esa-tool").get_by_role("button", name="Minor").click()
    page.get_by_role("group", name="Error spans of output").get_by_role(
        "button", name="Error spans of output 1"
    ).click()
    page.locator(".esa-quote").click()
    button("help").click()
    button("Close").click()
    page.get_by_test_id("submit").click()
    expect(page.locator(".esa-said")).to_contain_text("1 thing is missing")
    button("No error in output 3").click()
    button("Non-translation in output 3").click()
    page.get_by_test_id("submit").click()
    saved(page)
    assert kinds(link, "Mouse")[9:] == ["add", "verdict", "verdict", "submit"]
    shown(page, "news", "2")
    expect(output(page, 1)).to_be_focused()


def test_tab_goes_to_the_output_and_buttons_keep_the_focus(link: Host, page: Page) -> None:
    opened(link, page, "Focus")
    address = page.url
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    expect(output(page, 1)).to_be_focused()
    page.keyboard.press("n")
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Redo")).to_be_enabled()
    expect(output(page, 1)).to_be_focused()  # there is nothing more to undo, so the button has gone
    saved(page)
    assert page.url == address


def test_a_field_elsewhere_keeps_the_focus_until_it_is_gone(link: Host, page: Page) -> None:
    opened(link, page, "Field")
    page.evaluate("document.body.append(Object.assign(document.createElement('input'), { id: 'field' }))")
    page.locator("#field").focus()
    page.get_by_role("button", name="Next", exact=True).evaluate("e => e.click()")
    shown(page, "news", "2")
    expect(page.locator("#field")).to_be_focused()
    page.evaluate("document.getElementById('field').remove()")
    expect(output(page, 1)).to_be_focused()


def test_a_long_source_scrolls_by_itself_and_follows_the_cursor(link: Host, page: Page) -> None:
    opened(link, page, "Long", "long")
    pane, last = page.locator(".esa-pane"), page.locator(".esa-output").last
    assert pane.evaluate("e => e.scrollHeight > 3 * e.clientHeight && e.clientHeight < innerHeight")
    boxes = [e.bounding_box() for e in (pane, last)]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]  # type: ignore[index]
    town = output(page, 1).inner_text().split()[3]
    page.keyboard.press("ArrowRight")
    expect(page.locator(".esa-near")).to_contain_text(f"town of {town} ")
    expect(page.locator(".esa-near").first).to_be_in_viewport()
    assert pane.evaluate("e => e.scrollTop") > 0
    chips = page.get_by_role("group", name="Error spans of output").get_by_role("button")
    expect(chips).to_have_count(14)
    room = page.locator(".esa-side").bounding_box()
    assert room
    assert all(c.bounding_box()["x"] + c.bounding_box()["width"] <= room["x"] + room["width"] for c in chips.all())  # type: ignore[index]
    assert_cursor_above_footer(page)


def assert_cursor_above_footer(page: Page) -> None:
    """Go through outputs and check that the footer never hides the cursor."""
    for _ in range(3):
        page.keyboard.press("Tab")
        for _ in range(9):
            page.keyboard.press("ArrowDown")
            bottom, foot = page.evaluate(
                "['.esa-chosen, .esa-p.chosen', '.esa-foot'].map((s, i) => document.querySelector(s)?.getBoundingClientRect()[i ? 'top' : 'bottom'])"
            )
            assert bottom <= foot


def test_annotate_leaves_room_for_the_cursor_and_the_footer(annotate: Host, page: Page) -> None:
    opened(annotate, page, "Footer", "long")
    assert_cursor_above_footer(page)
    annotate.known(page)
    store = annotate.server.store()
    job = store.jobs.enqueue(annotate.project, ["chrf"])
    try:
        page.reload()
        expect(page.locator(".st-key-errorscope-foot")).to_be_visible()
        expect(page.locator(".esa-submit")).to_be_visible()
        page.wait_for_function(
            "() => document.querySelector('.esa-submit').getBoundingClientRect().bottom <= document.querySelector('.st-key-errorscope-foot').getBoundingClientRect().top"
        )
    finally:
        store.jobs.cancel(job.id)
    expect(page.locator(".st-key-errorscope-foot")).to_have_count(0)
    page.set_viewport_size({"width": 400, "height": 800})
    wide = "[...document.querySelectorAll('.esa *')].filter((e) => e.getBoundingClientRect().right > 401).length"
    page.wait_for_function(f"() => {wide} === 0")


def test_without_a_source_the_whole_reference_can_be_read(link: Host, page: Page) -> None:
    opened(link, page, "Reference", "no source")
    reference = page.get_by_text(LONG[-40:])
    reference.evaluate("e => e.closest('.esa-pane').scrollTo(0, 1e6)")
    pane, end = page.locator(".esa-pane").bounding_box(), reference.bounding_box()
    assert pane
    assert end
    assert pane["y"] < end["y"] + end["height"] <= pane["y"] + pane["height"]
    assert reference.evaluate("e => e.scrollHeight <= e.clientHeight + 1")

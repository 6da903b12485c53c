"""The span editor in each protocol: by keyboard alone, by mouse alone, by touch; what is missing; refusals; two versions."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.campaigns.protocol import ProtocolName
from core.data import SegmentKey
from core.services.labels.protocols import PROTOCOL_SETTING
from tests.browser.conftest import Server
from tests.browser.protocols import (
    FIRST,
    LAST,
    OUTPUTS,
    SCORES,
    WORD,
    Hands,
    by_keyboard,
    by_mouse,
    fill,
    following,
    host_of,
    kinds,
    labels_of,
    opened,
    track,
)
from tests.browser.span_editor import Host, saved
from tests.browser.test_accessibility import STILL, found

MOST: dict[tuple[str, ProtocolName], int] = {
    ("keyboard", "mqm"): 18, ("keyboard", "esa"): 13, ("keyboard", "cesa"): 21, ("keyboard", "da"): 3,
    ("keyboard", "pairwise"): 1, ("mouse", "mqm"): 7, ("mouse", "esa"): 6, ("mouse", "cesa"): 8, ("mouse", "da"): 2,
    ("mouse", "pairwise"): 1,
}  # fmt: skip
"""Actions for a unit with two errors, until the next unit is shown. `python -m tests.bench.actions` lists them."""
WAYS = {"keyboard": by_keyboard, "mouse": by_mouse}
SCORED: tuple[ProtocolName, ...] = ("esa", "cesa", "da")
SAVES = "**/api/actions"
SETTLED_MS = 450
"""After this time without a key, a score is saved."""


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    store = shared.store()
    for name in OUTPUTS:
        fill(store, name)
    fill(store, "cesa", 24, "many")
    return shared


def finished(page: Page) -> None:
    expect(page.locator("#progress")).to_contain_text("1 of 2")
    following(page)


KEYS: dict[ProtocolName, tuple[set[str], set[str]]] = {
    "mqm": ({"N · X"}, {"S"}),
    "esa": ({"1 · 2", "S", "0 … 9", "I"}, {"N · X", "C"}),
    "cesa": (set(), set()),
    "da": (set(), {"1 · 2", "B", "Shift + arrows"}),
    "pairwise": ({"1 · 2", "0"}, {"S", "0 … 9", "Esc"}),
}
"""Keys that the help of a protocol lists, and keys that it does not."""


def assert_help_lists_keys_that_apply(page: Page, name: ProtocolName) -> None:
    page.keyboard.press("?")
    keys = set(page.locator(".esa-help[open] dl:last-child dt").all_inner_texts())
    assert KEYS[name][0] <= keys
    assert not KEYS[name][1] & keys
    page.keyboard.press("Escape")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_unit_is_labelled_with_one_device_and_kept(server: Server, page: Page, name: ProtocolName, way: str) -> None:
    host = host_of(server, name)
    opened(host, page, way)
    if way == "keyboard":
        assert_help_lists_keys_that_apply(page, name)
    if name == "mqm":
        expect(page.get_by_role("slider")).to_have_count(0)
    assert WAYS[way](Hands(page), name).unit <= MOST[way, name]
    finished(page)
    labels = labels_of(host, way)
    assert labels.submitted
    shown = [labels.of(system) for system in labels.order]
    if name in ("mqm", "esa", "cesa"):
        expected = {(WORD, "Major"), (f"{FIRST} an {LAST}", "Minor")}
        assert {(m.span.quote, m.span.severity) for m in shown[0].marks} == expected
        if name != "mqm":
            assert {m.span.category for m in shown[0].marks} == {"Unspecified"}
    if name in SCORED:
        scores = [of.score for of in shown]
        assert (
            scores == list(SCORES[: OUTPUTS[name]])
            if way == "keyboard"
            else scores == pytest.approx(SCORES[: OUTPUTS[name]], abs=1)
        )
    if name == "pairwise":
        assert labels.preference == (labels.order[1],)
    page.go_back()
    page.reload()
    expect(page.get_by_test_id("submit")).to_contain_text("Next unsubmitted")
    if name in SCORED:
        expect(page.locator(".esa-value").first).to_have_text(f"{shown[0].score:g}")
    if name == "pairwise":
        expect(page.get_by_role("button", name="Output 2 is better")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".esa-better h4")).to_have_text("Output 2")
    if name in ("mqm", "esa", "cesa"):
        expect(page.locator(".esa-mark")).to_have_count(2)
        expect(page.locator(".esa-category")).to_have_count(2 if name == "mqm" else 0)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Und dann?")).to_be_visible()


def test_keys_of_the_scale_make_one_action_per_settled_change(server: Server, own: BrowserContext) -> None:
    host, page = host_of(server, "da"), own.new_page()
    page.clock.install(time=3600)
    opened(host, page, "scale")
    page.clock.pause_at(7200)
    value = page.locator(".esa-value")
    expect(page.locator(".esa-thumb")).to_be_hidden()  # no answer is suggested
    expect(track(page, 1)).to_have_attribute("aria-valuetext", "not set yet")
    assert page.locator(".esa-text[tabindex]").count() == 0  # nothing to mark
    expect(page.locator(".esa-side")).to_be_hidden()
    expect(page.get_by_role("button", name="No error")).to_have_count(0)
    page.keyboard.press("PageDown")  # scrolls, until the score has the focus
    expect(value).to_have_text("not set yet")
    for keys, shown in (
        (("5", "0"), "50"), (("ArrowRight", "ArrowUp", "ArrowUp"), "53"), (("PageUp",), "63"), (("PageDown", "PageDown"), "43"),
        (("ArrowLeft", "ArrowDown"), "41"), (("Home",), "0"), (("End",), "100"), (("7", "Backspace"), "not set yet"),
        (("1", "0", "0"), "100"), (("9", "9"), "99"),
    ):  # fmt: skip
        for key in keys:
            page.keyboard.press(key)
        expect(value).to_have_text(shown)
        with page.expect_response(SAVES):
            page.clock.run_for(SETTLED_MS)
        saved(page)
    assert kinds(host, "scale") == ["score"] * 10
    page.evaluate("document.documentElement.dir = 'rtl'")
    page.keyboard.press("ArrowLeft")  # forward
    expect(value).to_have_text("100")
    rail = page.locator(".esa-rail").bounding_box()
    assert rail
    page.mouse.click(rail["x"] + rail["width"] / 4, rail["y"])
    expect(value).to_have_text("75")


def test_submit_names_the_score_that_is_missing_and_goes_there(server: Server, page: Page) -> None:
    host = host_of(server, "cesa")
    opened(host, page, "missing")
    page.keyboard.press("s")
    page.keyboard.press("8")
    page.keyboard.press("Enter")
    expect(page.locator(".esa-said")).to_contain_text(
        "2 things are missing:Output 2: set the scoreOutput 3: set the score"
    )
    expect(track(page, 2)).to_be_focused()
    page.keyboard.type("90")
    page.get_by_test_id("submit").click()
    expect(page.locator(".esa-said")).to_contain_text("Output 3: set the score")
    expect(track(page, 3)).to_be_focused()
    saved(page)
    assert kinds(host, "missing") == ["score", "score"]
    pair = opened(host_of(server, "pairwise"), page, "missing")
    pair.keyboard.press("Enter")
    expect(pair.locator(".esa-said")).to_contain_text("Choose the better output, or “Equally good”")
    pair.keyboard.press("0")
    finished(pair)


def test_undo_and_redo_of_scores_and_preferences(server: Server, page: Page) -> None:
    host = host_of(server, "esa")
    opened(host, page, "undo")
    page.keyboard.press("Tab")
    with page.expect_response(SAVES):
        page.keyboard.type("40")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("u")  # before the change has settled
    value = page.locator(".esa-value")
    expect(value).to_have_text("40")
    page.keyboard.press("Control+z")
    expect(value).to_have_text("not set yet")
    expect(page.locator(".esa-said")).to_have_text("Undone: score")
    page.keyboard.press("r")
    expect(value).to_have_text("40")
    saved(page)
    assert labels_of(host, "undo").of("sys0").score == 40
    pairs = host_of(server, "pairwise")
    opened(pairs, page, "undo")
    page.keyboard.press("1")
    finished(page)
    page.reload()
    finished(page)
    page.keyboard.press("u")
    expect(page.locator(".esa-better h4")).to_have_text("Output 1")
    expect(page.locator(".esa-said")).to_contain_text("The submission of this segment is withdrawn")
    page.keyboard.press("2")
    finished(page)
    page.get_by_role("button", name="U to undo").click()
    expect(page.locator(".esa-better h4")).to_have_text("Output 2")
    page.keyboard.press("u")
    expect(page.locator(".esa-better h4")).to_have_text("Output 1")
    page.keyboard.press("u")
    expect(page.locator(".esa-better")).to_have_count(0)
    saved(page)
    assert labels_of(pairs, "undo").preference == ()
    assert kinds(pairs, "undo") == ["prefer", "submit", "reopen", "prefer", "submit", "reopen", "undo", "undo"]


def test_who_cannot_judge_a_segment_says_why(server: Server, page: Page) -> None:
    host = host_of(server, "esa")
    opened(host, page, "refuses")
    page.keyboard.press("i")
    dialog = page.get_by_role("dialog", name="I cannot judge this")
    expect(dialog).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator(".esa-decline")).to_contain_text("A text is in the wrong language")
    expect(page.locator(".esa-said")).to_contain_text(
        "A text is in the wrong language"
    )  # the former may be out of sight
    page.keyboard.press("Enter")
    finished(page)
    assert labels_of(host, "refuses").declined == "A text is in the wrong language"
    page.go_back()
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_test_id("submit").click()
    expect(page.locator(".esa-said")).to_contain_text("Output: set the score")
    page.get_by_role("button", name="I cannot judge this").click()
    dialog.get_by_role("radio", name="Another reason").check()
    page.get_by_role("button", name="Save the reason").click()
    expect(dialog).to_be_visible()  # which one?
    page.keyboard.type("x" * 501)
    page.get_by_role("button", name="Save the reason").click()
    page.get_by_test_id("submit").click()
    finished(page)
    assert labels_of(host, "refuses").declined == "x" * 500
    opened(host_of(server, "mqm"), page, "refuses")
    expect(page.get_by_text("I cannot judge this")).to_have_count(0)


@pytest.mark.parametrize("name", ["da", "pairwise"])
def test_two_versions_of_an_answer_are_compared(server: Server, page: Page, name: ProtocolName) -> None:
    host = host_of(server, name)
    opened(host, page, "versions")
    second = opened(host, page.context.new_page(), "versions")
    page.keyboard.press("1")
    page.keyboard.press("Tab")  # settles a score at once
    saved(page)
    second.keyboard.press("2")
    second.keyboard.press("Tab")
    versions = second.get_by_role("dialog", name="Two versions").locator(".esa-versions")
    answers = ("Score 1", "Score 2") if name == "da" else ("Output 1 is better", "Output 2 is better")
    expect(versions).to_contain_text(f"Saved\n{answers[0]}\nYours\n{answers[1]}", use_inner_text=True)
    second.get_by_role("button", name="Use my version").click()
    saved(second)
    labels = labels_of(host, "versions")
    assert labels.of("sys0").score == 2 if name == "da" else labels.preference == (labels.order[1],)


def test_a_finger_sets_the_score_and_scrolls_without_setting_it(server: Server, phone: Page) -> None:
    host = host_of(server, "esa")
    opened(host, phone, "finger")
    where = track(phone, 1)
    where.evaluate("e => e.scrollIntoView({ block: 'center' })")
    box, rail = where.bounding_box(), where.locator(".esa-rail").bounding_box()
    assert box
    assert rail
    assert box["height"] >= 44
    x, y = rail["x"] + rail["width"] / 2, rail["y"] + rail["height"] / 2
    finger = phone.context.new_cdp_session(phone)

    def swipe(by_x: float, by_y: float) -> None:
        finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for step in range(1, 11):
            at = {"x": x + by_x * step / 10, "y": y + by_y * step / 10}
            finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    swipe(0, -150)
    expect(phone.locator(".esa-value")).to_have_text("not set yet")
    where.evaluate("e => e.scrollIntoView({ block: 'center' })")
    swipe(rail["width"] / 4, 0)
    expect(phone.locator(".esa-value")).to_have_text("75")
    phone.touchscreen.tap(x, y)
    expect(phone.locator(".esa-value")).to_have_text("50")
    phone.get_by_test_id("submit").tap()
    expect(phone.locator("#progress")).to_contain_text("1 of 2")
    assert kinds(host, "finger") in (["score", "score", "submit"], ["score", "submit"])
    small = phone.locator(".esa button:visible").evaluate_all(
        "all => all.filter((b) => b.getBoundingClientRect().height < 36).map((b) => b.textContent)"
    )
    assert small == []


@pytest.mark.parametrize("name", ["da", "pairwise", "many"])
def test_everything_fits_a_narrow_window_and_has_no_barrier(server: Server, page: Page, name: str) -> None:
    opened(host_of(server, name), page, "narrow")
    page.evaluate(STILL)
    if name == "many":
        expect(page.get_by_role("slider")).to_have_count(24)
        expect(page.locator(".esa-legend")).to_be_visible()
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert found(page, theme == "dark") == []
    page.set_viewport_size({"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 420
    page.set_viewport_size({"width": 1400, "height": 1000})


def test_annotate_shows_the_protocol_of_the_project_too(server: Server, page: Page) -> None:
    host = Host(server, server.project("pairwise"), by_link=False)
    assert server.store().settings.get(host.project, PROTOCOL_SETTING)
    host.open(page, "on Annotate")
    expect(page.get_by_role("button", name="Equally good")).to_be_visible()
    page.keyboard.press("0")
    expect(page.get_by_test_id("submit")).to_contain_text("Next unsubmitted")
    saved(page)
    events = server.store().labels.events(host.project, rater="on Annotate", segment=SegmentKey("news", "1"))
    assert [e.action.kind for e in events] == ["open", "prefer", "submit"]

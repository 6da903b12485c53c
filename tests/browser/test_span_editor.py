"""The span editor in a real browser: marking by mouse and by keys, saving, and coming back."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from core.data import Dataset, Output, Segment, SegmentKey
from core.mqm.log import fold_segment
from core.ports.labels import Action, Event
from db.store import open_store
from tests.browser.conftest import PATIENCE, ROOT, Server, serving

SCRIPTS = ROOT / "pages" / "_ui" / "components" / "span_annotator"
HERE = SegmentKey("news", "1")
TEXTS = {
    "Aardvark": "😀😀 bad weather 👨‍👩‍👧 kept people at home <b>yesterday</b>.",
    "Buzzard": "ذهب إلى البيت اليوم مع 3 أصدقاء.",
    "Cormorant": "",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    store = open_store(f"sqlite:///{home / 'errorscope.db'}")
    project = store.projects.create("span editor").id
    segments = (Segment("news", "1", "😀 Das Wetter war schlecht."), Segment("news", "2", "Und dann?"))
    outputs = [Output(name, "news", "1", text) for name, text in TEXTS.items()] + [
        Output(name, "news", "2", "And then?") for name in TEXTS
    ]
    store.projects.add(project, Dataset(segments, tuple(outputs)))
    with serving(home, ERRORSCOPE_WORKER="off", ERRORSCOPE_DB="") as running:
        yield running


def edits(server: Server, rater: str, *kinds: str) -> list[Action]:
    store = open_store(f"sqlite:///{server.home / 'errorscope.db'}")
    project = next(p.id for p in store.projects.list() if p.name == "span editor")
    found = [e.action for e in store.labels.events(project, rater=rater, segment=HERE)]
    return [a for a in found if a.kind != "open" and (not kinds or a.kind in kinds)]


def opened(server: Server, tab: Page, name: str = "", segment: str = "1") -> Page:
    store = open_store(f"sqlite:///{server.home / 'errorscope.db'}")
    project = next(p.id for p in store.projects.list() if p.name == "span editor")
    tab.goto(f"{server.url}/annotate?project={project}&doc=news&segment={segment}")
    if name:
        tab.get_by_label("Name", exact=True).fill(name)
        tab.get_by_role("button", name="Start").click()
    expect(tab.locator(".esa-text")).to_have_count(4)
    return tab


def text(tab: Page, holding: str) -> Locator:
    return tab.locator(".esa-text", has_text=holding)


def place(tab: Page, part: str) -> tuple[float, float, float, float]:
    """Left, right, and the middle of a stretch of text on the screen."""
    box = tab.evaluate(
        """part => { for (const e of document.querySelectorAll(".esa-text")) {
          const at = e.textContent.indexOf(part); if (at < 0) continue;
          const range = document.createRange(), walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
          let node, from = 0, begun = false;
          while ((node = walk.nextNode())) {
            if (!begun && at < from + node.length) { range.setStart(node, at - from); begun = true; }
            if (at + part.length <= from + node.length) { range.setEnd(node, at + part.length - from); break; }
            from += node.length; }
          const b = range.getBoundingClientRect(); return [b.left, b.right, (b.left + b.right) / 2, (b.top + b.bottom) / 2]; } }""",
        part,
    )
    return tuple(box)


def drag(tab: Page, first: str, last: str) -> None:
    (left, _, _, y), (_, right, _, y2) = place(tab, first), place(tab, last)
    tab.mouse.move(left + 2, y)
    tab.mouse.down()
    tab.mouse.move((left + right) / 2, y2)
    tab.mouse.move(right - 2, y2)
    tab.mouse.up()


def click(tab: Page, part: str) -> None:
    _, _, x, y = place(tab, part)
    tab.mouse.click(x, y)


def category(tab: Page, typed: str) -> None:
    expect(tab.locator(".esa-picker")).to_be_visible()
    tab.keyboard.type(typed)
    tab.keyboard.press("Enter")


def saved(tab: Page) -> None:
    expect(tab.get_by_test_id("saved-state")).to_contain_text("saved ✓", timeout=PATIENCE)


def spans(actions: list[Action]) -> list[tuple[str, int, int, str, str, str]]:
    return [tuple(a.payload[k] for k in ("side", "start", "end", "quote", "severity", "category")) for a in actions]


def test_a_dragged_span_counts_code_points_and_never_splits_an_emoji(server: Server, page: Page) -> None:
    opened(server, page, "drag")
    drag(page, "weather", "people")
    page.keyboard.press("1")
    category(page, "mistr")
    saved(page)
    # 😀😀 = 2, blank = 3, "bad" and a blank = 7; "weather ", a family of 5 code points, " kept people" end at 32
    (span,) = spans(edits(server, "drag"))
    assert span == ("output", 7, 32, "weather 👨‍👩‍👧 kept people", "Major", "Accuracy/Mistranslation")
    assert edits(server, "drag")[0].system == "Aardvark"


def test_two_clicks_make_a_span_that_may_overlap_and_a_duplicate_is_refused(server: Server, page: Page) -> None:
    opened(server, page, "clicks")
    drag(page, "kept", "home")
    page.locator(".esa-tool").get_by_role("button", name="Minor").click()
    category(page, "gram")
    click(page, "weather")
    click(page, "home")  # marked already, but the second click of two
    page.keyboard.press("2")
    category(page, "gram")
    saved(page)
    assert [s[3] for s in spans(edits(server, "clicks"))] == [
        "kept people at home",
        "weather 👨‍👩‍👧 kept people at home",
    ]
    drag(page, "kept", "home")
    page.keyboard.press("2")
    category(page, "gram")
    expect(page.locator(".esa-said")).to_contain_text("marked already")
    assert len(edits(server, "clicks")) == 2


def test_all_of_it_by_keyboard_in_a_right_to_left_text(server: Server, page: Page) -> None:
    opened(server, page, "keys")
    text(page, "البيت").focus()
    for key in ("ArrowLeft", "ArrowLeft", "Shift+ArrowLeft"):  # forward is to the left: second word, then the third too
        page.keyboard.press(key)
    page.keyboard.press("2")
    category(page, "addition")
    page.keyboard.press("t")
    page.keyboard.type("n1 cr")  # letters that are keys outside a note
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    saved(page)
    actions = edits(server, "keys")
    assert spans(actions)[0] == ("output", 4, 13, "إلى البيت", "Minor", "Accuracy/Addition")
    assert [a.kind for a in actions] == ["add", "change", "change"]
    assert (actions[1].payload["note"], actions[2].payload["severity"]) == ("n1 cr", "Neutral")
    page.keyboard.press("b")
    page.keyboard.press("Alt+Shift+ArrowRight")  # back by one character
    page.keyboard.press("Enter")
    page.keyboard.press("Delete")
    saved(page)
    assert [a.kind for a in edits(server, "keys")][3:] == ["change", "delete"]
    assert edits(server, "keys")[3].payload["quote"] == "إلى البي"


def test_an_omission_is_marked_in_the_source_for_one_output(server: Server, page: Page) -> None:
    opened(server, page, "omission")
    text(page, "البيت").focus()
    page.keyboard.press("Shift+Tab")
    label = page.locator(".esa-output.esa-target h4").inner_text()
    click(page, "Wetter")
    page.keyboard.press("1")
    saved(page)
    (action,) = edits(server, "omission")
    assert spans([action]) == [("source", 6, 12, "Wetter", "Major", "Accuracy/Omission")]
    output = page.locator(".esa-output", has=page.get_by_role("heading", name=label, exact=True))
    assert TEXTS[action.system or ""] in output.inner_text()


def test_undo_redo_and_verdicts(server: Server, page: Page) -> None:
    opened(server, page, "undo")
    click(page, "weather")
    page.keyboard.press("1")
    category(page, "spell")
    page.keyboard.press("n")  # no error: the mark goes
    expect(page.locator(".esa-p.marked")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator(".esa-p.marked")).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(page.locator(".esa-p.marked")).to_have_count(0)
    page.keyboard.press("r")
    expect(page.locator(".esa-p.marked")).to_have_count(1)
    saved(page)
    assert [a.kind for a in edits(server, "undo")] == ["add", "verdict", "undo", "undo", "redo"]


def test_submit_names_what_is_missing_and_goes_there_then_on_to_the_next(server: Server, page: Page) -> None:
    opened(server, page, "submit")
    cards = page.locator(".esa-output")
    page.get_by_role("button", name="No error in output 1", exact=True).click()
    page.get_by_test_id("submit").click()
    expect(page.locator(".esa-said")).to_contain_text("Output 2: mark an error")
    expect(page.locator(".esa-said")).to_contain_text("Output 3: mark an error")
    expect(cards.nth(1).locator(".esa-text")).to_be_focused()
    assert edits(server, "submit", "submit") == []
    page.keyboard.press("x")
    page.get_by_role("button", name="Non-translation in output 3", exact=True).click()
    expect(page.get_by_text("Reveal system names")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Reveal system names")).to_be_visible()
    saved(page)
    assert len(edits(server, "submit", "submit")) == 1
    page.keyboard.press("Enter")
    expect(text(page, "Und dann?")).to_be_visible()
    assert "segment=2" in page.url


def test_a_reload_and_a_second_tab_show_what_was_saved_and_nobody_else_sees_it(
    server: Server, page: Page, browser: Browser
) -> None:
    opened(server, page, "again")
    click(page, "weather")
    page.keyboard.press("1")
    category(page, "spell")
    saved(page)
    page.reload()
    expect(page.locator(".esa-p.marked")).to_have_text("weather")
    second = opened(server, page.context.new_page())
    expect(second.locator(".esa-p.marked")).to_have_text("weather")
    other = opened(server, tab(browser.new_context()), "somebody else")
    expect(other.locator(".esa-p.marked")).to_have_count(0)
    for name in TEXTS:
        assert name not in other.content()


def test_no_error_in_a_stale_tab_erases_nothing_and_shows_both_versions(server: Server, page: Page) -> None:
    opened(server, page, "stale")
    page.wait_for_function("document.cookie.includes('errorscope_annotator=stale')")
    second = opened(server, page.context.new_page())
    click(page, "weather")
    page.keyboard.press("1")
    category(page, "spell")
    saved(page)
    card = second.locator(".esa-output", has_text="weather")
    card.get_by_role("button", name="No error").click()
    versions = second.get_by_role("dialog", name="Two versions").locator(".esa-versions")
    expect(versions).to_contain_text(
        "Saved\nMajor · Fluency/Spelling · “weather”\nYours\nNo error", use_inner_text=True
    )
    assert [a.kind for a in edits(server, "stale")] == ["add"]
    second.get_by_role("button", name="Keep the saved version").click()
    expect(second.locator(".esa-p.marked")).to_have_text("weather")
    card.get_by_role("button", name="No error").click()  # now that she has seen the mark
    saved(second)
    assert [a.kind for a in edits(server, "stale")] == ["add", "verdict"]
    click(page, "home")  # and the first tab has become the stale one
    page.keyboard.press("2")
    category(page, "gram")
    page.get_by_role("button", name="Use my version").click()
    saved(page)
    expect(page.locator(".esa-p.marked")).to_have_text(["weather", "home"])
    assert [a.kind for a in edits(server, "stale")] == ["add", "verdict", "add", "add"]


def test_a_stale_action_in_a_segment_that_was_left_is_compared_on_return(server: Server, page: Page) -> None:
    opened(server, page, "left")
    page.wait_for_function("document.cookie.includes('errorscope_annotator=left')")
    second = opened(server, page.context.new_page())
    click(page, "weather")
    page.keyboard.press("1")
    category(page, "spell")
    saved(page)
    second.locator(".esa-output", has_text="weather").get_by_role("button", name="No error").click()
    second.keyboard.press("j")
    expect(text(second, "Und dann?")).to_be_visible()
    dialog = second.get_by_role("dialog", name="Two versions")
    expect(second.locator(".esa-said").or_(dialog)).to_contain_text(
        re.compile("Not saved: your last change to news / 1|Yours")
    )
    if not dialog.is_visible():
        second.keyboard.press("k")
    expect(dialog.locator(".esa-versions")).to_contain_text("Major · Fluency/Spelling · “weather”")
    expect(dialog.locator(".esa-versions")).to_contain_text("No error")
    assert [a.kind for a in edits(server, "left")] == ["add"]


def test_a_segment_whose_system_names_were_shown_is_locked(server: Server, page: Page) -> None:
    opened(server, page, "locked")
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
    assert [a.kind for a in edits(server, "locked")] == ["verdict"] * 3 + ["submit", "reveal"]


def tab(context: BrowserContext) -> Page:
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def test_a_server_killed_right_after_saved_has_every_label(server: Server, page: Page) -> None:
    opened(server, page, "killed")
    for first, last, severity in (("bad", "bad", "1"), ("kept", "people", "2"), ("home", "home", "3")):
        drag(page, first, last)
        page.keyboard.press(severity)
        category(page, "gram")
    page.locator(".esa-output").nth(2).get_by_role("button", name="Non-translation").click()
    saved(page)
    server.kill()
    try:
        kept = edits(server, "killed")
        assert sorted((a.payload["quote"], a.payload["severity"]) for a in kept if a.kind == "add") == [
            ("bad", "Major"),
            ("home", "Neutral"),
            ("kept people", "Minor"),
        ]
        assert [a.payload["value"] for a in kept if a.kind == "verdict"] == ["non_translation"]
    finally:
        server.start()


def test_what_a_dead_server_did_not_record_waits_and_is_recorded_once(server: Server, page: Page) -> None:
    opened(server, page, "outage")
    click(page, "weather")
    page.keyboard.press("1")
    category(page, "spell")
    saved(page)
    server.kill()
    click(page, "home")
    page.keyboard.press("2")
    category(page, "spell")
    expect(page.get_by_test_id("saved-state")).to_contain_text("not saved yet", timeout=PATIENCE)
    assert len(edits(server, "outage")) == 1
    server.start()
    saved(page)
    assert [s[3] for s in spans(edits(server, "outage"))] == ["weather", "home"]


def test_what_waits_in_the_browser_survives_a_reload(server: Server, page: Page) -> None:
    opened(server, page, "reload")
    page.wait_for_function("document.cookie.includes('errorscope_annotator=reload')")
    server.kill()
    click(page, "home")
    page.keyboard.press("2")
    category(page, "spell")
    expect(page.get_by_test_id("saved-state")).to_contain_text("not saved yet", timeout=PATIENCE)
    server.start()
    page.reload()
    expect(page.locator(".esa-p.marked")).to_have_text("home")
    saved(page)
    assert len(edits(server, "reload")) == 1


def test_a_narrow_window_scrolls_down_only(server: Server, browser: Browser) -> None:
    narrow = tab(browser.new_context(viewport={"width": 400, "height": 800}))
    opened(server, narrow, "narrow")
    wide = narrow.evaluate(
        "[...document.querySelectorAll('.esa *')].filter(e => e.getBoundingClientRect().right > 401).length"
    )
    assert wide == 0


# ---- the pure parts, without a server ------------------------------------------------------------------------------


def in_browser(page: Page, script: str, expression: str, argument: Any) -> Any:
    source = (SCRIPTS / script).read_text(encoding="utf-8")
    return page.evaluate(f"argument => {{ {source}\n return {expression}; }}", argument)


def random_log(seed: int) -> list[dict[str, Any]]:
    """A log as a server would accept it: adds make new marks, changes and deletions may come too late (both sides ignore them)."""
    rng = random.Random(seed)
    log: list[dict[str, Any]] = []
    kinds = ["add"] * 4 + ["change", "delete", "verdict", "undo", "undo", "redo", "submit", "reopen"]
    for number in range(40):
        kind = rng.choice(kinds)
        span = {
            "side": "output",
            "start": number,
            "end": number + 1,
            "quote": "x",
            "severity": "Minor",
            "category": "Other",
        }
        mark = f"m{number if kind == 'add' else rng.randrange(number + 1)}"
        payload: dict[str, Any] = {}
        if kind in ("add", "change"):
            payload = {"mark": mark, **span, "note": f"note {number}"}
        elif kind == "delete":
            payload = {"mark": mark}
        elif kind == "verdict":
            payload = {"value": rng.choice(["no_error", "non_translation", None])}
        output = rng.choice("ab") if kind in ("add", "change", "delete", "verdict") else None
        log.append({"id": str(number), "kind": kind, "output": output, "payload": payload})
    return log


def test_the_browser_folds_the_log_as_the_server_does(page: Page) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for seed in range(60):
        log = random_log(seed)
        ours = fold_segment(
            Event(i, start + timedelta(seconds=i), "r", HERE, Action(a["id"], a["kind"], a["output"], a["payload"]))
            for i, a in enumerate(log)
        )
        theirs = in_browser(
            page,
            "log.js",
            "(f => ({ outputs: Object.fromEntries(f.outputs), submitted: f.submitted, versions: ['verdict', 'undo', 'redo'].map(k => versionFor(f, k, 'a')) }))(fold(argument))",
            log,
        )
        expected = {
            name: {
                "verdict": labels.verdict,
                "marks": [
                    {
                        "id": m.id, "side": m.span.side, "start": m.span.start, "end": m.span.end, "quote": m.span.quote,
                        "severity": m.span.severity, "category": m.span.category, "note": m.span.note,
                    }
                    for m in labels.marks
                ],
            }
            for name, labels in ours.outputs.items()
        }  # fmt: skip
        assert theirs == {
            "outputs": expected,
            "submitted": ours.submitted,
            "versions": [ours.version(kind, "a") for kind in ("verdict", "undo", "redo")],
        }, json.dumps(log)


@pytest.mark.parametrize("raw", ["", "plain", "😀 bad", "a👨‍👩‍👧b", "e\u0301te\u0301", "שלום 🇩🇪!", "x\u2028y\r\n z"])
def test_offsets_are_code_points_and_come_back(page: Page, raw: str) -> None:
    # the browser counts UTF-16 units: one for each code point, two beyond U+FFFF
    units = [sum(1 + (ord(c) > 0xFFFF) for c in raw[:i]) for i in range(len(raw) + 1)]
    script = "(t => argument[1].map(u => [t.points(u), t.units(t.points(u))]))(readText(argument[0]))"
    assert in_browser(page, "text.js", script, [raw, units]) == [[i, u] for i, u in enumerate(units)]
    stops = in_browser(page, "text.js", "readText(argument).stops", raw)
    assert set(stops) <= set(units)


def test_styles_and_scripts_name_no_other_server() -> None:
    for path in Path(SCRIPTS).glob("*.[jc]s*"):
        assert "http" not in path.read_text(encoding="utf-8"), path.name

"""The span editor on the page of a personal link: marking by mouse and by keys, verdicts, submission."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.span_editor import TEXTS, Host, category, click, drag, edits, mark, opened, place, saved, spans, text


def test_a_dragged_span_counts_code_points_and_splits_no_emoji(link: Host, page: Page) -> None:
    opened(link, page, "drag")
    drag(page, "weather", "people")
    page.keyboard.press("1")
    category(page, "mistr")
    saved(page)
    # 😀😀 = 2, blank = 3, "bad" and a blank = 7; "weather ", a family of 5 code points, " kept people" end at 32
    (span,) = spans(edits(link, "drag"))
    assert span == ("output", 7, 32, "weather 👨‍👩‍👧 kept people", "Major", "Accuracy/Mistranslation")
    assert edits(link, "drag")[0].system == "Aardvark"


def dragged_from(page: Page, word: str, by: float, *, rtl: bool) -> str:
    """Drag over a word from so many pixels after its edge; return what is selected meanwhile."""
    left, right, middle, y = place(page, word)
    page.mouse.move(right - by if rtl else left + by, y)
    page.mouse.down()
    page.mouse.move(middle, y)
    page.mouse.move(left + 1 if rtl else right - 1, y)
    selected = page.locator(".esa-p.chosen").all_inner_texts()
    page.mouse.up()
    page.keyboard.press("Escape")
    return "".join(selected)


def test_a_drag_may_begin_on_what_is_drawn_between_letters(link: Host, page: Page) -> None:
    """The cursor is drawn on the edge of the letter from which people drag, and takes the press."""
    offsets = [step / 2 for step in range(-8, 9)]
    opened(link, page, "edges", "2")
    for word in ("Und", "And"):
        for by in offsets:
            text(page, word).first.focus()
            page.keyboard.press("Home")
            assert dragged_from(page, word, by, rtl=False) == word, by
    opened(link, page, "edges", "1")
    for by in offsets:
        text(page, "ذهب").focus()
        page.keyboard.press("Home")
        assert dragged_from(page, "ذهب", by, rtl=True) == "ذهب", by
    for word in ("Wetter", "weather", "إلى"):
        for by in offsets:
            click(page, word)
            page.keyboard.press("Escape")  # the cursor is before the word
            assert dragged_from(page, word, by, rtl=word == "إلى").endswith(word), (word, by)


def test_a_drag_that_leaves_the_text_sideways_reaches_the_end_of_its_line(link: Host, page: Page) -> None:
    opened(link, page, "beside")
    left, _, x, y = place(page, "weather")
    box = text(page, "weather").bounding_box()
    assert box
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(left, y)
    page.mouse.move(box["x"] - 40, y)
    page.mouse.up()
    page.keyboard.press("1")
    category(page, "spell")
    saved(page)
    assert [s[3] for s in spans(edits(link, "beside"))] == ["😀😀 bad weather"]


def test_two_clicks_make_a_span_and_a_duplicate_is_refused(link: Host, page: Page) -> None:
    opened(link, page, "clicks")
    drag(page, "kept", "home")
    page.locator(".esa-tool").get_by_role("button", name="Minor").click()
    category(page, "gram")
    click(page, "weather")
    click(page, "home")  # marked already, but the second click of two
    page.keyboard.press("2")
    category(page, "gram")
    saved(page)
    assert [s[3] for s in spans(edits(link, "clicks"))] == [
        "kept people at home",
        "weather 👨‍👩‍👧 kept people at home",
    ]
    drag(page, "kept", "home")
    page.keyboard.press("2")
    category(page, "gram")
    expect(page.locator(".esa-said")).to_contain_text("marked already")
    assert len(edits(link, "clicks")) == 2


def test_all_of_it_by_keyboard_in_a_right_to_left_text(link: Host, page: Page) -> None:
    opened(link, page, "keys")
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
    actions = edits(link, "keys")
    assert spans(actions)[0] == ("output", 4, 13, "إلى البيت", "Minor", "Accuracy/Addition")
    assert [a.kind for a in actions] == ["add", *["change"] * (len(actions) - 1)]  # a note is saved at each pause too
    assert (actions[-2].payload["note"], actions[-1].payload["severity"]) == ("n1 cr", "Neutral")
    page.keyboard.press("b")
    page.keyboard.press("Alt+Shift+ArrowRight")  # back by one character
    page.keyboard.press("Enter")
    page.keyboard.press("Delete")
    saved(page)
    changed, deleted = edits(link, "keys")[len(actions) :]
    assert (changed.kind, deleted.kind) == ("change", "delete")
    assert changed.payload["quote"] == "إلى البي"


def test_an_omission_is_marked_in_the_source_for_one_output(link: Host, page: Page) -> None:
    opened(link, page, "omission")
    text(page, "البيت").focus()
    page.keyboard.press("Shift+Tab")
    label = page.locator(".esa-output.esa-target h4").inner_text()
    click(page, "Wetter")
    page.keyboard.press("1")
    saved(page)
    (action,) = edits(link, "omission")
    assert spans([action]) == [("source", 6, 12, "Wetter", "Major", "Accuracy/Omission")]
    output = page.locator(".esa-output", has=page.get_by_role("heading", name=label, exact=True))
    assert TEXTS[action.system or ""] in output.inner_text()


def test_back_shows_the_segment_before_and_instructions_fold_after_the_first(link: Host, page: Page) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    opened(link, page, "back")
    instructions, foot = page.locator("#instructions"), page.locator(".esa-foot")
    expect(instructions).to_have_attribute("open", "")
    box, lower = page.locator(".esa-output .esa-text").first.bounding_box(), foot.bounding_box()
    assert box
    assert lower
    assert box["y"] + 40 < lower["y"]  # a line of the first output is in sight
    page.set_viewport_size({"width": 1400, "height": 1000})
    mark(page, "weather")
    for card in page.locator(".esa-output", has_not_text="weather").all():
        card.get_by_role("button", name="No error").click()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("segment=2$"))
    expect(instructions).not_to_have_attribute("open", "")
    text(page, "And then").first.click()
    page.keyboard.press("n")
    page.go_back()
    expect(page).to_have_url(re.compile("segment=1$"))
    expect(page.locator(".esa-p.marked")).to_have_text("weather")
    expect(page.get_by_test_id("submit")).to_have_text("Next unsubmitted ⏎")
    page.go_forward()
    expect(page.locator("[data-verdict=no_error][aria-pressed=true]")).to_have_count(1)
    page.keyboard.press("u")  # the verdict, not the submission of the segment before
    expect(page.locator("[data-verdict=no_error][aria-pressed=true]")).to_have_count(0)
    saved(page)
    assert [a.kind for a in edits(link, "back")][-1] == "submit"

"""Sentences side by side on Compare, in a real browser: links both ways, the keyboard, the threshold, the path, narrow windows."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from core.data import Dataset, Output, Segment
from core.progress import no_progress
from core.services.compare.alignment import GOOD, Alignment, align
from tests.browser.conftest import Server, at_rest

REFERENCE = (
    "The harbour was closed on Monday. A storm had torn two boats loose. Nobody was hurt 😀. <b>Ferries</b> run again."
)
OUTPUT = "A storm tore two boats loose. The harbour closed on Monday. The mayor opened a 🎪 zoo! Ferries run again."
HEBREW = "הנמל נסגר ביום שני. איש לא נפגע."
LONG = " ".join(f"Number {i} tells of town {i * 7919 % 1009} and its river {i * 104729 % 997}." for i in range(100))
BACK = " ".join(reversed([f"{s}." for s in LONG.rstrip(".").split(". ")]))
TEXTS = {"storm": (REFERENCE, OUTPUT), "right": (HEBREW, HEBREW), "long": (BACK, LONG), "empty": (REFERENCE, "")}


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    store = shared.store()
    project = store.projects.create("harbour")
    segments = tuple(Segment("d", name, None, (reference,)) for name, (reference, _) in TEXTS.items())
    outputs = tuple(Output("alpha", "d", name, text) for name, (_, text) in TEXTS.items())
    store.projects.add(project.id, Dataset(segments, outputs))
    return shared


def opened(server: Server, page: Page, segment: str) -> Locator:
    page.goto(f"{server.url}/compare?project={server.project('harbour')}&doc=d&segment={segment}")
    page.locator(".st-key-alignment-tools").get_by_text("alpha", exact=True).click()
    view = page.locator(".esa")
    expect(view).to_be_visible()
    at_rest(page)  # nothing moves under the pointer
    return view


def rows(view: Locator, side: int) -> Locator:
    """The sentences of the output (0) or of the reference (1)."""
    return view.locator(".esa-text").nth(side).locator("li")


def test_a_sentence_leads_to_its_best_match_above_the_threshold(server: Server, page: Page) -> None:
    """By pointer, by keyboard, and on the map."""
    view, found = opened(server, page, "storm"), align(OUTPUT, REFERENCE, "chrf", no_progress)
    assert found.of_output[:2] == (1, 0)
    rows(view, 0).nth(0).hover()
    expect(view.locator(".esa-here")).to_have_count(2)
    expect(rows(view, 1).nth(1)).to_have_class("esa-here")
    expect(view.locator(".esa-now")).to_contain_text(
        f"sentence 1 ↔ reference, sentence 2: similarity {found.matrix[1, 0]:.2f}"
    )
    place = page.url
    rows(view, 0).nth(0).focus()
    page.keyboard.press("ArrowDown")
    expect(rows(view, 0).nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(rows(view, 1).nth(0)).to_be_focused()
    expect(view.locator(".esa-now")).to_contain_text("best match of both")
    page.keyboard.press("Escape")
    view.locator("h3").hover()
    expect(view.locator(".esa-here")).to_have_count(0)
    assert page.url == place  # the arrows did not go on to another segment
    assert "<b>Ferries</b>" in rows(view, 1).nth(3).inner_text()
    view.locator(".esa-map").focus()
    expect(view.locator(".esa-now")).to_contain_text(f"sentence {found.of_target[0] + 1} ↔ reference, sentence 1")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    column = min(3, found.of_target[0] + 2)
    expect(view.locator(".esa-now")).to_contain_text(
        f"sentence {column + 1} ↔ reference, sentence 3: similarity {found.matrix[2, column]:.2f}"
    )
    assert_threshold_and_path_are_drawn(view, found)


def assert_threshold_and_path_are_drawn(view: Locator, found: Alignment) -> None:
    """The path is that of SMART-L."""

    def alone(side: int, limit: float) -> int:
        return int((found.matrix.max(axis=side).round(2) < limit).sum())

    expect(view.locator(".esa-limit output")).to_have_text(f"{GOOD['chrf']:.2f}")
    assert alone(0, GOOD["chrf"]) == 1
    expect(rows(view, 0).nth(2)).to_contain_text("no good match: possible hallucination")
    expect(view.locator(".esa-summary")).to_contain_text("1 of 4 sentences of the output has no good match")
    slider = view.get_by_role("slider")
    slider.focus()
    for limit in ("0.95", "1.00"):
        slider.fill(str(round(100 * float(limit))))
        for side, name in ((0, "the output"), (1, "the reference")):
            text = f"{alone(side, float(limit))} of 4 sentences of {name}"
            expect(view.locator(".esa-summary")).to_contain_text(text)
    expect(view.locator(".esa-text").nth(1)).to_contain_text("possible omission")
    view.get_by_role("button", name="reset").click()
    expect(view.locator(".esa-alone")).to_have_count(alone(0, GOOD["chrf"]) + alone(1, GOOD["chrf"]))
    expect(view.locator(".esa-path circle")).to_have_count(len(found.recall_path))
    places = [float(x) for x in view.locator(".esa-path circle").evaluate_all("n => n.map(c => c.getAttribute('cx'))")]
    assert places == sorted(places)
    view.get_by_role("button", name="off").click()
    expect(view.locator(".esa-path circle")).to_have_count(0)
    view.get_by_role("button", name="for each sentence of the output").click()
    expect(view.locator(".esa-path circle")).to_have_count(len(found.precision_path))
    for figures, row in zip(found.figures, view.locator("tbody tr").all(), strict=True):
        assert [float(x) for x in row.locator("td").all_inner_texts()] == pytest.approx(figures[1:], abs=6e-4)


def test_every_kind_of_text_is_matched_and_fits_its_window(server: Server, page: Page) -> None:
    """Also texts from right to left, a hundred sentences, and an empty output, which have their own forms."""
    view = opened(server, page, "long")
    expect(rows(view, 0)).to_have_count(100)
    rows(view, 0).nth(1).click()
    expect(rows(view, 1).nth(98)).to_have_class("esa-here")
    expect(rows(view, 1).nth(98)).to_be_in_viewport()
    assert page.evaluate("document.querySelectorAll('.esa-svg *').length") < 400  # not a node per cell
    page.set_viewport_size({"width": 420, "height": 900})
    first, *others = TEXTS
    view = opened(server, page, first)

    def fits(segment: str) -> None:
        expect(page.locator(".esc-place")).to_contain_text(segment)
        at_rest(page)  # the sentences are drawn after the cards
        expect(view).to_be_visible()
        assert view.evaluate("n => n.scrollWidth <= n.clientWidth"), segment
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), segment

    fits(first)
    for segment in others:
        page.get_by_role("button", name="next segment").click()
        fits(segment)
        if segment == "right":
            expect(rows(view, 0)).to_have_count(2)
            number, link = (rows(view, 0).first.locator(part).bounding_box() for part in (".esa-n", ".esa-link"))
            assert number is not None
            assert link is not None
            assert number["x"] > link["x"]
        elif segment == "empty":
            expect(view).to_contain_text("Nothing to match: the output is empty.")
            expect(rows(view, 0)).to_have_count(0)
            expect(rows(view, 1)).to_have_count(4)
            expect(view.locator("svg")).to_have_count(0)

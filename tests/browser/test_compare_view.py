"""Compare in a real browser: labels in the outputs, the table, pinned systems, and long texts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, Span, Value
from core.mqm.actions import label_actions
from core.signature import content_key
from tests.browser.conftest import Server, at_rest

LONG = "The river rose and the town was warned in time. " * 320  # 3,200 words
TEXTS = {"alpha": "The river sank.", "beta": "The river rose.", "gamma": "A river, it rose."}
CHRF = {"alpha": 20.0, "beta": 90.0, "gamma": 50.0}
SANK = Span("output", 10, 14, "sank", "Major", "Accuracy/Mistranslation", "the opposite")
IMAGE = "m => getComputedStyle(m).backgroundImage"
COMMA = Span("output", 7, 8, ",", "Minor", "Fluency/Punctuation")


@pytest.fixture(scope="module")
def project(shared: Server) -> int:
    """Three systems with labels and chrF; the second segment is a document of 3,200 words."""
    store = shared.store()
    segments = (Segment("d", "1", "Der Fluss stieg.", ("The river rose.",)), Segment("d", "2", LONG, (LONG,)))
    outputs = [Output(s, "d", "1", text) for s, text in TEXTS.items()]
    outputs += [Output(s, "d", "2", LONG.replace("warned", s)) for s in TEXTS]
    made = store.projects.create("rivers with labels").id
    store.projects.add(made, Dataset(segments, tuple(outputs)))
    marks = {"alpha": (SANK,), "beta": (), "gamma": (COMMA,)}
    rated = [RatedOutput(OutputKey(s, "d", "1"), "ann", errors) for s, errors in marks.items()]
    for (who, segment), actions in label_actions(rated).actions.items():
        store.labels.append(made, who, segment, actions)
    items = store.projects.dataset(made).items()
    store.scores.put("chrf", "chrf|v:test", {content_key(*i): Value(CHRF[k.system]) for k, i in items}, 1.0)
    return made


def opened(server: Server, page: Page, project: int, segment: str = "1") -> None:
    page.goto(f"{server.url}/compare?project={project}&doc=d&segment={segment}")
    expect(page.locator(".esc-card")).to_have_count(3)
    at_rest(page)


def names(page: Page) -> list[str]:
    return page.locator(".esc-tablebox tbody th bdi").all_inner_texts()


def test_a_card_shows_error_spans_differences_or_texts_only(shared: Server, page: Page, project: int) -> None:
    opened(shared, page, project)
    card = page.locator(".esc-card", has=page.get_by_text("alpha", exact=True))
    expect(card.locator("mark.major")).to_contain_text("sank")
    assert "repeating" not in card.locator("mark.major").evaluate(IMAGE)  # a solid line
    assert "repeating" in page.locator(".esc-card mark.minor").evaluate(IMAGE)
    expect(card.locator(".esl-rows li")).to_contain_text("A ann 1 Major")
    expect(page.locator(".esl-rows li", has_text="no error")).to_have_count(1)
    card.get_by_role("button", name="ann, error 1: Major, Accuracy/Mistranslation “sank”").focus()
    expect(card.locator(".esl-details")).to_contain_text("Major Accuracy/Mistranslation “sank”")
    expect(card.locator(".esl-details .esl-note")).to_have_text("the opposite")
    page.keyboard.press("Escape")
    expect(card.locator(".esl-details")).to_be_hidden()
    page.get_by_role("button", name="differences", exact=True).click()
    expect(card.locator("mark.major")).to_be_hidden()
    expect(card.locator(".esc-output ins").first).to_be_visible()
    legend = page.locator(".esc-legend")
    expect(legend).to_have_text("underlined: not in the reference · ‸ words of the reference are missing here")
    assert (
        legend.locator("ins").evaluate("i => getComputedStyle(i).textDecorationStyle") == "dotted"
    )  # as in the outputs
    expect(card.locator(".esc-values")).to_contain_text("chrF")
    expect(page.locator(".esc-values .best")).to_have_count(2)
    expect(page.locator(".esc-tablebox")).to_be_hidden()  # the same scores
    assert page.get_by_text(re.compile(r"^order\b", re.IGNORECASE)).count() == 1
    page.get_by_role("button", name="texts only").click()
    expect(page.locator(".esc-tablebox")).to_be_visible()
    expect(card.locator(".esc-values")).to_be_hidden()
    expect(card.locator(".esc-output")).to_be_visible()
    expect(card.locator(".esl-rows")).to_contain_text("1 Major")


def test_table_order_pins_and_filter_survive_a_reload(shared: Server, page: Page, project: int) -> None:
    opened(shared, page, project)
    page.keyboard.press("/")
    page.keyboard.type("mqm<-4 category:mistranslation")
    page.keyboard.press("Enter")
    count = page.locator(".esc-nav b")
    expect(count).to_have_text("1 / 1")
    page.wait_for_url(re.compile("filter=mqm"))
    at_rest(page)
    page.get_by_role("button", name="table", exact=True).click()
    expect(page.locator(".esc-card").first).to_be_hidden()
    expect(page.locator(".esc-tablebox mark.major")).to_contain_text("sank")
    expect(page.locator(".esc-tablebox .esc-origin")).to_have_text("labels")
    page.get_by_role("columnheader").get_by_role("button", name="chrF").click()
    assert names(page) == ["beta", "gamma", "alpha"]
    page.locator(".esc-tablebox").get_by_role("button", name="pin gamma").click()
    assert names(page) == ["gamma", "beta", "alpha"]
    page.reload()
    expect(count).to_have_text("1 / 1")
    expect(page.get_by_label("Search or filter")).to_have_value("mqm<-4 category:mistranslation")
    at_rest(page)
    expect(page.locator(".esc-card").first).to_be_hidden()
    assert names(page) == ["gamma", "beta", "alpha"]
    page.get_by_label("order of the outputs").select_option("MQM (labels)")
    page.locator(".esc-tablebox").get_by_role("button", name="pin gamma").click()
    assert names(page) == ["beta", "gamma", "alpha"]


def test_a_long_source_stays_in_sight_and_a_chosen_output_is_shown(shared: Server, page: Page, project: int) -> None:
    opened(shared, page, project, "2")
    source = page.locator(".esc-context")
    assert source.bounding_box()["height"] < 1000
    page.mouse.wheel(0, 600)
    expect(source).to_be_in_viewport(ratio=0.5)
    beside = page.locator(".esc-outputs").bounding_box()
    assert beside["x"] > source.bounding_box()["x"] + 250
    tall = page.locator(".esc-card").first.bounding_box()["height"]
    page.locator(".esc-card").first.get_by_role("button", name=re.compile("show all \\(3,200 words\\)")).first.click()
    assert page.locator(".esc-card").first.bounding_box()["height"] > 3 * tall
    source.get_by_role("button", name=re.compile("show all")).first.click()
    assert source.evaluate("c => c.scrollHeight > 2 * c.clientHeight")  # it scrolls by itself
    page.get_by_role("radio", name="outputs").click()
    rows = page.get_by_test_id("stDataFrame").last
    expect(page.get_by_text("3 outputs with a score, worst first")).to_be_visible()
    at_rest(page)
    rows.scroll_into_view_if_needed()
    rows.click(position={"x": 17, "y": 52})  # the box of the first row
    spot = page.locator(".esc-card.esc-spot")
    expect(spot.locator("mark.major")).to_contain_text("sank")
    expect(spot).to_be_in_viewport()
    expect(page.locator(".esc-place")).to_contain_text("segment 1")


def test_tables_and_cards_use_the_width_of_the_window(shared: Server, page: Page, project: int) -> None:
    opened(shared, page, project, "2")
    source, box = page.locator(".esc-context"), page.locator(".esc-tablebox")
    for width in (1400, 1000, 420):
        page.set_viewport_size({"width": width, "height": 900})
        at_rest(page)
        page.get_by_role("button", name="table", exact=True).click()
        above, below = source.bounding_box(), box.bounding_box()
        assert above["height"] < 300  # folded
        assert above["y"] + above["height"] <= below["y"]
        assert (above["x"], above["width"]) == (below["x"], below["width"])
        box.evaluate("b => b.scrollTo(b.scrollWidth, 0)")
        left, right = box.locator("tbody th").first.bounding_box(), box.locator("tbody td").last.bounding_box()
        assert left["x"] == below["x"]  # the names stay
        assert left["x"] + left["width"] <= right["x"]
        assert right["x"] + right["width"] <= below["x"] + below["width"] + 1
        source.get_by_role("button", name=re.compile("show all")).first.click()
        assert source.bounding_box()["height"] > 1000
        source.get_by_role("button", name="show less").first.click()
        page.get_by_role("button", name="cards", exact=True).click()
        assert (page.locator(".esc-outputs").bounding_box()["x"] > above["x"] + 250) == (width >= 1000)
    for segment in ("segment 2", "segment 1"):
        if segment == "segment 1":
            page.get_by_role("button", name="previous segment").click()
        expect(page.locator(".esc-place")).to_contain_text(segment)
        at_rest(page)
        for view in ("table", "cards"):
            page.get_by_role("button", name=view, exact=True).click()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        left, right = page.locator(".esc-context").bounding_box(), page.locator(".esc-outputs").bounding_box()
        assert left["y"] + left["height"] <= right["y"] + 1


def test_a_table_of_names_alone_is_not_shown(shared: Server, page: Page) -> None:
    store = shared.store()
    made = store.projects.create("rivers without scores").id
    outputs = tuple(Output(s, "d", "1", text) for s, text in TEXTS.items())
    store.projects.add(made, Dataset((Segment("d", "1", None, ("The river rose.",)),), outputs))
    opened(shared, page, made)
    expect(page.locator(".esc-tablebox")).to_be_hidden()
    page.get_by_role("button", name="table", exact=True).click()
    expect(page.locator(".esc-tablebox")).to_be_visible()
    expect(page.locator(".esc-tablebox tbody tr")).to_have_count(3)

"""The inspector on the sample, in a real browser and with the bundled model: rounds, alternatives, an edit of one's own."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from core.data import SegmentKey
from core.ports.store import Store
from core.refine.result import Refinement
from tests.browser.conftest import Server

SECONDS = 2.0


def stored(server: Server) -> tuple[Store, int, str]:
    store = server.store()
    project = next(p for p in store.projects.list() if p.sample)
    return (
        store,
        project.id,
        next(s.signature for s in store.scores.signatures(project.id) if s.metric == "bartscore++"),
    )


def refinements(server: Server, key: SegmentKey) -> dict[str, Refinement]:
    store, project, signature = stored(server)
    found = store.scores.detail(project, signature, key).items()
    return {system: Refinement.from_json(v.detail) for system, v in found if v.detail}


def inspected(server: Server, page: Page) -> tuple[Locator, Refinement, SegmentKey]:
    """The inspector on an output of the sample with several edits, open and warm."""
    store, project, _ = stored(server)
    for segment in store.projects.dataset(project).segments:
        for system, analysis in refinements(server, segment.key).items():
            if len(analysis.steps) >= 3 and len(analysis.tokens) < 40:
                page.goto(f"{server.url}/compare?project={project}&doc={segment.doc_id}&segment={segment.segment_id}")
                page.get_by_role("button", name=f"inspect {system}").click()
                desk = page.locator(".esi")
                expect(desk).to_be_focused()  # it takes the focus a moment after it is drawn
                return desk, analysis, segment.key
    raise AssertionError("the sample has no output with three edits")


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_steps_and_tokens_are_reached_by_keyboard_alone(shared: Server, page: Page) -> None:
    desk, analysis, _ = inspected(shared, page)
    dots = desk.locator(".esi-dot")
    expect(dots).to_have_count(len(analysis.steps) + 1)
    expect(desk.locator(".esi-what")).to_contain_text("next edit")
    first = analysis.steps[0]
    scores = re.findall(r"[−-]?\d+\.\d{3}", desk.locator(".esi-what").inner_text())
    assert number(scores[0]) == pytest.approx(first.before, abs=1e-3)
    assert number(scores[1]) == pytest.approx(first.after, abs=1e-3)
    place = page.url
    desk.focus()
    for _ in analysis.steps:
        page.keyboard.press("ArrowRight")
    expect(desk.locator(".esi-title")).to_contain_text("the refined text")
    expect(dots.last).to_have_attribute("aria-current", "step")
    shown = "".join(desk.locator(".esi-tok b").all_inner_texts())
    assert "".join(analysis.refined.split()) in "".join(shown.split())
    assert number(desk.locator(".esi-what .esi-num").first.inner_text()) == pytest.approx(
        analysis.score_refined, abs=1e-3
    )
    page.keyboard.press("ArrowLeft")
    expect(desk.locator(".esi-title")).to_contain_text(f"Step {len(analysis.steps) - 1}")
    page.keyboard.press("Home")
    expect(desk.locator(".esi-what")).to_contain_text("next edit")
    worst = analysis.steps[0].position
    desk.locator(".esi-tok").nth(worst).focus()
    page.keyboard.press("Enter")
    rows = desk.locator(".esi-near li")
    expect(rows.first).to_be_visible()
    near = [t.strip() for t, _ in analysis.steps[0].alternatives]
    assert [w.strip() for w in desk.locator(".esi-word").all_inner_texts()][: len(near)] == near
    expect(desk.locator(".esi-near .here")).to_have_count(1)  # the token that stands there, with its own probability
    page.keyboard.press("Escape")
    expect(rows).to_have_count(0)
    expect(desk.locator(".esi-tok").nth(worst)).to_be_focused()
    assert page.url == place  # the arrows did not go on to another segment
    page.set_viewport_size({"width": 420, "height": 900})
    desk.locator(".esi-tok").first.click()
    expect(desk.locator(".esi-near")).to_be_visible()
    page.wait_for_function(
        "() => document.querySelector('.esi').scrollWidth <= document.querySelector('.esi').clientWidth"
    )
    page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")


def test_an_own_edit_is_scored_within_two_seconds(shared: Server, page: Page) -> None:
    seconds = []  # of the server's processor, as other tests may keep the machine busy
    for word in ("giraffes", "elephants"):  # the first may have to load the model
        desk, analysis, _ = inspected(shared, page)
        desk.locator(".esi-tok").nth(analysis.steps[0].position).click()
        desk.locator(".esi-own input").fill(word)
        began = shared.processor_seconds()
        page.keyboard.press("Enter")
        expect(desk.locator(".esi-change")).to_have_count(1)
        seconds.append(shared.processor_seconds() - began)
    assert min(seconds) < SECONDS, seconds
    expect(desk.locator(".esi-trytext ins").first).to_contain_text("elephants")
    before, after = (
        number(x) for x in re.findall(r"[−-]?\d+\.\d{3}", desk.locator(".esi-tryfoot").first.inner_text())[:2]
    )
    assert before == pytest.approx(analysis.score_hyp, abs=1e-3)
    change = number(desk.locator(".esi-change").inner_text())
    assert change == pytest.approx(after - before, abs=2e-3)
    assert change < 0  # the word does not belong there


def test_tries_and_labels_of_all_annotators_are_shown_on_demand(shared: Server, page: Page) -> None:
    desk, analysis, key = inspected(shared, page)
    token = desk.locator(".esi-tok").nth(analysis.steps[0].position)
    token.click()
    desk.locator(".esi-word:not(:disabled)").first.click()
    expect(desk.locator(".esi-change")).to_have_count(1)
    desk.get_by_role("button", name="continue from here").click()
    expect(desk.locator(".esi-title")).to_contain_text("your text, try 1")
    desk.locator(".esi-tok").first.click()
    desk.get_by_role("button", name="delete token").click()
    expect(desk.locator(".esi-change")).to_have_count(2)
    expect(desk.locator(".esi-tryfoot").first).to_contain_text("from try 1")
    one = re.findall(r"[−-]?\d+\.\d{3}", desk.locator(".esi-tryfoot").nth(1).inner_text())
    two = re.findall(r"[−-]?\d+\.\d{3}", desk.locator(".esi-tryfoot").first.inner_text())
    assert one[1] == two[0]
    desk.get_by_role("button", name="clear my edits").click()
    expect(desk.locator(".esi-change")).to_have_count(0)
    expect(desk.locator(".esi-title")).to_contain_text("Step 0: the original output")
    page.get_by_text("Labels of all annotators", exact=True).click()
    expect(desk.locator(".esi-overlap")).to_contain_text("stay hidden")
    expect(desk.locator(".esi-layers, .esi-overlap table")).to_have_count(0)
    page.get_by_text("Labels of all annotators", exact=True).click()
    expect(desk.locator(".esi-overlap tbody tr")).to_have_count(3)
    expect(desk.locator(".esi-layers")).to_be_visible()
    expect(page.get_by_text("it would bias your labels")).to_be_visible()
    page.get_by_role("button", name="close", exact=True).click()
    expect(desk).to_have_count(0)
    assert key.segment_id in page.url

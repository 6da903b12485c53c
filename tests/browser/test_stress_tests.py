"""Stress tests in a real browser: they are run and saved, a reload keeps them open, a click opens a cell, texts stay texts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from core.data import Dataset, Output, Segment
from core.robustness.stress.report import as_json, from_json
from core.services.robustness.stress_test_runs import run_settings
from pages._ui.robustness.controls import diff_html
from tests.browser.conftest import Server, at_rest
from tests.reports import report

TEXT = "The old house near the {} river 😀 was sold to a <b>young</b> family on Monday, and they painted it {}."


@pytest.fixture
def project(shared: Server, request: pytest.FixtureRequest) -> int:
    """A project for each test: the page opens the newest run of a project by itself."""
    store = shared.store()
    project = store.projects.create(f"lab {request.node.name}").id
    colours = ("green", "white", "blue", "yellow", "brown", "grey")
    segments = tuple(
        Segment("d", str(i), "Quelle", (TEXT.format("wide", c), TEXT.format("broad", c))) for i, c in enumerate(colours)
    )
    outputs = tuple(
        Output("A", "d", s.segment_id, TEXT.format("large", c)) for s, c in zip(segments, colours, strict=True)
    )
    store.projects.add(project, Dataset(segments, outputs))
    return project


def test_tests_are_run_and_a_reload_keeps_them_open(shared: Server, project: int, page: Page) -> None:
    store = shared.store()
    page.goto(f"{shared.url}/robustness?project={project}")
    page.get_by_text("Stress tests", exact=True).click()
    chosen = page.get_by_test_id("stMultiSelect").filter(has_text="Metrics")
    expect(page.get_by_role("button", name="Run stress tests")).to_be_visible()
    at_rest(page)
    chosen.get_by_role("button", name="Clear all").click()
    expect(chosen.get_by_text("BLEU", exact=True)).to_have_count(0)
    chosen.get_by_role("combobox").fill("chrF")
    chosen.get_by_role("combobox").press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_text("for each of 1 metrics")).to_be_visible()
    page.get_by_role("button", name="Special cases (").click()
    expect(page.get_by_text(re.compile(r"(?<!\d)7 tests: at most .* for each of 1 metrics"))).to_be_visible()
    at_rest(page)
    page.get_by_role("button", name="Run stress tests").click()
    expect(page).to_have_url(re.compile(r"[?&]run=\d+"))
    expect(page.get_by_text("By the rule of He et al. (2023)")).to_be_visible()
    (run,) = (run.id for run in store.stress.list(project))
    assert f"run={run}" in page.url
    assert {t.aspect for t in from_json(store.stress.report(project, run)).tests} == {"special"}
    page.reload()
    expect(page.get_by_text("By the rule of He et al. (2023)")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    assert from_json(download.value.path().read_text(encoding="utf-8")).tests


def test_a_click_on_a_cell_opens_what_stands_behind_it(shared: Server, project: int, page: Page) -> None:
    store = shared.store()
    run = store.stress.save(project, "By hand", as_json(report()), run_settings(report()))
    page.goto(f"{shared.url}/robustness?project={project}&run={run.id}")
    expect(page.get_by_text("BARTScore F (small) fails truncation")).to_be_visible()
    difference = page.locator(".rob-text del")
    expect(difference.first).to_be_visible()
    assert page.locator(".rob-text b").count() == 0
    chart = page.locator(".st-key-lab-wide canvas, .st-key-lab-wide svg.marks").first
    at_rest(page)
    chart.hover(trial=True)  # waits until it keeps its place and its size
    box = chart.bounding_box()
    assert box is not None
    # rows: the heading Fluency, truncation, the heading Special, repetition; columns: BLEU, BARTScore F, chrF
    chart.click(position={"x": box["width"] - 2.5 * 0.9 * (box["width"] - 90) / 3, "y": box["height"] - 40})
    expect(page.get_by_text("BLEU fails repetition")).to_be_visible()


def test_a_right_to_left_text_is_laid_out_so_under_its_label(page: Page) -> None:
    page.set_content(diff_html("تصل العيادة إلى القرية.", "تصل العيادة إلى القرية.", "source"))
    directions = "[...document.querySelectorAll('.rob-text, .rob-text small')].map(e => getComputedStyle(e).direction)"
    assert page.evaluate(directions) == ["rtl", "ltr"]

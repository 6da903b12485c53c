"""Breaking a metric in a real browser: a typed change is scored, drawn as text, kept, and there after a reload."""

from __future__ import annotations

import re

import psutil
import pytest
from playwright.sync_api import Page, expect

from core.data import Dataset, Output, Segment
from tests.browser.conftest import Server, at_rest

GOOD = "She has bought 20 cars in <b>Berlin</b>."


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    store = shared.store()
    project = store.projects.create("robust").id
    segments = (Segment("d", "1", "Quelle", ("She bought 20 cars in <b>Berlin</b>.",)),)
    store.projects.add(project, Dataset(segments, (Output("A", "d", "1", GOOD),)))
    return shared


def assert_models_are_loaded_beside(server: Server) -> None:
    assert server.process is not None
    running = psutil.Process(server.process.pid)
    models = [child for child in running.children() if "core.processes.child" in child.cmdline()]
    loading = [any("libtorch" in part.path for part in one.memory_maps()) for one in (running, *models)]
    assert loading == [False, True]


def test_a_typed_change_is_scored_beside_the_server_and_kept(server: Server, page: Page) -> None:
    store, project = server.store(), server.project("robust")
    page.goto(f"{server.url}/robustness?project={project}")
    expect(page.get_by_text(re.compile("metrics miss(es)? the error"))).to_be_visible()
    changed = page.get_by_role("textbox", name="Changed text")
    changed.fill("שלום.")
    styles = "area => [getComputedStyle(area).unicodeBidi, getComputedStyle(area).textAlign]"
    chosen = page.get_by_test_id("stSelectbox").locator("input").first
    assert [e.evaluate(styles) for e in (changed, chosen)] == [["plaintext", "start"]] * 2  # texts from right to left
    changed.fill("She has bought 90 cars in <b>Berlin</b>.")
    changed.press("Control+Enter")
    difference = page.locator(".rob-text")
    expect(difference.locator("del")).to_have_text("20")
    expect(difference.locator("ins")).to_have_text("90")
    told = "good text → changed text (struck through: removed; underlined: added)"
    assert difference.inner_text() == f"{told}\nShe has bought 2090 cars in <b>Berlin</b>."
    expect(page.get_by_text("Save case")).to_be_visible()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()  # the table with the metrics that need a model
    at_rest(page)
    assert_models_are_loaded_beside(server)
    collection = page.get_by_role("combobox", name="Collection")
    collection.click()
    collection.fill("mine")
    collection.press("Enter")
    page.get_by_role("button", name="Save case").click()
    expect(page.get_by_text("Saved in mine")).to_be_visible()
    page.reload()
    page.get_by_text("Saved cases", exact=True).click()
    expect(page.get_by_text("CSV with scores")).to_be_visible()
    at_rest(page)  # the other section, which shows the same texts, is gone
    expect(page.locator(".rob-text del")).to_have_text("20")
    (case,) = store.cases.list(project)
    assert (case.collection, case.what) == ("mine", "20 → 90")
    assert {s.metric: s.reason for s in case.scores if s.misses_error is None} == {}
    assert {"chrf", "bartscore", "bertscore"} <= {s.metric for s in case.scores}

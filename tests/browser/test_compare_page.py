"""Compare in a browser: λ ranks the cards without rescoring, and what is slow to draw comes after the cards."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from core.data import Dataset, Output, Segment, SegmentKey, Value
from core.ports.projects import Project
from core.ports.store import Store
from core.refine.result import weighted
from core.signature import content_key
from pages._ui.compare.all_segments import PAGE
from tests.browser.conftest import Server, at_rest

BROKEN_WORDS = r"""() => {
  const broken = [];
  let outside = 0;
  for (const name of document.querySelectorAll(".esc-name")) {
    const words = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
      for (const word of words.currentNode.data.matchAll(/[\p{L}\p{N}]+/gu)) {
        const range = document.createRange();
        range.setStart(words.currentNode, word.index);
        range.setEnd(words.currentNode, word.index + word[0].length);
        if (range.getClientRects().length > 1) broken.push(word[0]);
      }
    }
    outside += name.getBoundingClientRect().right > name.closest(".esc-card").getBoundingClientRect().right;
  }
  return { broken, outside };
}"""
"""Returns the words in names of systems that stand in several lines, and the number of names outside of their cards."""


def sample(store: Store) -> Project:
    return next(project for project in store.projects.list() if project.sample)


def ranking(server: Server, key: SegmentKey, lam: float) -> list[str]:
    store = server.store()
    project = sample(store)
    signature = next(s.signature for s in store.scores.signatures(project.id) if s.metric == "bartscore++")
    table = dict(store.scores.column(project.id, signature))
    parts = {k.system: v.parts for k, v in table.items() if k.segment == key}
    return sorted(parts, key=lambda s: -weighted(parts[s]["dist_exp"], parts[s]["dist_imp"], lam))


def wait_for_order(page: Page, names: list[str]) -> None:
    """Wait until the cards stand in this order, from left to right, then down. They move when λ and when the page changes."""
    page.wait_for_function(
        "names => [...document.querySelectorAll('.esc-card')].map(c => [c.getBoundingClientRect(), c.querySelector('.esc-name').textContent])"
        ".sort((a, b) => Math.round(a[0].y) - Math.round(b[0].y) || a[0].x - b[0].x).map(x => x[1]).join('|') === names",
        arg="|".join(names),
    )


def test_the_lambda_slider_ranks_the_cards(shared: Server, page: Page) -> None:
    page.emulate_media(reduced_motion="no-preference")  # the cards move to their places
    store = shared.store()
    project = sample(store)
    keys = [s.key for s in store.projects.dataset(project.id).segments]
    key = next(k for k in keys if ranking(shared, k, 0) != ranking(shared, k, float("inf")))
    page.goto(f"{shared.url}/compare?project={project.id}&doc={key.doc_id}&segment={key.segment_id}")
    expect(page.locator(".esc-card")).to_have_count(4)
    for button, lam in (("Home", 0.0), ("End", float("inf"))):
        at_rest(page)  # cards that are drawn anew have another slider
        page.locator("#esc-lambda").focus()
        page.keyboard.press(button)
        wait_for_order(page, ranking(shared, key, lam))
        expect(page).to_have_url(re.compile("lambda=" + ("inf" if lam else "0")))
        wait_for_order(page, ranking(shared, key, lam))  # the page has drawn them anew


def test_names_of_systems_break_between_words(shared: Server, page: Page) -> None:
    store, long = shared.store(), "Donaudampfschifffahrtsgesellschaftskapitaenskajuete" * 2
    names = ("GPT-4o-mini_fine-tuned_on_news_2026-05-13", "The system of the university of Heidelberg", long)
    project = store.projects.create("long names of systems").id
    outputs = tuple(Output(name, "d", "1", f"Output {k}.") for k, name in enumerate(names))
    store.projects.add(project, Dataset((Segment("d", "1", "source", ()),), outputs))
    page.goto(f"{shared.url}/compare?project={project}")
    expect(page.locator(".esc-card")).to_have_count(len(names))
    for width in (1300, 420):
        page.set_viewport_size({"width": width, "height": 900})
        at_rest(page)
        found = page.evaluate(BROKEN_WORDS)
        assert found == {"broken": [long], "outside": 0}, width


def test_charts_of_a_large_project_come_after_the_cards(shared: Server, page: Page) -> None:
    store, n = shared.store(), PAGE + 1
    project = store.projects.create("many segments").id
    segments = tuple(Segment("d", str(i), "source", ()) for i in range(n))
    store.projects.add(project, Dataset(segments, tuple(Output("A", "d", str(i), f"text {i}") for i in range(n))))
    values = {
        content_key(*item): Value(float(i)) for i, (_, item) in enumerate(store.projects.dataset(project).items())
    }
    store.scores.put("chrf", "chrf|v:1", values, 1.0)
    page.goto(f"{shared.url}/compare?project={project}")
    expect(page.locator(".esc-card")).to_have_count(1)
    expect(page.get_by_role("heading", name="All segments")).to_be_visible()
    expect(page.get_by_text("Loading charts and lists")).to_have_count(0)

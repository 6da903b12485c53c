"""A new server without projects and without models of its own: what the first visits show, and that it starts its worker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.data import Dataset, Output, Segment
from tests.browser.conftest import Server, cancel_jobs, serving

LISTED = """window.listed = [];
new MutationObserver(() => {
  for (const link of document.querySelectorAll('[data-testid="stSidebarNavLink"]')) {
    const text = link.cloneNode(true);
    text.querySelectorAll('[data-testid="stIconMaterial"]').forEach(icon => icon.remove());
    window.listed.push(text.innerText.trim());
  }
}).observe(document, {subtree: true, childList: true})"""


class Visited(NamedTuple):
    """A server, and the entries that the sidebar has had during the first visit."""

    server: Server
    listed: set[str]


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory, context: BrowserContext) -> Iterator[Visited]:
    settings = {"ERRORSCOPE_DB": "", "ERRORSCOPE_NLI": "", "ERRORSCOPE_LM": ""}
    with serving(tmp_path_factory.mktemp("home"), **settings) as server:
        page = context.new_page()
        page.add_init_script(LISTED)
        page.goto(f"{server.url}/models")
        expect(page.get_by_role("tab", name="Metrics")).to_be_visible()
        listed = set(page.evaluate("listed"))
        page.close()
        cancel_jobs(server.store())
        yield Visited(server, listed)


def test_a_new_server_first_opened_at_a_page_never_lists_files(new: Visited) -> None:
    assert {"Projects", "Compare", "Models"} <= new.listed
    assert not [title for title in new.listed if title[:1].islower()]


def test_a_metric_without_weights_says_so_and_offers_the_command(new: Visited, page: Page) -> None:
    page.goto(f"{new.server.url}/models")
    row = page.locator(".es-metrics tbody tr", has=page.get_by_text("Perplexity", exact=True))
    expect(row.locator(".es-state")).to_have_text("○ model missing")
    expect(row).to_contain_text("A causal language model is not configured.")

    page.locator(".st-key-models-state").get_by_text("model missing").click()
    expect(page.locator(".es-metrics tbody tr", has_text="chrF")).to_have_count(0)
    expect(row).to_be_visible()

    page.get_by_role("tab", name="Models").click()
    card = page.locator(".st-key-role-lm")
    expect(card).to_contain_text("Suggested")
    expect(card.locator("code").last).to_contain_text("hf download openai-community/gpt2")
    expect(card.locator("code").last).to_contain_text("--local-dir")
    expect(card.get_by_role("button", name="Look again")).to_be_visible()
    expect(page.locator(".st-key-role-seq2seq")).to_contain_text("bundled")

    page.set_viewport_size({"width": 420, "height": 900})
    expect(card).to_be_visible()
    page.wait_for_function("() => document.documentElement.scrollWidth <= 420")


def test_the_sample_opens_with_its_scores_and_names_the_model(new: Visited, page: Page) -> None:
    page.goto(new.server.url)
    page.get_by_role("button", name="Open the sample").click()
    expect(page.locator(".esc-card")).to_have_count(4)
    expect(page.locator(".esc-card .esc-score").first).to_be_visible()
    expect(page.get_by_text(re.compile("bundled demonstration BART, small")).first).to_be_visible()
    cancel_jobs(new.server.store())


def test_the_server_starts_a_worker_for_its_jobs(new: Visited, page: Page) -> None:
    store = new.server.store()
    project = store.projects.create("to score").id
    store.projects.add(project, Dataset((Segment("d", "1", None, ("one",)),), (Output("A", "d", "1", "two"),)))
    job = store.jobs.enqueue(project, ["chrf"])
    page.goto(f"{new.server.url}/compare?project={project}")
    expect(page.locator(".esc-card .esc-values").first).to_contain_text("chrF")
    assert store.jobs.get(job.id).state == "done"
    store.projects.delete(project)  # a server with other projects offers no sample

"""A new server without projects and without models of its own: what the first visits show, and that it starts its worker."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

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


def test_a_new_server_from_the_first_visit_to_the_first_scores(tmp_path: Path, page: Page) -> None:
    settings = {"ERRORSCOPE_DB": "", "ERRORSCOPE_NLI": "", "ERRORSCOPE_LM": ""}
    with serving(tmp_path / "home", **settings) as server:
        page.add_init_script(LISTED)
        page.goto(f"{server.url}/models")
        expect(page.get_by_role("tab", name="Metrics")).to_be_visible()
        listed = set(page.evaluate("listed"))
        assert {"Projects", "Compare", "Models"} <= listed
        assert not [title for title in listed if title[:1].islower()]  # names of files
        cancel_jobs(server.store())
        assert_missing_model_is_explained(page)
        page.set_viewport_size({"width": 1400, "height": 1000})
        page.goto(server.url)
        page.get_by_role("button", name="Open the sample").click()
        expect(page.locator(".esc-card")).to_have_count(4)
        expect(page.locator(".esc-card .esc-score").first).to_be_visible()
        expect(page.get_by_text(re.compile("bundled demonstration BART, small")).first).to_be_visible()
        cancel_jobs(server.store())
        assert_server_starts_a_worker(server, page)


def assert_missing_model_is_explained(page: Page) -> None:
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


def assert_server_starts_a_worker(server: Server, page: Page) -> None:
    store = server.store()
    project = store.projects.create("to score").id
    store.projects.add(project, Dataset((Segment("d", "1", None, ("one",)),), (Output("A", "d", "1", "two"),)))
    job = store.jobs.enqueue(project, ["chrf"])
    page.goto(f"{server.url}/compare?project={project}")
    expect(page.locator(".esc-card .esc-values").first).to_contain_text("chrF")
    assert store.jobs.get(job.id).state == "done"

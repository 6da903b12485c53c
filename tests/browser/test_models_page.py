"""The Models page in a browser: what a metric lacks is said, and the command is there to copy."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import serving


def test_a_metric_without_weights_says_so_and_offers_the_command(page: Page, tmp_path: Path) -> None:
    settings = {"ERRORSCOPE_DB": "", "ERRORSCOPE_WORKER": "off", "ERRORSCOPE_NLI": "", "ERRORSCOPE_LM": ""}
    with serving(tmp_path / "home", **settings) as server:
        page.goto(f"{server.url}/models")
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
        expect(card.locator("code").last).to_contain_text("ERRORSCOPE_LM=")
        expect(page.locator(".st-key-role-seq2seq")).to_contain_text("bundled")

        page.set_viewport_size({"width": 420, "height": 900})
        expect(card).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 420

"""The list of pages in the sidebar."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import serving

LISTED = """window.listed = [];
new MutationObserver(() => {
  for (const link of document.querySelectorAll('[data-testid="stSidebarNavLink"]')) {
    const text = link.cloneNode(true);
    text.querySelectorAll('[data-testid="stIconMaterial"]').forEach(icon => icon.remove());
    window.listed.push(text.innerText.trim());
  }
}).observe(document, {subtree: true, childList: true})"""


def test_a_new_server_first_opened_at_a_page_never_lists_files(page: Page, tmp_path: Path) -> None:
    page.add_init_script(LISTED)
    with serving(tmp_path / "home", ERRORSCOPE_DB="", ERRORSCOPE_WORKER="off") as server:
        page.goto(f"{server.url}/models")
        expect(page.get_by_role("tab", name="Metrics")).to_be_visible()
        listed = set(page.evaluate("listed"))
    assert {"Projects", "Compare", "Models"} <= listed
    assert not [title for title in listed if title[:1].islower()]

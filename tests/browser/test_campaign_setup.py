"""The set-up of a campaign in a browser: its preview is the editor, and saves nothing."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from core.data import Dataset, Output, Segment
from tests.browser.conftest import Server


def test_the_preview_saves_nothing(shared: Server, page: Page) -> None:
    store = shared.store()
    project = store.projects.create("to preview").id
    segments = (Segment("d", "1", "Quelle"),)
    store.projects.add(project, Dataset(segments, tuple(Output(s, "d", "1", f"The text of {s}.") for s in "AB")))
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "/api/actions" in request.url else None)
    page.goto(f"{shared.url}/campaigns?project={project}&campaign=new&step=start")
    editor = page.locator(".esa-output").first
    expect(editor).to_be_visible()
    editor.get_by_role("textbox").first.focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("1")
    expect(editor).to_contain_text("1 error span")
    expect(page.get_by_text("saved ✓")).to_be_visible()
    assert sent == []
    assert store.labels.raters(project) == []
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('errorscope.outbox/'))") == []

"""A project to annotate, and what a person does in the span editor, for several tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from core.data import Dataset, Output, Segment, SegmentKey
from core.ports.labels import Action
from db.store import open_store
from tests.browser.conftest import PATIENCE, Server, serving

HERE = SegmentKey("news", "1")
TEXTS = {
    "Aardvark": "😀😀 bad weather 👨‍👩‍👧 kept people at home <b>yesterday</b>.",
    "Buzzard": "ذهب إلى البيت اليوم مع 3 أصدقاء.",
    "Cormorant": "",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    store = open_store(f"sqlite:///{home / 'errorscope.db'}")
    project = store.projects.create("span editor").id
    segments = (Segment("news", "1", "😀 Das Wetter war schlecht."), Segment("news", "2", "Und dann?"))
    outputs = [Output(name, "news", "1", text) for name, text in TEXTS.items()] + [
        Output(name, "news", "2", "And then?") for name in TEXTS
    ]
    store.projects.add(project, Dataset(segments, tuple(outputs)))
    with serving(home, ERRORSCOPE_WORKER="off", ERRORSCOPE_DB="") as running:
        yield running


def edits(server: Server, rater: str, *kinds: str) -> list[Action]:
    store = open_store(f"sqlite:///{server.home / 'errorscope.db'}")
    project = next(p.id for p in store.projects.list() if p.name == "span editor")
    found = [e.action for e in store.labels.events(project, rater=rater, segment=HERE)]
    return [a for a in found if a.kind != "open" and (not kinds or a.kind in kinds)]


def opened(server: Server, tab: Page, name: str = "", segment: str = "1") -> Page:
    store = open_store(f"sqlite:///{server.home / 'errorscope.db'}")
    project = next(p.id for p in store.projects.list() if p.name == "span editor")
    tab.goto(f"{server.url}/annotate?project={project}&doc=news&segment={segment}")
    if name:
        tab.get_by_label("Name", exact=True).fill(name)
        tab.get_by_role("button", name="Start").click()
    expect(tab.locator(".esa-text")).to_have_count(4)
    return tab


def text(tab: Page, holding: str) -> Locator:
    return tab.locator(".esa-text", has_text=holding)


def place(tab: Page, part: str) -> tuple[float, float, float, float]:
    """Left, right, and the middle of a stretch of text on the screen."""
    box = tab.evaluate(
        """part => { for (const e of document.querySelectorAll(".esa-text")) {
          const at = e.textContent.indexOf(part); if (at < 0) continue;
          const range = document.createRange(), walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
          let node, from = 0, begun = false;
          while ((node = walk.nextNode())) {
            if (!begun && at < from + node.length) { range.setStart(node, at - from); begun = true; }
            if (at + part.length <= from + node.length) { range.setEnd(node, at + part.length - from); break; }
            from += node.length; }
          const b = range.getBoundingClientRect(); return [b.left, b.right, (b.left + b.right) / 2, (b.top + b.bottom) / 2]; } }""",
        part,
    )
    return tuple(box)


def drag(tab: Page, first: str, last: str) -> None:
    (left, _, _, y), (_, right, _, y2) = place(tab, first), place(tab, last)
    tab.mouse.move(left + 2, y)
    tab.mouse.down()
    tab.mouse.move((left + right) / 2, y2)
    tab.mouse.move(right - 2, y2)
    tab.mouse.up()


def click(tab: Page, part: str) -> None:
    _, _, x, y = place(tab, part)
    tab.mouse.click(x, y)


def category(tab: Page, typed: str) -> None:
    expect(tab.locator(".esa-picker")).to_be_visible()
    tab.keyboard.type(typed)
    tab.keyboard.press("Enter")


def tab_of(context: BrowserContext) -> Page:
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def saved(tab: Page) -> None:
    expect(tab.get_by_test_id("saved-state")).to_contain_text("saved ✓", timeout=PATIENCE)


def spans(actions: list[Action]) -> list[tuple[str, int, int, str, str, str]]:
    return [tuple(a.payload[k] for k in ("side", "start", "end", "quote", "severity", "category")) for a in actions]

"""A project to annotate, both pages that have the span editor, and what a person does in it, for several tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import Locator, Page, expect

from core.data import Dataset, Output, Segment, SegmentKey
from core.ports.labels import Action
from core.ports.store import Store
from core.services.people import links

if TYPE_CHECKING:
    from tests.browser.conftest import Server

HERE = SegmentKey("news", "1")
TEXTS = {
    "Aardvark": "😀😀 bad weather 👨‍👩‍👧 kept people at home <b>yesterday</b>.",
    "Buzzard": "ذهب إلى البيت اليوم مع 3 أصدقاء.",
    "Cormorant": "",
}


def project_to_annotate(store: Store, name: str) -> int:
    project = store.projects.create(name).id
    segments = (Segment("news", "1", "😀 Das Wetter war schlecht."), Segment("news", "2", "Und dann?"))
    outputs = [Output(name, "news", "1", text) for name, text in TEXTS.items()] + [
        Output(name, "news", "2", "And then?") for name in TEXTS
    ]
    store.projects.add(project, Dataset(segments, tuple(outputs)))
    return project


class Host:
    """A page with the span editor: Streamlit's page Annotate, or (`by_link`) the page of a personal link."""

    def __init__(self, server: Server, project: int, *, by_link: bool) -> None:
        self.server, self.project, self.by_link = server, project, by_link
        self.last = ""

    def rater(self, name: str) -> str:
        """The annotator of this name: one per page, because both pages label the same project."""
        return f"{name} by link" if self.by_link else name

    def open(self, tab: Page, name: str = "", doc: str = "news", segment: str = "1") -> None:
        """Open a segment in a tab, without a name as the annotator who was last there in this browser."""
        self.last = name or self.last
        if self.by_link:
            with tab.expect_response("**/api/actions"):  # it asks for what was saved since it was written
                tab.goto(f"{self.address(self.last)}?doc={doc}&segment={segment}")
            return
        tab.goto(f"{self.server.url}/annotate?project={self.project}&doc={doc}&segment={segment}")
        if name:
            tab.get_by_label("Name", exact=True).fill(name)
            tab.get_by_role("button", name="Start").click()

    def address(self, name: str) -> str:
        """The address of a new link for an annotator. Links of the same name are all valid."""
        made = links.create(self.server.store(), "test", self.project, self.rater(name))
        return f"{self.server.url}/{made.path}"

    def known(self, tab: Page) -> None:
        """Wait until the browser knows the annotator again without a name."""
        if not self.by_link:
            tab.wait_for_function(f"document.cookie.includes('errorscope_annotator={self.last}')")


def edits(host: Host, name: str, *kinds: str) -> list[Action]:
    recorded = host.server.store().labels.events(host.project, rater=host.rater(name), segment=HERE)
    found = [e.action for e in recorded]
    return [a for a in found if a.kind != "open" and (not kinds or a.kind in kinds)]


def opened(host: Host, tab: Page, name: str = "", segment: str = "1") -> Page:
    host.open(tab, name, segment=segment)
    expect(tab.locator(".esa-text")).to_have_count(4)
    return tab


def text(tab: Page, holding: str) -> Locator:
    return tab.locator(".esa-text", has_text=holding)


def place(tab: Page, part: str) -> tuple[float, float, float, float]:
    """Left, right, and the middle of a stretch of text on the screen, once it is there and no longer moves."""
    tab.evaluate("delete window.placeBefore")
    found = tab.wait_for_function(
        """part => { for (const e of document.querySelectorAll(".esa-text")) {
          const at = e.textContent.indexOf(part); if (at < 0) continue;
          const range = document.createRange(), walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
          let node, from = 0, begun = false;
          while ((node = walk.nextNode())) {
            if (!begun && at < from + node.length) { range.setStart(node, at - from); begun = true; }
            if (at + part.length <= from + node.length) { range.setEnd(node, at + part.length - from); break; }
            from += node.length; }
          const b = range.getBoundingClientRect(), now = [b.left, b.right, (b.left + b.right) / 2, (b.top + b.bottom) / 2];
          const before = window.placeBefore; window.placeBefore = String(now);
          return document.fonts.status === "loaded" && before === window.placeBefore && now; } }""",
        arg=part,
    )
    return tuple(found.json_value())


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


def mark(tab: Page, word: str, severity: str = "1", typed: str = "spell") -> None:
    """Mark a word with a severity, by its key, and a category, by its first letters."""
    click(tab, word)
    tab.keyboard.press(severity)
    category(tab, typed)


def saved(tab: Page) -> None:
    expect(tab.get_by_test_id("saved-state")).to_contain_text("saved ✓")


def spans(actions: list[Action]) -> list[tuple[str, int, int, str, str, str]]:
    return [tuple(a.payload[k] for k in ("side", "start", "end", "quote", "severity", "category")) for a in actions]

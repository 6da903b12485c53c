"""A project per protocol, and one unit of each labelled by keyboard alone or by mouse alone, with a count of the actions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from playwright.sync_api import Locator, Page, expect

from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.data import Dataset, Output, Segment, SegmentKey
from core.mqm.log import fold_segment
from core.ports.labels import SegmentLabels
from core.ports.store import Store
from core.services.labels.protocols import protocol_settings
from tests.browser.conftest import Server
from tests.browser.span_editor import Host, drag

HERE = SegmentKey("news", "1")
TEXT = "The grey cat sat upon an old mat yesterday evening 😀."
SOURCE = "Die graue Katze saß gestern Abend auf einer alten Matte."
WORD, FIRST, LAST = "cat", "upon", "old"
"""The two errors of each text: a word (Major) and a passage of three words (Minor)."""
OUTPUTS: dict[ProtocolName, int] = {"mqm": 1, "esa": 1, "cesa": 3, "da": 1, "pairwise": 2}
SCORES = (72, 100, 7)


def fill(store: Store, name: ProtocolName, outputs: int | None = None, title: str = "") -> int:
    """Make a project of two segments that is labelled by a protocol, and return its id."""
    project = store.projects.create(title or name).id
    segments = (Segment("news", "1", SOURCE), Segment("news", "2", "Und dann?"))
    systems = [f"sys{n}" for n in range(outputs or OUTPUTS[name])]
    texts = [Output(system, *s.key, TEXT if s.key == HERE else "And then?") for s in segments for system in systems]
    store.projects.add(project, Dataset(segments, tuple(texts)))
    if name != "mqm":
        for setting, value in protocol_settings(PROTOCOLS[name]).items():
            store.settings.put(project, setting, value)
    return project


def host_of(server: Server, title: str) -> Host:
    """The page of personal links to the project of this name."""
    return Host(server, server.project(title), by_link=True)


def labels_of(host: Host, name: str) -> SegmentLabels:
    """The labels of an annotator for the first segment, as the server has them."""
    return fold_segment(host.server.store().labels.events(host.project, rater=host.rater(name), segment=HERE))


def kinds(host: Host, name: str) -> list[str]:
    events = host.server.store().labels.events(host.project, rater=host.rater(name), segment=HERE)
    return [e.action.kind for e in events if e.action.kind != "open"]


class Actions(NamedTuple):
    """What it took from one unit to the next: all actions, and those for errors."""

    unit: int
    errors: int


class Hands:
    """Works on a page with one device, and counts: each key, click or drag is one action."""

    def __init__(self, page: Page) -> None:
        self.page, self.count, self.errors = page, 0, 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.count += 1

    def click(self, where: Locator) -> None:
        where.click()
        self.count += 1

    def drag(self, first: str, last: str) -> None:
        drag(self.page, first, last)
        self.count += 1

    def at(self, number: int, value: int) -> None:
        """Click a value on the scale of an output."""
        rail = track(self.page, number).locator(".esa-rail").bounding_box()
        assert rail
        self.page.mouse.click(rail["x"] + rail["width"] * value / 100, rail["y"] + rail["height"] / 2)
        self.count += 1

    def counted(self, work: Callable[[], None]) -> None:
        """Do the work on the errors of a unit."""
        before = self.count
        work()
        self.errors += self.count - before


def track(page: Page, number: int) -> Locator:
    return page.get_by_role("slider").nth(number - 1)


def following(page: Page) -> None:
    """Wait until the second unit is shown, which follows a submission of the first one."""
    expect(page).to_have_url(re.compile("segment=2$"))
    expect(page.locator(".esa-said")).to_have_text("Submitted · U to undo")


def errors_by_keyboard(hands: Hands, name: ProtocolName) -> None:
    """Mark both errors in the text that has the focus."""
    category = ("g", "r", "a", "Enter") if name == "mqm" else ()
    hands.press("ArrowRight", "ArrowRight", "ArrowRight", "1", *category)
    hands.press("ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "2", *category)


def errors_by_mouse(hands: Hands, name: ProtocolName) -> None:
    """Mark both errors in the first text."""
    for first, last, severity in ((WORD, WORD, "Major"), (FIRST, LAST, "Minor")):
        hands.drag(first, last)
        hands.click(hands.page.locator(".esa-tool").get_by_role("button", name=severity))
        if name == "mqm":
            hands.click(hands.page.get_by_role("option", name="Grammar"))


def by_keyboard(hands: Hands, name: ProtocolName) -> Actions:
    """Label the open unit, which has the focus, and submit it, which shows the next one."""
    asks = PROTOCOLS[name].asks
    if "spans" in asks:
        hands.counted(lambda: errors_by_keyboard(hands, name))
    if "score" in asks:
        for number in range(OUTPUTS[name]):
            if "spans" in asks:
                hands.press("Tab")
            hands.press(*str(SCORES[number]))
            if number + 1 < OUTPUTS[name]:
                hands.press("Tab")
    if "preference" in asks:
        hands.press("2")
    else:
        hands.press("Enter")
    following(hands.page)
    return Actions(hands.count, hands.errors)


def by_mouse(hands: Hands, name: ProtocolName) -> Actions:
    """Label the open unit and submit it, which shows the next one."""
    asks = PROTOCOLS[name].asks
    if "spans" in asks:
        hands.counted(lambda: errors_by_mouse(hands, name))
    if "score" in asks:
        for number in range(OUTPUTS[name]):
            track(hands.page, number + 1).scroll_into_view_if_needed()
            hands.at(number + 1, SCORES[number])
    if "preference" in asks:
        hands.click(hands.page.locator(".esa-output").nth(1))
    else:
        hands.click(hands.page.get_by_test_id("submit"))
    following(hands.page)
    return Actions(hands.count, hands.errors)


def opened(host: Host, page: Page, name: str) -> Page:
    """Open the first segment and wait until the place where work begins has the focus."""
    host.open(page, name)
    expect(page.locator(".esa-output").first).to_be_visible()
    expect(page.locator(".esa :focus")).to_have_count(1)
    return page

"""WCAG 2.2 AA, as far as axe-core finds barriers: nothing serious or critical. The journeys go through all pages in both themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server, at_rest

KNOWN = {
    "list": '[data-testid="stSidebarNavItems"]',
    "listitem": '[data-testid="stSidebarNavItems"] li',
}
"""Findings that Streamlit causes and we cannot mend, by rule with the elements that have them: the groups of the navigation
stand between its list and the entries."""

LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
STILL = """() => {
  const style = new CSSStyleSheet();
  style.replaceSync("*, *::before, *::after { transition: none !important; animation: none !important; }");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, style];
}"""
"""Stops transitions and animations, also on pages that allow no inline styles."""
VIEWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "projects": (".st-key-begin-outputs", ()),
    "compare": (".esc-card", ()),
    "annotate": (".esa-output", ()),
    "labels_and_raters": ("h3", ()),
    "meta_evaluation": (".stDataFrame", ()),
    "calibrate": (".stVegaLiteChart", ()),
    "robustness": (".stVegaLiteChart", ()),
    "access": (".stForm", ("Audit record",)),
    "models": (".es-metrics", ("Models",)),
    "help": ("h3", ("Report a problem",)),
}
"""Every page with an element to wait for, and tabs with more than text to open."""


TABS = "[data-testid=stTab], button[data-testid^=stBaseButton-segmented_control]"
DRAWN_IN_SECTIONS = ("labels_and_raters", "robustness")
"""Pages that draw HTML of their own and charts in their sections."""


def sections(page: Page) -> Iterator[Locator]:
    """The tabs and segmented controls that can be clicked, one after the other, as the page shows them by then."""
    number = 0
    while number < page.locator(TABS).count():
        section = page.locator(TABS).nth(number)
        if section.is_visible() and section.is_enabled():
            yield section
        number += 1


def found(page: Page, dark: bool) -> list[str]:
    """Return the serious and critical findings on what the page shows. Only colours differ in the dark theme."""
    only: dict[str, Any] = {"runOnly": ["color-contrast"] if dark else LEVELS, "resultTypes": ["violations"]}
    violations = Axe().run(page, options=only).response["violations"]
    return [
        f"{v['id']}: {node['target']} {node['failureSummary']}"
        for v in violations
        for node in v["nodes"]
        if v["impact"] in ("serious", "critical") and not is_known(page, v["id"], node["target"][0])
    ]


def is_known(page: Page, rule: str, target: str) -> bool:
    return rule in KNOWN and bool(page.locator(target).first.evaluate("(e, known) => e.matches(known)", KNOWN[rule]))


def test_the_list_of_categories_has_no_serious_barrier(shared: Server, page: Page) -> None:
    page.goto(f"{shared.url}/annotate?project={shared.project('Sample: German and Arabic into English')}")
    page.get_by_label("Name", exact=True).fill("Sample rater A")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(VIEWS["annotate"][0]).first).to_be_visible()
    at_rest(page)
    page.evaluate(STILL)
    page.locator(".esa-output .esa-text").first.dblclick(position={"x": 60, "y": 20})
    page.keyboard.press("1")
    expect(page.get_by_role("combobox", name="Filter categories")).to_be_focused()
    page.keyboard.press("ArrowDown")
    chosen = page.get_by_role("listbox", name="Categories").get_by_role("option", selected=True)
    expect(page.get_by_role("combobox", name="Filter categories")).to_have_attribute(
        "aria-activedescendant", chosen.get_attribute("id") or ""
    )
    assert found(page, dark=False) == []
    page.keyboard.press("Escape")


def test_a_barrier_is_found(page: Page) -> None:
    page.set_content("<html lang=en><title>Grey</title><main><h1 style='color: #bbbbbb'>Grey</h1></main>")
    (one,) = found(page, dark=True)
    assert one.startswith("color-contrast: ")
    assert "#bbbbbb" in one


def test_titles_and_choices_are_whole_in_narrow_windows(shared: Server, page: Page) -> None:
    page.set_viewport_size({"width": 1000, "height": 900})
    page.goto(f"{shared.url}/meta_evaluation?project={shared.project('Sample: German and Arabic into English')}")
    more = page.get_by_test_id("stMain").get_by_role("button", name="More options")
    expect(more).to_be_visible()
    at_rest(page)
    cut = "all => all.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.value || e.textContent)"
    assert page.get_by_test_id("stMain").get_by_test_id("stSelectbox").locator("input").evaluate_all(cut) == []
    assert more.locator("p").evaluate_all(cut) == []
    page.set_viewport_size({"width": 420, "height": 900})
    title = page.get_by_role("heading", name="Meta-evaluation").bounding_box()
    head = page.get_by_test_id("stHeader").bounding_box()
    assert title
    assert head
    assert title["y"] >= head["y"] + head["height"]
    page.set_viewport_size({"width": 1400, "height": 1000})

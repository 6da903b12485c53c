"""Every chart is drawn whatever metrics, systems and people are called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, serving

MARKS = "svg.marks .role-mark path, svg.marks .role-mark line"
PLAIN = ["alpha", "beta", "gamma", "delta"]
HARD = [
    ["a\nb", "a b", "a\r\nb", "\n"],
    ["a\u2028b", "a\u2028b\u2028c", "a\u2029b", "a\u0085b"],
    ["__proto__", "constructor", "toString", "hasOwnProperty"],
    ["a.b[0]", "a\"b'c", "</script>", "${x}"],
    ["a\\", '\\"', "\\n", "a\\\\'b"],
    ["image", "title", "datum", "a\tb\x00c\x1b"],
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), "tests/browser/charts_app.py") as running:
        yield running


def marks(server: Server, page: Page, names: list[str]) -> dict[str, int]:
    """How many marks each chart has, once all of them are drawn or have had the time to be."""
    page.goto(f"{server.url}/?names={quote(json.dumps(names))}")
    expect(page.locator("[class*=st-key-chart-]").last).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    count = f"""() => Object.fromEntries([...document.querySelectorAll('[class*=st-key-chart-]')].map((box) =>
      [box.className.match(/st-key-chart-([\\w-]+)/)[1], box.querySelectorAll('{MARKS}').length]))"""
    before: dict[str, int] = {}
    for _ in range(30):
        page.wait_for_timeout(1000)
        now: dict[str, int] = page.evaluate(count)
        if now == before and all(now.values()):
            break
        before = now
    return before


@pytest.fixture(scope="module")
def drawn(server: Server, browser: object) -> dict[str, int]:
    tab = browser.new_page(viewport={"width": 1400, "height": 1000})  # type: ignore[attr-defined]
    found = marks(server, tab, PLAIN)
    tab.close()
    assert len(found) >= 23
    assert all(found.values()), found
    return found


@pytest.mark.parametrize("names", HARD, ids=ascii)
def test_every_chart_is_drawn_whatever_the_names(
    server: Server, page: Page, drawn: dict[str, int], names: list[str]
) -> None:
    assert marks(server, page, names) == drawn

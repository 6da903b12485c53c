"""Every chart is drawn whatever metrics, systems and people are called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import PATIENCE, Server, at_rest, serving

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


@pytest.fixture(scope="module")
def drawn(server: Server, context: BrowserContext) -> list[dict[str, int]]:
    """How many marks each chart has for each list of names, once all are drawn or have had the time to be."""
    page = context.new_page()
    page.goto(f"{server.url}/?names={quote(json.dumps([PLAIN, *HARD]))}")
    expect(page.locator(f"[class*=st-key-chart-{len(HARD)}-]").last).to_be_visible()
    at_rest(page)
    count = f"""() => Object.fromEntries([...document.querySelectorAll('[class*=st-key-chart-]')].map((box) =>
      [box.className.match(/st-key-chart-([\\w-]+)/)[1], box.querySelectorAll('{MARKS}').length]))"""
    before: dict[str, int] = {}
    for _ in range(PATIENCE // 1000):
        page.wait_for_timeout(1000)
        now: dict[str, int] = page.evaluate(count)
        if now == before and all(now.values()):
            break
        before = now
    page.close()
    found: list[dict[str, int]] = [{} for _ in range(len(HARD) + 1)]
    for name, many in before.items():
        number, chart = name.split("-", 1)
        found[int(number)][chart] = many
    return found


def test_every_chart_of_plain_names_is_drawn(drawn: list[dict[str, int]]) -> None:
    assert len(drawn[0]) >= 23
    assert all(drawn[0].values()), drawn[0]


@pytest.mark.parametrize("number", range(len(HARD)), ids=[ascii(names) for names in HARD])
def test_every_chart_is_drawn_whatever_the_names(drawn: list[dict[str, int]], number: int) -> None:
    assert drawn[number + 1] == drawn[0]

"""Streamlit's own front end with hard names and texts: every chart is drawn, and `escape_markdown` shows texts as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.conftest import Server, at_rest, serving, settled

MARKS = "svg.marks .role-mark path, svg.marks .role-mark line"
PLAIN_NAMES = [f"name {n}" for n in range(12)]
HARD_NAMES = [
    [
        "a\nb", "a b", "a\r\nb", "\n", "a\u2028b", "a\u2028b\u2028c", "a\u2029b", "a\u0085b", "__proto__", "constructor", "toString",
        "hasOwnProperty",
    ],
    [
        "a.b[0]", "a\"b'c", "</script>", "${x}", "a\\", '\\"', "\\n", "a\\\\'b", "image", "title", "datum",
        "a\tb\x00c\x1b",
    ],
]  # fmt: skip
TEXTS = [
    "![x](http://example.invalid/seen.png) [a](http://example.invalid/l) <img src=http://example.invalid/i.png>",
    ":material/home: :material_home: :streamlit: :smile: :red[warm] :help[x] :a-badge[x] ::x &#58;smile&#58;",
    "https://example.invalid/x www.example.invalid me@example.invalid mailto:me@example.invalid http://[::1]/ WWW.A.B",
    "a -- b -> c <- d <-> e >= f <= g ~= h -- i",
    "$x^2$ $$y$$ **b** _i_ ~~s~~ `c` ``d`` \\* \\\\ ^1 [^1] | a | b |",
    "1. first", "# head", "- item",
    "*", "+ x", "> q", "--", "->", ">=0", "===", "---", "- [ ] task", "    code", "\tcode", "1) x", "~~~", "```\ncode\n```",
    "a\nb", "a\n\nb", "a\n    b", "a\n===", "a\n---", "a\r\n# b", "a\u2028# b", "$$\nx\n$$", "| a | b |\n|---|---|\n| c | d |",
    "\u200bwww.example.invalid", "\u200bhttps://example.invalid", "http\u200b://example.invalid", "<https://example.invalid>",
    "[x]: http://example.invalid", "[x][y]", "ftp://example.invalid", "xmpp:a@example.invalid", "://", "http:://a", "&amp; &lt; &copy;",
    "a_b_c d*e*f", "doc_id a_b.csv v1.5-2 example.com _a_b_", "Ünï -- cödé 日本語 עברית", "!", "\\", "<!-- x -->", "<script>alert(1)</script>", "</p><b>x</b>", "x:y:z", ":+1: :-1:", "<->",
    ":small[]", "a:small[]b", "=SUM(A1)", "{x}", "%s", "a​b",
]  # fmt: skip
MARKED_UP = """(box) => [...box.querySelectorAll('[data-testid=stMarkdownContainer] *')].filter((e) =>
  !['P', 'BR', 'STRONG', 'DIV'].includes(e.tagName) && !(e.tagName === 'SPAN' && !e.textContent && !e.children.length)
  && !(e.tagName === 'SPAN' && e.parentElement.tagName === 'P' && e.style.fontSize)
  && !(/^H[1-6]$/.test(e.tagName)) && !(e.tagName === 'SPAN' && /^H[1-6]$/.test(e.parentElement.tagName))).map((e) => e.outerHTML)"""

ALL = "[...document.querySelectorAll('[class*=st-key-at-]')]"
BOXES = f"""(boxes) => boxes.map((box) => [
  [...box.classList].find((c) => c.startsWith('st-key-at-')), box.innerText, ({MARKED_UP})(box),
  [...box.querySelectorAll('a, img, [role=img][aria-label$=icon]:not([data-testid])')].map((e) => e.outerHTML)])"""
"""Name, text, elements that are no plain text, and links, pictures and icons of each box."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), "tests/browser/scripts_app.py") as running:
        yield running


def test_every_chart_is_drawn_whatever_the_names(scripts: Server, page: Page) -> None:
    lists = [PLAIN_NAMES, *HARD_NAMES]
    page.goto(f"{scripts.url}/?script=charts&names={quote(json.dumps(lists))}")
    expect(page.get_by_text("all drawn", exact=True)).to_be_visible()
    at_rest(page)
    boxes = "[...document.querySelectorAll('[class*=st-key-chart-]')]"
    count = f"(box) => box.querySelectorAll('{MARKS}').length"
    with suppress(TimeoutError):  # a chart that is not drawn is named below
        page.wait_for_function(f"{boxes}.every({count})", timeout=60_000)
    found = page.evaluate(f"{boxes}.map((box) => [box.className.match(/st-key-chart-([\\w-]+)/)[1], ({count})(box)])")
    marks: list[dict[str, int]] = [{} for _ in lists]
    for name, many in found:
        number, chart = name.split("-", 1)
        marks[int(number)][chart] = many
    assert len(marks[0]) >= 23
    assert all(marks[0].values()), marks[0]
    for names, drawn in zip(HARD_NAMES, marks[1:], strict=True):
        assert drawn == marks[0], ascii(names)


def words(text: str) -> str:
    """The words of a text, without the characters that isolate those from right to left."""
    return " ".join(text.replace("\u2028", " ").replace("\u2068", "").replace("\u2069", "").split())


def test_every_text_is_shown_as_it_is_in_every_kind_of_widget(scripts: Server, page: Page) -> None:
    foreign: list[str] = []

    def watch(url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1":
            foreign.append(url)

    page.on("request", lambda request: watch(request.url))
    page.goto(f"{scripts.url}/?script=markdown&texts={quote(json.dumps(TEXTS))}")
    expect(page.get_by_text("all drawn", exact=True)).to_be_visible()
    page.wait_for_function(f"{ALL}.length > 0 && {ALL}.every((box) => box.innerText.trim())")  # scripts come late
    settled(page)
    wrong = []
    for name, inner, elements, foreign_elements in page.locator("[class*=st-key-at-]").evaluate_all(BOXES):
        number, kind = name.removeprefix("st-key-at-").split("-", 1)
        text, shown = words(TEXTS[int(number)]), words(inner)
        if kind == "bold":
            fine = shown == words(f"{TEXTS[int(number)]} ({TEXTS[int(number)]})")
        elif kind in ("metric", "table"):
            fine = shown == f"{text} {text}"
        else:
            fine = text in shown if kind in ("expander", "popover", "status") else shown == text
        if not fine or foreign_elements or (kind != "table" and elements):
            wrong.append((kind, text, shown, elements, foreign_elements))
    assert not wrong, "\n".join(map(repr, wrong))
    assert not foreign

"""`escape_markdown` in Streamlit's own front end: what is shown is the text, and nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, serving

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
    "a_b_c d*e*f", "Ünï -- cödé 日本語 עברית", "!", "\\", "<!-- x -->", "<script>alert(1)</script>", "</p><b>x</b>", "x:y:z", ":+1: :-1:", "<->",
    ":small[]", "a:small[]b", "=SUM(A1)", "{x}", "%s", "a​b",
]  # fmt: skip
PLAIN = """(box) => [...box.querySelectorAll('[data-testid=stMarkdownContainer] *')].filter((e) =>
  !['P', 'BR', 'STRONG', 'DIV'].includes(e.tagName) && !(e.tagName === 'SPAN' && !e.textContent && !e.children.length)
  && !(e.tagName === 'SPAN' && e.parentElement.tagName === 'P' && e.style.fontSize)
  && !(/^H[1-6]$/.test(e.tagName)) && !(e.tagName === 'SPAN' && /^H[1-6]$/.test(e.parentElement.tagName))).map((e) => e.outerHTML)"""

ALL = "[...document.querySelectorAll('[class*=st-key-at-]')]"
BOXES = f"""(boxes) => boxes.map((box) => [
  [...box.classList].find((c) => c.startsWith('st-key-at-')), box.innerText, ({PLAIN})(box),
  [...box.querySelectorAll('a, img, [role=img][aria-label$=icon]:not([data-testid])')].map((e) => e.outerHTML)])"""
"""Name, text, elements that are no plain text, and links, pictures and icons of each box."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), "tests/browser/markdown_app.py") as running:
        yield running


def words(text: str) -> str:
    return " ".join(text.replace("\u2028", " ").split())


def test_every_text_is_shown_as_it_is_in_every_kind_of_widget(server: Server, page: Page) -> None:
    foreign: list[str] = []

    def watch(url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1":
            foreign.append(url)

    page.on("request", lambda request: watch(request.url))
    page.goto(f"{server.url}/?texts={quote(json.dumps(TEXTS))}")
    expect(page.get_by_text("all drawn", exact=True)).to_be_visible()
    page.wait_for_function(
        f"{ALL}.length > 0 && {ALL}.every((box) => box.innerText.trim())"
    )  # scripts of widgets come late
    page.wait_for_timeout(3000)  # what would be fetched late
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

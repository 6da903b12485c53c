"""The HTML report of stress tests."""

import html.parser
import json
import re
from typing import Any

import pytest

from core.reports.stress import as_html, methods
from core.robustness.stress.report import LevelResult, Report, StressTestResult, as_json, from_json
from tests.core.robustness.stress.test_report import REPORT
from tests.reports import report

SCRIPT = re.compile(r"<script.*?</script>", re.S)


def cell(**more: object) -> StressTestResult:
    points = (
        LevelResult("a", 0.1, 0.2, 0.5, 0.1, 0.3, 0.1, 0.4, 0.01, None, {"precision": 0.6, "recall": 0.4}),
        LevelResult("b", 0.2, 0.4, 0.3, 0.0, 0.5, 0.3, 0.6, 0.01, 0.9, {"precision": 0.7, "recall": 0.2}),
    )
    plain = StressTestResult("t", "m", 6, 0, 0.8, {"precision": 0.8, "recall": 0.8}, points, "pass", "Why <not>.", True)
    return plain._replace(**more)  # type: ignore[arg-type]


class Checker(html.parser.HTMLParser):
    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        assert not any(name.startswith("on") or name in ("src", "srcset", "style") for name in given)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given["href"] or ""] if "href" in given else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.VOID or self.open.pop() == tag


def test_the_page_is_well_formed_and_loads_nothing() -> None:
    page = as_html(REPORT)
    seen = Checker()
    seen.feed(page)
    assert seen.open == []
    assert seen.links == ["#c0"]
    assert set(seen.links) == {f"#{i}" for i in seen.ids}
    assert not seen.tags & {"link", "img", "iframe", "object"}
    assert "prefers-color-scheme:dark" in page
    assert not re.search(r"https?:|url\(|@import", SCRIPT.sub("", page))


def test_texts_are_escaped_and_their_difference_is_marked() -> None:
    page = SCRIPT.sub("", as_html(REPORT))
    assert "<script" not in page
    assert "She <del>" in page
    assert "&lt;<del>b</del><ins>script</ins>&gt;" in page


def test_a_verdict_has_a_word_and_a_symbol() -> None:
    assert re.search(r'<td><a class="unclear" href="#c0" title="[^"]*">\? inconclusive</a></td>', as_html(REPORT))


def test_reasons_signatures_notes_and_times_are_shown() -> None:
    page = as_html(REPORT)
    for text in ("=At 10 % the mean is 0.3.", "1 could not be changed: 1 too short", "rouge2|v:1", "A note.", "1.2 s"):  # fmt: skip
        assert text in page


def marked(value: object, name: str) -> object:
    """The value with markup in every text, but for the words that the format itself knows."""
    if isinstance(value, str):
        return f"{value}<b onclick=x>\"'&amp;" if name not in ("verdict", "aspect") else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(marked(v, f) for f, v in zip(value._fields, value, strict=True)))
    if isinstance(value, tuple):
        return tuple(marked(v, name) for v in value)
    if isinstance(value, dict):
        return {marked(k, name): marked(v, name) for k, v in value.items()}
    return value


@pytest.mark.parametrize("plain", [REPORT, report()], ids=["one cell", "every verdict"])
def test_markup_in_any_text_of_the_report_stays_text(plain: Report) -> None:
    foul = marked(plain, "")
    assert isinstance(foul, Report)
    page = SCRIPT.sub("", as_html(from_json(as_json(foul))))
    assert "<b" not in page.replace("<blockquote", "").replace("<body", "").replace("<br", "")
    seen = Checker()
    seen.feed(page)
    assert seen.open == []
    assert "b" not in seen.tags


def test_an_unknown_aspect_is_a_group_without_markup() -> None:
    strange = REPORT._replace(tests=(REPORT.tests[0]._replace(aspect="<img src=x>"),))  # type: ignore[arg-type]
    page = SCRIPT.sub("", as_html(strange))
    assert "<img" not in page
    assert page.count("&lt;img src=x&gt;") == 2
    assert 'href="#c0"' in page


def test_advice_is_given_only_for_failures() -> None:
    assert "weighs recall above precision" not in as_html(REPORT)  # unclear
    fails = REPORT._replace(cells=(REPORT.cells[0]._replace(verdict="fail"),))
    assert "weighs recall above precision" in as_html(fails)


def test_methods_state_the_choices() -> None:
    said = methods(REPORT)
    for choice in ("seeds 0 to 4", "1,000 draws", "Holm", "studentised", "strongest level", "halved", "(n − 1)", "a tenth of the standard deviation", "fewer than 5 texts"):  # fmt: skip
        assert choice in said


def test_a_small_model_is_marked() -> None:
    small = REPORT._replace(metrics=(REPORT.metrics[0]._replace(small=True),))
    assert "small bundled model" in as_html(small)
    assert "small bundled model" not in as_html(REPORT)


def drawn(page: str) -> list[dict[str, Any]]:
    """Return the Vega-Lite specifications in a page."""
    specs = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    return [json.loads(spec) for spec in specs]


def test_charts_are_those_of_the_pages() -> None:
    page = as_html(REPORT._replace(cells=(cell(test="truncation", metric="rouge2"),)))
    curve, parts = drawn(page)
    (whole,) = (rows for rows in curve["datasets"].values() if len(rows) == 3)
    assert [(row["label"], row["ratio"], row["mean"]) for row in whole] == [
        ("good text", 0.0, 0.8),
        ("a", 0.2, 0.5),
        ("b", 0.4, 0.3),
    ]
    assert {row["part"] for rows in parts["datasets"].values() for row in rows} == {"precision", "recall"}
    assert 'aria-label="ROUGE-2 under Truncation: Why &lt;not&gt;."' in page


def test_the_charts_need_nothing_from_the_network() -> None:
    page = as_html(REPORT)
    assert "default-src 'none'" in page
    assert "window.vegaEmbed=" in page
    assert all(spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/v6") for spec in drawn(page))


def test_an_undefined_result_has_no_chart_and_no_script() -> None:
    page = as_html(REPORT._replace(cells=(REPORT.cells[0]._replace(gold=None),)))
    assert "<script" not in page
    assert not drawn(page)

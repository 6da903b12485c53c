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


class Checker(html.parser.HTMLParser):
    VOID = ("meta", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        assert not any(name.startswith("on") or name in ("src", "srcset", "style") for name in values)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if "href" in values else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.VOID or self.open.pop() == tag


def drawn(page: str) -> list[dict[str, Any]]:
    """Return the Vega-Lite specifications in a page."""
    return [json.loads(spec) for spec in re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)]


def test_the_page_is_well_formed_loads_nothing_and_shows_all() -> None:
    page = as_html(REPORT)
    seen, text = Checker(page), SCRIPT.sub("", page)
    assert seen.open == []
    assert seen.links == ["#c0"]
    assert set(seen.links) == {f"#{i}" for i in seen.ids}
    assert not seen.tags & {"link", "img", "iframe", "object"}
    assert not re.search(r"https?:|url\(|@import", text)
    assert "default-src 'none'" in page
    assert "window.vegaEmbed=" in page
    assert all(spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/v6") for spec in drawn(page))
    assert "<script" not in text
    assert re.search(r'<td><a class="unclear" href="#c0" title="[^"]*">\? inconclusive</a></td>', page)
    for words in (
        "prefers-color-scheme:dark", "She <del>", "&lt;<del>b</del><ins>script</ins>&gt;", "=At 10 % the mean is 0.3.",
        "1 could not be changed: 1 too short", "rouge2|v:1", "A note.", "1.2 s",
    ):  # fmt: skip
        assert words in page, words


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
    seen = Checker(page)
    assert seen.open == []
    assert "b" not in seen.tags
    odd = plain._replace(tests=tuple(t._replace(aspect="<img src=x>") for t in plain.tests))  # type: ignore[arg-type]
    strange = SCRIPT.sub("", as_html(odd))
    assert "<img" not in strange
    assert "&lt;img src=x&gt;" in strange


def test_advice_and_small_models_are_named_where_they_apply() -> None:
    plain = as_html(REPORT)  # the verdict is inconclusive
    assert "weighs recall above precision" not in plain
    assert "small bundled model" not in plain
    cells, metrics = (REPORT.cells[0]._replace(verdict="fail"),), (REPORT.metrics[0]._replace(small=True),)
    page = as_html(REPORT._replace(cells=cells, metrics=metrics))
    assert "weighs recall above precision" in page
    assert "small bundled model" in page


def test_methods_state_the_choices() -> None:
    said = methods(REPORT)
    for choice in ("seeds 0 to 4", "1,000 draws", "Holm", "studentised", "strongest level", "halved", "(n − 1)", "a tenth of the standard deviation", "fewer than 5 texts"):  # fmt: skip
        assert choice in said


def test_charts_are_those_of_the_pages_and_undefined_results_have_none() -> None:
    points = (
        LevelResult("a", 0.1, 0.2, 0.5, 0.1, 0.3, 0.1, 0.4, 0.01, None, {"precision": 0.6, "recall": 0.4}),
        LevelResult("b", 0.2, 0.4, 0.3, 0.0, 0.5, 0.3, 0.6, 0.01, 0.9, {"precision": 0.7, "recall": 0.2}),
    )
    gold = {"precision": 0.8, "recall": 0.8}
    cell = StressTestResult("truncation", "rouge2", 6, 0, 0.8, gold, points, "pass", "Why <not>.", True)
    page = as_html(REPORT._replace(cells=(cell,)))
    curve, parts = drawn(page)
    (whole,) = (rows for rows in curve["datasets"].values() if len(rows) == 3)
    assert [(r["label"], r["ratio"], r["mean"]) for r in whole] == [("good text", 0, 0.8), ("a", 0.2, 0.5), ("b", 0.4, 0.3)]  # fmt: skip
    assert {row["part"] for rows in parts["datasets"].values() for row in rows} == {"precision", "recall"}
    assert 'aria-label="ROUGE-2 under Truncation: Why &lt;not&gt;."' in page
    undefined = as_html(REPORT._replace(cells=(REPORT.cells[0]._replace(gold=None),)))
    assert "<script" not in undefined

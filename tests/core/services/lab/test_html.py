"""The report as a page: whole in itself, nothing of the data is markup, verdicts in words and shapes."""

import html.parser
import re
from xml.etree import ElementTree

import pytest

from core.services.lab.html import as_html, methods
from core.services.lab.html_chart import chart
from core.services.lab.report import Cell, MetricFacts, Point, Report, StressTestInfo, as_json, from_json
from tests.core.services.lab.test_report import REPORT
from tests.reports import report

GRADED = StressTestInfo("t", "T", "fluency", True, ("a", "b"), 5, 6, 0, (), "t|v:1")
METRIC = MetricFacts("m", "M", "m|v:1", True, False, 0.0)


def cell(**more: object) -> Cell:
    points = (
        Point("a", 0.1, 0.2, 0.5, 0.1, 0.3, 0.1, 0.4, 0.01, None, {"precision": 0.6, "recall": 0.4}),
        Point("b", 0.2, 0.4, 0.3, 0.0, 0.5, 0.3, 0.6, 0.01, 0.9, {"precision": 0.7, "recall": 0.2}),
    )
    plain = Cell("t", "m", 6, 0, 0.8, {"precision": 0.8, "recall": 0.8}, points, "pass", "Why <not>.", True)
    return plain._replace(**more)  # type: ignore[arg-type]


class Checker(html.parser.HTMLParser):
    VOID = ("meta", "br", "circle", "line", "path", "polygon", "polyline")

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


def test_the_page_is_well_formed_links_to_its_evidence_and_fetches_nothing() -> None:
    page = as_html(REPORT)
    seen = Checker()
    seen.feed(page)
    assert seen.open == []
    assert seen.links == ["#c0"]
    assert set(seen.links) == {f"#{i}" for i in seen.ids}
    assert not seen.tags & {"script", "link", "img", "iframe", "object"}
    assert "prefers-color-scheme:dark" in page
    assert not re.search(r"https?:|url\(|@import", page)


def test_texts_are_escaped_and_their_difference_is_marked() -> None:
    page = as_html(REPORT)
    assert "<script" not in page
    assert "She <del>" in page
    assert "&lt;<del>b</del><ins>script</ins>&gt;" in page


def test_a_verdict_is_a_word_and_a_shape_beside_its_colour() -> None:
    assert re.search(r'<td><a class="unclear" href="#c0" title="[^"]*">\? unclear</a></td>', as_html(REPORT))


def test_why_advice_reasons_signatures_notes_and_times_stand_there() -> None:
    page = as_html(REPORT)
    for told in ("=At 10 % the mean is 0.3.", "1 could not be noised: 1 too short", "rouge2|v:1", "A note.", "1.2 s"):  # fmt: skip
        assert told in page


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
    page = as_html(from_json(as_json(foul)))
    assert "<b" not in page.replace("<blockquote", "").replace("<body", "").replace("<br", "")
    seen = Checker()
    seen.feed(page)
    assert seen.open == []
    assert "b" not in seen.tags


def test_an_aspect_that_nobody_knows_is_a_group_of_its_own_and_no_markup() -> None:
    strange = REPORT._replace(tests=(REPORT.tests[0]._replace(aspect="<img src=x>"),))  # type: ignore[arg-type]
    page = as_html(strange)
    assert "<img" not in page
    assert page.count("&lt;img src=x&gt;") == 2
    assert 'href="#c0"' in page


def test_what_to_do_is_said_where_a_metric_fails_and_only_there() -> None:
    assert "weighs recall above precision" not in as_html(REPORT)  # unclear
    fails = REPORT._replace(cells=(REPORT.cells[0]._replace(verdict="fail"),))
    assert "weighs recall above precision" in as_html(fails)


def test_methods_state_the_choices() -> None:
    said = methods(REPORT)
    for choice in ("seeds 0 to 4", "1,000 draws", "Holm", "studentised", "strongest level", "halved", "(n − 1)", "a tenth of the standard deviation", "fewer than 5 texts"):  # fmt: skip
        assert choice in said


def test_a_small_model_is_said_to_be_one() -> None:
    small = REPORT._replace(metrics=(REPORT.metrics[0]._replace(small=True),))
    assert "small bundled model" in as_html(small)
    assert "small bundled model" not in as_html(REPORT)


def test_the_curve_goes_from_gold_over_the_noise_ratios_with_its_deviation() -> None:
    drawn = ElementTree.fromstring(chart(cell(gold_parts={}), GRADED, METRIC))
    (line,) = drawn.iter("polyline")
    points = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    assert xs[1] - xs[0] == (xs[2] - xs[1])  # ratios 0, .2, .4
    assert ys == sorted(ys)  # lower scores stand lower
    assert abs((ys[1] - ys[0]) / (ys[2] - ys[1]) - 0.3 / 0.2) < 0.02
    (band,) = drawn.iter("polygon")
    assert len(band.attrib["points"].split()) == 6
    assert drawn.attrib["aria-label"] == "M under T: Why <not>."


def test_precision_recall_and_f_stand_in_one_picture_with_their_names() -> None:
    drawn = ElementTree.fromstring(chart(cell(), GRADED, METRIC))
    assert [line.attrib["class"] for line in drawn.iter("polyline")] == ["f", "p", "r"]
    assert {text.text for text in drawn.iter("text")} >= {"F", "precision", "recall"}


def test_levels_that_are_no_grades_are_places_without_a_curve() -> None:
    drawn = ElementTree.fromstring(chart(cell(gold_parts={}), GRADED._replace(graded=False), METRIC))
    assert not list(drawn.iter("polyline"))
    assert len(list(drawn.iter("circle"))) == 3
    assert {text.text for text in drawn.iter("text")} >= {"gold", "a", "b", "level"}


def test_nothing_is_drawn_where_nothing_is_defined() -> None:
    assert chart(cell(gold=None), GRADED, METRIC) == ""

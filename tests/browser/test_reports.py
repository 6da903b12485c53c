"""Reports as files: every chart is drawn in the width of its place, on wide and narrow pages, in both themes and in print."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from core.reports import adversarial, evaluation
from core.reports.judge_card import card_html
from core.reports.stress import as_html
from core.services.evaluate.evaluate import AgreementOptions, evaluate
from core.services.evaluate.significance import HUMAN, compare_all_systems, compare_metrics
from core.services.robustness.adversarial import ALL, PhenomenonRow
from tests import judges, reports
from tests.core.services.evaluate.test_evaluate import joined
from tests.core.services.judges.test_judge_card import answers
from tests.core.services.judges.test_judge_card import card_of as judge_card_of

pytestmark = pytest.mark.browser

SIZES = """() => [...document.querySelectorAll('.chart')].map(chart => {
  const svg = chart.querySelector('svg')?.getBoundingClientRect(), place = chart.parentElement.getBoundingClientRect();
  const marks = [...chart.querySelectorAll('[class*=mark-] path, [class*=mark-] text, [class*=mark-] line')];
  return [svg?.width ?? 0, svg?.height ?? 0, Math.min(place.width, document.body.clientWidth), marks.filter(m => m.getBoundingClientRect().width > 0).length];
})"""


def pages() -> dict[str, tuple[str, int]]:
    """Return every kind of report, with the number of its charts."""
    found = evaluate(joined(), AgreementOptions(draws=50))
    tests, systems = [compare_metrics(found, "kendall")], compare_all_systems(found.joined, HUMAN)
    stress, judged = reports.report(), judges.severities()
    row = PhenomenonRow(ALL, 1, "bleu", "bleu|v:1", 1, 1, 1, 0, 1.0, None, None, 0, "")
    return {
        "evaluation": (evaluation.as_html(found, "kendall", tests, systems), 3),
        "stress": (as_html(stress), 5),
        "judge card": (card_html(judge_card_of(answers(judged["judge"]), judged), "Judge card"), 1),
        "adversarial": (adversarial.as_html([row], [], [], {"bleu": "BLEU"}), 0),
    }


@pytest.mark.extended
def test_every_chart_of_every_report_fills_its_place(browser: Browser, tmp_path: Path) -> None:
    for name, (html, charts) in pages().items():
        file = tmp_path / f"{name}.html"
        file.write_text(html, encoding="utf-8")
        for width, scheme in ((1200, "light"), (420, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
            failed: list[str] = []
            page.on("pageerror", lambda error, failed=failed: failed.append(str(error)))
            page.goto(file.as_uri())
            assert page.locator(".chart").count() == charts, name
            page.emulate_media(media="print")
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            page.emulate_media(media="screen")
            page.wait_for_function(
                "() => document.querySelectorAll('.chart svg').length == document.querySelectorAll('.chart').length"
            )
            for i, (drawn, height, place, marks) in enumerate(page.evaluate(SIZES)):
                where = (name, width, i, drawn, place)
                assert 150 < drawn <= place + 1, where
                assert height > 30, where
                assert marks > 1, where
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            assert failed == []
            page.close()

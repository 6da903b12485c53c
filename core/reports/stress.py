"""A stress test report as CSV, and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core.formats.write import csv_text
from core.plots.robustness import cell_charts
from core.reports.html import chart_spec, render, vega_script
from core.robustness.stress.report import VERDICT_NAMES, Report, Verdict, advice
from core.robustness.stress.texts import REFERENCE
from core.robustness.stress.verdict import FEWEST
from core.text.edits import diff

COLUMNS = (
    "test", "label", "aspect", "graded", "metric", "signature", "higher_is_better", "small", "level", "strength", "noise_ratio",
    "gold", "mean", "sd", "drop", "low", "high", "p", "step_p", "parts", "verdict", "why", "published", "texts", "undefined",
    "touched", "untouched", "seeds", "gold_texts", "test_signature",
)  # fmt: skip


def as_csv(report: Report) -> str:
    """Return all rows in the columns `COLUMNS`, safe to open in a spreadsheet. Undefined values are empty; `parts` is `name=mean; …`."""
    return csv_text(COLUMNS, _rows(report))


def _rows(report: Report) -> Iterator[tuple[str | float | None, ...]]:
    for c in report.cells:
        test, metric = report.test(c.test), report.metric(c.metric)
        for p in c.points:
            parts = "; ".join(f"{name}={value!r}" for name, value in p.parts.items())
            yield (
                c.test, test.label, test.aspect, _yes(test.graded), c.metric, metric.signature, _yes(metric.higher_is_better),
                _yes(metric.small), p.label, p.strength, p.ratio, c.gold, p.mean, p.sd, p.drop, p.low, p.high, p.p, p.step_p,
                parts, c.verdict, c.why, None if c.published is None else _yes(c.published), c.texts, c.undefined, test.touched,
                test.untouched, test.seeds, report.gold, test.signature,
            )  # fmt: skip


def _yes(value: bool) -> str:
    return "yes" if value else "no"


SHAPES: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "unclear": "?", "untold": "–"}
MEANINGS: dict[Verdict, str] = {
    "pass": "scores drop significantly at every level, and no step of a graded curve rises significantly",
    "fail": "at some level there is no meaningful drop (at least 0.1 SD of the scores of the good texts), or scores rise significantly with more noise",
    "unclear": "neither can be shown, because there are too few texts or the drop is too small",
    "untold": "too few texts, or no scores",
}
ASPECTS = {"fluency": "Fluency", "consistency": "Consistency", "special": "Special"}
PAPER_RULE = {True: "passes", False: "fails", None: "has no verdict"}


def as_html(report: Report) -> str:
    """Return the whole report as one file. Charts need JavaScript, which the file contains; all values are also in tables."""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for i, cell in enumerate(report.cells):
        metric = report.metric(cell.metric)
        charts = cell_charts(cell, report.test(cell.test), metric)
        cells[cell.test, cell.metric] = {
            "id": f"c{i}", "cell": cell, "metric": metric,
            "advice": advice(cell.test, cell.metric) if cell.verdict == "fail" else "",
            "charts": [chart_spec(chart) for chart in charts],
        }  # fmt: skip
    order = dict.fromkeys([*ASPECTS, *(t.aspect for t in report.tests)])
    aspects = [
        (ASPECTS.get(a, a), of_aspect) for a in order if (of_aspect := [t for t in report.tests if t.aspect == a])
    ]
    return render(
        "stress.html.j2", title=f"Stress test: {report.name}", report=report, summary=summary(report), methods=methods(report),
        aspects=aspects, aspect_names=ASPECTS, cells=cells, charts=any(entry["charts"] for entry in cells.values()),
        shapes=SHAPES, verdicts=VERDICT_NAMES, meanings=MEANINGS, paper_rule=PAPER_RULE, differences=diff, vega_script=vega_script,
    )  # fmt: skip


def summary(report: Report) -> str:
    """Return the number of metrics, tests and verdicts, the gold texts, the data and the date."""
    counts = {v: sum(c.verdict == v for c in report.cells) for v in VERDICT_NAMES}
    verdicts = ", ".join(f"{n} {VERDICT_NAMES[v]}" for v, n in counts.items() if n)
    return (
        f"{len(report.metrics)} {'metric' if len(report.metrics) == 1 else 'metrics'}, {len(report.tests)} "
        f"{'test' if len(report.tests) == 1 else 'tests'}: {verdicts}. Good texts: {report.texts} {_gold(report)}. Data: {report.data}. "
        f"Created {report.made}."
    )


def methods(report: Report) -> str:
    """Return a paragraph that states every choice behind the verdicts."""
    seeds = f"seeds {report.seed} to {report.seed + report.seeds - 1}" if report.seeds > 1 else f"seed {report.seed}"
    return (
        f"Each of {report.texts} good texts ({_gold(report)}) was changed by each test at each level (He et al. 2023), with {seeds}; "
        "tests without randomness were run once. Source and references were not changed. A graded test compares the texts that it "
        "changes at the strongest level; other tests compare the texts that they change at every level. If a compared text cannot be "
        "changed at a weaker level or with one seed, the good text is used. Texts without a score at some level are left out for "
        "that metric and counted. The noise ratio is the token edit distance divided by the number of tokens of the good text, "
        "averaged over compared texts and seeds, and halved for tests that exchange parts. Means are over texts, then seeds; the "
        "standard deviation (SD) is that of the means per seed (n − 1). A drop is the score of the good text minus that of the changed "
        "text, negated for metrics where lower is better. CIs are 95 % percentile bootstrap CIs over texts, averaged over seeds first, "
        f"with {report.draws:,} draws and seed {report.seed}. p is one-sided, for the hypothesis that the drop is not above 0: the "
        "larger p of the percentile and the studentised bootstrap. Steps of graded curves are tested for a rise in the same way. "
        "Pass: a drop at every level (p < .05, Holm over levels), and no step with a rise (Holm over steps). Fail: at some level the "
        "CI excludes a meaningful drop, which is a tenth of the standard deviation of the scores of the good texts, or a step of a graded curve "
        f"rises. Inconclusive: neither. No result: fewer than {FEWEST} texts, or no scores. The rule of He et al. (2023), given next to each "
        "verdict, compares means only: every level must be worse than the good texts and, in graded tests, than the level before. There is no "
        "correction over tests and metrics."
    )


def _gold(report: Report) -> str:
    return "first references, compared with the others" if report.gold == REFERENCE else f"outputs of {report.gold}"

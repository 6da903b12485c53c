"""Stress test report as CSV: one row per test, metric and level."""

from __future__ import annotations

from collections.abc import Iterator

from core.formats.write import csv_text
from core.robustness.stress.report import Report

COLUMNS = (
    "test", "label", "aspect", "graded", "metric", "signature", "higher_is_better", "small", "level", "strength", "noise_ratio",
    "gold", "mean", "sd", "drop", "low", "high", "p", "step_p", "parts", "verdict", "why", "published", "texts", "undefined",
    "touched", "untouched", "seeds", "gold_texts", "test_signature",
)  # fmt: skip


def as_csv(report: Report) -> str:
    """Return all rows in the columns `COLUMNS`, safe to open in a spreadsheet. Undefined values are empty; `parts` is `name=mean; …`."""
    return csv_text(COLUMNS, _rows(report))


def _rows(report: Report) -> Iterator[tuple[str | float | None, ...]]:
    tests, metrics = {t.name: t for t in report.tests}, {m.name: m for m in report.metrics}
    for c in report.cells:
        test, metric = tests[c.test], metrics[c.metric]
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

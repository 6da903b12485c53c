"""Summaries of a stress test report: a headline, the strongest evidence of a cell, settings for the list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.formatting import format_count
from core.robustness.stress.report import LevelResult, Report, StressTestResult

ASPECTS = ("fluency", "consistency", "special")
_FEW = 3
_NOTHING, _FAR = 1e-9, 10


class Evidence(NamedTuple):
    """The strongest level of a cell: the largest rise if the metric fails, else the largest drop.

    `share` is the drop divided by the absolute gold score, below 0 if noised texts score better; None as in `share_of`.
    """

    point: LevelResult
    share: float | None


def share_of(cell: StressTestResult, drop: float | None) -> float | None:
    """Return a drop divided by the absolute gold score; None if one of them is missing.

    Also None for a cell whose gold score is about 0 (below 1e-9, or below a tenth of its largest drop), as for scores centred
    on 0.
    """
    if drop is None or cell.gold is None:
        return None
    gold, most = abs(cell.gold), max((abs(p.drop) for p in cell.points if p.drop is not None), default=0.0)
    return None if gold < _NOTHING or most > _FAR * gold else drop / gold


def evidence(cell: StressTestResult) -> Evidence | None:
    """Return the strongest evidence of a cell, or None if no level has a drop."""
    drops = [(point.drop, point) for point in cell.points if point.drop is not None]
    if not drops:
        return None
    drop, point = (min if cell.verdict == "fail" else max)(drops, key=lambda pair: pair[0])
    return Evidence(point, share_of(cell, drop))


def headline(report: Report) -> str:
    """Return the main result, worst first: "BLEU fails 3 of 24 tests; every metric fails repetition"."""
    with_verdict = {
        m.name: [c for c in report.cells if c.metric == m.name and c.verdict != "untold"] for m in report.metrics
    }
    labels = {m.name: m.label for m in report.metrics}
    fails = {name: sum(c.verdict == "fail" for c in cells) for name, cells in with_verdict.items()}
    worst = sorted((name for name in fails if fails[name]), key=lambda name: -fails[name])
    if not any(with_verdict.values()):
        return "No metric could be judged in any test"
    if not worst:
        if any(c.verdict == "untold" for c in report.cells):
            return "No metric fails any test it could be judged in"
        return f"No metric fails any of the {format_count(len(report.tests), 'test')}"
    parts = [f"{labels[name]} fails {fails[name]} of {len(with_verdict[name])} tests" for name in worst[:_FEW]]
    if len(worst) > _FEW:
        parts.append(f"{len(worst) - _FEW} more fail some")
    for who, whole in (("every metric", True), ("every metric that could be judged", False)):
        if everywhere := [t.label for t in report.tests if _by_all(report, t.name) is whole]:
            parts.append(f"{who} fails {_listed(everywhere)}")
    return "; ".join(parts)


def _by_all(report: Report, test: str) -> bool | None:
    """Return True if all metrics fail, False if all with a verdict (at least two) fail, else None."""
    verdicts = [c.verdict for c in report.cells if c.test == test]
    with_verdict = [v for v in verdicts if v != "untold"]
    return len(with_verdict) == len(verdicts) if len(with_verdict) > 1 and set(with_verdict) == {"fail"} else None


def _listed(names: Sequence[str]) -> str:
    lowered = [name[:1].lower() + name[1:] for name in names]
    return " and ".join(filter(None, [", ".join(lowered[:-1]), lowered[-1]]))


def run_settings(report: Report) -> dict[str, Any]:
    """Return the settings and counts of a run as plain JSON values, for the list of runs."""
    return {
        "gold": report.gold,
        "data": report.data,
        "texts": report.texts,
        "tests": [t.name for t in report.tests],
        "metrics": [m.name for m in report.metrics],
        "seed": report.seed,
        "seeds": report.seeds,
        "fails": len(report.failing()),
    }

"""A report as pages tell it: what it says in a sentence, what is strongest in a cell, and what a list of runs says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.services.lab.report import Cell, Point, Report

ASPECTS = ("fluency", "consistency", "special")
LONGEST_NAME = 190
"""Characters of a run's name that storage holds."""
_FEW = 3
_NOTHING, _FAR = 1e-9, 10


class Evidence(NamedTuple):
    """The level of a cell that speaks loudest: where the metric fails the largest rise, else the largest drop.

    `share` is the drop in parts of the absolute gold score, below 0 where the noised texts score better; None where `share_of` is.
    """

    point: Point
    share: float | None


def share_of(cell: Cell, drop: float | None) -> float | None:
    """A drop in parts of the absolute gold score; None where one of them is missing, and in the whole cell where gold is about 0:
    below 1e-9, or below a tenth of a drop, as for a score that is centred on 0. There only the metric's own unit says something."""
    if drop is None or cell.gold is None:
        return None
    gold, most = abs(cell.gold), max((abs(p.drop) for p in cell.points if p.drop is not None), default=0.0)
    return None if gold < _NOTHING or most > _FAR * gold else drop / gold


def evidence(cell: Cell) -> Evidence | None:
    """None where no level has a drop."""
    there = [(point.drop, point) for point in cell.points if point.drop is not None]
    if not there:
        return None
    drop, point = (min if cell.verdict == "fail" else max)(there, key=lambda pair: pair[0])
    return Evidence(point, share_of(cell, drop))


def headline(report: Report) -> str:
    """What the run found, the worst first: "BLEU fails 3 of 24 tests; every metric fails repetition"."""
    told = {m.name: [c for c in report.cells if c.metric == m.name and c.verdict != "untold"] for m in report.metrics}
    labels = {m.name: m.label for m in report.metrics}
    fails = {name: sum(c.verdict == "fail" for c in cells) for name, cells in told.items()}
    worst = sorted((name for name in fails if fails[name]), key=lambda name: -fails[name])
    if not any(told.values()):
        return "No metric could be judged in any test"
    if not worst:
        if any(c.verdict == "untold" for c in report.cells):
            return "No metric fails any test it could be judged in"
        return f"No metric fails any of the {_count(len(report.tests), 'test')}"
    parts = [f"{labels[name]} fails {fails[name]} of {len(told[name])} tests" for name in worst[:_FEW]]
    if len(worst) > _FEW:
        parts.append(f"{len(worst) - _FEW} more fail some")
    for who, whole in (("every metric", True), ("every metric that could be judged", False)):
        if everywhere := [t.label for t in report.tests if _by_all(report, t.name) is whole]:
            parts.append(f"{who} fails {_listed(everywhere)}")
    return "; ".join(parts)


def _by_all(report: Report, test: str) -> bool | None:
    """Whether all metrics fail (True), all of those that are told (False), or not all of two or more (None)."""
    verdicts = [c.verdict for c in report.cells if c.test == test]
    told = [v for v in verdicts if v != "untold"]
    return len(told) == len(verdicts) if len(told) > 1 and set(told) == {"fail"} else None


def _listed(names: Sequence[str]) -> str:
    lowered = [name[:1].lower() + name[1:] for name in names]
    return " and ".join(filter(None, [", ".join(lowered[:-1]), lowered[-1]]))


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def short(name: str) -> str:
    """A run's name as storage holds it: without white space around it, cut with an ellipsis."""
    name = name.strip()
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1].rstrip() + "…"


def settings_of(report: Report) -> dict[str, Any]:
    """What a list of runs says of one, as plain JSON values."""
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

"""Combine over several metrics and datasets: Figures 2 and 3 of MENLI, ranges, and pooling strategies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.errors import PROGRAM
from core.formatting import format_figure, format_number, format_percent
from core.metrics.base import Metric
from core.metrics.entailment.nli import BACKWARD, BOTH, DIRECTIONS, FORWARD, STRATEGIES
from core.plots import combining as plots
from core.plots.calibration import MEASURE_NAMES
from core.progress import Progress
from core.services.calibrate.calibration import LambdaFitOptions
from core.services.robustness import combining as service
from core.services.robustness import nli_weights
from core.services.robustness.combining import MetricPairing, ScaledMetric, Strategies
from core.services.robustness.nli_weights import PathPoint
from pages._ui.calibrate.calibration_form import MEASURES
from pages._ui.robustness.combine_weight import known_by, percent
from pages._ui.robustness.controls import wide_chart
from pages._ui.shared import page, tables
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown

FORMULAS = {"e": "e", "-c": "−c", "e-n": "e−n", "e-c": "e−c", "e-n-2c": "e−n−2c"}


def all_of_them(nli: ScaledMetric, pairings: Sequence[MetricPairing], choice: LambdaFitOptions) -> None:
    """Draw Figures 2 and 3 over all metrics, or the part that the data allow."""
    how = {"measure": choice.measure, "group": choice.group}
    paths = run_cached(
        ("combine-paths", nli.name, tuple((p.other.label, known_by(p)) for p in pairings), tuple(how.values())),
        f"Mixing {len(pairings)} metrics at 11 weights …", lambda progress: _paths(pairings, how, progress),
    )  # fmt: skip
    if paths is None:
        return
    rows = [{"metric": label} | point._asdict() for label, points in paths.items() for point in points]
    frame = pd.DataFrame(rows, columns=["metric", "w", "quality", "robustness"]).astype(
        {"quality": float, "robustness": float}
    )
    sign = MEASURE_NAMES[choice.measure]
    measured = [what for what in ("quality", "robustness") if frame[what].notna().any()]
    if not measured:
        page.info("No value of these metrics can be computed on this data.")
        return
    if len(measured) == 2:
        st.markdown("**From each metric to the NLI metric**")
        said = (
            f"Large points: the metric alone (w = 0); each next point adds a tenth of {nli.label}, where all paths end "
            "(Chen and Eger 2023, Figure 2). Up: better agreement with human scores; right: more planted errors found."
        )
        figure(plots.paths(frame, sign), f"From each metric to {nli.label}", said, "weight-paths")
        st.markdown("**Gain of each weight, over all metrics**")
        changes = [
            {"w": r.w, "what": r.what, "change": r.change.value, "low": r.change.low, "high": r.change.high, "n": r.change.n}
            for r in nli_weights.improvements(paths)
        ]  # fmt: skip
        names = {"quality": sign, "robustness": plots.ROBUSTNESS}
        for place, what in zip(st.columns(2), measured, strict=True):
            mine = pd.DataFrame([row for row in changes if row["what"] == what])
            gain = f"Gain of each weight of {nli.label} in {names[what]}, over all metrics"
            about = "Change relative to the metric alone: mean and 95 % CI over metrics."
            figure(plots.improvements(mine), gain, about, f"weight-gain-{what}", place=place)
        few = "" if len(paths) > 1 else " A single metric has no interval: choose more above."
        lost = [
            f"{label} ({names[what]})"
            for label, points in paths.items()
            for what in measured
            if not getattr(points[0], what)
        ]
        few += (
            f" Left out, because their value alone is 0 or undefined: {escape_markdown(', '.join(lost))}."
            if lost
            else ""
        )
        st.caption(
            "In Chen and Eger (2023, Figure 3) the gain in agreement "
            f"is largest at w = .2 for translation, and robustness grows with w.{few}"
        )
    else:
        lack = "human scores" if measured == ["robustness"] else "adversarial cases"
        said = f"Without {lack} only one side of Figure 2 of Chen and Eger (2023) can be drawn."
        figure(
            plots.courses(frame, measured[0], sign), f"Each metric with {nli.label} at weight w", said, "weight-courses"
        )
    with st.expander("Table"):
        shown = frame.rename(columns={"quality": sign, "robustness": plots.ROBUSTNESS})
        formats: dict[str, Callable[..., str]] = {
            "w": partial(format_number, digits=1),
            sign: format_number,
            plots.ROBUSTNESS: format_percent,
        }
        tables.data_table(shown, formats)


def _paths(pairings: Sequence[MetricPairing], how: Mapping[str, Any], progress: Progress) -> dict[str, list[PathPoint]]:
    paths = {}
    for k, p in enumerate(pairings):
        progress(k / len(pairings))
        paths[p.other.label] = nli_weights.path(p.judged, p.attacked, **how)
    return paths


def ranges_of(metrics: Sequence[ScaledMetric]) -> None:
    """Draw the range of each metric and its origin."""
    rows = [
        {
            "metric": p.label, "value at 0": _at(p, 0), "value at 1": _at(p, 1),
            "origin": service.ORIGINS.get(p.scale.origin, p.scale.origin) if p.scale else "no range: left out",
            "values": f"{p.scale.n:,}" if p.scale and p.scale.n else "",
        }
        for p in metrics
    ]  # fmt: skip
    tables.text_table(rows, tall=len(rows))
    st.caption(
        "Ranges are frozen, so that a score does not depend on the other outputs in the batch. They are part of the signature of "
        "a combination. Values outside a range are not clamped. A wider range gives its metric less influence: compare weights "
        "under the same ranges only. To fit a range on your own scores:"
    )
    st.code(f"{PROGRAM} score FILES --metrics 'bartscore' --out s.csv\n{PROGRAM} ranges s.csv", language=None)


def _at(part: ScaledMetric, to: int) -> str:
    if part.scale is None:
        return "–"
    up = part.metric.spec.higher_is_better
    return format_figure(part.scale.high if (to == 1) == up else part.scale.low)


def strategies(datasets: Sequence[Strategies], nli: Metric, choice: LambdaFitOptions) -> None:
    """Draw Table 7 on this data: 15 strategies per dataset, and each dataset under the strategy chosen on the others."""
    if not datasets:
        page.info("No strategy can be computed on this data.")
        return
    anchor = "source" if "source" in nli.spec.needs else "reference"
    ways = {FORWARD: f"{anchor} → output", BACKWARD: f"output → {anchor}", BOTH: "both"}
    st.markdown(_best(datasets, ways))
    said = (
        "e, n, c: probabilities of entailment, neutral, contradiction; “both” averages them first. Framed: best. "
        f"With several references, every cell uses the one with the best {nli.spec.label}."
    )
    for n, (place, one) in enumerate(zip(st.columns(2) * len(datasets), datasets, strict=False)):
        values = one.values()
        rows = [
            {"direction": ways[d], "formula": FORMULAS[f], "value": values[d, f]} for d in DIRECTIONS for f in FORMULAS
        ]
        frame = pd.DataFrame(rows).astype({"value": float})
        what = MEASURES[choice.measure] if one.quality else "accuracy"
        with place:
            head = f"{one.dataset}: {what}"
            st.markdown(f"**{escape_markdown(head)}**")
            chart = plots.pooling(frame, what, percent=not one.quality)
            wide_chart(chart, f"combine-pooling-{n}", head, said, f"pooling-{n + 1}")
    st.markdown("**Strategy chosen on the other datasets**")
    chosen = service.held_out(datasets)
    if chosen:
        tables.text_table(
            [
                {
                    "dataset": r.dataset, "chosen on the others": _strategy(r.direction, r.formula, ways), "wins": str(r.wins),
                    "value here": _number(r.value), "best here": _strategy(*r.best, ways), "its value": _number(r.best_value),
                }
                for r in chosen
            ]
        )  # fmt: skip
        st.caption(
            "The difference between the last two values shows how optimistic a choice on the same data is. Cases of this project "
            "and human scores of its outputs count as one dataset."
        )
    else:
        st.caption(
            "With one dataset, a strategy chosen from the table above looks better than it is. Add another suite (MENLI’s CSV or "
            "your own in that format), so that each dataset is evaluated with the strategy chosen on the others. Until then use "
            "the choices of Chen and Eger (2023): e in both directions for translation, e−c from output to reference for summaries, −c from "
            "source to output without references."
        )


def _best(datasets: Sequence[Strategies], ways: dict[str, str]) -> str:
    said = []
    for one in datasets:
        values = {s: v for s, v in one.values().items() if v is not None}
        best = max(STRATEGIES, key=lambda s, values=values: values.get(s, -math.inf))  # type: ignore[misc]
        value = format_number(values[best]) if one.quality else percent(values[best])
        said.append(f"{_strategy(*best, ways)} is best on {one.dataset} ({value})")
    return f"#### {escape_markdown('; '.join(said))}"


def _strategy(direction: str, formula: str, ways: dict[str, str]) -> str:
    return f"{FORMULAS[formula]}, {ways[direction]}" + (" ways" if direction == BOTH else "")


def _number(value: float) -> str:
    return "undefined" if math.isinf(value) else format_number(value)

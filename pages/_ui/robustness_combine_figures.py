"""The pictures and tables of Combine over several metrics and datasets: Figures 2 and 3, ranges, and pooling strategies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.calibration.drawn import Tell
from core.metrics.base import Metric
from core.metrics.nli import BACKWARD, BOTH, DIRECTIONS, FORWARD, STRATEGIES
from core.plots import menli as plots
from core.plots.calibration import MEASURE_NAMES
from core.services import combining as service
from core.services import menli
from core.services.calibration import Choice
from core.services.combining import Pair, Part, Strategies
from core.services.menli import PathPoint
from pages._ui import tables
from pages._ui.errors import plain
from pages._ui.lambda_parts import MEASURES, number
from pages._ui.lambda_work import worked
from pages._ui.robustness_combine_parts import end, known_by, percent
from pages._ui.robustness_parts import wide

FORMULAS = {"e": "e", "-c": "−c", "e-n": "e−n", "e-c": "e−c", "e-n-2c": "e−n−2c"}


def all_of_them(nli: Part, found: Sequence[Pair], choice: Choice) -> None:
    """Figures 2 and 3 over all metrics, or what there is of them."""
    how = {"measure": choice.measure, "group": choice.group}
    paths = worked(
        ("combine-paths", nli.name, tuple((p.other.label, known_by(p)) for p in found), tuple(how.values())),
        f"Mixing {len(found)} metrics at 11 weights …", lambda tell: _paths(found, how, tell),
    )  # fmt: skip
    if paths is None:
        return
    rows = [{"metric": label} | point._asdict() for label, points in paths.items() for point in points]
    frame = pd.DataFrame(rows, columns=["metric", "w", "quality", "robustness"]).astype(
        {"quality": float, "robustness": float}
    )
    sign = MEASURE_NAMES[choice.measure]
    there = [what for what in ("quality", "robustness") if frame[what].notna().any()]
    if not there:
        st.info("None of these metrics has a value on this data.", icon=":material/info:")
        return
    if len(there) == 2:
        st.markdown("**From each metric to the NLI metric**")
        st.altair_chart(plots.paths(frame, sign), width="stretch")
        st.caption(
            f"Large points: the metric alone (w = 0); each further point is a tenth more {plain(nli.label)}, where all paths end "
            "(Figure 2 of the paper). Up: more agreement with people; right: more planted errors seen."
        )
        st.markdown("**What each weight gains, over all of these metrics**")
        changes = [
            {"w": r.w, "what": r.what, "change": r.change.value, "low": r.change.low, "high": r.change.high, "n": r.change.n}
            for r in menli.improvements(paths)
        ]  # fmt: skip
        for place, what in zip(st.columns(2), there, strict=True):
            mine = pd.DataFrame([row for row in changes if row["what"] == what])
            place.altair_chart(plots.improvements(mine), width="stretch")
        few = "" if len(paths) > 1 else " One metric alone has no interval: choose more above."
        names = {"quality": sign, "robustness": plots.ROBUSTNESS}
        lost = [
            f"{label} ({names[what]})"
            for label, points in paths.items()
            for what in there
            if not getattr(points[0], what)
        ]
        few += f" Left out, as their value alone is 0 or undefined: {plain(', '.join(lost))}." if lost else ""
        st.caption(
            "Against the metric alone, in parts of its own value: the mean and its 95 % interval over metrics (Figure 3). In the "
            f"paper the gain in agreement peaks at w = .2 for translation, and robustness grows with w.{few}"
        )
    else:
        st.altair_chart(plots.courses(frame, there[0], sign), width="stretch")
        lack = "people’s scores" if there == ["robustness"] else "adversarial cases"
        st.caption(f"Without {lack} one side of the paper’s Figure 2 is missing; this is the other one.")
    with st.expander("As numbers"):
        shown = frame.rename(columns={"quality": sign, "robustness": plots.ROBUSTNESS})
        formats = {"w": "%.1f", sign: "%.3f", plots.ROBUSTNESS: "percent"}
        config = {name: st.column_config.NumberColumn(format=form) for name, form in formats.items()}
        st.dataframe(shown, hide_index=True, width="stretch", column_config=config)


def _paths(found: Sequence[Pair], how: Mapping[str, Any], tell: Tell) -> dict[str, list[PathPoint]]:
    paths = {}
    for k, p in enumerate(found):
        tell(k / len(found))
        paths[p.other.label] = menli.path(p.judged, p.attacked, **how)
    return paths


def ranges_of(metrics: Sequence[Part]) -> None:
    """From where to where each metric is scaled, and where that comes from."""
    rows = [
        {
            "metric": p.label, "0 stands for": _at(p, 0), "1 stands for": _at(p, 1),
            "origin": service.ORIGINS.get(p.scale.origin, p.scale.origin) if p.scale else "no range: it is left out",
            "values": f"{p.scale.n:,}" if p.scale and p.scale.n else "",
        }
        for p in metrics
    ]  # fmt: skip
    tables.reading(rows, tall=len(rows))
    st.caption(
        "Ranges are frozen, so that a score does not change with its company. They stand in the signature of every combination. "
        "Values outside are not clamped. The wider a range, the less differences of its metric count: compare weights under one "
        "range only. To fit one on your own scores:"
    )
    st.code(
        "python -m core score FILES --metrics 'bartscore' --out s.csv\npython -m core ranges s.csv", language="shell"
    )


def _at(part: Part, to: int) -> str:
    if part.scale is None:
        return "–"
    up = part.metric.spec.higher_is_better
    return end(part.scale.high if (to == 1) == up else part.scale.low)


def strategies(found: Sequence[Strategies], nli: Metric, choice: Choice) -> None:
    """Table 7 on this data: 15 strategies by dataset, and each dataset under the one that the others choose."""
    if not found:
        st.info("No strategy has a value on this data.", icon=":material/info:")
        return
    anchor = "source" if "source" in nli.spec.needs else "reference"
    ways = {FORWARD: f"{anchor} → output", BACKWARD: f"output → {anchor}", BOTH: "both"}
    st.markdown(_best(found, ways))
    for n, (place, one) in enumerate(zip(st.columns(2) * len(found), found, strict=False)):
        values = one.values()
        rows = [
            {"direction": ways[d], "formula": FORMULAS[f], "value": values[d, f]} for d in DIRECTIONS for f in FORMULAS
        ]
        frame = pd.DataFrame(rows).astype({"value": float})
        what = MEASURES[choice.measure] if one.quality else "accuracy"
        with place:
            st.markdown(f"**{plain(f'{one.dataset}: {what}')}**")
            wide(plots.pooling(frame, what, percent=not one.quality), f"combine-pooling-{n}")
    st.caption(
        "e, n, c: probabilities of entailment, neutral, contradiction; both ways they are averaged first. Framed: the best. "
        f"Of several references the one that is best by {plain(nli.spec.label)} stands for all, in every cell."
    )
    st.markdown("**Chosen without the dataset it is tried on**")
    rows = service.held_out(found)
    if rows:
        tables.reading(
            [
                {
                    "dataset": r.dataset, "chosen by the others": _strategy(r.direction, r.formula, ways), "wins there": str(r.wins),
                    "value here": _number(r.value), "best here": _strategy(*r.best, ways), "its value": _number(r.best_value),
                }
                for r in rows
            ]
        )  # fmt: skip
        st.caption(
            "The difference between the last value and the one before is what choosing on the very data would flatter. Cases of "
            "this project and what people said of its outputs count as one dataset."
        )
    else:
        st.caption(
            "There is one dataset only: a strategy picked in the table above and judged by the same table looks better than it is. "
            "Add a suite of other texts, MENLI’s CSV or your own in that form, and each dataset is judged under the strategy "
            "that the others choose. Until then the paper’s choices are the safer ones: e both ways for translation, e−c from output "
            "to reference for summaries, −c from source to output without references."
        )


def _best(found: Sequence[Strategies], ways: dict[str, str]) -> str:
    said = []
    for one in found:
        there = {s: v for s, v in one.values().items() if v is not None}
        best = max(STRATEGIES, key=lambda s, there=there: there.get(s, -math.inf))  # type: ignore[misc]
        value = number(there[best]) if one.quality else percent(there[best])
        said.append(f"{_strategy(*best, ways)} is best on {one.dataset} ({value})")
    return f"#### {plain('; '.join(said))}"


def _strategy(direction: str, formula: str, ways: dict[str, str]) -> str:
    return f"{FORMULAS[formula]}, {ways[direction]}" + (" ways" if direction == BOTH else "")


def _number(value: float) -> str:
    return "undefined" if math.isinf(value) else number(value)

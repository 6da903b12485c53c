"""Every chart that shows names, once for each list of names in the address (as JSON); run by Streamlit for test_scripts.py."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from core.calibration.calibrate import CalibrationPoint
from core.calibration.calibrate import calibrate as calibration_of
from core.data import OutputKey
from core.plots import calibration, campaigns, combining, robustness, score_charts
from core.ports.robustness import NOTICES
from core.stats.correlation.correlation import Statistic
from core.stats.raters.rater_agreement import RaterPair

NAMES: list[str] = []
A = B = ""
LEVELS = (0.1, 0.2)


def each(*numbers: str, **more: Any) -> pd.DataFrame:
    """One row per name; `numbers` are columns of small different numbers, a list in `more` is spread over the rows."""
    rows = [{c: 0.1 + 0.03 * i * (k + 1) for k, c in enumerate(numbers)} for i in range(len(NAMES))]
    return pd.DataFrame(rows).assign(**more)


def crossed(first: str, second: str, others: list[Any], **more: Any) -> pd.DataFrame:
    """One row per name and other value."""
    return pd.DataFrame([{first: a, second: b, **more} for a in NAMES for b in others])


def charts() -> dict[str, Any]:
    """Each chart under its name, which is a valid key."""
    pairs = [RaterPair(a, b, Statistic(0.5, n=3)) for i, a in enumerate(NAMES) for b in NAMES[:i]]
    points = [CalibrationPoint(OutputKey("s", "d", str(k)), k, 4 - k, k * k % 5) for k in range(5)]
    calibrated = calibration_of(points, draws=0)
    presets = {name: (0.3 + 0.2 * i, None) for i, name in enumerate(NAMES)}
    by_level = crossed("metric", "ratio", list(LEVELS), mean=0.5, share=0.1, verdict="fail", label="x", value=0.4)
    lengths = crossed("metric", "place", [0, 1], value=0.3, low=0.2, high=0.4, segments=3, shown="0.3", bucket="short")
    ranks = crossed("metric", "system", NAMES, difference=1.0, shown="1", human_rank=1, metric_rank=2)
    cells = crossed(
        "row", "column", NAMES, test="t", metric="m", verdict="fail", told="1", why="w", drop="d", p="p", published=""
    )
    cells.attrs["order"] = NAMES
    found = {
        "means": score_charts.means(each("mean", "low", "high", system=NAMES, n=3), A),
        "scatter": score_charts.scatter(each("x", "y", system=NAMES, doc=NAMES, segment=NAMES), A, B, NAMES),
        "differences": score_charts.differences(crossed("better", "worse", NAMES, difference=0.1, p=0.01, shown="p"), NAMES),
        "system-means": score_charts.system_means(each("x", "y", system=NAMES), A, B),
        "tau": campaigns.tau_matrix(NAMES, pairs),
        "confusion": campaigns.severity_confusion(np.ones((3, 3), dtype=np.int64), ["Major", "Minor", "none"], rows=A, columns=B),
        "lambda": calibration.calibration_chart(replace(calibrated, presets=presets)),
        "estimates": calibration.estimates([calibration.NamedLambda(n, 1.0, (0.5, 2.0)) for n in NAMES]),
        "at-top": calibration.metrics_at_top([calibration.AgreementAtK(n, k, 0.3, n == B) for n in NAMES for k in (2, 3)], "kendall"),
        "paths": combining.paths(crossed("metric", "w", [0.0, 1.0], quality=0.3, robustness=0.5), A),
        "courses": combining.courses(crossed("metric", "w", [0.0, 1.0], quality=0.3), "quality", A),
        "effect": combining.effect(pd.DataFrame({"w": [0.0, 0.5, 1.0], "value": [0.1, 0.2, 0.2]}), 0.4, A),
        "pooling": combining.pooling(crossed("direction", "formula", NAMES, value=0.4), A),
        "heatmap": combining.heatmap(
            crossed("phenomenon", "metric", NAMES, accuracy=0.6, low=0.5, high=0.7, compared=3, tied=0, undefined=0, reason="")
        ),
        "changes": robustness.changes(each("share", "good", "changed", metric=NAMES, verdict=NOTICES, range=NAMES)),
        "sweep": robustness.sweep(crossed("phenomenon", "metric", NAMES, share=-0.2, verdict=NOTICES, good=1.0, changed=0.5)),
        "lengths": score_charts.lengths(lengths, NAMES, A),
        "rank-differences": score_charts.rank_differences(ranks, NAMES, NAMES),
        "catalogue": robustness.catalogue(cells, []),
        "curve": robustness.curve(each("mean", "sd", "drop", "p", "ratio", label=NAMES), 0.5, A, fails=True, graded=False),
        "parts": robustness.parts(by_level.rename(columns={"metric": "part"}), graded=True),
        "multiples": robustness.multiples(by_level, graded=True),
        "favours": robustness.favours(crossed("metric", "system", NAMES, mean=0.4, rank=1.0, own=False, based="b", built="")),
    }  # fmt: skip
    return found


for number, NAMES in enumerate(json.loads(st.query_params["names"])):  # charts() reads it
    A, B = NAMES[:2]
    for key, chart in charts().items():
        with st.container(key=f"chart-{number}-{key}"):
            drawn: alt.TopLevelMixin = chart.properties(usermeta={"embedOptions": {"renderer": "svg"}})
            st.altair_chart(drawn, width="content")
st.text("all drawn")

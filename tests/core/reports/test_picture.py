"""Charts saved as pictures."""

from __future__ import annotations

import re

import altair as alt
import pandas as pd
import pytest

from core.plots import campaigns, score_charts
from core.plots.colours import THEMES
from core.reports.picture import picture


@pytest.mark.extended  # starts the engine of Vega, 3 s
def test_a_picture_is_white_and_says_what_the_chart_shows() -> None:
    rows = pd.DataFrame(
        {"system": ["A <b>", "كتاب"], "value": [1.0, 2], "low": [0.5, 1], "high": [2.0, 3], "shown": "x"}
    )
    said = "Dots: means. " * 20 + "1 < 2 & \x00"
    chart = campaigns.means(rows, "quality, 0–100")
    svg = picture(chart, "A <b> is best", said, "svg").decode()
    assert 'fill="white"' in svg
    assert "A &lt;b&gt; is best</text>" in svg
    assert len(re.findall("<tspan[^>]*>[^<]*Dots", svg)) > 1, "a long sentence has several lines"
    assert "\x00" not in svg
    assert "كتاب" in svg
    assert picture(chart, "head", "said", "png")[:4] == b"\x89PNG"

    dark, light = THEMES["dark"]["textColor"], THEMES["light"]["textColor"]
    text = alt.Chart(rows).mark_text(color=dark).encode(x="value:Q", text="system:N")
    svg = picture(alt.layer(text, text), "", "", "svg").decode()
    assert dark not in svg
    assert light in svg

    points = pd.DataFrame({"system": ["A", "B"], "doc": "", "segment": ["1", "2"], "x": [1.0, 2], "y": [2.0, 1]})
    svg = picture(score_charts.scatter(points, "chrF", "TER", ["A", "B"]), "", "", "svg").decode()
    assert svg.count(">A</text>") == 1, "colour and shape have one legend"

"""What a chart draws."""

from __future__ import annotations

import json
import re
from typing import Any

Chart = dict[str, Any]


def layers(chart: Chart, mark: str) -> list[Chart]:
    return [layer for layer in chart.get("layer", [chart]) if layer["mark"]["type"] == mark]


def rows(chart: Chart, mark: str) -> list[list[Chart]]:
    """The rows of each layer of a mark."""
    data = [layer.get("data") or chart["data"] for layer in layers(chart, mark)]
    return [list(d["values"] if "values" in d else chart["datasets"][d["name"]]) for d in data]


def assert_readable_in_both_themes(chart: Chart) -> None:
    """Text in black or white is lost on one of the themes, and so are colours that are nearly as dark or as light."""
    text = json.dumps(chart.get("layer", chart["encoding"] if "encoding" in chart else chart))
    assert "black" not in text
    assert "white" not in text
    for colour in re.findall(r"#([0-9a-f]{6})", text):
        assert 70 < sum(w * int(colour[k : k + 2], 16) for k, w in ((0, 0.299), (2, 0.587), (4, 0.114))) < 190, colour

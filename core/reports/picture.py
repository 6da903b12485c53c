"""Charts as pictures for slides and papers: headline, sentence and chart on white, in the colours of the light theme."""

from __future__ import annotations

import textwrap
from typing import Any, Literal

import altair as alt

from core.plots.base import chart_text
from core.plots.colours import CATEGORIES, ROLES, THEMES

WIDTH = 620
"""Width in pixels of a chart that fills its page."""
SCALE = 3
"""Pixels of a PNG per pixel of the chart."""
_PARTS = ("hconcat", "vconcat", "concat", "facet", "repeat")
_LIGHT = {THEMES["dark"][colour]: THEMES["light"][colour] for colour in ROLES.values()}
_HEADLINE, _SENTENCE = 78, 112  # letters per line


def picture(chart: alt.TopLevelMixin, headline: str, sentence: str, ending: Literal["png", "svg"]) -> bytes:
    """Return a chart with its headline and sentence (plain texts) as PNG or SVG. The first one in a process takes some seconds.

    A PNG needs fonts of the server for every script in it; an SVG is drawn with the fonts of whoever opens it.
    """
    import vl_convert

    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = _in_light(chart.to_dict())
    if not any(part in spec for part in _PARTS) and not isinstance(spec.get("width"), (int, float)):
        spec["width"] = WIDTH
    spec["title"] = {
        "text": _lines(headline, _HEADLINE), "subtitle": _lines(sentence, _SENTENCE),
        "anchor": "start", "fontSize": 16, "subtitleFontSize": 12, "subtitleColor": "#55585e", "subtitlePadding": 6, "offset": 16,
    }  # fmt: skip
    spec |= {"background": "white", "padding": 16}
    light = {
        "axis": {"gridColor": "#e6e6e6", "domainColor": "#a3a8b4", "tickColor": "#a3a8b4"},
        "view": {"stroke": None},
        "range": {"category": CATEGORIES},
    }
    config = spec.get("config", {})
    spec["config"] = config | {name: config.get(name, {}) | values for name, values in light.items()}
    version, no_hosts = alt.SCHEMA_VERSION.rpartition(".")[0], list[str]()
    if ending == "svg":
        return vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=no_hosts).encode()
    return vl_convert.vegalite_to_png(spec, vl_version=version, scale=SCALE, allowed_base_urls=no_hosts)


def _lines(text: str, width: int) -> list[str]:
    return [chart_text(line) for part in text.split("\n") for line in textwrap.wrap(part, width)] or [""]


def _in_light(part: Any) -> Any:
    """Return a part of a chart with the colours of the dark theme replaced by those of the light one."""
    if isinstance(part, dict):
        return {name: _in_light(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_in_light(value) for value in part]
    return _LIGHT.get(part, part) if isinstance(part, str) else part

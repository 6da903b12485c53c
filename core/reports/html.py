"""HTML reports from the templates in `templates/`: one file each that loads nothing from the network, with all texts escaped."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from core.formatting import MISSING, format_figure, format_number, is_figure
from core.plots.base import PADDING


def figure(value: float | None) -> str:
    """Return a number with four significant digits and a true minus sign; a dash for None."""
    return MISSING if value is None else format_figure(value)


def percent(value: float | None) -> str:
    """Return a share in percent with one decimal, without the sign: 32.9; a dash for None."""
    return MISSING if value is None else f"{100 * value:.1f}"


def score(value: float | None) -> str:
    return format_number(value, leading_zero=True)


_INK = {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 12, "titleFontSize": 12}
CHART_CONFIG: dict[str, Any] = {
    "background": "transparent", "autosize": {"type": "fit-x", "contains": "padding"}, "view": {"stroke": "transparent"},
    "title": {"color": "currentColor"}, "axis": {**_INK, "domainColor": "gray", "tickColor": "gray", "gridColor": "#80808033"}, "legend": _INK,
}  # fmt: skip
"""How charts look in reports: in the text colour of the page, which both themes have."""

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates", encoding="utf-8"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.tests["figure"] = is_figure
_ENVIRONMENT.globals |= {"chart_config": CHART_CONFIG, "short": 25}  # cells of fewer characters are not wrapped
_ENVIRONMENT.filters |= {"figure": figure, "percent": percent, "score": score}


def render(template: str, **values: Any) -> str:
    """Return the page. No line breaks within τ-b."""
    return (
        _ENVIRONMENT.get_template(template)
        .render(missing=MISSING, **values)
        .replace("τ-b", "τ\N{NON-BREAKING HYPHEN}b")
    )


def report_table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], baselines: Container[int] = ()
) -> dict[str, Any]:
    """Return a table for the template; `baselines` are the indexes of the rows that are drawn pale."""
    cells = [{"baseline": k in baselines, "cells": row} for k, row in enumerate(rows)]
    return {"caption": caption, "columns": columns, "rows": cells}


def chart_spec(chart: alt.LayerChart | alt.Chart) -> dict[str, Any]:
    """Return a chart as Vega-Lite that fills the width of its place."""
    return chart.properties(width="container", padding=PADDING).to_dict(validate=False)


def long_time(made: datetime) -> str:
    """Return a time in UTC: "4 May 2026, 07:08 UTC."."""
    return f"{made.day} {made:%B %Y, %H:%M} UTC."


def report_page(
    title: str, sentence: str, tables: Sequence[dict[str, Any]], charts: Iterable[tuple[str, alt.LayerChart]], methods: str,
    signatures: Sequence[str],
) -> str:  # fmt: skip
    """Return one page with charts and tables. Charts need JavaScript, which the page contains; all values are also in tables."""
    return render(
        "evaluation.html.j2", title=title, sentence=sentence, tables=tables, methods=methods, signatures=signatures, vega_script=vega_script,
        charts=[{"caption": caption, "spec": chart_spec(chart)} for caption, chart in charts],
        foot=f"Computed with Errorscope on {long_time(datetime.now(UTC))}",
    )  # fmt: skip


def static_chart(chart: alt.LayerChart, width: int) -> Markup:
    """Return a chart as SVG of this width in pixels, which needs no script; texts are escaped. The first call in a process takes a second."""
    from vl_convert import vegalite_to_svg

    spec = chart.properties(width=width, padding=PADDING).to_dict(validate=False)
    version = alt.SCHEMA_VERSION.rpartition(".")[0]
    return Markup(vegalite_to_svg(spec, vl_version=version, config=CHART_CONFIG, allowed_base_urls=[]))


@cache
def vega_script() -> Markup:
    """Return Vega, Vega-Lite and Vega-Embed as one script (0.9 MB), in the versions for which Altair writes charts.

    The first call in a process takes some seconds.
    """
    from vl_convert import javascript_bundle

    version = alt.SCHEMA_VERSION.rpartition(".")[0]
    bundle = javascript_bundle(vl_version=version)  # type: ignore[call-arg]  # the stub lacks the default
    return Markup(bundle.replace("</script", "<\\/script"))

"""The reactions of metrics to a changed text: the verdict, a chart and a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.formatting import MISSING, format_change, format_count, format_number, format_percent
from core.metrics.base import Metric
from core.plots import robustness as plots
from core.ports.cases import BARELY, MISSES
from core.scoring.cache import InMemoryScores
from core.services.robustness import break_metric as service
from core.services.robustness.break_metric import SMALL, Reaction, TextPair
from pages._ui.robustness.suite_results import memory
from pages._ui.shared import page, tables
from pages._ui.shared.deferred import comes_later
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown

PART_WITH_MODELS = "reactions"
"""The part of the page with the metrics that need a model, which comes in the second run."""


def _change(value: float) -> str:
    """Return a change with its sign; one that is 0 at three decimals is written with the first digit that is not."""
    text = format_change(value, leading_zero=True)
    return (
        format_change(value, -math.floor(math.log10(abs(value))), leading_zero=True) if value and text == "±0" else text
    )


FORMATS: dict[str, Callable[..., str]] = {
    "good": partial(format_number, leading_zero=True),
    "changed": partial(format_number, leading_zero=True),
    "change": _change,
}
_CHARTED = "robustness-charted"
SHOWN = ("metric", "verdict", *FORMATS)


def draw(texts: TextPair, metrics: Sequence[Metric]) -> list[Reaction]:
    """Draw the reactions and return them.

    The first time in a session, only metrics without a model are drawn, as a plain table. The next run scores the others and draws the
    chart, whose scripts take the browser half a second.
    """
    by_name: dict[str, Reaction] = {}
    waiting, place = st.container(), st.empty()
    for at_once in (True, False):
        part = [m for m in metrics if m.spec.needs_model != at_once]
        if not part:
            continue
        if not at_once and by_name and comes_later(PART_WITH_MODELS, _waiting_text(part)):
            break
        key = ("reactions", texts, *cache_key(part))
        with waiting, st.spinner("Computing scores …" if at_once else _waiting_text(part), show_time=not at_once):
            found = run_cached(
                key, "Scoring both texts …", lambda progress, part=part: service.reactions(texts, part, progress, known_scores(texts)), has_no_failure  # type: ignore[misc]
            )  # fmt: skip
        by_name |= {r.spec.name: r for r in found or ()}
        in_order = service.by_drop(list(by_name.values()))
        if not in_order:  # cancelled before any score was there
            break
        if not at_once or len(in_order) == len(metrics):
            st.session_state[_CHARTED] = True
        with place.container():
            _draw_table(in_order, chart=_CHARTED in st.session_state, complete=len(in_order) == len(metrics))
    return [by_name[m.spec.name] for m in metrics if m.spec.name in by_name]


def _waiting_text(metrics: Sequence[Metric]) -> str:
    """Return the message shown until the metrics with models have scores."""
    return f"Scoring with {format_count(len(metrics), 'more metric')}. The first scores take some seconds, because models are loaded."


def cache_key(metrics: Sequence[Metric]) -> tuple[Hashable, ...]:
    """Return what the reactions of metrics depend on beside the texts: their signatures and ranges."""
    return tuple(m.signature() for m in metrics), tuple(service.scale_of(m) for m in metrics)


def known_scores(texts: TextPair) -> InMemoryScores:
    """Return the scores of this good output that the session has, so that only what failed is scored again."""
    return memory(repr(texts[:3]), "break")


def has_no_failure(found: Sequence[Reaction]) -> bool:
    """Return whether no metric failed."""
    return not any(value.status == "error" for r in found for value in (r.good, r.changed))


def _draw_table(found: Sequence[Reaction], *, chart: bool, complete: bool) -> None:
    """Draw the table. A picture is offered of the `complete` one only: while others are computed, this one is replaced in the same run."""
    scored = [r for r in found if r.fooled is not None]
    if not scored:
        page.info("None of these metrics has a score for both texts.")
    else:
        st.markdown(f"#### {_headline(scored)}")
        st.caption(
            "A metric misses the error if the changed text gets the same or a better score than the good text, and barely notices it if "
            f"the score drops by less than {format_percent(SMALL)} of the metric’s range (without a range: of the score). Both texts are "
            "compared with the source and the one reference above, so scores may differ from Compare, which uses all references."
        )
    rows = [row(r) for r in found]
    left, right = st.columns([3, 5])
    if not chart:
        with right:
            tables.text_table([{name: _text(name, r[name]) for name in SHOWN} for r in rows], tall=len(rows))
        return
    frame = pd.DataFrame(rows)
    if scored and frame["share"].notna().any():
        head = "Change of the score of each metric for one changed text"
        said = f"In % of the metric’s range. Misses: not worse; barely notices: a drop of less than {format_percent(SMALL)}."
        if complete:
            figure(plots.changes(frame), head, said, "changes", place=left)
        else:
            left.altair_chart(plots.changes(frame), width="stretch")
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(width=66) for name in FORMATS}
    columns["metric"] = st.column_config.TextColumn(width=176, pinned=True)
    columns["verdict"] = st.column_config.TextColumn(width=126)
    with right:
        tables.data_table(frame[list(SHOWN)], FORMATS, columns, height="content")
    with st.expander("Signatures"):
        st.text("\n".join(r.signature for r in found))


def _headline(scored: Sequence[Reaction]) -> str:
    missing, barely = ([r.spec.label for r in scored if r.verdict == verdict] for verdict in (MISSES, BARELY))

    def named(labels: list[str]) -> str:
        return f": {escape_markdown(', '.join(labels))}" if labels else ""

    said = f"{len(missing)} of {format_count(len(scored), 'metric')} {'misses' if len(missing) == 1 else 'miss'} the error{named(missing)}"
    return said + (
        f" · {len(barely)} barely {'notices' if len(barely) == 1 else 'notice'} it{named(barely)}" if barely else ""
    )


def _text(name: str, value: Any) -> str:
    if name not in FORMATS:
        return str(value)
    return MISSING if value is None else FORMATS[name](value)


def row(r: Reaction) -> dict[str, object]:
    """Return a reaction as a row of the table and the charts."""
    arrow = "↑" if r.spec.higher_is_better else "↓"
    raw = None if r.change is None else r.change * (1 if r.spec.higher_is_better else -1)
    return {
        "metric": f"{r.spec.label} {arrow}", "good": r.good.value, "changed": r.changed.value, "change": raw,
        "share": r.share, "verdict": r.verdict, "range": f"{arrow} is better",
    }  # fmt: skip

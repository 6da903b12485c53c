"""The contribution of each sub-word of a gold and a noised text, as bars."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from core.data import Item
from core.formatting import format_number
from core.metrics import registry
from core.robustness.stress import token_contributions
from core.robustness.stress.report import Offender
from core.robustness.stress.token_contributions import TextContributions
from pages._ui.shared.markdown import escape_markdown

able = token_contributions.able
_STYLE = """<style>
.lab-strip { display: flex; flex-wrap: wrap; gap: .3rem .15rem; margin: 0 0 .6rem; }
.lab-sub { display: inline-flex; flex-direction: column; align-items: center; font-size: .95rem; line-height: 1.3; max-width: 100%; }
.lab-sub bdi { white-space: pre-wrap; overflow-wrap: anywhere; }
.lab-sub i { display: block; width: 70%; min-width: .5rem; background: var(--minor); border-radius: 1px; }
.lab-sub i.good { background: var(--accent); }
.lab-sub small { font-size: .65rem; color: var(--quiet); font-variant-numeric: tabular-nums; }
</style>"""
_TALL = 34
"""Pixels of the tallest bar."""


def draw(metric: str, found: Offender, made_with: str) -> None:
    """Draw both texts in every direction of the metric, with the configured model. `made_with` is the signature of the scores."""
    signature = registry.load(metric).signature()
    references = () if found.reference is None else (found.reference,)
    good = _strips(metric, signature, Item(found.source, found.gold, references))
    spoilt = _strips(metric, signature, Item(found.source, found.noised, references))
    if not good or not spoilt:
        st.caption("There is no text to compare with.")
        return
    lacking = metric.startswith("bert")
    st.caption("Taller bars: less similar to the other text." if lacking else "Taller bars: less likely sub-words.")
    if signature != made_with:
        st.caption("Computed with the configured model, which is not the model of the scores.")
    for before, after in zip(good, spoilt, strict=True):
        st.markdown(f"**{escape_markdown(before.title[:1].upper() + before.title[1:])}**")
        deepest = max(_depth(s.value, lacking) for side in (before, after) for s in side.subs) or 1.0
        for name, one in (("good text", before), ("changed text", after)):
            st.html(_html(f"{name}: mean {format_number(one.mean, leading_zero=True)}", one, deepest, lacking))


@st.cache_data(max_entries=128, show_spinner="Computing token scores …")
def _strips(metric: str, signature: str, item: Item) -> Sequence[TextContributions]:
    return token_contributions.strips(metric, item)


def _depth(value: float, similarity: bool) -> float:
    return max(0.0, 1.0 - value) if similarity else max(0.0, -value)


def _html(head: str, one: TextContributions, deepest: float, similarity: bool) -> str:
    subs = []
    for s in one.subs:
        depth = _depth(s.value, similarity) / deepest
        shown = s.label if s.label.strip() else "end" if not s.text else "␣" if s.label else ""
        grade = "good" if depth < 0.25 else ""
        subs.append(
            f'<span class="lab-sub"><bdi>{html.escape(shown)}</bdi><i class="{grade}" style="height:{max(1, round(depth * _TALL))}px"></i>'
            f"<small>{format_number(s.value, 2, leading_zero=True)}</small></span>"
        )
    return f'{_STYLE}<small>{html.escape(head)}</small><div class="lab-strip" dir="auto">{"".join(subs)}</div>'

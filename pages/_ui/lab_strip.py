"""The sub-words of a good and a spoilt text with what each contributes, as bars that need no colour."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from core.data import Item
from core.metrics import registry
from core.services.lab import strip
from core.services.lab.report import Offender
from core.services.lab.strip import Strip
from pages._ui.errors import plain

able = strip.able
_STYLE = """<style>
.lab-strip { display: flex; flex-wrap: wrap; gap: .3rem .15rem; margin: 0 0 .6rem; }
.lab-sub { display: inline-flex; flex-direction: column; align-items: center; font-size: .95rem; line-height: 1.3; max-width: 100%; }
.lab-sub bdi { white-space: pre-wrap; overflow-wrap: anywhere; }
.lab-sub i { display: block; width: 70%; min-width: .5rem; background: #d97706; border-radius: 1px; }
.lab-sub i.good { background: #2563eb; }
.lab-sub small { font-size: .65rem; opacity: .75; font-variant-numeric: tabular-nums; }
</style>"""
_TALL = 34
"""Pixels of the tallest bar."""


def draw(metric: str, found: Offender, made_with: str) -> None:
    """Both texts under every direction the metric reads, by the model that is here; `made_with` signs the scores."""
    signature = registry.load(metric).signature()
    references = () if found.reference is None else (found.reference,)
    good = _strips(metric, signature, Item(found.source, found.gold, references))
    spoilt = _strips(metric, signature, Item(found.source, found.noised, references))
    if not good or not spoilt:
        st.caption("There is no text it could be read against.")
        return
    lacking = metric.startswith("bert")
    st.caption(
        "The taller the bar, the less like anything in the other text."
        if lacking
        else "The taller the bar, the less likely the sub-word."
    )
    if signature != made_with:
        st.caption("Read by the model that is here now, which is not the one the scores are from.")
    for before, after in zip(good, spoilt, strict=True):
        st.markdown(f"**{plain(before.title[:1].upper() + before.title[1:])}**")
        deepest = max(_depth(s.value, lacking) for side in (before, after) for s in side.subs) or 1.0
        for name, one in (("good", before), ("spoilt", after)):
            st.html(_html(f"{name}: mean {one.mean:.3f}".replace("-", "−"), one, deepest, lacking))


@st.cache_data(max_entries=128, show_spinner="The model reads …")
def _strips(metric: str, signature: str, item: Item) -> Sequence[Strip]:
    return strip.strips(metric, item)


def _depth(value: float, similarity: bool) -> float:
    return max(0.0, 1.0 - value) if similarity else max(0.0, -value)


def _html(head: str, one: Strip, deepest: float, similarity: bool) -> str:
    subs = []
    for s in one.subs:
        depth = _depth(s.value, similarity) / deepest
        shown = s.text if s.text.strip() else "␣" if s.text else "end"
        grade = "good" if depth < 0.25 else ""
        subs.append(
            f'<span class="lab-sub"><bdi>{html.escape(shown)}</bdi><i class="{grade}" style="height:{max(1, round(depth * _TALL))}px"></i>'
            f"<small>{f'{s.value:.2f}'.replace('-', '−')}</small></span>"
        )
    return f'{_STYLE}<small>{html.escape(head)}</small><div class="lab-strip" dir="auto">{"".join(subs)}</div>'

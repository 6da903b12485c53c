"""Five failures to show: one press computes one of them on the sample's texts."""

from __future__ import annotations

import streamlit as st

from core.ports import KeptScore, Project
from core.services.lab import tour
from core.services.lab.advice import advice
from core.services.lab.report import Offender
from pages._ui import lab_strip
from pages._ui import robustness_parts as parts
from pages._ui.errors import plain
from pages._ui.lambda_work import worked

CHOSEN = "lab-tour"


def draw(project: Project) -> None:
    """A button a failure; under them the one that was pressed."""
    st.markdown("**Five failures to show**, computed on the sample’s texts as you press:")
    with st.container(horizontal=True):
        for k, stop in enumerate(tour.STOPS):
            st.button(
                stop.title, key=f"lab-tour-{k}", on_click=_choose, args=(k,), type="primary" if _chosen() == k else "secondary"
            )  # fmt: skip
    if (at := _chosen()) is None:
        return
    stop = tour.STOPS[at]
    with st.spinner("Spoiling and scoring …"):
        found = worked(("tour", stop), "Scoring both texts …", lambda tell: tour.shown(stop))
    if found is not None:
        with st.container(border=True):
            _shown(project, found)


def _choose(k: int) -> None:
    st.session_state[CHOSEN] = None if _chosen() == k else k


def _chosen() -> int | None:
    return st.session_state.get(CHOSEN)


def _shown(project: Project, found: tour.Shown) -> None:
    arrow = "↑" if found.higher_is_better else "↓"
    verdict = "✕ fooled" if found.fooled else "✓ not fooled with the models here"
    st.markdown(
        f"#### {plain(f'{found.label} {arrow}: {found.good:.3f} → {found.spoilt:.3f}'.replace('-', '−'))} · {verdict}"
    )
    st.markdown(plain(found.stop.says))
    stop, texts = found.stop, found.texts
    if texts.reference and stop.metric != "bartscore-faithfulness":
        st.html(parts.compared(texts.reference, texts.reference, "reference"))
    elif texts.source:
        st.html(parts.compared(texts.source, texts.source, "source"))
    st.html(parts.compared(texts.good, texts.changed, "good → spoilt"))
    if said := advice(stop.noise, stop.metric):
        st.info(plain(said), icon=":material/lightbulb:")
    rise = (found.spoilt - found.good) * (1 if found.higher_is_better else -1)
    if lab_strip.able(stop.metric) and st.toggle("Show why, token by token", key="lab-tour-strip"):
        lab_strip.draw(
            stop.metric,
            Offender(
                stop.segment.segment_id, "", stop.seed, texts.source, texts.reference, texts.good, texts.changed,
                found.good, found.spoilt, rise,
            ),
            found.signature,
        )  # fmt: skip
    st.button(
        "Open in Break a metric", on_click=parts.open_case, args=(texts,), key="lab-tour-open", icon=":material/open_in_full:"
    )  # fmt: skip
    score = KeptScore(stop.metric, found.signature, found.higher_is_better, found.good, found.spoilt)
    parts.keep(project, texts, [score], stop.title, "lab-tour-case")

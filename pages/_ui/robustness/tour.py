"""Five example failures and a test of a judge, computed on the texts of the sample project."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.formatting import format_number
from core.ports.projects import Project
from core.ports.robustness import BARELY, MISSES
from core.robustness.stress.report import Offender, advice
from core.services.robustness import tour
from core.services.robustness.break_metric import verdict_of
from pages._ui.robustness import controls, stress_evidence
from pages._ui.shared import drafts, jobs, page
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown

CHOSEN = "lab-tour"


def draw_tour(project: Project) -> None:
    """Draw one button per failure, and the chosen one below."""
    st.markdown("**Five example failures, and a test of a judge**, computed on texts of the sample project:")
    with st.container(horizontal=True):
        for k, stop in enumerate(tour.STOPS):
            st.button(
                stop.title, key=f"lab-tour-{k}", on_click=_choose, args=(k,), type="primary" if _chosen() == k else "secondary"
            )  # fmt: skip
    jobs.warn_of_hosts([stop.metric for stop in tour.STOPS], "the texts of this example")
    if (at := _chosen()) is None:
        return
    stop = tour.STOPS[at]
    if missing := tour.lacking(stop):
        page.info(f"This example asks a judge, a language model on a server ({missing.sentence()}). {missing.note}")
        page.link("models", "Set up a judge on Models")
        return
    with st.spinner("Computing scores …"):
        tour_result = run_cached(("tour", stop), "Scoring both texts …", lambda progress: tour.shown(stop))
    if tour_result is not None:
        with st.container(border=True):
            _shown(project, tour_result)


def _choose(k: int) -> None:
    st.session_state[CHOSEN] = None if _chosen() == k else k


def _chosen() -> int | None:
    return st.session_state.get(drafts.kept(CHOSEN))


def _shown(project: Project, tour_result: tour.TourResult) -> None:
    score = tour_result.score
    good, changed = score.good or 0.0, score.changed or 0.0  # an example without scores is refused
    number = partial(format_number, leading_zero=True)
    arrow = "↑" if score.higher_is_better else "↓"
    verdict = verdict_of(score)
    said = (
        f"✕ {verdict}"
        if verdict == MISSES
        else f"{'≈' if verdict == BARELY else '✓'} {verdict} the error with the configured models"
    )
    st.markdown(f"#### {escape_markdown(f'{tour_result.label} {arrow}: {number(good)} → {number(changed)}')} · {said}")
    st.markdown(escape_markdown(tour_result.stop.says))
    stop, texts = tour_result.stop, tour_result.texts
    if texts.reference and stop.metric not in ("bartscore-faithfulness", "judge-mqm"):
        st.html(controls.diff_html(texts.reference, texts.reference, "reference"))
    elif texts.source:
        st.html(controls.diff_html(texts.source, texts.source, "source"))
    st.html(controls.diff_html(texts.good, texts.changed, "good text → changed text"))
    if advised := advice(stop.noise, stop.metric):
        st.info(escape_markdown(advised), icon=":material/lightbulb:")
    rise = (changed - good) * (1 if score.higher_is_better else -1)
    if stress_evidence.able(stop.metric) and st.toggle("Show the score of each token", key="lab-tour-strip"):
        stress_evidence.draw_token_contributions(
            stop.metric,
            Offender(
                stop.segment.segment_id, "", stop.seed, texts.source, texts.reference, texts.good, texts.changed,
                good, changed, rise,
            ),
            score.signature,
        )  # fmt: skip
    controls.open_button(texts, "lab-tour-open")
    controls.save_case(project, texts, [score], stop.title, "lab-tour-case")

"""Calibration sets: what is missing, drawing outputs to label next, and the progress of each set."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.calibration.presets import ENOUGH_OUTPUTS, ENOUGH_RATERS
from core.calibration.sampling import STRATA, Method
from core.formatting import format_count, format_number
from core.mqm.rated_by_output import RatedByOutput
from core.ports.calibration import SavedBatch
from core.ports.projects import Project
from core.services.labels import batches as service
from core.services.labels.batches import ANY_LAMBDA, Plan
from core.services.projects.view import Column, View
from pages._ui.annotate.annotate_parts import address
from pages._ui.calibrate.calibration_result import interval
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.addresses import copy_link
from pages._ui.shared.long_jobs import compute
from pages._ui.shared.markdown import escape_markdown

METHODS: dict[Method, str] = {
    "stratified": "Mix of good and bad outputs (stratified by quality)",
    "informative": "Most informative for λ",
}
WHOLE = {True: "Whole segments with all systems", False: "Single outputs"}


def missing(project: Project, rated: RatedByOutput) -> None:
    """Draw how many of the recommended outputs and annotators there are."""
    shortfall = service.shortfall(rated, project.n_outputs)
    icon = ":material/check_circle:" if not shortfall.missing_twice else ":material/flag:"
    st.markdown(f"{icon} {escape_markdown(shortfall.words())}", help="Recommended size: Lu et al. (2023), Appendix B")


def builder(project: Project) -> None:
    """Draw the form that draws outputs as a calibration set."""
    view = wiring.view(project)
    metrics = {c.name: c for c in view.columns}
    if not metrics:
        page.info("No metric has been computed for this project yet. Outputs are selected by their scores.")
        page.link_to_scoring(project)
        return
    st.markdown(
        f"Select outputs to label next. Recommended: at least {ENOUGH_OUTPUTS} outputs, good and bad ones, each labelled by 2 or 3 "
        "annotators."
    )
    with st.container(border=True):
        method = st.radio(
            "Which outputs", METHODS, format_func=METHODS.__getitem__, horizontal=True, key="batch-method"
        )
        left, right = st.columns(2)
        usable = [n for n, c in metrics.items() if c.refinement] if method == "informative" else list(metrics)
        if not usable:
            page.info("This needs BARTScore++.")
            page.link_to_scoring(project)
            return
        name = left.selectbox("Metric", usable, format_func=lambda n: metrics[n].label, key=f"batch-metric-{method}")
        column = metrics[name]
        with right:
            between = _interval(project, column) if method == "informative" else ANY_LAMBDA
            strata = (
                STRATA
                if method == "informative"
                else int(st.number_input("Number of quality levels (strata)", 2, 20, STRATA, key="batch-strata"))
            )
        left, middle, right = st.columns(3)
        n = int(left.number_input("Outputs", 1, 100_000, ENOUGH_OUTPUTS, key="batch-n"))
        left_out, same = (
            "Outputs that already have this many annotators are left out",
            "The same number gives the same selection",
        )
        enough = int(
            middle.number_input("Annotators per output", 1, 9, ENOUGH_RATERS, key="batch-enough", help=left_out)
        )
        seed = int(right.number_input("Random number (seed)", 0, 2**31 - 1, 0, key="batch-seed", help=same))
        whole_segments = st.radio("Select", WHOLE, format_func=WHOLE.__getitem__, horizontal=True, key="batch-whole")
        documents = _documents(project, view)
        _make(project, column, Plan(n, method, bool(whole_segments), strata, between, enough, seed, documents))
    with st.expander("How outputs are selected"):
        st.markdown(_explained(method))


def _documents(project: Project, view: View) -> tuple[str, ...]:
    """Return the documents to draw from, chosen by language and by name; empty for all."""
    by_language = compute(
        ("languages", *wiring.version(project)),
        "Looking at the languages of the documents …",
        lambda: service.languages(view),
    )
    left, right = st.columns(2)
    chosen: list[str] = []
    if len(by_language) > 1:
        chosen = left.multiselect(
            "Languages", by_language, key=f"batch-languages-{project.id}", placeholder="All languages",
            help="Guessed for each document from its source and outputs, by script and function words",
        )  # fmt: skip
    documents = [doc for name in chosen or by_language for doc in by_language[name]]
    if len(view.documents) < 2:
        return ()
    only = right.multiselect(
        "Documents", documents, key=f"batch-documents-{project.id}-{chosen!r}", placeholder="All documents"
    )
    return tuple(only or (documents if chosen else ()))


def _interval(project: Project, column: Column) -> tuple[float, float]:
    """Return the current 95 % CI of λ: from a λ saved for this refinement, or all λ."""
    saved = service.intervals(wiring.store().calibrations.list(project.id), column.refinement_signature)
    choices = {f"“{name}”{interval(ends)}": ends for name, ends in saved.items()} | {
        "Not known yet (all λ)": ANY_LAMBDA
    }
    return choices[st.selectbox("Current 95 % CI of λ", choices, key=f"batch-interval-{project.id}")]


def _make(project: Project, column: Column, plan: Plan) -> None:
    with st.form("batch-make", border=False):
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        name = left.text_input("Name of the set", placeholder="for example: calibration 1", max_chars=80)
        pressed = right.form_submit_button("Make the set", type="primary", width="stretch")
    if pressed:
        with errors.boundary():
            rated = known_labels.by_output(project)
            made = wiring.store().batches.save(
                project.id, service.build(wiring.view(project), column, rated, name, plan)
            )
            st.toast(f"{format_count(len(made.outputs), 'output')} selected as “{escape_markdown(made.name)}”")


def _explained(method: Method) -> str:
    if method == "stratified":
        return (
            "Outputs (or segments, by the mean over their systems) are divided into strata of equal size by their score; "
            "single outputs also by system. The same number is drawn from every stratum, with equal probability within it. "
            "Segments are in random order, so that a partly labelled set is still a fair sample. The probability of each output is "
            "stored, so that means can be corrected for the sampling."
        )
    return (
        "Two outputs swap ranks at exactly one λ. Within the current 95 % CI of λ, agreement changes only at the λ of such "
        "pairs, and only if both outputs are labelled. The probability of an output is therefore proportional to the number "
        "of outputs with which it swaps ranks inside the interval, each weighted by its own probability. One fifth is drawn "
        "evenly, so that every output has a chance. Correct means of this set for the probabilities."
    )


def batches(project: Project, rated: RatedByOutput) -> None:
    """Draw the calibration sets: progress, link to Annotate, corrected means, delete."""
    every = wiring.store().batches.list(project.id)
    current = [batch for batch in every if not batch.archived]
    kept = [batch for batch in every if batch.archived]
    if not every:
        if not wiring.may_change(project.id):
            page.info("There is no calibration set yet. A manager of this project can make one.")
        return
    st.subheader("Calibration sets", anchor=False)
    for batch in reversed(current):
        done = service.progress(batch, rated)
        with st.container(border=True):
            with st.container(horizontal=True, vertical_alignment="center"):
                when = page.moment(batch.created) if batch.created else ""
                st.markdown(
                    f"**{escape_markdown(batch.name)}**  \n{done.once} / {done.assigned} outputs labelled, {done.twice} by two "
                    f"or more · {escape_markdown(facts(batch))} · {when}",
                    help=escape_markdown(batch.signature),
                )
                st.space("stretch")
                if wiring.identity().may_label(project.id):
                    st.page_link(
                        "pages/annotate.py", label="Annotate this set", icon=":material/edit_note:",
                        query_params=address(project, batch.name),
                    )  # fmt: skip
                    copy_link("annotate", address(project, batch.name), f"batch-link-{batch.id}")
                if wiring.may_change(project.id):
                    _delete(project, batch, rated, done.once)
            if done.once:
                corrected(rated, batch)
    if kept:
        st.markdown("**Deleted sets that were labelled in part.** Their labels and sampling probabilities are kept.")
    for batch in reversed(kept):
        with st.container(border=True):
            st.markdown(f"**{escape_markdown(batch.name)}** · {escape_markdown(facts(batch))}")
            corrected(rated, batch)


def _delete(project: Project, batch: SavedBatch, rated: RatedByOutput, labelled: int) -> None:
    """Draw the button that deletes a set, which asks first."""
    words = "**Nobody has submitted labels for this set.** The set is deleted, and its link stops working."
    if labelled:
        words = (
            f"**{format_count(labelled, 'output')} of this set are labelled.** Annotators can no longer open the set. Its labels "
            "and sampling probabilities are kept, so that estimates and λ stay correct."
        )
    remove = partial(service.remove, wiring.store(), project.id, batch, rated)
    page.ask_first("Delete", words, "Delete this set", remove, f"batch-delete-{batch.id}", type="tertiary")


def facts(batch: SavedBatch) -> str:
    """Return how a set was drawn."""
    how = METHODS.get(batch.method, batch.method)  # type: ignore[call-overload]
    unit = "whole segments" if batch.options.get("whole") else "single outputs"
    asked = batch.options.get("asked", "?")
    part = f" in {format_count(len(documents), 'document')}" if (documents := batch.options.get("documents")) else ""
    return (
        f"selected {len(batch.outputs)} (asked for {asked}) of the {batch.population} outputs{part} that needed annotators: "
        f"{how}, by {batch.options.get('metric', '?')}, {unit}, seed {batch.seed}"
    )


def corrected(rated: RatedByOutput, batch: SavedBatch) -> None:
    """Draw the means over all outputs that the set was drawn from."""
    with st.expander("Estimates for all outputs"):
        rows = [
            {
                "system": e.system or "all systems",
                "outputs": e.n,
                "mean score of the set ↑": format_number(e.plain),
                "corrected for the sampling ↑": format_number(e.corrected),
                "95 % CI": e.reason if e.low is None else f"[{format_number(e.low)}, {format_number(e.high)}]",
            }
            for e in service.estimates(rated, batch)
        ]
        st.dataframe(rows, hide_index=True, width="stretch")
        st.caption(
            f"Each labelled output is weighted by 1/probability (Hájek), which estimates the mean over the {batch.population} outputs "
            "that the set was drawn from. The 95 % CI covers the sampling of the set, not the differences between annotators. "
            "Severity weights: Google MQM (major 5, minor 1)."
        )

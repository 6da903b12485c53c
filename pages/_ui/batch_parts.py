"""Building a calibration set: what is missing, which outputs to label next, and how far the batches are."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.calibration.calibrate import ENOUGH_OUTPUTS, ENOUGH_RATERS
from core.calibration.sampling import STRATA, Method
from core.data import RatedOutput
from core.formats.problems import counted
from core.ports import Project, SavedBatch, Store
from core.services import batches as service
from core.services.batches import ANY_LAMBDA, Plan
from core.services.view import Column
from pages._ui import errors, wiring
from pages._ui.batches import address
from pages._ui.lambda_parts import interval, number

METHODS: dict[Method, str] = {
    "stratified": "all qualities alike",
    "informative": "what narrows λ's interval most",
}
WHOLE = {True: "whole segments, systems side by side", False: "single outputs"}


def missing(labels: Sequence[RatedOutput]) -> None:
    """What there is and what is missing to 100 outputs and 2 or 3 raters; always in sight."""
    found = service.shortfall(service.raters_of(labels))
    icon = ":material/check_circle:" if not found.missing_twice else ":material/flag:"
    st.markdown(f"{icon} {errors.plain(found.words())}", help="Lu et al. 2023, Appendix B, on calibration sets")


def builder(store: Store, project: Project) -> None:
    """Choose outputs and keep them as a batch."""
    view = wiring.view(project)
    metrics = {c.name: c for c in view.columns}
    if not metrics:
        st.info("No metric has scored this project yet; outputs are chosen by their scores.", icon=":material/info:")
        st.page_link("pages/compare.py", label="Score on Compare", icon=":material/view_column:")
        return
    st.markdown(
        f"Choose which outputs people should label next. Advised are {ENOUGH_OUTPUTS} outputs or more, of all qualities, each "
        "labelled by 2 or 3 people. How likely each output was to be chosen is kept, so that means can be corrected for it."
    )
    with st.container(border=True):
        method = st.radio("Choose", list(METHODS), format_func=METHODS.__getitem__, horizontal=True, key="batch-method")
        left, right = st.columns(2)
        usable = [n for n, c in metrics.items() if c.refinement] if method == "informative" else list(metrics)
        if not usable:
            st.info("This needs BARTScore++, whose two distances λ weighs.", icon=":material/info:")
            st.page_link("pages/compare.py", label="Score it on Compare", icon=":material/view_column:")
            return
        name = left.selectbox("Metric", usable, format_func=lambda n: metrics[n].label, key=f"batch-metric-{method}")
        column = metrics[name]
        with right:
            between = _interval(store, project, column) if method == "informative" else ANY_LAMBDA
            strata = (
                STRATA
                if method == "informative"
                else int(st.number_input("Strata of quality", 2, 20, STRATA, key="batch-strata"))
            )
        left, middle, right = st.columns(3)
        n = int(left.number_input("Outputs", 1, 100_000, ENOUGH_OUTPUTS, key="batch-n"))
        enough = int(
            middle.number_input(
                "Raters wanted an output", 1, 9, ENOUGH_RATERS, key="batch-enough",
                help="Outputs that so many people have labelled already are left out",
            )
        )  # fmt: skip
        seed = int(right.number_input("Seed", 0, 2**31 - 1, 0, key="batch-seed"))
        whole = st.radio("As", list(WHOLE), format_func=WHOLE.__getitem__, horizontal=True, key="batch-whole")
        _make(store, project, column, Plan(n, method, bool(whole), strata, between, enough, seed))
    with st.expander("How outputs are chosen"):
        st.markdown(_explained(method))


def _interval(store: Store, project: Project, column: Column) -> tuple[float, float]:
    """The present interval of λ: of a λ saved for this refinement, or all λ."""
    saved = service.intervals(store.calibrations.list(project.id), column.refinement_signature)
    choices = {f"“{name}”{interval(ends)}": ends for name, ends in saved.items()} | {"not known yet: all λ": ANY_LAMBDA}
    return choices[st.selectbox("Present interval of λ", list(choices), key=f"batch-interval-{project.id}")]


def _make(store: Store, project: Project, column: Column, plan: Plan) -> None:
    with st.form("batch-make", border=False):
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        name = left.text_input("Name of the batch", placeholder="e.g. calibration 1", max_chars=80)
        wanted = right.form_submit_button("Build the batch", type="primary", width="stretch")
    if wanted:
        with errors.boundary():
            rated = service.raters_of(service.labels_of(store, project.id))
            made = store.batches.save(project.id, service.build(wiring.view(project), column, rated, name, plan))
            st.toast(f"{counted(len(made.outputs), 'output')} chosen as “{errors.plain(made.name)}”")


def _explained(method: Method) -> str:
    if method == "stratified":
        return (
            "Outputs (or segments, by the mean over their systems) are cut into strata of equal size by the metric's value; "
            "single outputs also by system. Every stratum gets the same number of places, as far as it has outputs, and "
            "within it each has the same chance. Segments come in a random order, so that a batch left half done is still a "
            "fair sample of it."
        )
    return (
        "Two outputs change places at one λ only. Within the present interval of λ the agreement with people moves only "
        "where a pair has its λ there, and only if both are labelled. So the chance of an output is proportional to the "
        "number of others with which it changes places inside the interval, each counted with the chance that it is "
        "labelled itself. One fifth is spread evenly, so that no output is without a chance. Such a batch says little about "
        "the mean quality of a system unless it is corrected for the probabilities."
    )


def batches(store: Store, project: Project, labels: Sequence[RatedOutput]) -> None:
    """The batches there are: how far they are, the way to Annotate, corrected means, delete."""
    there = store.batches.list(project.id)
    if not there:
        return
    st.subheader("Batches", anchor=False)
    rated = service.raters_of(labels)
    for batch in reversed(there):
        done = service.progress(batch, rated)
        with st.container(border=True):
            with st.container(horizontal=True, vertical_alignment="center"):
                when = f"{batch.created:%d %b %Y %H:%M} UTC" if batch.created else ""
                st.markdown(
                    f"**{errors.plain(batch.name)}**  \n{done.once} / {done.assigned} outputs labelled, {done.twice} by two "
                    f"or more · {errors.plain(facts(batch))} · {when}",
                    help=errors.plain(batch.signature),
                )
                st.space("stretch")
                st.page_link(
                    "pages/annotate.py", label="Work through it", icon=":material/edit_note:",
                    query_params=address(project, batch.name),
                )  # fmt: skip
                if st.button("Delete", key=f"batch-delete-{batch.id}", type="tertiary", help="Labels stay"):
                    with errors.boundary():
                        store.batches.delete(project.id, batch.name)
                        st.rerun()
            if done.once:
                corrected(labels, batch)


def facts(batch: SavedBatch) -> str:
    """How a batch was drawn, in a few words."""
    how = METHODS.get(batch.method, batch.method)  # type: ignore[call-overload]
    unit = "whole segments" if batch.options.get("whole") else "single outputs"
    return f"{how} by {batch.options.get('metric', '?')}, {unit}, of {batch.population}, seed {batch.seed}"


def corrected(labels: Sequence[RatedOutput], batch: SavedBatch) -> None:
    """What the labels of the batch say of all outputs it was drawn from."""
    with st.expander("What it says of all outputs"):
        rows = [
            {
                "system": e.system or "all systems",
                "outputs": e.n,
                "mean score of the batch ↑": number(e.plain),
                "corrected for the sampling ↑": number(e.corrected),
                "95 % interval": e.reason if e.low is None else f"[{number(e.low)}, {number(e.high)}]",
            }
            for e in service.estimates(labels, batch)
        ]
        st.dataframe(rows, hide_index=True, width="stretch")
        st.caption(
            f"Each labelled output counts 1/probability (Hájek), which estimates the mean over the {batch.population} outputs "
            "the batch was drawn from; the plain mean leans towards what was chosen more readily. The interval holds the chance of "
            "the sampling by the design of the batch, not that annotators differ. Weights: google."
        )

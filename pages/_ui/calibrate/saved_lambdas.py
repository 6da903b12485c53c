"""The saved λs of a project: use them on Compare or delete them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import streamlit as st

from core.formatting import format_fitted_lambda, format_number
from core.plots.calibration import MEASURE_NAMES
from core.ports.calibration import SavedLambda
from core.ports.projects import Project
from core.services.calibrate import calibration as service
from core.services.calibrate.calibration import HumanScores
from core.services.projects.view import Column
from pages._ui.calibrate.calibration_form import GROUPS, scheme_words
from pages._ui.calibrate.calibration_result import interval
from pages._ui.shared import errors, page, state, wiring
from pages._ui.shared.markdown import escape_markdown

LONGEST_NAME = 80


def saved(project: Project, columns: Sequence[Column]) -> None:
    """Draw the saved λs: what each was fitted on, use, delete."""
    fitted = wiring.store().calibrations.list(project.id)
    if not fitted:
        return
    st.subheader("Saved λs", anchor=False)
    for item in reversed(fitted):
        with st.container(border=True):
            _saved(project, item, columns)


def _saved(project: Project, item: SavedLambda, columns: Sequence[Column]) -> None:
    at, of = service.saved_agreement(item), service.origin(item)
    mine = next((c for c in columns if c.refinement_signature == item.refinement), None)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{escape_markdown(item.name)}**  \nλ = {text_of(item)}{interval(of.interval)}, agreement {format_number(at)}",
            help=escape_markdown(item.signature), width="stretch",
        )  # fmt: skip
        if st.button("Use on Compare", key=f"use-{item.id}"):
            state.use_lambda(project.id, item.value)
            if mine is not None:
                state.use_refinement(project.id, mine.name)
            st.switch_page("pages/compare.py", query_params=address(project, item.value))
        if wiring.may_change(project.id) and st.button("Delete", key=f"delete-{item.id}", type="tertiary"):
            with errors.boundary():
                wiring.store().calibrations.delete(project.id, item.name)
                st.rerun()
    when = page.moment(item.created) if item.created else ""
    facts = (
        of.outputs, of.human_scores, of.weights and f"severity weights: {scheme_words(of.weights)}", of.measure and MEASURE_NAMES.get(of.measure, of.measure),
        next((text for g, text in GROUPS.items() if g == of.group), of.group), of.model, when,
    )  # fmt: skip
    st.caption(" · ".join(escape_markdown(f) for f in facts if f))
    if mine is None:
        st.caption(":material/warning: It was fitted on scores that this project no longer has.")


def usual_name(project: Project, human_scores: HumanScores, batch: str) -> str:
    """Return a name for a λ that says what it was fitted on and that no saved λ of the project has."""
    parts = ("MQM" if human_scores.scheme else "", human_scores.words.removeprefix("the "), batch)
    base = ", ".join(part for part in parts if part)[: LONGEST_NAME - 6]
    taken = {item.name.casefold() for item in wiring.store().calibrations.list(project.id)}
    names = (base if n == 1 else f"{base} ({n})" for n in count(1))
    return next(name for name in names if name.casefold() not in taken)


def text_of(item: SavedLambda) -> str:
    """Return a saved λ, to the digits that its 95 % CI supports."""
    return format_fitted_lambda(item.value, service.origin(item).interval)


def address(project: Project, lam: float) -> dict[str, str]:
    """Return the query parameters of Compare at this λ."""
    return {state.PROJECT: str(project.id), state.LAMBDA: state.lambda_parameter(lam)}

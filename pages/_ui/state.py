"""What the address holds (project, doc, segment, lambda, refinement), and what a browser session remembers of it between pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from core.data import SegmentKey
from core.formats.numbers import parse_lambda
from core.ports import Project, Store

PROJECT, DOC, SEGMENT, LAMBDA, REFINEMENT = "project", "doc", "segment", "lambda", "refinement"
_PLACE = "errorscope_place"
_PROJECT = "errorscope_project"
_LAMBDAS = "errorscope_lambdas"
_REFINEMENTS = "errorscope_refinements"
_NEXT = "errorscope_next"
"""What a callback chose. The run that follows writes it into the address: what callbacks write there is lost to the browser."""


class Choice(NamedTuple):
    """The project that is open, if any; all there are; and what the address asked for in vain."""

    project: Project | None
    all: list[Project]
    unknown: str = ""


def projects(store: Store) -> Choice:
    """The project the address names, else the one last open here, else the sample, else the first; the
    address then says so.

    An address that names no project opens none.
    """
    everything = store.projects.list()
    by_id = {str(p.id): p for p in everything}
    chosen = _next().pop(PROJECT, None)
    if chosen is not None:
        for name in (DOC, SEGMENT, LAMBDA, REFINEMENT):
            st.query_params.pop(name, None)
        st.session_state.pop(_PLACE, None)
        st.query_params[PROJECT] = str(chosen)
    asked = st.query_params.get(PROJECT)
    if asked is not None and asked not in by_id:
        return Choice(None, everything, asked)
    found = by_id.get(asked or "") or by_id.get(str(st.session_state.get(_PROJECT)))
    found = found or next((p for p in everything if p.sample), everything[0] if everything else None)
    if found is not None:
        st.session_state[_PROJECT] = found.id
        if asked is None:
            st.query_params[PROJECT] = str(found.id)
    return Choice(found, everything)


def _next() -> dict[str, Any]:
    chosen: dict[str, Any] = st.session_state.setdefault(_NEXT, {})
    return chosen


def open_project(project_id: int) -> None:
    """Make this the project of the session and of the address; the place within the old one is forgotten."""
    st.session_state[_PROJECT] = _next()[PROJECT] = project_id


def place(project_id: int) -> SegmentKey | None:
    """The segment that is open in this project: just chosen, else from the address, else where this session left it."""
    chosen = _next().get(SEGMENT)
    if chosen and chosen[0] == project_id:
        return SegmentKey(*chosen[1])
    doc, segment = st.query_params.get(DOC), st.query_params.get(SEGMENT)
    if doc is not None and segment is not None:
        return SegmentKey(doc, segment)
    remembered = st.session_state.get(_PLACE)
    return remembered[1] if remembered and remembered[0] == project_id else None


def go_to_segment(project_id: int, key: SegmentKey) -> None:
    """Open this segment in the next run: for callbacks."""
    _next()[SEGMENT] = (project_id, key)


def open_segment(project_id: int, key: SegmentKey) -> None:
    """Write the segment on the screen into the address and remember it. To be called by the page, not by callbacks."""
    _next().pop(SEGMENT, None)
    st.session_state[_PLACE] = (project_id, key)
    _write(DOC, key.doc_id)
    _write(SEGMENT, key.segment_id)


def use_lambda(project_id: int, value: float) -> None:
    """Use this λ on Compare, in this project, from now on. ∞ is allowed."""
    st.session_state.setdefault(_LAMBDAS, {})[project_id] = value
    _next()[LAMBDA] = (project_id, value)


def current_lambda(project_id: int, default: float = 1.0) -> float:
    """λ just chosen, else from the address, else the one last used in this project; what is no λ counts as absent."""
    chosen = _next().get(LAMBDA)
    if chosen and chosen[0] == project_id:
        return float(chosen[1])
    asked = parse_lambda(st.query_params.get(LAMBDA, ""))
    remembered = st.session_state.get(_LAMBDAS, {}).get(project_id, default)
    return float(remembered) if asked is None else asked


def show_lambda(project_id: int, value: float) -> None:
    """Write λ into the address, unless it is 1 and none stands there, and remember it. By the page, not by callbacks."""
    _next().pop(LAMBDA, None)
    st.session_state.setdefault(_LAMBDAS, {})[project_id] = value
    if value != 1.0 or LAMBDA in st.query_params:
        _write(LAMBDA, lambda_text(value))


def use_refinement(project_id: int, name: str) -> None:
    """Show this kind of refinement on Compare, in this project, from now on: for callbacks."""
    st.session_state.setdefault(_REFINEMENTS, {})[project_id] = name
    _next()[REFINEMENT] = (project_id, name)


def current_refinement(project_id: int, names: Sequence[str]) -> str:
    """Of these names the one just chosen, else that of the address, else the one last used here, else the first; "" of none."""
    chosen = _next().get(REFINEMENT)
    asked = (
        chosen[1] if chosen and chosen[0] == project_id else None,
        st.query_params.get(REFINEMENT),
        st.session_state.get(_REFINEMENTS, {}).get(project_id),
    )
    return next((str(name) for name in asked if name in names), next(iter(names), ""))


def show_refinement(project_id: int, name: str, usual: str) -> None:
    """Write the choice into the address, unless it is the usual one and none stands there, and remember it. By the page."""
    _next().pop(REFINEMENT, None)
    st.session_state.setdefault(_REFINEMENTS, {})[project_id] = name
    if name != usual or REFINEMENT in st.query_params:
        _write(REFINEMENT, name)


def _write(name: str, value: str) -> None:
    if st.query_params.get(name) != value:
        st.query_params[name] = value


def lambda_text(value: float) -> str:
    return "inf" if math.isinf(value) else f"{value:.6g}"

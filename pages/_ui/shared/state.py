"""The open project, segment, λ and refinement: in the address, and remembered by the session between pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from core.data import SegmentKey
from core.formats.parsing.numbers import parse_lambda
from core.ports.projects import Project
from core.ports.store import Store

PROJECT, DOC, SEGMENT, LAMBDA, REFINEMENT = "project", "doc", "segment", "lambda", "refinement"
_PLACE = "errorscope_place"
_PROJECT = "errorscope_project"
_LAMBDAS = "errorscope_lambdas"
_REFINEMENTS = "errorscope_refinements"
_NEXT = "errorscope_next"
"""Choices made in callbacks. The next run writes them into the address: the browser loses what callbacks write there."""


class ProjectChoice(NamedTuple):
    """The open project, all projects, and an unknown project id in the address."""

    project: Project | None
    all: list[Project]
    unknown: str = ""


def projects(store: Store) -> ProjectChoice:
    """Return the project in the address, else the one last open, else the sample, else the first; update the address.

    An unknown project in the address opens none.
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
        return ProjectChoice(None, everything, asked)
    found = by_id.get(asked or "") or by_id.get(str(st.session_state.get(_PROJECT)))
    found = found or next((p for p in everything if p.sample), everything[0] if everything else None)
    if found is not None:
        st.session_state[_PROJECT] = found.id
        if asked is None:
            st.query_params[PROJECT] = str(found.id)
    return ProjectChoice(found, everything)


def _next() -> dict[str, Any]:
    chosen: dict[str, Any] = st.session_state.setdefault(_NEXT, {})
    return chosen


def open_project(project_id: int) -> None:
    """Open this project in the session and the address; the open segment of the old one is forgotten."""
    st.session_state[_PROJECT] = _next()[PROJECT] = project_id


def place(project_id: int) -> SegmentKey | None:
    """Return the open segment: the one just chosen, else from the address, else the last one of this session."""
    chosen = _next().get(SEGMENT)
    if chosen and chosen[0] == project_id:
        return SegmentKey(*chosen[1])
    doc, segment = st.query_params.get(DOC), st.query_params.get(SEGMENT)
    if doc is not None and segment is not None:
        return SegmentKey(doc, segment)
    remembered = st.session_state.get(_PLACE)
    return remembered[1] if remembered and remembered[0] == project_id else None


def go_to_segment(project_id: int, key: SegmentKey) -> None:
    """Open this segment in the next run. For callbacks."""
    _next()[SEGMENT] = (project_id, key)


def open_segment(project_id: int, key: SegmentKey) -> None:
    """Write the segment into the address and remember it. For pages, not for callbacks."""
    _next().pop(SEGMENT, None)
    st.session_state[_PLACE] = (project_id, key)
    _write(DOC, key.doc_id)
    _write(SEGMENT, key.segment_id)


def use_lambda(project_id: int, value: float) -> None:
    """Use this λ (0 to ∞) on Compare for this project from now on."""
    st.session_state.setdefault(_LAMBDAS, {})[project_id] = value
    _next()[LAMBDA] = (project_id, value)


def current_lambda(project_id: int, default: float = 1.0) -> float:
    """Return the λ just chosen, else from the address, else last used in this project. Invalid values are ignored."""
    chosen = _next().get(LAMBDA)
    if chosen and chosen[0] == project_id:
        return float(chosen[1])
    asked = parse_lambda(st.query_params.get(LAMBDA, ""))
    remembered = st.session_state.get(_LAMBDAS, {}).get(project_id, default)
    return float(remembered) if asked is None else asked


def show_lambda(project_id: int, value: float) -> None:
    """Write λ into the address (1 only if one is there already) and remember it. For pages, not for callbacks."""
    _next().pop(LAMBDA, None)
    st.session_state.setdefault(_LAMBDAS, {})[project_id] = value
    if value != 1.0 or LAMBDA in st.query_params:
        _write(LAMBDA, lambda_parameter(value))


def use_refinement(project_id: int, name: str) -> None:
    """Show this refinement on Compare for this project from now on. For callbacks."""
    st.session_state.setdefault(_REFINEMENTS, {})[project_id] = name
    _next()[REFINEMENT] = (project_id, name)


def current_refinement(project_id: int, names: Sequence[str]) -> str:
    """Return one of `names`: just chosen, else in the address, else last used, else the first; "" without names."""
    chosen = _next().get(REFINEMENT)
    asked = (
        chosen[1] if chosen and chosen[0] == project_id else None,
        st.query_params.get(REFINEMENT),
        st.session_state.get(_REFINEMENTS, {}).get(project_id),
    )
    return next((str(name) for name in asked if name in names), next(iter(names), ""))


def show_refinement(project_id: int, name: str, usual: str) -> None:
    """Write the refinement into the address (the default only if one is there already) and remember it. For pages."""
    _next().pop(REFINEMENT, None)
    st.session_state.setdefault(_REFINEMENTS, {})[project_id] = name
    if name != usual or REFINEMENT in st.query_params:
        _write(REFINEMENT, name)


def _write(name: str, value: str) -> None:
    if st.query_params.get(name) != value:
        st.query_params[name] = value


def lambda_parameter(value: float) -> str:
    """Return λ as it is written into an address: a number, or inf."""
    return "inf" if math.isinf(value) else f"{value:.6g}"

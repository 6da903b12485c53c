"""The open project, segment, λ and refinement: in the address, and remembered by the session between pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from core.data import SegmentKey
from core.formats.parsing.numbers import parse_lambda
from core.ports.projects import Project
from core.settings import load_settings
from pages._ui.shared import drafts, wiring

PROJECT, DOC, SEGMENT, LAMBDA, REFINEMENT = "project", "doc", "segment", "lambda", "refinement"
FILTER, SYSTEMS, LAYERS, BATCH = "filter", "system", "layer", "batch"
_PLACE = "errorscope_place"
_PROJECT = "errorscope_project"
_NEXT, _ADDRESS = "errorscope_next", "address"
"""Choices made in callbacks. The next run writes them into the address: the browser loses what callbacks write there."""


class ProjectChoice(NamedTuple):
    """The open project, all projects, and an unknown project id in the address."""

    project: Project | None
    all: list[Project]
    unknown: str = ""


def projects() -> ProjectChoice:
    """Return the project in the address, else the one that this person last opened here, else the newest one; update the address.

    An unknown project in the address opens none. The sample opens only if there is no other project.
    """
    everything, last, mine = (
        wiring.store().projects.list(),
        _last_opened(),
        (load_settings().database, wiring.identity().who),
    )
    by_id = {str(p.id): p for p in everything}
    _write_address()
    chosen = _next().pop(PROJECT, None)
    if chosen is not None:
        for name in (DOC, SEGMENT, LAMBDA, REFINEMENT, FILTER, SYSTEMS, LAYERS, BATCH):
            st.query_params.pop(name, None)
        st.session_state.pop(_PLACE, None)
        st.query_params[PROJECT] = str(chosen)
    asked = st.query_params.get(PROJECT)
    if asked is not None and asked not in by_id:
        return ProjectChoice(None, everything, asked)
    known = (asked, st.session_state.get(_PROJECT), last.get(mine))
    newest = max(everything, key=lambda p: (not p.sample, p.id), default=None)
    opened = next((by_id[str(i)] for i in known if str(i) in by_id), newest)
    if opened is not None:
        st.session_state[_PROJECT] = last[mine] = opened.id
        if asked is None:
            st.query_params[PROJECT] = str(opened.id)
    return ProjectChoice(opened, everything)


@st.cache_resource(show_spinner=False)
def _last_opened() -> dict[tuple[str, str], int]:
    """Return the project last opened, by database and person. It is forgotten when the server ends."""
    return {}


def change_address(**parameters: str | None) -> None:
    """Write these parameters into the address in the next run; None removes one."""
    _next().setdefault(_ADDRESS, {}).update(parameters)


def _write_address() -> None:
    """Write all at once: each address that the browser gets is a step of Back."""
    if not (changes := _next().pop(_ADDRESS, {})):
        return
    changes = drafts.in_address() | changes
    before = {name: st.query_params.get_all(name) for name in st.query_params}
    now = before | {name: [value] for name, value in changes.items() if value is not None}
    now = {name: values for name, values in now.items() if changes.get(name, "") is not None}
    if now != before:
        st.query_params.from_dict(now)


def _next() -> dict[str, Any]:
    chosen: dict[str, Any] = st.session_state.setdefault(_NEXT, {})
    return chosen


def open_project(project_id: int) -> None:
    """Open this project in the session and the address; the open segment of the old one is forgotten."""
    st.session_state[_PROJECT] = _next()[PROJECT] = project_id


def place(project_id: int) -> SegmentKey | None:
    """Return the open segment: the one just chosen, else from the address, else the last one of this session."""
    if (chosen := _just_chosen(SEGMENT, project_id)) is not None:
        return SegmentKey(*chosen)
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


def _use(parameter: str, project_id: int, value: object) -> None:
    """Remember the value for this project, and write it into the address in the next run."""
    _remembered(parameter)[project_id] = value
    _next()[parameter] = (project_id, value)


def _just_chosen(parameter: str, project_id: int) -> Any:
    """Return the value chosen for this project in a callback before this run, or None."""
    chosen = _next().get(parameter)
    return chosen[1] if chosen and chosen[0] == project_id else None


def _show(parameter: str, project_id: int, value: object, text: str, *, default: bool) -> None:
    """Remember the value, and write it as `text` into the address: a default only if the address has one already."""
    _next().pop(parameter, None)
    _remembered(parameter)[project_id] = value
    if not default or parameter in st.query_params:
        _write(parameter, text)


def _remembered(parameter: str) -> dict[int, Any]:
    by_project: dict[int, Any] = st.session_state.setdefault(f"errorscope_{parameter}s", {})
    return by_project


def use_lambda(project_id: int, value: float) -> None:
    """Use this λ (0 to ∞) on Compare for this project from now on."""
    _use(LAMBDA, project_id, value)


def current_lambda(project_id: int) -> float:
    """Return the λ just chosen, else from the address, else last used in this project. Invalid values are ignored."""
    asked = (_just_chosen(LAMBDA, project_id), parse_lambda(st.query_params.get(LAMBDA, "")))
    return next((float(v) for v in asked if v is not None), float(_remembered(LAMBDA).get(project_id, 1.0)))


def show_lambda(project_id: int, value: float) -> None:
    """Write λ into the address (1 only if one is there already) and remember it. For pages, not for callbacks."""
    _show(LAMBDA, project_id, value, lambda_parameter(value), default=value == 1.0)


def use_refinement(project_id: int, name: str) -> None:
    """Show this refinement on Compare for this project from now on. For callbacks."""
    _use(REFINEMENT, project_id, name)


def current_refinement(project_id: int, names: Sequence[str]) -> str:
    """Return one of `names`: just chosen, else in the address, else last used, else the first; "" without names."""
    address, remembered = st.query_params.get(REFINEMENT), _remembered(REFINEMENT).get(project_id)
    asked = (_just_chosen(REFINEMENT, project_id), address, remembered, *names)
    return next((str(name) for name in asked if name in names), "")


def show_refinement(project_id: int, name: str, usual: str) -> None:
    """Write the refinement into the address (the default only if one is there already) and remember it. For pages."""
    _show(REFINEMENT, project_id, name, name, default=name == usual)


def kept(parameter: str, project_id: int) -> list[str]:
    """Return the values of this parameter in the address, else those last shown in this project."""
    return st.query_params.get_all(parameter) or list(_remembered(parameter).get(project_id, ()))


def keep(parameter: str, project_id: int, values: Sequence[str]) -> None:
    """Write the values into the address and remember them. For pages, not for callbacks."""
    _remembered(parameter)[project_id] = list(values)
    if st.query_params.get_all(parameter) == list(values):
        return
    if values:
        st.query_params[parameter] = list(values)
    else:
        st.query_params.pop(parameter, None)


def _write(name: str, value: str) -> None:
    if st.query_params.get(name) != value:
        st.query_params[name] = value


def lambda_parameter(value: float) -> str:
    """Return λ as it is written into an address: a number, or inf."""
    return "inf" if math.isinf(value) else f"{value:.6g}"


def first_values(form: str, values: Mapping[str, object]) -> None:
    """After a form was carried out, say so and give its fields, by key, their first values. A refused form keeps what was typed."""
    if said := st.session_state.pop(f"{form}-done", ""):
        st.session_state.update(values)
        st.success(said, icon=":material/check:")


def carried_out(form: str, said: str) -> None:
    """Note what was done, as Markdown, and run the page anew; `first_values` says it there."""
    st.session_state[f"{form}-done"] = said
    st.rerun()

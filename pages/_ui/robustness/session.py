"""What the Robustness page keeps in the session: the open section, the texts and the choices."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

from core.ports.projects import Project
from core.services.robustness.break_metric import TextPair
from pages._ui.shared import drafts

T = TypeVar("T")

BREAK, SUITE, STRESS, COMBINE, KEPT = "Break a metric", "Adversarial suite", "Stress tests", "Combine", "Saved cases"

SECTIONS = (BREAK, SUITE, STRESS, COMBINE, KEPT)

SECTION = "robustness-section"

RUN = "run"
"""Query parameter of the open run of stress tests."""

SOURCE, REFERENCE, GOOD, CHANGED = (f"robustness-{what}" for what in ("source", "reference", "good", "changed"))

SEGMENT, SYSTEM, PERTURBATION, SEED = (f"robustness-{what}" for what in ("segment", "system", "kind", "seed"))

FILLED_FROM, APPLIED_SEED = "robustness-filled-from", "robustness-applied-seed"
"""The segment and system that the texts were last filled from, and the seed of the last change."""

METRICS, EVERY, COLLECTION = "robustness-metrics", "robustness-every", "robustness-collection"

_KINDS_DRAWN = "robustness_kinds_drawn"

_PROJECT, FILLED = "robustness_project", "robustness_filled"

OF_PROJECT = (
    SOURCE, REFERENCE, GOOD, CHANGED, SEGMENT, SYSTEM, FILLED_FROM, PERTURBATION, SEED, APPLIED_SEED, COLLECTION,
    "lab-gold", "lab-open", "lab-test", "lab-metric",
)  # fmt: skip
"""What belongs to one project."""


def remember(project: Project) -> None:
    """Discard the texts and choices of another project; restore what no widget draws."""
    if st.session_state.get(drafts.kept(_PROJECT)) != project.id:
        if _PROJECT in st.session_state:
            drafts.forget(*OF_PROJECT)
        st.session_state[_PROJECT] = project.id
        st.session_state.pop(FILLED, None)
    for name in (FILLED_FROM, PERTURBATION, APPLIED_SEED):
        drafts.kept(name)


def latest(key: str, asked: T | None) -> T | None:
    """Return what was asked for just now, else the last time under `key`, also before a reload."""
    if asked is not None:
        st.session_state[key] = asked
    return st.session_state.get(drafts.kept(key))


def choose_kind(name: str | None) -> None:
    """Choose this kind of error, or none, and draw the choice anew.

    A browser that has not yet received a changed choice sends its old one with the next click. Under the old key it is ignored;
    under the same key it would count as a choice of the user, and replace the text that was typed.
    """
    st.session_state[PERTURBATION] = name
    st.session_state[_KINDS_DRAWN] = st.session_state.get(_KINDS_DRAWN, 0) + 1


def kinds_key() -> str:
    """Return the key of the choice among the kinds of error."""
    return f"{PERTURBATION}-{st.session_state.get(_KINDS_DRAWN, 0)}"


def open_case(texts: TextPair) -> None:
    """Open these texts under *Break a metric*. For callbacks."""
    for name, text in zip((SOURCE, REFERENCE, GOOD, CHANGED), texts, strict=True):
        st.session_state[name] = text or ""
    choose_kind(None)
    st.session_state[FILLED] = True
    st.session_state[SECTION] = BREAK

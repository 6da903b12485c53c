"""What the sections of the Robustness page share: the desk with its texts, differences, metrics, and keeping a case."""

from __future__ import annotations

import html
from collections.abc import Sequence

import altair as alt
import streamlit as st

from core.metrics import readiness, registry
from core.metrics.base import Metric
from core.ports import KeptScore, Project
from core.services import robustness_cases as cases
from core.services.robustness import Texts
from core.text.diff import diff
from pages._ui import errors, wiring
from pages._ui.errors import plain

BREAK, SUITE, SPOTS, COMBINE, KEPT = "Break a metric", "Suite", "Blind spots", "Combine", "Kept cases"
SECTIONS = (BREAK, SUITE, SPOTS, COMBINE, KEPT)
SECTION = "robustness-section"
RUN = "run"
"""Stands in the address while a run of *Blind spots* is open."""
SOURCE, REFERENCE, GOOD, CHANGED = (f"robustness-{what}" for what in ("source", "reference", "good", "changed"))
SEGMENT, SYSTEM, PERTURBATION, SEED = (f"robustness-{what}" for what in ("segment", "system", "kind", "seed"))
METRICS, EVERY, COLLECTION = "robustness-metrics", "robustness-every", "robustness-collection"
_PROJECT, FILLED = "robustness_project", "robustness_filled"
LAB = tuple(
    f"lab-{what}" for what in ("gold", "tests", "metrics", "most", "seeds", "injections", "open", "test", "metric")
)
LASTING = (SOURCE, REFERENCE, GOOD, CHANGED, SEGMENT, SYSTEM, PERTURBATION, SEED, METRICS, EVERY, COLLECTION, *LAB)
_DESK = "robustness_desk"
TALL = 90
FIRST = "demo"
"""The collection that is offered while there is none."""
_STYLE = """<style>
.rob-text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 .5rem; line-height: 1.6; font-size: 1.05rem; }
.rob-text small { display: block; opacity: .7; }
.rob-text del { color: #b91c1c; background: rgba(220, 38, 38, .14); text-decoration: line-through; }
.rob-text ins { background: rgba(37, 99, 235, .2); text-decoration: underline; font-weight: 600; }
</style>"""


def remember(project: Project) -> None:
    """Texts and choices outlast a look at another section or page; those of another project do not stay."""
    desk: dict[str, object] = st.session_state.setdefault(_DESK, {})
    if st.session_state.get(_PROJECT) != project.id:
        if _PROJECT in st.session_state:
            for name in LASTING:
                st.session_state.pop(name, None)
            desk.clear()
        st.session_state[_PROJECT] = project.id
        st.session_state.pop(FILLED, None)
    for name in LASTING:
        if name in st.session_state:
            desk[name] = st.session_state[name]
        elif name in desk:
            st.session_state[name] = desk[name]


def open_case(texts: Texts) -> None:
    """Put these texts on the desk and go there: for callbacks."""
    for name, text in zip((SOURCE, REFERENCE, GOOD, CHANGED), texts, strict=True):
        st.session_state[name] = text or ""
    st.session_state[PERTURBATION] = None
    st.session_state[FILLED] = True
    st.session_state[SECTION] = BREAK


def compared(a: str, b: str, label: str = "") -> str:
    """HTML of what makes `b` of `a`, word by word; texts stay texts."""
    tags = {"same": "span", "delete": "del", "insert": "ins"}
    told = "".join(f"<{tags[p.kind]}>{html.escape(p.text)}</{tags[p.kind]}>" for p in diff(a, b))
    head = f'<small dir="auto">{html.escape(label)}</small>' if label else ""  # its direction is not the text's
    return f'{_STYLE}<p class="rob-text" dir="auto">{head}{told}</p>'


def wide(chart: alt.LayerChart, key: str) -> None:
    """A chart of fixed width, which scrolls where the page is narrower."""
    with st.container(key=key):
        st.html(f"<style>.st-key-{key} {{ overflow-x: auto; }}</style>")
        st.altair_chart(chart, width="content")


def ready(key: str, default: Sequence[str]) -> list[Metric]:
    """The metrics chosen among those that can run here."""
    states = readiness.of_all()
    able = [name for name, found in states.items() if found.state == "ready"]
    labels = {name: registry.load(name).spec.label for name in able}
    if key not in st.session_state:
        st.session_state[key] = [name for name in default if name in able]
    if gone := set(st.session_state[key]) - set(
        able
    ):  # assigned only then: a choice made in the meantime would be undone
        st.session_state[key] = [name for name in st.session_state[key] if name not in gone]
    names = st.multiselect("Metrics", able, format_func=labels.__getitem__, key=key)
    if lacking := len(states) - len(able):
        st.page_link("pages/models.py", label=f"{lacking} more need a model or a package", icon=":material/memory:")
    return registry.chosen(names)


def keep(
    project: Project, texts: Texts, scores: Sequence[KeptScore], kind: str, key: str, error_in: str | None = None
) -> None:
    """Name a collection and keep the case."""
    store = wiring.store()
    there = list(dict.fromkeys(c.collection for c in reversed(store.cases.list(project.id)))) or [FIRST]
    field = COLLECTION if key == "desk" else f"{COLLECTION}-{key}"

    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Collection", there, key=field, accept_new_options=True, width=260, help="Type a name to begin another"
        )  # fmt: skip
        pressed = st.button("Keep this case", icon=":material/bookmark_add:", key=f"keep-{key}")
    if pressed:
        with errors.boundary():
            store.cases.keep(project.id, cases.to_keep(name or "", texts, scores, kind=kind, error_in=error_in))
            st.success(f"Kept in {plain(name or '')}", icon=":material/bookmark_added:")

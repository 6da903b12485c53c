"""What the sections of the Robustness page share: what the session keeps, differences of texts, wide charts, metrics, saving a case."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import streamlit as st

from core.metrics import readiness, registry
from core.metrics.base import Metric
from core.ports.projects import Project
from core.ports.robustness import SavedScore
from core.services.projects.task import language_warning, may_preselect, reads_only_english
from core.services.robustness import cases
from core.services.robustness.break_metric import TextPair
from core.text.edits import diff
from pages._ui.shared import drafts, errors, jobs, page, wiring
from pages._ui.shared.files import figure
from pages._ui.shared.markdown import escape_markdown

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


TALL = 90

FIRST = "demo"
"""The suggested collection if there is none."""

_STYLE = """<style>
.rob-text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 .5rem; line-height: 1.6; font-size: 1.05rem; }
.rob-text small { display: block; color: var(--quiet); }
.rob-text del { background: color-mix(in srgb, var(--major) 16%, transparent); text-decoration: line-through; }
.rob-text ins { background: color-mix(in srgb, var(--accent) 18%, transparent); text-decoration: underline; font-weight: 600; }
.rob-text del + ins { margin-inline-start: .25em; }
</style>"""


def diff_html(a: str, b: str, label: str = "") -> str:
    """Return the word diff from `a` to `b` as HTML, with escaped texts."""
    tags = {"same": "span", "delete": "del", "insert": "ins"}
    marked_words = "".join(f"<{tags[p.kind]}>{html.escape(p.text)}</{tags[p.kind]}>" for p in diff(a, b))
    label += " (struck through: removed; underlined: added)" if label and a != b else ""
    head = f'<small dir="auto">{html.escape(label)}</small>' if label else ""  # its direction is not the text's
    return f'{_STYLE}<p class="rob-text" dir="auto">{head}{marked_words}</p>'


def wide_chart(
    chart: alt.LayerChart | alt.FacetChart, name: str, headline: str, sentence: str, what: str, **selection: Any
) -> None:
    """Draw a chart of fixed width that scrolls on narrow pages, as `figure` does."""
    with st.container(key=name):
        st.html(f"<style>.st-key-{name} {{ overflow-x: auto; }}</style>")
        chart_place = st.container()
    figure(chart, headline, sentence, what, drawn_in=chart_place, width="content", **selection)


def paged(items: Sequence[T], at_once: int, words: str, key: str, width: int) -> Sequence[T]:
    """Draw the choice of a page if there are several; return its items. `words` has a place for the number of pages."""
    pages = -(-len(items) // at_once)
    at = int(st.number_input(words.format(pages), 1, pages, key=key, width=width)) if pages > 1 else 1
    return items[(at - 1) * at_once : at * at_once]


def open_button(texts: TextPair, key: str, label: str = "Open in Break a metric") -> None:
    """Draw the button that opens texts under *Break a metric*."""
    st.button(label, on_click=open_case, args=(texts,), key=key, icon=":material/open_in_full:")


def choose_metrics(key: str, default: Sequence[str], languages: Mapping[str, float]) -> list[Metric]:
    """Draw the choice among the metrics that can run; return the chosen ones.

    Those of `default` are chosen at first that read most texts, whose `languages` are given with their shares.
    """
    states = readiness.of_all()
    able = [name for name, state in states.items() if state.state == "ready"]
    labels = {name: registry.load_metric(name).spec.label for name in able}
    ready = [name for name in default if name in able]
    usual = preselected(ready, languages)
    key = drafts.kept(key, usual)
    chosen = st.session_state.get(key)
    if chosen is not None and not set(chosen) <= set(able):  # only then: it would undo a choice made in the meantime
        st.session_state[key] = [name for name in chosen if name in able]
    # A default, not a value set here: the browser may receive a set value after the user has chosen, and undo the choice.
    first = usual if chosen is None else None
    names = st.multiselect("Metrics", able, first, format_func=labels.__getitem__, key=key)
    if lacking := len(states) - len(able):
        page.link("models", f"{lacking} more metrics need a model or a package")
    if left := [labels[name] for name in ready if name not in usual and name not in names]:
        page.caption(f"Not preselected (the model does not read the language of the texts): {', '.join(left)}.")
    jobs.warn_of_hosts(names)
    return registry.chosen(names)


def preselected(names: Sequence[str], languages: Mapping[str, float]) -> list[str]:
    """Return those of the metrics that a form may choose at first for texts in these languages."""
    return [name for name in names if may_preselect(registry.load_metric(name), languages)]


def warn_of_language(metrics: Sequence[Metric], languages: Mapping[str, float]) -> None:
    """Draw a warning of chosen metrics whose model does not read the texts."""
    english = [m.spec.label for m in metrics if reads_only_english(m)]
    if said := language_warning(languages, english):
        st.warning(escape_markdown(said), icon=":material/translate:")


def save_case(
    project: Project, texts: TextPair, scores: Sequence[SavedScore], kind: str, key: str, error_in: str | None = None
) -> None:
    """Draw the form that saves a case in a collection, for those who may."""
    if not wiring.may_change(project.id):
        return
    store = wiring.store()
    collections = list(dict.fromkeys(c.collection for c in reversed(store.cases.list(project.id)))) or [FIRST]
    field = COLLECTION if key == "desk" else f"{COLLECTION}-{key}"

    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Collection", collections, key=drafts.kept(field), accept_new_options=True, width=260, help="Type a name to create a new collection"
        )  # fmt: skip
        pressed = st.button("Save case", icon=":material/bookmark_add:", key=f"keep-{key}")
    if pressed:
        with errors.boundary():
            store.cases.keep(project.id, cases.to_keep(name or "", texts, scores, kind=kind, error_in=error_in))
            st.success(f"Saved in {escape_markdown(name or '')}", icon=":material/bookmark_added:")

"""Search, order, filters, refinement and λ presets of the Compare page, and its table of systems."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.calibration.presets import PRESETS, LambdaPreset
from core.formatting import MISSING, format_lambda
from core.ports.projects import Project
from core.reports import score_tables
from core.services.compare.compare import Order, Query, Sort, hint_at, matching_outputs
from core.services.compare.inspector import Marks
from core.services.compare.systems import SystemScores, system_scores
from core.services.projects.view import Column, View
from core.services.spans.layers import LayerInfo
from pages._ui.compare import marks
from pages._ui.projects import scoring, scoring_time
from pages._ui.shared import errors, jobs, page, state, tables, wiring
from pages._ui.shared.files import downloads
from pages._ui.shared.markdown import escape_markdown

SEARCH = "Search or filter"
LANGUAGE = """Words search source, references and outputs. All parts of a filter must hold for an output:

| part | finds outputs |
|---|---|
| `mqm<-5` `chrf>=40` | by any score, `< <= > >= =` |
| `system:A` `doc:news-3` `segment:7` | of a system, document, segment |
| `category:fluency` `severity:major` | with such an error |
| `annotator:Ann` | labelled by an annotator |
| `-system:A` | all others |
| `"two words"` | names with spaces, texts with signs |
"""

ASPECTS = {
    "COV": "coverage",
    "COH": "coherence",
    "FAC": "factuality",
    "FLU": "fluency",
    "INFO": "informativeness",
    "REL": "relevance",
}
TASKS = {"MT": "translation", "SUM": "summaries", "D2T": "text from data"}
ORDERS: dict[str, Sort] = {
    "document order": "document",
    "a metric": "metric",
    "disagreement of two metrics": "disagreement",
}


def toolbar(project: Project, view: View, seen: Marks | None) -> tuple[Query, bool, list[LayerInfo], DeltaGenerator]:
    """Draw search, order, filter, refinement, labels, layers of error spans, and blind mode. `seen` are the labels, if there are any.

    Return the query, whether names are hidden, the chosen layers, and the place for a link to another part of the page.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="compare-toolbar"):
        key = f"compare-search-{project.id}"
        if key not in st.session_state:
            st.session_state[key] = " ".join(state.kept(state.FILTER, project.id))
        search = st.text_input(
            SEARCH, key=key, placeholder="Search or filter, e.g. mqm<-5  /", icon=":material/search:",
            label_visibility="collapsed", width=250,
        )  # fmt: skip
        state.keep(state.FILTER, project.id, [search] if search else [])
        query = _filter(project, view, _order(project, view, Query(search or "")))
        _choose_refinement(project, view)
        text = "Hide the names of the systems and shuffle the outputs of each segment"
        if seen:
            marks.switch(project)
        shown = marks.choose_layers(project, seen)
        blind = st.toggle("Blind", key="compare-blind", help=text)
        place = st.container(width="content", height="stretch", vertical_alignment="center")
    return query, blind, shown, place


def refinement(project: Project, view: View) -> Column | None:
    """Return the refinement that the cards show; None if there is none."""
    name = state.current_refinement(project.id, [c.name for c in view.refinements()])
    return view.column(name) if name else None


def first_score(project: Project, view: View) -> str:
    """Return the score that lists and charts begin with: the refinement that the cards show, else the first score."""
    main = refinement(project, view)
    return main.name if main else view.columns[0].name


def _choose_refinement(project: Project, view: View) -> None:
    labels, key = {c.name: c.label for c in view.refinements()}, f"compare-refinement-{project.id}"
    if len(labels) < 2:
        return

    @errors.guarded
    def chosen() -> None:
        state.use_refinement(project.id, st.session_state[key])

    st.session_state[key] = now = state.current_refinement(project.id, list(labels))
    state.show_refinement(project.id, now, next(iter(labels)))
    st.selectbox(
        "Refinement", labels, format_func=labels.__getitem__, key=key, on_change=chosen, width=240,
        label_visibility="collapsed",
    )  # fmt: skip


def _order(project: Project, view: View, query: Query) -> Query:
    labels, kept = {c.name: c.label for c in view.columns}, f"compare-order-{project.id}"
    names, shown = list(labels), st.session_state.get(kept, "document order")
    with st.popover(f"Segments by: {escape_markdown(shown)}", icon=":material/sort:"):
        chosen = ORDERS[st.radio("Sort the segments by", ORDERS, key="compare-sort", disabled=not labels)]
        metric = second = system = ""
        if names and chosen != "document":
            key = f"compare-metric-{project.id}"
            first = names.index(first_score(project, view))
            metric = st.selectbox("Metric", names, first, format_func=labels.__getitem__, key=key)
        if names and chosen == "disagreement":
            others, key = [name for name in names if name != metric] or names, f"compare-second-{project.id}"
            compared = view.compared_with(metric)
            at = others.index(compared) if compared in others else 0
            second = st.selectbox("Second metric", others, at, format_func=labels.__getitem__, key=key)
        if names and chosen == "metric":
            everyone, key = ["", *view.systems], f"compare-system-{project.id}"
            system = st.selectbox("Scores of", everyone, format_func=lambda s: s or "mean over all systems", key=key)
        largest = st.toggle("Highest value first", value=chosen == "disagreement", key=f"compare-desc-{chosen}")
    now = " × ".join(labels[n] for n in (metric, second) if n) or "document order"
    st.session_state[kept] = now
    if now != shown:
        st.rerun()
    return query._replace(sort=chosen, metric=metric, second=second, system=system, descending=largest)


def _filter(project: Project, view: View, query: Query) -> Query:
    keys = f"compare-systems-{project.id}", f"compare-docs-{project.id}"
    if keys[0] not in st.session_state:
        st.session_state[keys[0]] = [s for s in state.kept(state.SYSTEMS, project.id) if s in view.systems]
    active = sum(len(st.session_state.get(key, [])) for key in keys)
    with st.popover(f"Filter: {active} chosen" if active else "Filter", icon=":material/filter_list:"):
        systems = st.multiselect("Systems", view.systems, key=keys[0], placeholder="all systems")
        documents = st.multiselect("Documents", view.documents, key=keys[1], placeholder="all documents")
        st.markdown(LANGUAGE)
    state.keep(state.SYSTEMS, project.id, systems)
    return query._replace(systems=tuple(systems), documents=tuple(documents))


def valid(view: View, query: Query, lam: float) -> Query:
    """Return the query; if its filter is wrong, show why and return it without the filter."""
    with errors.boundary():
        matching_outputs(view, query, lam)
        return query
    return query._replace(search="")


def jumps(project: Project, query: Query) -> bool:
    """Return whether the order has just changed to one by scores; the page then opens its first segment."""
    now, key = (query.sort, query.metric, query.second, query.system, query.descending), f"compare-sorted-{project.id}"
    before = st.session_state.get(key, now)
    st.session_state[key] = now
    return before != now and query.sort != "document"


def presets(project: Project, column: Column | None) -> list[dict[str, str]]:
    """Return the λ presets: those saved in this project, then those of the paper, whose hint names direction and prompts.

    The label says if a λ was fitted with another model, direction or prompts than those shown.
    """
    if column is None:
        return []
    saved = [
        {
            "kind": "saved",
            "label": s.name
            + ("" if s.refinement == column.refinement_signature else " (fitted with another model or other options)"),
            "value": state.lambda_parameter(s.value),
        }
        for s in wiring.store().calibrations.list(project.id)
    ]
    return [*saved, *(_preset(p, column) for p in PRESETS)]


def _preset(preset: LambdaPreset, column: Column) -> dict[str, str]:
    other = preset.differs(column.facts)
    what = " ".join(p for p in (preset.dataset, ASPECTS.get(preset.aspect, preset.aspect)) if p)
    label = f"{what}, {TASKS[preset.task]}{f' (fitted with other {other} than yours)' if other else ''}"
    return {"kind": "paper", "label": label, "value": state.lambda_parameter(preset.lam), "hint": preset.made_with}


def scoring_box(project: Project, view: View) -> None:
    """Draw the scoring panel, open while there are no scores."""
    metrics = [c for c in view.columns if not c.human and not c.labelled]
    running = jobs.active(project.id)
    manages = wiring.may_change(project.id)
    if not metrics:
        waiting = "Choose metrics and compute scores." if manages else "A manager of this project can compute scores."
        text = "Scoring is running. Its scores appear here." if running else f"Not scored yet. {waiting}"
        st.info(text, icon=":material/hourglass_empty:" if running else ":material/info:")
    scoring_time.draw_cancelled_job(project)
    if not manages:
        return
    # a label or key that changes would close the panel
    box = st.expander("Compute scores", expanded=not metrics, key=f"compare-scoring-{project.id}", on_change="rerun")
    if box.open:  # the panel of a closed box would take most of the time of the page
        with box:
            opened = state.place(project.id) or view.segments[0]
            scoring.draw_scoring(project, segment=opened)


ANCHOR = "systems"


def draw_system_table(
    project: Project, view: View, query: Query, lam: float, order: Order, place: DeltaGenerator
) -> None:
    """Draw one row per system with its mean under every score, the best marked, and the downloads; in `place`, a link to them."""
    place.markdown(f"[Systems ↓](#{ANCHOR})")
    st.subheader("Systems", anchor=ANCHOR)
    system_table = system_scores(view, lam, order, query.systems)
    config = {"system": st.column_config.TextColumn(pinned=True)} | {
        score_tables.title(c): st.column_config.NumberColumn(
            help=tables.help_on_missing(hint_at(c, lam), missing=not system_table.counts[:, k].all())
        )
        for k, c in enumerate(system_table.columns)
    }
    st.dataframe(
        _styled(system_table), hide_index=True, width="stretch", height="content" if len(system_table.systems) <= 30 else 600,
        column_config=config, key=f"compare-systems-table-{project.id}", placeholder=MISSING,
    )  # fmt: skip
    at = f" at λ = {format_lambda(lam)}" if any(c.refinement for c in system_table.columns) else ""
    text = f"Means of output scores{at} over {len(order):,} segments; BLEU, chrF and TER are means of segment scores, not corpus scores. ●  best mean, not tested."
    lacking = ", ".join(f"{c.label} {n:,} of {system_table.outputs:,}" for c, n in system_table.partial)
    page.caption(text + (f" Outputs with a score: {lacking}." if lacking else ""))
    downloads(
        "systems", "compare-systems", ("Systems as CSV", "csv", lambda: score_tables.systems_csv(system_table, lam)),
        ("LaTeX table", "tex", lambda: score_tables.systems_latex(system_table)),
    )  # fmt: skip


def _styled(system_table: SystemScores) -> pd.io.formats.style.Styler:
    titles = [score_tables.title(c) for c in system_table.columns]
    frame = pd.DataFrame(system_table.means, columns=titles)
    frame.insert(0, "system", system_table.systems)
    style = frame.style
    for k, c in enumerate(system_table.columns):
        text = partial(score_tables.mean_text, c)
        style = style.format(text, subset=[titles[k]], na_rep=MISSING)
        first = system_table.best[:, k].nonzero()[0].tolist()
        style = style.format(partial(_best, text), subset=(first, [titles[k]]))
        style = style.set_properties(subset=(first, [titles[k]]), **{"font-weight": "bold"})
    return style


def _best(text: Callable[[float], str], mean: float) -> str:
    return f"● {text(mean)}"

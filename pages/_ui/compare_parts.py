"""The parts of the Compare page around its cards: what is searched and sorted, the list, the charts, the file."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.calibration.presets import PRESETS, Preset
from core.formats.write import scores_csv
from core.plots import compare as plots
from core.plots.labels import chart_labels
from core.ports import Project, Store
from core.services.compare import Order, Query, Sort, means, ordered, points, row_mean, scores, signature_at, sort_key
from core.services.view import Column, View
from pages._ui import errors, state

SEARCH = "Search source, references and outputs"
ORDERS: dict[str, Sort] = {
    "document order": "document",
    "a metric": "metric",
    "disagreement of two metrics": "disagreement",
}
LIST_TEXT = 160


def toolbar(project: Project, view: View) -> tuple[Query, bool]:
    """Search, order, filter, the refinement shown, blind: the query they make, and whether names are hidden."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="compare-toolbar"):
        search = st.text_input(
            SEARCH, key="compare-search", placeholder="Search  /", icon=":material/search:",
            label_visibility="collapsed", width=320, live=True,
        )  # fmt: skip
        query = _filter(project, view, _order(project, view, Query(search or "")))
        _choose_refinement(project, view)
        text = "Hide the systems' names and shuffle them anew in each segment"
        blind = st.toggle("Blind", key="compare-blind", help=text)
    return query, blind


def refinement(project: Project, view: View) -> Column | None:
    """The refinement the cards show, of several the chosen one; None where there is none."""
    name = state.current_refinement(project.id, [c.name for c in view.refinements()])
    return view.column(name) if name else None


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
        "Refinement", list(labels), format_func=labels.__getitem__, key=key, on_change=chosen, width=240,
        label_visibility="collapsed",
    )  # fmt: skip


def _order(project: Project, view: View, query: Query) -> Query:
    labels, kept = {c.name: c.label for c in view.columns}, f"compare-order-{project.id}"
    names, shown = list(labels), st.session_state.get(kept, "document order")
    main = refinement(project, view)
    first = names.index(main.name) if main else 0
    with st.popover(f"Order: {errors.plain(shown)}", icon=":material/sort:"):
        chosen = ORDERS[st.radio("Order of the segments", list(ORDERS), key="compare-sort", disabled=not labels)]
        metric = second = system = ""
        if names and chosen != "document":
            key = f"compare-metric-{project.id}"
            metric = st.selectbox("Metric", names, first, format_func=labels.__getitem__, key=key)
        if names and chosen == "disagreement":
            others, key = [name for name in names if name != metric] or names, f"compare-second-{project.id}"
            second = st.selectbox("against", others, format_func=labels.__getitem__, key=key)
        if names and chosen == "metric":
            everyone, key = ["", *view.systems], f"compare-system-{project.id}"
            system = st.selectbox("of", everyone, format_func=lambda s: s or "all systems, mean", key=key)
        largest = st.toggle("Largest first", value=chosen == "disagreement", key=f"compare-desc-{chosen}")
    now = " × ".join(labels[n] for n in (metric, second) if n) or "document order"
    st.session_state[kept] = now
    if now != shown:
        st.rerun()
    return query._replace(sort=chosen, metric=metric, second=second, system=system, descending=largest)


def _filter(project: Project, view: View, query: Query) -> Query:
    keys = f"compare-systems-{project.id}", f"compare-docs-{project.id}"
    active = sum(len(st.session_state.get(key, [])) for key in keys)
    with st.popover(f"Filter: {active} chosen" if active else "Filter", icon=":material/filter_list:"):
        systems = st.multiselect("Systems", view.systems, key=keys[0], placeholder="all systems")
        documents = st.multiselect("Documents", view.documents, key=keys[1], placeholder="all documents")
    return query._replace(systems=tuple(systems), documents=tuple(documents))


def jumps(project: Project, query: Query) -> bool:
    """Whether the order has just been changed to one by scores; the first segment of that order is opened then."""
    now, key = (query.sort, query.metric, query.second, query.system, query.descending), f"compare-sorted-{project.id}"
    before = st.session_state.get(key, now)
    st.session_state[key] = now
    return before != now and query.sort != "document"


def presets(store: Store, project: Project, column: Column | None) -> list[dict[str, str]]:
    """The λs one can choose by name: those saved in this project, then the paper's with direction and prompts.

    A λ that was chosen on other scores than those shown (another model, direction, prompts, …) says so.
    """
    if column is None:
        return []
    saved = [
        {
            "kind": "saved",
            "label": s.name
            + ("" if s.refinement == column.refinement_signature else " (fitted with another model or other options)"),
            "value": state.lambda_text(s.value),
        }
        for s in store.calibrations.list(project.id)
    ]
    return [*saved, *(_preset(p, column) for p in PRESETS)]


def _preset(preset: Preset, column: Column) -> dict[str, str]:
    other = preset.differs(column.facts)
    label = f"{preset.label} ({preset.made_with}{f'; other {other} here' if other else ''})"
    return {"kind": "paper", "label": label, "value": state.lambda_text(preset.lam)}


def overview(project: Project, view: View, query: Query, lam: float, blind: bool) -> None:
    """System means with intervals, and one metric against another; both over the segments that match."""
    rows, labels = ordered(view, query._replace(sort="document"), lam), {c.name: c.label for c in view.columns}
    names = list(labels)
    main = refinement(project, view)
    first = main.name if main else names[0]
    x_at, y_at = names.index(first), next((i for i, n in enumerate(names) if n != first), 0)
    left, right = st.columns([2, 3], gap="large")
    with left:
        x = st.selectbox("System means of", names, x_at, format_func=labels.__getitem__, key=f"compare-x-{project.id}")
        column = view.column(x)
        if blind:
            st.caption("Hidden while names are hidden.")
        else:
            found = pd.DataFrame(means(view, x, lam, query.systems, rows=rows))
            st.altair_chart(plots.means(found, f"{column.label} {column.arrow}"), width="stretch")
            at = f" at λ = {state.lambda_text(lam).replace('inf', '∞')}" if column.refinement else ""
            text = f"Means{at} over {len(rows):,} segments, with 95 % bootstrap intervals over segments (1,000 draws)."
            st.caption(errors.plain(text))
    with right:
        y = st.selectbox("Against", names, y_at, format_func=labels.__getitem__, key=f"compare-y-{project.id}")
        drawn = points(view, x, y, lam, rows, query.systems)
        frame = pd.DataFrame(drawn, columns=["system", "doc", "segment", "x", "y"])
        if blind:
            frame = frame.drop(columns="system")
        key = f"compare-scatter-{project.id}"
        shown = None if blind else [view.systems[j] for j in view.at(query.systems)]
        chart = plots.scatter(frame, f"{labels[x]} {column.arrow}", f"{labels[y]} {view.column(y).arrow}", shown)
        st.altair_chart(chart, width="stretch", key=key, on_select=lambda: _open_point(project.id, view, key))
        st.caption(f"{len(drawn):,} outputs; click a point to open its segment.")


@errors.guarded
def _open_point(project_id: int, view: View, key: str) -> None:
    for point in list(st.session_state[key].get("selection", {}).get(plots.PICK) or [])[:1]:
        row = next(
            (
                s
                for s in view.segments
                if chart_labels((s.doc_id, s.segment_id)) == [str(point["doc"]), str(point["segment"])]
            ),
            None,
        )
        if row is not None:
            state.go_to_segment(project_id, row.key)


def listing(project: Project, view: View, query: Query, lam: float, order: Order) -> None:
    """Every segment that matches, in order; selecting a row opens it."""
    by = sort_key(view, query, lam)
    frame = pd.DataFrame({
        "document": [view.segments[i].doc_id for i in order],
        "segment": [view.segments[i].segment_id for i in order],
        "text": [(view.segments[i].source or next(iter(view.segments[i].references), ""))[:LIST_TEXT] for i in order],
    })  # fmt: skip
    if query.sort == "disagreement" and by is not None:
        frame["disagreement"] = by[order]
    at, formats = view.at(query.systems), {"text": st.column_config.TextColumn(width="large")}
    for c in view.columns:
        name = f"{c.label} {c.arrow}"
        frame[name] = row_mean(view.values(c.name, lam)[:, at])[order]
        formats[name] = st.column_config.NumberColumn(
            format=f"%.{max(1, c.digits)}f", help=errors.plain(signature_at(c, lam))
        )
    key = f"compare-list-{project.id}"

    @errors.guarded
    def chosen() -> None:
        for at in st.session_state[key]["selection"]["rows"][:1]:
            state.go_to_segment(project.id, view.segments[order[at]].key)

    st.dataframe(
        frame, hide_index=True, width="stretch", height=320, key=key, on_select=chosen, selection_mode="single-row",
        column_config=formats,
    )  # fmt: skip


def download(project: Project, view: View, lam: float, order: Order, systems: Sequence[str]) -> None:
    """The scores shown, as a CSV file; made when it is asked for."""
    st.download_button(
        "Scores as CSV", lambda: scores_csv(scores(view, lam, order, systems)).encode("utf-8"), f"scores-{project.id}.csv", "text/csv",
        icon=":material/download:", on_click="ignore",
        help=f"{len(order):,} segments as filtered and ordered here; BARTScore++ at λ = {state.lambda_text(lam)}",
    )  # fmt: skip

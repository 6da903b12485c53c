"""All matching segments on Compare: system means, one metric against another, the list, and the scores as a file."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.formats.write import scores_csv
from core.formatting import format_lambda
from core.plots import compare as plots
from core.plots.labels import chart_labels
from core.ports.projects import Project
from core.services.compare import compare as service
from core.services.compare.compare import Order, Query
from core.services.projects.finishing import incomplete
from core.services.projects.view import View
from pages._ui.compare import score_list
from pages._ui.compare.toolbar import first_score
from pages._ui.shared import deferred, drafts, errors, files, page, partly_scored, state

DOWNLOADED = 500_000
"""Rows of a file of scores that is made in memory."""
PAGE = 500
"""Segments in one page of the list."""
AT_ONCE = 100
"""Maximum number of segments whose charts and lists are drawn together with the cards."""


def come_later(project: Project) -> bool:
    """Return whether the charts and lists are drawn in the next run, after the cards are shown."""
    return project.n_segments > AT_ONCE and deferred.comes_later("compare", "Loading charts and lists …")


def overview(project: Project, view: View, query: Query, lam: float, blind: bool) -> None:
    """Draw system means with intervals, and one metric against another, over the matching segments."""
    rows, labels = service.ordered(view, query._replace(sort="document"), lam), {c.name: c.label for c in view.columns}
    above = st.container()
    names = list(labels)
    first = first_score(project, view)
    second = view.compared_with(first)
    left, right = st.columns([2, 3], gap="large")
    with left:
        key = drafts.kept(f"compare-x-{project.id}", first, labels.__contains__)
        x = st.selectbox("System means of", names, names.index(first), format_func=labels.__getitem__, key=key)
        column = view.column(x)
        for _, n in incomplete(view, [x]):
            text = f"{column.label}: {n:,} of {view.index.n_outputs:,} outputs have a score. The system means are over these only."
            with above:
                partly_scored.line(project, text, [column], "means")
        if blind:
            st.caption("Not shown in blind mode.")
        else:
            found = pd.DataFrame(service.means(view, x, lam, query.systems, rows=rows))
            at = f" at λ = {format_lambda(lam)}" if column.refinement else ""
            text = f"Means{at} over {len(rows):,} segments with their likely range (95 % CI over the segments)."
            files.figure(
                plots.means(found, f"{column.label} {column.arrow}"),
                f"System means of {column.label}",
                text,
                f"means-{files.file_name(x)}",
            )
    with right:
        key = drafts.kept(f"compare-y-{project.id}", second, labels.__contains__)
        y = st.selectbox("Compared with", names, names.index(second), format_func=labels.__getitem__, key=key)
        drawn = service.points(view, x, y, lam, rows, query.systems)
        frame = pd.DataFrame(drawn, columns=["system", "doc", "segment", "x", "y"])
        if blind:
            frame = frame.drop(columns="system")
        key = f"compare-scatter-{project.id}"
        shown = None if blind else [view.systems[j] for j in view.at(query.systems)]
        chart = plots.scatter(frame, f"{labels[x]} {column.arrow}", f"{labels[y]} {view.column(y).arrow}", shown)
        files.figure(
            chart, f"{labels[y]} and {labels[x]}", f"{len(drawn):,} outputs.",
            f"scatter-{files.file_name(x)}-{files.file_name(y)}", "Click a point to open its segment.", key=key, on_select=lambda: _open_point(project.id, view, key),
        )  # fmt: skip


@errors.guarded
def _open_point(project_id: int, view: View, chart: str) -> None:
    for point in list(st.session_state[chart].get("selection", {}).get(plots.PICK) or [])[:1]:
        where = [str(point["doc"]), str(point["segment"])]
        key = next((key for key in view.segments if chart_labels(key) == where), None)
        if key is not None:
            state.go_to_segment(project_id, key)


def listing(project: Project, view: View, query: Query, lam: float, order: Order) -> None:
    """Draw the matching segments in order; selecting a row opens the segment."""
    by = service.sort_key(view, query, lam)
    order = order[_rows_of_page(project, len(order))]
    texts = view.texts.segments([view.segments[i] for i in order])
    segments = [texts[view.segments[i]] for i in order]
    frame = pd.DataFrame({
        "document": [s.doc_id for s in segments],
        "segment": [s.segment_id for s in segments],
        "text": [s.source or next(iter(s.references), "") for s in segments],
    })  # fmt: skip
    if query.sort == "disagreement" and by is not None:
        frame["disagreement"] = by[order]
    at = view.at(query.systems)
    scores = [(c, service.row_mean(view.values(c.name, lam)[:, at])[order]) for c in view.human_first]

    def opened(row: int) -> None:
        state.go_to_segment(project.id, view.segments[order[row]])

    score_list.draw(frame, "text", scores, lam, f"compare-list-{project.id}", opened)


def _rows_of_page(project: Project, n: int) -> slice:
    """Draw the choice of the page if the list is long; return the places of its rows in the order."""
    if n <= PAGE:
        return slice(n)
    st.caption(f"{PAGE} segments on each page")
    page_number = st.pagination(-(-n // PAGE), key=f"compare-list-page-{project.id}-{n}")
    return slice((page_number - 1) * PAGE, page_number * PAGE)


def download(project: Project, view: View, lam: float, order: Order, systems: Sequence[str]) -> None:
    """Draw the download of the scores shown, as CSV; of too many, where the file of all scores is."""
    if len(order) * len(view.at(systems)) * len(view.columns) > DOWNLOADED:
        page.caption("Too many scores to download here. Filter the segments, or export all scores on Projects.")
        return
    files.download(
        "Scores as CSV", lambda: scores_csv(service.scores(view, lam, order, systems)), f"scores-{project.id}.csv",
        help=f"{len(order):,} segments, filtered and ordered as shown. BARTScore++ at λ = {format_lambda(lam)}",
    )  # fmt: skip

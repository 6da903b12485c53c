"""All matching segments on Compare: system means, scatter plot, lists of segments and worst outputs, and the scores as a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.columns import Array
from core.data import SEVERITIES, OutputKey, SegmentKey
from core.formats.write import scores_csv
from core.formatting import MISSING, format_lambda
from core.plots import score_charts
from core.ports.projects import Project
from core.services.compare import compare
from core.services.compare.compare import Order, Query, hint_at
from core.services.compare.segment import SegmentQuery, names_of
from core.services.projects.time_estimates import incomplete
from core.services.projects.view import Column, View
from pages._ui.compare.toolbar import first_score
from pages._ui.shared import drafts, errors, files, jobs, page, state, tables, wiring
from pages._ui.shared.long_jobs import digest

TEXT = 160
"""Characters of a text that are shown."""


def draw_score_list(
    frame: pd.DataFrame,
    text: str,
    scores: Iterable[tuple[Column, Array]],
    lam: float,
    key: str,
    opened: Callable[[int], None],
) -> None:
    """Draw the rows of `frame` with a column per score. `text` names its column of texts; `opened` gets the index of a row.

    The browser formats the numbers: Streamlit refuses styled tables of many thousand rows.
    """
    config = {text: st.column_config.TextColumn(width="large")}
    shown = frame.assign(**{text: frame[text].str[:TEXT]})
    for c, values in scores:
        title = f"{c.label} {c.arrow}".strip()
        shown[title] = values
        config[title] = st.column_config.NumberColumn(
            format=f"%.{max(1, c.digits)}f",
            help=tables.help_on_missing(hint_at(c, lam), missing=bool(np.isnan(values).any())),
        )

    @errors.guarded
    def chosen() -> None:
        for at in st.session_state[key]["selection"]["rows"][:1]:
            opened(at)

    st.dataframe(
        shown, hide_index=True, width="stretch", height=320, key=key, on_select=chosen, selection_mode="single-row",
        column_config=config, placeholder=MISSING,
    )  # fmt: skip


DOWNLOADED = 500_000
"""Rows of a file of scores that is made in memory."""
PAGE = 500
"""Segments in one page of the list."""
AT_ONCE = 100
"""Maximum number of segments whose charts and lists are drawn together with the cards."""


def come_later(project: Project) -> bool:
    """Return whether the charts and lists are drawn in the next run, after the cards are shown."""
    return project.n_segments > AT_ONCE and page.comes_later("compare", "Loading charts and lists …")


def overview(project: Project, view: View, query: Query, lam: float, blind: bool) -> None:
    """Draw system means with intervals, and one metric against another, over the matching segments."""
    rows, labels = compare.ordered(view, query._replace(sort="document"), lam), {c.name: c.label for c in view.columns}
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
                jobs.draw_partly_scored(project, text, [column], "means")
        if blind:
            st.caption("Not shown in blind mode.")
        else:
            means = pd.DataFrame(compare.means(view, x, lam, query.systems, rows=rows))
            at = f" at λ = {format_lambda(lam)}" if column.refinement else ""
            text = f"Means{at} over {len(rows):,} segments with their likely range (95 % CI over the segments)."
            files.figure(
                score_charts.means(means, f"{column.label} {column.arrow}"),
                f"System means of {column.label}",
                text,
                f"means-{files.file_name(x)}",
            )
    with right:
        key = drafts.kept(f"compare-y-{project.id}", second, labels.__contains__)
        y = st.selectbox("Compared with", names, names.index(second), format_func=labels.__getitem__, key=key)
        drawn = compare.points(view, x, y, lam, rows, query.systems)
        frame = pd.DataFrame(drawn, columns=["system", "doc", "segment", "x", "y"])
        if blind:
            frame = frame.drop(columns="system")
        key = f"compare-scatter-{project.id}"
        shown = None if blind else [view.systems[j] for j in view.at(query.systems)]
        chart = score_charts.scatter(frame, f"{labels[x]} {column.arrow}", f"{labels[y]} {view.column(y).arrow}", shown)
        files.figure(
            chart, f"{labels[y]} and {labels[x]}", f"{len(drawn):,} outputs.",
            f"scatter-{files.file_name(x)}-{files.file_name(y)}", "Click a point to open its segment.", key=key, on_select=lambda: _open_point(project.id, view, key),
        )  # fmt: skip


@errors.guarded
def _open_point(project_id: int, view: View, chart: str) -> None:
    segment = score_charts.picked_segment(st.session_state[chart], view.segments)
    if segment is not None:
        state.go_to_segment(project_id, segment)


def draw_segments(project: Project, view: View, query: Query, lam: float, order: Order) -> None:
    """Draw the matching segments in order; selecting a row opens the segment."""
    by = compare.sort_key(view, query, lam)
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
    scores = [(c, compare.row_mean(view.values(c.name, lam)[:, at])[order]) for c in view.human_first]

    def opened(row: int) -> None:
        state.go_to_segment(project.id, view.segments[order[row]])

    draw_score_list(frame, "text", scores, lam, f"compare-list-{project.id}", opened)


def _rows_of_page(project: Project, n: int) -> slice:
    """Draw the choice of the page if the list is long; return the places of its rows in the order."""
    if n <= PAGE:
        return slice(n)
    st.caption(f"{PAGE} segments on each page")
    page_number = st.pagination(-(-n // PAGE), key=f"compare-list-page-{project.id}-{n}")
    return slice((page_number - 1) * PAGE, page_number * PAGE)


def download_scores(project: Project, view: View, lam: float, order: Order, systems: Sequence[str]) -> None:
    """Draw the download of the scores shown, as CSV; of too many, where the file of all scores is."""
    if len(order) * len(view.at(systems)) * len(view.columns) > DOWNLOADED:
        page.caption("Too many scores to download here. Filter the segments, or export all scores on Projects.")
        return
    files.download(
        "Scores as CSV", lambda: scores_csv(compare.scores(view, lam, order, systems)), f"scores-{project.id}.csv",
        help=f"{len(order):,} segments, filtered and ordered as shown. BARTScore++ at λ = {format_lambda(lam)}",
    )  # fmt: skip


AT_MOST = 1000
SPOT = "compare-spot"


def spot(project_id: int, segment: SegmentKey) -> str | None:
    """Return the system of the output that was chosen in the list, while its segment is open."""
    key: tuple[int, OutputKey] | None = st.session_state.get(SPOT)
    return key[1].system if key and (key[0], key[1].segment) == (project_id, segment) else None


def draw_worst_outputs(project: Project, view: View, query: Query, lam: float, blind: int | None) -> None:
    """Draw the list with the choice of the score; `blind` is the seed of blind mode."""
    labels = {c.name: c.label for c in view.columns}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = st.selectbox(
            "Ranked by", labels, format_func=labels.__getitem__, key=f"compare-worst-{project.id}", width=260
        )
        best = st.toggle("Best first", key=f"compare-best-{project.id}")
    cells, n = compare.worst_outputs(view, query, lam, by, AT_MOST, best=best)
    keys = [view.index.key(cell) for cell in cells]
    texts = _texts(digest(wiring.version(project), keys), _view=view, _keys=keys)
    names = {i: names_of(view, SegmentQuery(i, blind=blind)) for i in {i for i, _ in cells}}
    frame = pd.DataFrame({
        "document": [key.doc_id for key in keys],
        "segment": [key.segment_id for key in keys],
        "system": [names[i][view.systems[j]] for i, j in cells],
        "output": [texts[key] for key in keys],
    })  # fmt: skip
    if view.rated:
        frame["errors"] = [_errors(view, key) for key in keys]
    first, rows, columns = view.column(by), [i for i, _ in cells], [j for _, j in cells]
    ordered = (first, *(c for c in view.human_first if c is not first))
    scores = [(c, view.values(c.name, lam)[rows, columns]) for c in ordered]

    def opened(row: int) -> None:
        st.session_state[SPOT] = (project.id, keys[row])
        state.go_to_segment(project.id, keys[row].segment)

    draw_score_list(frame, "output", scores, lam, f"compare-outputs-{project.id}", opened)
    shown = f"The first {len(cells):,} of {n:,} outputs" if n > len(cells) else f"{n:,} outputs"
    page.caption(f"{shown} with a score, {'best' if best else 'worst'} first. Select a row to open its segment.")


@st.cache_resource(max_entries=4, ttl=1800, show_spinner=False)
def _texts(key: str, *, _view: View, _keys: Sequence[OutputKey]) -> dict[OutputKey, str]:
    return _view.texts.outputs(_keys)


def _errors(view: View, key: OutputKey) -> str:
    rated = view.rated and view.rated.get(key)
    if not rated:
        return ""
    counts = Counter(error.severity for r in rated for error in r.errors)
    return ", ".join(f"{counts[s]} {s}" for s in SEVERITIES if counts[s]) or "no error"

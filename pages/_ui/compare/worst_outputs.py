"""The matching outputs of all segments on Compare, worst first by any score; selecting a row opens the segment at the output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.data import SEVERITIES, OutputKey, SegmentKey
from core.ports.projects import Project
from core.services.compare import compare as service
from core.services.compare.compare import Query
from core.services.compare.segment import SegmentQuery, names_of
from core.services.projects.view import View
from pages._ui.compare import score_list
from pages._ui.shared import page, state, wiring
from pages._ui.shared.long_jobs import digest

AT_MOST = 1000
SPOT = "compare-spot"


def spot(project_id: int, segment: SegmentKey) -> str | None:
    """Return the system of the output that was chosen in the list, while its segment is open."""
    key: tuple[int, OutputKey] | None = st.session_state.get(SPOT)
    return key[1].system if key and (key[0], key[1].segment) == (project_id, segment) else None


def listing(project: Project, view: View, query: Query, lam: float, blind: int | None) -> None:
    """Draw the list with the choice of the score; `blind` is the seed of blind mode."""
    labels = {c.name: c.label for c in view.columns}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = st.selectbox(
            "Ranked by", labels, format_func=labels.__getitem__, key=f"compare-worst-{project.id}", width=260
        )
        best = st.toggle("Best first", key=f"compare-best-{project.id}")
    found, n = service.worst_outputs(view, query, lam, by, AT_MOST, best=best)
    keys = [view.index.key(cell) for cell in found]
    texts = _texts(digest(wiring.version(project), keys), _view=view, _keys=keys)
    names = {i: names_of(view, SegmentQuery(i, blind=blind)) for i in {i for i, _ in found}}
    frame = pd.DataFrame({
        "document": [key.doc_id for key in keys],
        "segment": [key.segment_id for key in keys],
        "system": [names[i][view.systems[j]] for i, j in found],
        "output": [texts[key] for key in keys],
    })  # fmt: skip
    if view.rated:
        frame["errors"] = [_errors(view, key) for key in keys]
    first, rows, columns = view.column(by), [i for i, _ in found], [j for _, j in found]
    ordered = (first, *(c for c in view.human_first if c is not first))
    scores = [(c, view.values(c.name, lam)[rows, columns]) for c in ordered]

    def opened(row: int) -> None:
        st.session_state[SPOT] = (project.id, keys[row])
        state.go_to_segment(project.id, keys[row].segment)

    score_list.draw(frame, "output", scores, lam, f"compare-outputs-{project.id}", opened)
    shown = f"The first {len(found):,} of {n:,} outputs" if n > len(found) else f"{n:,} outputs"
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

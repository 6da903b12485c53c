"""The audit record: who did what, the newest first."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from core.ports.audit import AuditEntry
from core.ports.projects import Project
from pages._ui.shared import page, wiring
from pages._ui.shared.tables import text_table

AT_ONCE = 100
_SHOWN = "access-entries"


def section(project: Project | None) -> None:
    """Draw the entries of the open project; managers of the server can see all."""
    everything = project is None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = st.text_input("Filter", placeholder="name or act", key="access-filter", width=280).casefold().strip()
        if project is not None and wiring.identity().manager:
            everything = st.checkbox("All projects and accounts", key="access-everything")
    shown = int(st.session_state.get(_SHOWN, AT_ONCE))
    found = list(_matching(None if everything or project is None else project.id, wanted, shown + 1))
    if not found:
        page.info("No entry contains this." if wanted else "Nothing is recorded yet.")
        return
    names = {p.id: p.name for p in wiring.store().projects.list()}
    text_table([_row(entry, names, everything) for entry in found[:shown]])
    if len(found) > shown:
        st.button("Show older entries", on_click=lambda: st.session_state.update({_SHOWN: shown + AT_ONCE}))


def _matching(project_id: int | None, wanted: str, most: int) -> Iterator[AuditEntry]:
    """Yield at most `most` entries whose name, act or details contain the text."""
    audit, before, n = wiring.store().audit, None, 0
    while entries := audit.entries(project_id, before=before):
        for entry in entries:
            if wanted in f"{entry.who}\n{entry.act}\n{_details(entry)}".casefold():
                yield entry
                n += 1
                if n == most:
                    return
        before = entries[-1].number


def _row(entry: AuditEntry, names: dict[int, str], everything: bool) -> dict[str, str]:
    where = "" if entry.project_id is None else names.get(entry.project_id, f"deleted project {entry.project_id}")
    row = {"Time": page.moment(entry.time, "%Y-%m-%d %H:%M:%S"), "Who": entry.who, "Act": entry.act}
    return row | ({"Project": where} if everything else {}) | {"Details": _details(entry)}


def _details(entry: AuditEntry) -> str:
    shown = {name.replace("_", " "): value for name, value in entry.details.items() if value is not None}
    return ", ".join(f"{name}: {', '.join(map(str, v)) if isinstance(v, list) else v}" for name, v in shown.items())

"""Saved cases: read, open, remove, and download them."""

from __future__ import annotations

import streamlit as st

from core.formatting import format_number
from core.ports.cases import KeptCase
from core.ports.projects import Project
from core.ports.store import Store
from core.services.robustness import cases as service
from core.services.robustness.break_metric import TextPair
from pages._ui.projects import exports
from pages._ui.robustness import controls, session
from pages._ui.shared import errors, tables
from pages._ui.shared.markdown import escape_markdown

AT_ONCE = 10


def draw(store: Store, project: Project) -> None:
    """Draw the section."""
    everything = store.cases.list(project.id)
    if not everything:
        st.info("This project has no saved cases yet.", icon=":material/bookmark:")
        st.markdown(
            "Save cases under *Break a metric*, *Adversarial suite* or *Stress tests*: they appear here with all scores."
        )
        return
    names = list(dict.fromkeys(case.collection for case in everything))
    if st.session_state.get("robustness-shown") not in names:
        st.session_state.pop("robustness-shown", None)
    name = st.selectbox("Collection", names, key="robustness-shown", width=320)
    mine = [case for case in everything if case.collection == name]
    _files(project, name, mine)
    pages = -(-len(mine) // AT_ONCE)
    at = (
        int(st.number_input(f"Page, of {pages}", 1, pages, key=f"robustness-page-{name}", width=160))
        if pages > 1
        else 1
    )
    for case in mine[(at - 1) * AT_ONCE : at * AT_ONCE]:
        _case(store, project, case)


def _files(project: Project, name: str, mine: list[KeptCase]) -> None:
    menli, left_out = service.as_menli(mine)
    stem = f"{exports.file_name(project.name)}.{exports.file_name(name)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, ending, text in (
            ("CSV with scores", "scores", service.as_csv(mine)),
            ("CSV in MENLI’s format", "menli", menli),
        ):
            st.download_button(
                label, text.encode("utf-8", "surrogatepass"), f"{stem}.{ending}.csv", "text/csv", on_click="ignore",
                icon=":material/download:", key=f"robustness-file-{ending}",
            )  # fmt: skip
        if left_out:
            st.caption(f"{left_out} of {len(mine)} cases are not in MENLI’s CSV: it needs a reference and two texts.")


def _case(store: Store, project: Project, case: KeptCase) -> None:
    @errors.guarded
    def remove() -> None:
        store.cases.remove(project.id, case.id or 0)

    texts = TextPair(case.source, case.reference, case.good, case.changed)
    with st.container(border=True):
        st.markdown(f"**{escape_markdown(case.phenomenon)}** · {escape_markdown(case.what)}")
        if anchor := case.reference or case.source:
            st.caption("reference" if case.reference else "source")
            st.text(anchor)
        st.html(controls.diff_html(case.good, case.changed, "good → changed"))
        tables.text_table(
            [
                {"metric": s.metric, "good": format_number(s.good, leading_zero=True), "changed": format_number(s.changed, leading_zero=True), "verdict": _verdict(s.fooled, s.reason)}
                for s in case.scores
            ]
        )  # fmt: skip
        with st.container(horizontal=True):
            st.button(
                "Open",
                on_click=session.open_case,
                args=(texts,),
                key=f"open-kept-{case.id}",
                icon=":material/open_in_full:",
            )
            st.button("Remove", on_click=remove, key=f"remove-kept-{case.id}", icon=":material/delete:")
        with st.expander("Signatures"):
            st.text("\n".join(s.signature for s in case.scores))


def _verdict(fooled: bool | None, reason: str) -> str:
    return reason if fooled is None else "misses the error" if fooled else "notices"

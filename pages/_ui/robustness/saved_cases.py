"""Saved cases: read, open, remove, and download them."""

from __future__ import annotations

import streamlit as st

from core.formatting import format_number
from core.metrics import registry
from core.ports.cases import KeptCase
from core.ports.projects import Project
from core.services.robustness import cases as service
from core.services.robustness.break_metric import TextPair, verdict_of
from pages._ui.robustness import controls
from pages._ui.shared import drafts, errors, tables, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.markdown import escape_markdown

AT_ONCE = 10


def draw(project: Project) -> None:
    """Draw the section."""
    everything = wiring.store().cases.list(project.id)
    if not everything:
        st.info("This project has no saved cases yet.", icon=":material/bookmark:")
        st.markdown(
            "Save cases under *Break a metric*, *Adversarial suite* or *Stress tests*: they appear here with all scores."
        )
        return
    names = list(dict.fromkeys(case.collection for case in everything))
    if st.session_state.get(drafts.kept("robustness-shown")) not in names:
        st.session_state.pop("robustness-shown", None)
    name = st.selectbox("Collection", names, key="robustness-shown", width=320)
    mine = [case for case in everything if case.collection == name]
    _files(project, name, mine)
    for case in controls.paged(mine, AT_ONCE, "Page, of {}", f"robustness-page-{name}", 160):
        _case(project, case)


def _files(project: Project, name: str, mine: list[KeptCase]) -> None:
    menli, left_out = service.as_menli(mine)
    stem = f"{file_name(project.name)}.{file_name(name)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        download("CSV with scores", service.as_csv(mine), f"{stem}.scores.csv", "robustness-file-scores")
        download("CSV in MENLI’s format", menli, f"{stem}.menli.csv", "robustness-file-menli")
        if left_out:
            st.caption(f"{left_out} of {len(mine)} cases are not in MENLI’s CSV: it needs a reference and two texts.")


def _case(project: Project, case: KeptCase) -> None:
    texts = TextPair(case.source, case.reference, case.good, case.changed)
    with st.container(border=True):
        st.markdown(f"**{escape_markdown(case.phenomenon)}** · {escape_markdown(case.what)}")
        if anchor := case.reference or case.source:
            st.html(controls.diff_html(anchor, anchor, "reference" if case.reference else "source"))
        st.html(controls.diff_html(case.good, case.changed, "good text → changed text"))
        tables.text_table(
            [
                {"metric": registry.label_of(s.metric, s.signature), "good": format_number(s.good, leading_zero=True), "changed": format_number(s.changed, leading_zero=True), "verdict": verdict_of(s)}
                for s in case.scores
            ]
        )  # fmt: skip
        with st.container(horizontal=True):
            controls.open_button(texts, f"open-kept-{case.id}", "Open")
            if wiring.may_change(project.id):
                remove = errors.guarded(wiring.store().cases.remove)
                args = (project.id, case.id or 0)
                st.button("Delete", on_click=remove, args=args, key=f"remove-kept-{case.id}", icon=":material/delete:")
        with st.expander("Signatures"):
            st.text("\n".join(s.signature for s in case.scores))

"""Cases that were kept: read, opened, removed, and taken along as files."""

from __future__ import annotations

import streamlit as st

from core.ports import KeptCase, Project, Store
from core.services import robustness_cases as service
from core.services.robustness import Texts
from pages._ui import errors, exports, tables
from pages._ui import robustness_parts as parts
from pages._ui.errors import plain

AT_ONCE = 10


def draw(store: Store, project: Project) -> None:
    """The section."""
    everything = store.cases.list(project.id)
    if not everything:
        st.info("No case is kept in this project yet.", icon=":material/bookmark:")
        st.markdown(
            "Under *Break a metric* or *Suite*, keep what fools a metric: it waits here with all its scores, for a demo or a file."
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
            ("MENLI’s CSV", "menli", menli),
        ):
            st.download_button(
                label, text.encode("utf-8", "surrogatepass"), f"{stem}.{ending}.csv", "text/csv", on_click="ignore",
                icon=":material/download:", key=f"robustness-file-{ending}",
            )  # fmt: skip
        if left_out:
            st.caption(f"{left_out} of {len(mine)} are not in MENLI’s form: it wants a reference and two texts.")


def _case(store: Store, project: Project, case: KeptCase) -> None:
    @errors.guarded
    def remove() -> None:
        store.cases.remove(project.id, case.id or 0)

    texts = Texts(case.source, case.reference, case.good, case.changed)
    with st.container(border=True):
        st.markdown(f"**{plain(case.phenomenon)}** · {plain(case.what)}")
        if anchor := case.reference or case.source:
            st.caption("reference" if case.reference else "source")
            st.text(anchor)
        st.html(parts.compared(case.good, case.changed, "good → changed"))
        tables.reading(
            [
                {"metric": s.metric, "good": _number(s.good), "changed": _number(s.changed), "verdict": _verdict(s.fooled, s.reason)}
                for s in case.scores
            ]
        )  # fmt: skip
        with st.container(horizontal=True):
            st.button(
                "Open",
                on_click=parts.open_case,
                args=(texts,),
                key=f"open-kept-{case.id}",
                icon=":material/open_in_full:",
            )
            st.button("Remove", on_click=remove, key=f"remove-kept-{case.id}", icon=":material/delete:")
        with st.expander("Signatures"):
            st.text("\n".join(s.signature for s in case.scores))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _verdict(fooled: bool | None, reason: str) -> str:
    return reason if fooled is None else "fooled" if fooled else "notices"

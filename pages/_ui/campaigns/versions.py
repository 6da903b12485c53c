"""The versions of a unit by its annotators, side by side and without names."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.data import Span
from core.formatting import format_count
from core.mqm.scores import errors_of
from core.ports.campaigns import Campaign
from core.ports.labels import Ask, OutputLabels, SegmentLabels
from core.services.campaigns.adjudication import DisputedUnit
from pages._ui.campaigns import campaign_data
from pages._ui.components.marked_texts import marked_texts
from pages._ui.labels_and_raters import labelled_output
from pages._ui.shared import tables, wiring
from pages._ui.shared.markdown import escape_markdown


def draw(campaign: Campaign, found: DisputedUnit, order: Sequence[str], *, choose: bool) -> int | None:
    """Draw source and versions; return the number of the version with which the person wants to begin."""
    texts = wiring.store().projects.document(campaign.texts, found.unit.name)
    written = {o.system: o.text for o in texts.outputs}
    source = texts.segments[0].source or ""
    asks = campaign_data.current(campaign).design.protocol.asks
    with st.container(border=True):
        if source:
            st.caption("Source")
            st.text(source)
        for number, system in enumerate(order, 1):
            apart = found.by_system[system].points
            scale = (
                f" · {format_count(round(apart), 'point')} apart on average"
                if "score" in asks and apart is not None
                else ""
            )
            st.caption(f"Output {number}{scale}")
            if "spans" in asks:
                columns = [
                    _column(i, v, system, asks, written[system], source) for i, v in enumerate(found.versions, 1)
                ]
                marked_texts(columns, key=f"versions-{campaign.id}-{found.unit.name}-{number}")
            else:
                st.text(written[system])
        if "spans" not in asks:
            tables.text_table([
                {"version": f"Version {i}", "answer": answer(v, order, asks)} for i, v in enumerate(found.versions, 1)
            ])  # fmt: skip
        if not choose:
            return None
        taken = None
        with st.container(horizontal=True):
            for i in range(len(found.versions)):
                label = f"Start from version {i + 1}"
                if st.button(
                    label, key=f"campaign-take-{campaign.id}-{found.unit.name}-{i}", icon=":material/content_copy:"
                ):
                    taken = i
        return taken


def _column(
    number: int, version: SegmentLabels, system: str, asks: Sequence[Ask], text: str, source: str
) -> dict[str, object]:
    labels = version.of(system)
    return labelled_output.column(f"Version {number}", _note(labels, asks), errors_of(labels, text), text, source)


def _note(labels: OutputLabels, asks: Sequence[Ask]) -> str:
    if "score" in asks and labels.score is not None:
        return f"score {labels.score:g}"
    return {"no_error": "no error", "non_translation": "non-translation"}.get(labels.verdict or "", "")


def answer(version: SegmentLabels, order: Sequence[str], asks: Sequence[Ask]) -> str:
    """Return a version without error spans in words; outputs have their numbers on the screen."""
    if "preference" in asks and version.preference:
        winner = version.preference[0]
        return "both equally good" if winner is None else f"Output {order.index(winner) + 1} is better"
    values = [(n, version.of(system).score) for n, system in enumerate(order, 1)]
    shown = [f"{score:g}" if len(order) == 1 else f"Output {n}: {score:g}" for n, score in values if score is not None]
    return ", ".join(shown)


def marked(name: str, text: str, labels: OutputLabels, asks: Sequence[Ask], planted: Sequence[Span], key: str) -> None:
    """Draw one output with an annotator's error spans, beside the planted errors if there are some."""
    columns = [labelled_output.column(name, _note(labels, asks), errors_of(labels, text), text, "")]
    if planted:
        columns.append(labelled_output.column("Planted error", "", planted, text, ""))
    if "spans" in asks or planted:
        marked_texts(columns, key=key)
    else:
        st.text(text)
        st.caption(escape_markdown(_note(labels, asks)))

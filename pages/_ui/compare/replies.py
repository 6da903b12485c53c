"""The replies of a judge to one output: a dialog on Compare that its scores open. A reply is shown as text and never interpreted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from core.data import OutputKey, SegmentKey, Value
from core.formatting import MISSING, format_count, format_number
from core.ports.projects import Project
from core.services.projects.view import View
from core.spans.quotes import OUTCOMES
from pages._ui.shared import page, wiring
from pages._ui.shared.files import download
from pages._ui.shared.markdown import escape_markdown

STATES: Mapping[str, str] = {
    "ok": "The reply was read.",
    "no_error": "The judge says that there is no error.",
    "unparsed": "The reply does not have the requested form, so there is no score.",
    "refused": "The judge refused to answer, so there is no score.",
    "truncated": "The reply ended at the limit of its length, so there is no score.",
    "overflow": "The prompt was longer than the model reads, so there is no score.",
    "failed": "The server gave no usable answer. It is asked again when scores are computed next.",
}
CHOSEN = "compare-reply"
LONGEST = 20_000
"""Characters of a reply that are shown; the whole reply can be downloaded."""


class _Chosen(NamedTuple):
    project_id: int
    key: OutputKey
    shown_name: str
    metric: str


def choose(project_id: int, segment: SegmentKey, names: Mapping[str, str], asked: Mapping[str, Any]) -> None:
    """Open the replies of the metric and card that the browser asked for, in the next run. Unknown cards are ignored."""
    for system, shown in names.items():
        if shown == asked.get("id"):
            st.session_state[CHOSEN] = _Chosen(
                project_id, OutputKey(system, *segment), shown, str(asked.get("metric", ""))
            )


def draw_chosen(project: Project, view: View, segment: SegmentKey) -> None:
    """Draw the dialog if the last message of the cards asked for it."""
    chosen: _Chosen | None = st.session_state.pop(CHOSEN, None)
    if chosen is None or (chosen.project_id, chosen.key.segment) != (project.id, segment):
        return
    column = next((c for c in view.columns if c.name == chosen.metric), None)
    if column is None:
        return
    value = wiring.store().scores.detail(project.id, column.signature, segment).get(chosen.key.system)
    _dialog(f"{column.label} of {chosen.shown_name}", column.signature, value, column.digits)


@st.dialog("Replies of the judge", width="large")
def _dialog(title: str, signature: str, value: Value | None, digits: int) -> None:
    st.markdown(f"**{escape_markdown(title)}**")
    if value is None:
        st.info("This output has not been judged.")
        return
    detail: Mapping[str, Any] = value.detail or {}
    state = str(detail.get("state", value.status))
    number = format_number(value.value, digits, leading_zero=True)
    st.markdown(f"Score **{number}** · state **{escape_markdown(state)}**. {STATES.get(state, '')}")
    if value.reason:
        page.caption(value.reason)
    if rule := detail.get("rule"):
        page.caption(f"Score: {rule}")
    replies = [reply for reply in detail.get("replies", ()) if isinstance(reply, Mapping)]
    if not replies:
        st.info("No reply was stored.")
    for n, reply in enumerate(replies, start=1):
        _draw_reply(n, len(replies), reply)
    _draw_unplaced(detail.get("unplaced", ()))
    page.caption(signature)


def _draw_reply(n: int, of: int, reply: Mapping[str, Any]) -> None:
    facts = [f"reply {n} of {of}", f"state {reply.get('state', MISSING)}"]
    units = {"tokens_in": "tokens read", "tokens_out": "tokens written", "seconds": "s", "retries": "retries"}
    facts += [f"{reply[name]:,.6g} {unit}" for name, unit in units.items() if isinstance(reply.get(name), int | float)]
    names = {"finish": "finish reason", "why": "reason"}
    others = [name for name in reply if name not in units and name not in ("state", "text")]
    facts += [f"{names.get(name, name)} {reply[name]}" for name in others if isinstance(reply[name], str | int | float) and reply[name] != ""]  # fmt: skip
    page.caption(" · ".join(map(str, facts)))
    text = str(reply.get("text") or "")
    if not text:
        st.markdown("*The reply is empty.*")
        return
    st.code(text[:LONGEST], language=None, wrap_lines=True, height="content" if text.count("\n") < 20 and len(text) < 2000 else 320)  # fmt: skip
    if len(text) > LONGEST:
        page.caption(f"The first {LONGEST:,} of {len(text):,} characters.")
        download("Whole reply", lambda: text, f"reply-{n}.txt", f"compare-reply-{n}")


def _draw_unplaced(unplaced: Any) -> None:
    rows = [
        {
            "quote": str(of.get("quote", "")),
            "severity": str(of.get("severity", "")),
            "category": str(of.get("category", "")),
            "why": OUTCOMES.get(of.get("outcome", ""), str(of.get("outcome", ""))),
            "places": ", ".join(f"{start}–{end}" for start, end in of.get("places", ())),
        }
        for of in unplaced
        if isinstance(of, Mapping)
    ]
    if rows:
        st.markdown(
            f"**{format_count(len(rows), 'quote')} without a place in the output.** They count in the score, but have no error span."
        )
        st.dataframe(rows, hide_index=True, width="stretch")

"""The parts of People that speak of agreement: who did what, how far raters agree, and where they agree least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.calibration.calibrate import ENOUGH_RATERS
from core.data import SEVERITIES, Span
from core.formats.problems import counted
from core.plots.agreement import matrix_width, severity_confusion, tau_matrix
from core.ports import Project
from core.services import agreement as service
from core.services.agreement import Agreement, Dispute
from core.services.labels import current, finished
from core.settings import load as settings
from core.stats.correlation import Statistic
from core.stats.raters import RaterPair
from core.stats.spans import SpanAgreement
from pages._ui import errors, identity, state, wiring
from pages._ui.lambda_parts import number
from pages._ui.marked_texts import marked_texts

EVERYBODY = "all pairs"
AT_ONCE = 5
KINDS = {
    "place": "the same characters",
    "severity": "… and the same severity",
    "category": "… and the same category",
    "both": "… and both",
}


def found(project: Project, scheme: str) -> Agreement:
    """Agreement over the project, at most half a minute old."""
    return _found(settings().database, project, scheme)


@st.cache_resource(max_entries=8, ttl=30, show_spinner="Comparing labels …")
def _found(database: str, project: Project, scheme: str) -> Agreement:
    return service.agreement(wiring.store(), project.id, wiring.dataset(project), scheme)


def raters(all_of: Agreement) -> None:
    """One row a rater. Errors are per output, so that those who did more can be compared with those who did less."""
    rows = [
        {
            "rater": r.rater,
            "outputs": r.outputs,
            "segments": r.segments,
            "minutes": None if r.seconds is None else r.seconds / 60,
            **{f"{s} an output": r.errors[s] / r.outputs for s in SEVERITIES},
            "no error, %": 100 * r.clean / r.outputs,
            "non-translation": r.non_translations,
            "mean score ↑": r.score,
        }
        for r in all_of.raters
    ]
    decimals = {f"{s} an output": st.column_config.NumberColumn(format="%.2f") for s in SEVERITIES}
    st.dataframe(
        pd.DataFrame(rows).dropna(axis="columns", how="all"),
        hide_index=True,
        width="stretch",
        column_config=decimals
        | {
            "minutes": st.column_config.NumberColumn(
                format="%.0f", help="Worked here, pauses over two minutes counted as two; empty: labels from a file"
            ),
            "no error, %": st.column_config.NumberColumn(format="%.0f", help="Share of outputs found clean"),
            "mean score ↑": st.column_config.NumberColumn(
                format="%.2f", help="Mean MQM score of the outputs this rater labelled; higher is better"
            ),
        },
    )


def figures(all_of: Agreement) -> None:
    """α with its reading, then the marks and the severities of all pairs or of one."""
    if len(all_of.raters) < ENOUGH_RATERS:
        st.info(
            "Only one person has labelled outputs here. Agreement needs a second annotator on some of the same outputs.",
            icon=":material/info:",
        )
        st.page_link("pages/annotate.py", label="Label on Annotate", icon=":material/edit_note:")
        return
    alpha = all_of.alpha
    if alpha.value is not None:
        between = f" [{number(alpha.low)}, {number(alpha.high)}]" if alpha.low is not None else ""
        st.markdown(
            errors.plain(
                f"α = {number(alpha.value)}{between} on {counted(all_of.twice, 'output')} of {counted(alpha.n, 'segment')} "
                "that two or more rated"
            ).join(("#### ", "")),
            help=f"Krippendorff's α of the MQM scores, interval level; the 95 % interval is a bootstrap over segments. "
            f"1: perfect agreement, 0: chance. {errors.plain(all_of.signature)}",
        )
    st.markdown(errors.plain(service.reading(alpha)))
    if not all_of.twice:
        return
    if len(all_of.raters) > ENOUGH_RATERS:
        st.markdown("**Kendall's τ-b of every two raters**, over the outputs both scored")
        taus = [RaterPair(p.first, p.second, p.tau) for p in all_of.pairs]
        names = [r.rater for r in all_of.raters]
        st.altair_chart(tau_matrix(names, taus, ink=_ink()), width=matrix_width(len(names)))
    else:
        st.markdown(f"**Kendall's τ-b of the two raters**: {errors.plain(_value(all_of.pairs[0].tau))}")
    _marks(all_of)


def _marks(all_of: Agreement) -> None:
    pairs = {f"{p.first} and {p.second}": p for p in all_of.pairs if p.outputs}
    name = EVERYBODY
    if len(pairs) > 1:
        name = st.selectbox("Marks and severities of", [EVERYBODY, *pairs], key="people-pair", width=420)
    one = pairs.get(name) or (all_of.pairs[0] if len(all_of.pairs) == 1 else None)
    spans = one.spans if one else all_of.spans
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Marks that agree**, F1 over characters ↑ (0 to 1)")
        rows = [
            {"two marks agree in": KINDS[kind], "all characters": _value(s.micro), "mean of outputs": _value(s.macro)}
            for kind, s in spans.items()
        ]
        st.dataframe(rows, hide_index=True, width="stretch")
        st.markdown(errors.plain(empties(spans["place"])))
    with right:
        first, second = (one.first, one.second) if one else ("one rater", "the other")
        st.markdown("**Severities given to the same characters**, in characters")
        chart = severity_confusion(
            one.confusion if one else all_of.confusion,
            (*SEVERITIES, service.UNMARKED),
            rows=first,
            columns=second,
            ink=_ink(),
        )
        st.altair_chart(chart, width="stretch")


def _ink() -> str:
    """The colour of text in the theme in use, for charts that write numbers on colour."""
    return "#eceae6" if st.context.theme.type == "dark" else "#2b2a28"


def empties(spans: SpanAgreement) -> str:
    """What became of outputs on which somebody found nothing."""
    same = spans.texts - spans.one_empty
    return (
        f"Of {counted(spans.texts, 'comparison')} of two raters on an output, both found nothing in {spans.both_empty}, and "
        f"one found something and the other nothing in {spans.one_empty}: in {same / max(1, spans.texts):.0%} they agree "
        "whether there is an error at all. Where both found nothing there is no F1; where one did, it is 0."
    )


def _value(value: Statistic) -> str:
    if value.value is None:
        return f"undefined: {value.reason}"
    return number(value.value) + (f" (defined for {value.counted})" if value.counted else "")


@st.fragment
@errors.guarded
def disputes(project: Project, all_of: Agreement) -> None:
    """The queue. Marks of segments that this person has not submitted are shown only after a click."""
    if not all_of.disputes:
        said = "No output has been rated by two people yet." if not all_of.twice else "Nobody disagrees anywhere."
        st.info(said, icon=":material/info:")
        return
    everyone = st.toggle(
        "Show marks of all raters",
        key=f"people-marks-{project.id}",
        help="Off, you see marks only in segments that you have submitted yourself.",
    )
    notice = (
        "Marks of all raters are shown, in every segment. This breaks blindness: whoever still has to annotate in this "
        "project should not look."
    )
    if everyone:
        st.warning(notice, icon=":material/visibility:")
    queue = list(all_of.disputes) if everyone else visible(project, all_of.disputes)
    if hidden := len(all_of.disputes) - len(queue):
        st.info(
            f"{counted(hidden, 'disagreement')} in segments that you have not submitted yourself {'is' if hidden == 1 else 'are'} "
            "hidden, so that nobody is led by others. Whoever does not annotate here can show them with the switch above.",
            icon=":material/visibility_off:",
        )
    more = f"people-shown-{project.id}"
    shown = st.session_state.get(more, AT_ONCE)
    for place, dispute in enumerate(queue[:shown], start=1):
        _dispute(project, place, dispute)
    if (left := len(queue) - shown) > 0:

        def show_more() -> None:
            st.session_state[more] = shown + AT_ONCE

        st.button(f"Show {min(AT_ONCE, left)} more of {len(queue)}", key="people-more", on_click=show_more)


def visible(project: Project, queue: Sequence[Dispute]) -> list[Dispute]:
    """Disagreements in segments that the annotator at this screen has submitted."""
    rater = identity.rater()
    if rater is None:
        return []
    mine, outputs = current(wiring.store(), project.id, rater), wiring.dataset(project).outputs_of()
    return [d for d in queue if finished(mine.get(d.key.segment), [o.system for o in outputs.get(d.key.segment, ())])]


def _dispute(project: Project, place: int, dispute: Dispute) -> None:
    data, key = wiring.dataset(project), dispute.key
    text = next(o.text for o in data.outputs if o.key == key)
    source = data.segment_of()[key.segment].source or ""
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            points = dispute.disagreement.points or 0.0
            apart = f"{points:.4g} point{'s' if points != 1 else ''} apart"
            st.markdown(
                f"**{place}.** {' · '.join(errors.plain(part) for part in (*key.segment, key.system))} · {apart}"
            )
            to = {state.PROJECT: str(project.id), state.DOC: key.doc_id, state.SEGMENT: key.segment_id}
            st.page_link("pages/compare.py", label="Open the segment", icon=":material/open_in_new:", query_params=to)
        marked_texts(
            [_column(rater, spans, score, text, source) for rater, spans, score in dispute.raters],
            key=f"dispute-{project.id}-{key!r}",
        )


def _column(rater: str, spans: Sequence[Span], score: float, text: str, source: str) -> dict[str, Any]:
    in_source = any(s.side == "source" for s in spans)
    return {
        "name": rater,
        "note": f"score {score:.4g}".replace("-", "−"),
        "output": [list(piece) for piece in service.stretches(text, spans)],
        "source": [list(piece) for piece in service.stretches(source, spans, "source")] if in_source else [],
        "marks": [
            {"severity": s.severity, "category": s.category, "quote": s.quote, "note": s.note, "side": s.side}
            for s in spans
        ],
    }

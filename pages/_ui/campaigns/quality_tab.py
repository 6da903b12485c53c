"""Quality of a campaign: verdicts on annotators with their evidence, and agreement over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from core.campaigns.rater_evidence import verdicts
from core.campaigns.submitted import EvidenceKind, QualityAdvice, QualityEvidence, RaterVerdict, UnitJudgement
from core.formatting import MISSING, format_count, format_interval, format_number, format_percent, isolated
from core.plots import campaigns
from core.ports.campaigns import Campaign, Participant
from core.ports.projects import Project
from core.services.campaigns import comparison, quality
from core.services.campaigns.quality import EvidenceUnit, evidence_units
from core.settings import load_settings
from core.stats.raters.rater_agreement import AgreementWindow, TimedRating, agreement_over_time
from pages._ui.campaigns import campaign_data, decisions, people_tab
from pages._ui.labels_and_raters import labelled_output
from pages._ui.shared import errors, page, tables, wiring
from pages._ui.shared.long_jobs import compute
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition

CHOICES: dict[EvidenceKind, str] = {
    "checks": "Attention checks",
    "suggestions": "Wrong suggestions",
    "repeats": "Repeated units",
    "speed": "Fastest units",
    "agreement": "Unlike the others",
    "same answer": "All units",
}


@st.fragment
@errors.guarded
def draw_evidence(campaign: Campaign, units: Sequence[UnitJudgement], verdict: RaterVerdict) -> None:
    """Draw a choice of the units, and the chosen one."""
    strongest: EvidenceKind = next((e.kind for e in verdict.signals if e.kind in CHOICES), "checks")
    choices = [kind for kind in CHOICES if kind != "suggestions" or any(u.wrong for u in units)]
    kind: EvidenceKind = st.segmented_control(
        "Units of this annotator", choices, format_func=CHOICES.__getitem__, default=strongest, required=True,
        key=f"campaign-evidence-{campaign.id}-{verdict.rater}",
    )  # fmt: skip
    evidence = evidence_units(verdict.rater, kind, units)
    if not evidence:
        page.info("There are no such units of this annotator.")
        return
    at = st.selectbox(
        "Unit", range(len(evidence)), key=f"campaign-evidence-unit-{campaign.id}-{verdict.rater}-{kind}",
        format_func=lambda i: f"{' · '.join(part for part in evidence[i].judgement.unit.of if part)}: {isolated(evidence[i].text)}",
    )  # fmt: skip
    _unit(campaign, evidence[at or 0])


def _unit(campaign: Campaign, of: EvidenceUnit) -> None:
    texts = wiring.store().projects.document(campaign.texts, of.judgement.unit.name)
    asks = campaign_data.current(campaign).design.protocol.asks
    with st.container(border=True):
        labelled_output.captioned("Source", texts.segments[0].source)
        written = {o.system: o.text for o in texts.outputs}
        for number, system in enumerate(of.judgement.labels.order or of.judgement.unit.systems, 1):
            st.caption(f"Output {number}: {escape_markdown(system)}")
            planted = of.planted if system == of.broken else ()
            key = f"evidence-{campaign.id}-{of.judgement.unit.name}-{of.judgement.rater}-{number}"
            decisions.marked(of.judgement.rater, written[system], of.judgement.labels.of(system), asks, planted, key)
        page.caption(f"{of.text} · {of.judgement.labels.seconds:.0f} s")


ADVICE: dict[QualityAdvice, tuple[str, str]] = {
    "exclude?": ("Exclude?", ":red-badge[:material/priority_high: {}]"),
    "look": ("Look", ":orange-badge[:material/visibility: {}]"),
    "unknown": ("Too little to assess", ":gray-badge[:material/hourglass_empty: {}]"),
    "fine": ("Fine", ":green-badge[:material/check: {}]"),
}
"""What each verdict is called, and its badge."""
SIGNALS = {"strong": " ●", "weak": " ○", "none": ""}
KINDS: dict[EvidenceKind, str] = {
    "checks": "attention checks passed",
    "suggestions": "wrong suggestions rejected",
    "agreement": "agreement",
    "span agreement": "span agreement",
    "copying": "copying",
    "same answer": "same answer",
    "same span": "same place marked",
    "speed": "words per second",
    "repeats": "self-agreement",
}


def draw_quality(project: Project, campaign: Campaign) -> None:
    """Draw the verdicts, the evidence of one annotator, and agreement over time."""
    key = (load_settings().database, campaign.id, campaign_data.version(campaign))
    units, rater_verdicts = compute(("campaign-quality", *key), "Judging the annotators …", lambda: _judged(campaign))
    if not rater_verdicts:
        page.info(
            "Nobody has submitted a unit yet. Verdicts appear with the first attention checks and repeated units."
        )
        return
    participants = {p.rater: p for p in wiring.store().campaigns.participants(campaign.id)}
    st.subheader(
        sentence(rater_verdicts, participants),
        anchor=False,
        help="A verdict excludes nobody: you decide. It never follows from one weak signal.",
    )
    _table(rater_verdicts, participants)
    with errors.boundary():
        _person(campaign, units, rater_verdicts, participants)
    st.subheader("Agreement over time", anchor=False, help=definition("Krippendorff's α"))
    windows = compute(("campaign-windows", *key), "Computing agreement over time …", lambda: _windows(campaign))
    _over_time(windows)


def _judged(campaign: Campaign) -> tuple[list[UnitJudgement], list[RaterVerdict]]:
    answers = campaign_data.current(campaign).answers
    units = quality.submitted_units(wiring.store(), campaign, answers)
    order: list[QualityAdvice] = list(ADVICE)
    return units, sorted(verdicts(units), key=lambda v: (order.index(v.verdict), v.rater))


def sentence(rater_verdicts: Sequence[RaterVerdict], participants: dict[str, Participant]) -> str:
    """Return how many annotators need attention."""
    counted = [v for v in rater_verdicts if not (v.rater in participants and participants[v.rater].excluded)]
    doubtful = sum(v.verdict in ("look", "exclude?") for v in counted)
    unknown = sum(v.verdict == "unknown" for v in counted)
    if unknown and unknown == len(counted):
        return f"Too little to assess {format_count(unknown, 'annotator')}"
    if not doubtful:
        text = f"No doubts about {format_count(len(counted) - unknown, 'annotator')}"
    else:
        text = f"{doubtful} of {format_count(len(counted), 'annotator')} {'needs' if doubtful == 1 else 'need'} a look"
    return f"{text}, too little to assess {unknown}" if unknown else text


def _table(rater_verdicts: Sequence[RaterVerdict], participants: dict[str, Participant]) -> None:
    shown: list[EvidenceKind] = ["checks", "suggestions", "repeats", "speed", "agreement", "same answer"]
    if not any(e.kind == "suggestions" for v in rater_verdicts for e in v.evidence):
        shown.remove("suggestions")
    rows = []
    for verdict in rater_verdicts:
        of = {e.kind: e for e in verdict.evidence}
        excluded = participants[verdict.rater].excluded if verdict.rater in participants else ""
        row = {"annotator": verdict.rater, "verdict": "Excluded" if excluded else ADVICE[verdict.verdict][0]}
        rows.append(row | {KINDS[kind]: _cell(of[kind]) for kind in shown})
    tables.text_table(rows)
    st.caption(
        "In brackets: 95 % CI. ● strong signal · ○ weak signal. Self-agreement: distance of the answers on repeated units."
    )


def _cell(of: QualityEvidence) -> str:
    if of.value is None:
        return MISSING

    def number(value: float) -> str:
        if of.kind in ("checks", "suggestions", "same answer", "same span"):
            return format_percent(value)
        return format_number(value, 1 if of.kind in ("speed", "repeats") else 2, leading_zero=True)

    ends = f" [{number(of.low)}, {number(of.high)}]" if of.low is not None and of.high is not None else ""
    return f"{number(of.value)}{ends}{SIGNALS[of.signal]}"


def _person(
    campaign: Campaign,
    units: Sequence[UnitJudgement],
    rater_verdicts: Sequence[RaterVerdict],
    participants: dict[str, Participant],
) -> None:
    st.subheader("Evidence", anchor=False)
    by_name = {v.rater: v for v in rater_verdicts}
    chosen = st.selectbox("Annotator", by_name, key=f"campaign-verdict-{campaign.id}", width=360)
    if chosen is None:
        return
    verdict = by_name[chosen]
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            words, badge = ADVICE[verdict.verdict]
            st.markdown(f"**{escape_markdown(chosen)}** {badge.format(words)}", width="content")
            if chosen in participants and campaign_data.manages(campaign):
                people_tab.exclusion(campaign, participants[chosen], "quality")
        for of in sorted(verdict.evidence, key=lambda e: ("strong", "weak", "none").index(e.signal)):
            mark = {"strong": ":red[●]", "weak": ":orange[○]"}.get(of.signal, ":gray[·]")
            st.markdown(f"{mark} **{KINDS[of.kind].capitalize()}.** {escape_markdown(of.text)}")
    draw_evidence(campaign, units, verdict)


def _windows(campaign: Campaign) -> list[AgreementWindow]:
    snapshot = campaign_data.current(campaign)
    rows = comparison.agreement_rows(snapshot.design, snapshot.answers)
    timed = [TimedRating(rater, output, value, when, output[0]) for (rater, output), (value, when) in rows.items()]
    return agreement_over_time(timed, seed=snapshot.design.seed)


def _over_time(windows: Sequence[AgreementWindow]) -> None:
    rows, first = [], 1
    for w in windows:
        last = first + w.outputs - 1
        if w.alpha.value is not None:
            value, low, high = w.alpha.value, w.alpha.low, w.alpha.high
            days = (page.day(datetime.fromtimestamp(t, UTC)) for t in (w.start, w.end))
            rows.append({"window": f"{first}–{last}", "value": value, "low": low, "high": high, "when": " to ".join(days),
                         "shown": format_interval(value, low, high, 2)})  # fmt: skip
        first = last + 1
    if not rows:
        page.info("Agreement needs outputs with ratings by two annotators.")
        return
    st.altair_chart(campaigns.agreement_over_time(pd.DataFrame(rows)), width="stretch")
    st.caption(
        "α of 50 outputs at a time, with its 95 % CI. It also falls if outputs become more alike: compare the intervals."
    )

"""Quality of a campaign: whose labels can be trusted, with the evidence, and agreement over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from core.campaigns.submitted import EvidenceKind, QualityAdvice, QualityEvidence, RaterVerdict, UnitJudgement
from core.campaigns.verdicts import verdicts
from core.formatting import MISSING, format_count, format_number, format_percent
from core.plots import campaigns as plots
from core.ports.campaigns import Campaign, Participant
from core.ports.projects import Project
from core.services.campaigns import comparison, quality
from core.settings import load as settings
from core.stats.raters.rater_agreement import AgreementWindow, TimedRating, agreement_over_time
from pages._ui.campaigns import campaign_data, evidence_view, person_panel
from pages._ui.shared import errors, page, tables, wiring
from pages._ui.shared.glossary import definition
from pages._ui.shared.long_jobs import compute
from pages._ui.shared.markdown import escape_markdown

WORDS: dict[QualityAdvice, str] = {
    "exclude?": "Exclude?",
    "look": "Look",
    "unknown": "Too little to assess",
    "fine": "Fine",
}
BADGES: dict[QualityAdvice, str] = {
    "exclude?": ":red-badge[:material/priority_high: Exclude?]",
    "look": ":orange-badge[:material/visibility: Look]",
    "unknown": ":gray-badge[:material/hourglass_empty: Too little to assess]",
    "fine": ":green-badge[:material/check: Fine]",
}
SIGNALS = {"strong": " ●", "weak": " ○", "none": ""}
KINDS: dict[EvidenceKind, str] = {
    "checks": "attention checks passed",
    "agreement": "agreement",
    "span agreement": "span agreement",
    "copying": "copying",
    "same answer": "same answer",
    "same span": "same place marked",
    "speed": "words per second",
    "repeats": "self-agreement",
}


def draw(project: Project, campaign: Campaign) -> None:
    """Draw the verdicts, the evidence of one annotator, and agreement over time."""
    key = (settings().database, campaign.id, campaign_data.version(campaign))
    units, found = compute(("campaign-quality", *key), "Judging the annotators …", lambda: _judged(campaign))
    if not found:
        page.info(
            "Nobody has submitted a unit yet. Verdicts appear with the first attention checks and repeated units."
        )
        return
    people = {p.rater: p for p in wiring.store().campaigns.participants(campaign.id)}
    st.subheader(
        sentence(found, people),
        anchor=False,
        help="A verdict excludes nobody: you decide. It never follows from one weak signal.",
    )
    _table(found, people)
    with errors.boundary():
        _person(campaign, units, found, people)
    st.subheader("Agreement over time", anchor=False, help=definition("Krippendorff's α"))
    windows = compute(("campaign-windows", *key), "Computing agreement over time …", lambda: _windows(campaign))
    _over_time(windows)


def _judged(campaign: Campaign) -> tuple[list[UnitJudgement], list[RaterVerdict]]:
    given = campaign_data.current(campaign).answers
    units = quality.submitted_units(wiring.store(), campaign, given)
    order: list[QualityAdvice] = list(BADGES)
    return units, sorted(verdicts(units), key=lambda v: (order.index(v.verdict), v.rater))


def sentence(found: Sequence[RaterVerdict], people: dict[str, Participant]) -> str:
    """Return how many annotators need attention."""
    counted = [v for v in found if not (v.rater in people and people[v.rater].excluded)]
    doubtful = sum(v.verdict in ("look", "exclude?") for v in counted)
    unknown = sum(v.verdict == "unknown" for v in counted)
    if unknown and unknown == len(counted):
        return f"Too little to assess {format_count(unknown, 'annotator')}"
    if not doubtful:
        text = f"No doubts about {format_count(len(counted) - unknown, 'annotator')}"
    else:
        text = f"{doubtful} of {format_count(len(counted), 'annotator')} {'needs' if doubtful == 1 else 'need'} a look"
    return f"{text}, too little to assess {unknown}" if unknown else text


def _table(found: Sequence[RaterVerdict], people: dict[str, Participant]) -> None:
    shown: tuple[EvidenceKind, ...] = ("checks", "repeats", "speed", "agreement", "same answer")
    rows = []
    for verdict in found:
        of = {e.kind: e for e in verdict.evidence}
        excluded = people[verdict.rater].excluded if verdict.rater in people else ""
        row = {"annotator": verdict.rater, "verdict": "Excluded" if excluded else WORDS[verdict.verdict]}
        rows.append(row | {KINDS[kind]: _cell(of[kind]) for kind in shown})
    tables.text_table(rows)
    st.caption(
        "In brackets: 95 % CI. ● strong signal · ○ weak signal. Self-agreement: distance of the answers on repeated units."
    )


def _cell(of: QualityEvidence) -> str:
    if of.value is None:
        return MISSING

    def number(value: float) -> str:
        if of.kind in ("checks", "same answer", "same span"):
            return format_percent(value)
        return format_number(value, 1 if of.kind in ("speed", "repeats") else 2, leading_zero=True)

    ends = f" [{number(of.low)}, {number(of.high)}]" if of.low is not None and of.high is not None else ""
    return f"{number(of.value)}{ends}{SIGNALS[of.signal]}"


def _person(
    campaign: Campaign, units: Sequence[UnitJudgement], found: Sequence[RaterVerdict], people: dict[str, Participant]
) -> None:
    st.subheader("Evidence", anchor=False)
    by_name = {v.rater: v for v in found}
    chosen = st.selectbox("Annotator", by_name, key=f"campaign-verdict-{campaign.id}", width=360)
    if chosen is None:
        return
    verdict = by_name[chosen]
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{escape_markdown(chosen)}** {BADGES[verdict.verdict]}", width="content")
            if chosen in people and campaign_data.manages(campaign):
                person_panel.exclusion(campaign, people[chosen], "quality")
        for of in sorted(verdict.evidence, key=lambda e: ("strong", "weak", "none").index(e.signal)):
            mark = {"strong": ":red[●]", "weak": ":orange[○]"}.get(of.signal, ":gray[·]")
            st.markdown(f"{mark} **{KINDS[of.kind].capitalize()}.** {escape_markdown(of.text)}")
    evidence_view.draw(campaign, units, verdict)


def _windows(campaign: Campaign) -> list[AgreementWindow]:
    found = campaign_data.current(campaign)
    rows = comparison.agreement_rows(found.design, found.answers)
    timed = [TimedRating(rater, output, value, when, output[0]) for (rater, output), (value, when) in rows.items()]
    return agreement_over_time(timed, seed=found.design.seed)


def _over_time(windows: Sequence[AgreementWindow]) -> None:
    rows, first = [], 1
    for w in windows:
        last = first + w.outputs - 1
        if w.alpha.value is not None:
            low, high = w.alpha.low, w.alpha.high
            ends = f" [{format_number(low, 2)}, {format_number(high, 2)}]" if low is not None else ""
            days = (page.day(datetime.fromtimestamp(t, UTC)) for t in (w.start, w.end))
            rows.append({"window": f"{first}–{last}", "value": w.alpha.value, "low": low, "high": high, "when": " to ".join(days),
                         "shown": f"{format_number(w.alpha.value, 2)}{ends}"})  # fmt: skip
        first = last + 1
    if not rows:
        page.info("Agreement needs outputs with ratings by two annotators.")
        return
    st.altair_chart(plots.agreement_over_time(pd.DataFrame(rows)), width="stretch")
    st.caption(
        "α of 50 outputs at a time, with its 95 % CI. It also falls if outputs become more alike: compare the intervals."
    )

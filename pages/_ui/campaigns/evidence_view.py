"""The units behind a piece of evidence on an annotator."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.campaigns.submitted import EvidenceKind, RaterVerdict, UnitJudgement
from core.formatting import isolated
from core.ports.campaigns import Campaign
from core.services.campaigns.evidence import EvidenceUnit, evidence_units
from pages._ui.campaigns import campaign_data, versions
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

CHOICES: dict[EvidenceKind, str] = {
    "checks": "Attention checks",
    "repeats": "Repeated units",
    "speed": "Fastest units",
    "agreement": "Unlike the others",
    "same answer": "All units",
}


@st.fragment
@errors.guarded
def draw(campaign: Campaign, units: Sequence[UnitJudgement], verdict: RaterVerdict) -> None:
    """Draw a choice of the units, and the chosen one."""
    strongest: EvidenceKind = next((e.kind for e in verdict.signals if e.kind in CHOICES), "checks")
    kind: EvidenceKind = st.segmented_control(
        "Units of this annotator", CHOICES, format_func=CHOICES.__getitem__, default=strongest, required=True,
        key=f"campaign-evidence-{campaign.id}-{verdict.rater}",
    )  # fmt: skip
    found = evidence_units(verdict.rater, kind, units)
    if not found:
        page.info("There are no such units of this annotator.")
        return
    at = st.selectbox(
        "Unit", range(len(found)), key=f"campaign-evidence-unit-{campaign.id}-{verdict.rater}-{kind}",
        format_func=lambda i: f"{' · '.join(part for part in found[i].judgement.unit.of if part)}: {isolated(found[i].text)}",
    )  # fmt: skip
    _unit(campaign, found[at or 0])


def _unit(campaign: Campaign, of: EvidenceUnit) -> None:
    texts = wiring.store().projects.document(campaign.texts, of.judgement.unit.name)
    asks = campaign_data.current(campaign).design.protocol.asks
    with st.container(border=True):
        source = texts.segments[0].source
        if source:
            st.caption("Source")
            st.text(source)
        written = {o.system: o.text for o in texts.outputs}
        for number, system in enumerate(of.judgement.labels.order or of.judgement.unit.systems, 1):
            st.caption(f"Output {number}: {escape_markdown(system)}")
            planted = of.planted if system == of.broken else ()
            key = f"evidence-{campaign.id}-{of.judgement.unit.name}-{of.judgement.rater}-{number}"
            versions.marked(of.judgement.rater, written[system], of.judgement.labels.of(system), asks, planted, key)
        page.caption(f"{of.text} · {of.judgement.labels.seconds:.0f} s")

"""Hand the rest of a fixed list over to other people: what would move, and the form that does it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.formatting import format_count
from core.ports.campaigns import Campaign, Participant
from core.services.campaigns import handing_over as service
from core.services.campaigns.handing_over import HandOverPreview
from core.services.campaigns.monitoring import CampaignSnapshot
from pages._ui.campaigns import campaign_data
from pages._ui.campaigns.progress_tab import note
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown


def waiting(campaign: Campaign, found: CampaignSnapshot) -> None:
    """Say which units of fixed lists nobody will rate unless the manager does something."""
    rests = campaign_data.rests(campaign)
    if not rests:
        return
    idle = [w for p in found.people if not service.gets_units(w := p.work.participant) and rests[w.id].items]
    if idle:
        of = ", ".join(f"{len(rests[w.id].items)} of {w.rater} ({note(w)})" for w in idle)
        page.info(
            f"Units that nobody will rate: {escape_markdown(of)}. Choose the annotator below and hand over the rest of the list."
        )
    if (without := found.design.people - len(found.people)) > 0:
        st.caption(
            f"{without} of the {format_count(found.design.people, 'planned list')} have no annotator: invite "
            f"{without} more."
        )


def draw(campaign: Campaign, who: Participant, people: Mapping[int, Participant]) -> None:
    """Draw the form, if something of this person's list is left."""
    rest = campaign_data.rests(campaign).get(who.id)
    if rest is None or not rest.items or campaign.state == "finished":
        return
    with st.popover("Hand over the rest", key=f"campaign-ask-hand-over-{who.id}"), errors.boundary():
        others = [p.id for p in people.values() if p.id != who.id and service.gets_units(p)]
        if not others:
            st.markdown("**No other annotator can receive units.** Invite somebody, and hand this list over then.")
            return
        to = st.selectbox(
            "To", [None, *others], format_func=lambda p: "All others" if p is None else people[p].rater,
            key=f"campaign-hand-over-to-{who.id}",
        )  # fmt: skip
        shown = campaign_data.hand_over_preview(campaign, who.id, to)
        st.markdown(escape_markdown(says(shown, excluded=bool(who.excluded))))
        reason = st.text_input(
            "Reason", max_chars=200, key=f"campaign-hand-over-why-{who.id}", help="Kept in the audit record."
        )
        label = f"Hand over {format_count(shown.moving, 'unit')}"
        if st.button(label, type="primary", key=f"campaign-hand-over-{who.id}", disabled=not shown.moving):
            service.hand_over(wiring.store(), wiring.identity().who, campaign, who.id, to, reason)
            campaign_data.changed()
            st.rerun()


def says(shown: HandOverPreview, *, excluded: bool) -> str:
    """Return what will move, in sentences."""
    left = "need another rater" if excluded else "are not submitted"
    parts = [f"{format_count(shown.units, 'unit')} of {shown.name} {left}."]
    if shown.shares:
        parts.append(f"{', '.join(f'{s.name} gets {s.units}' for s in shown.shares)}.")
    if shown.staying:
        parts.append(
            f"{shown.staying} cannot be reassigned: these annotators already rate them. Invite somebody for them."
        )
    if shown.moving and shown.begun and not excluded:
        parts.append(f"{shown.begun} of them are begun: {shown.name} can still submit these, as extra ratings.")
    if shown.moving and not excluded:
        parts.append(f"{shown.name} gets no more units.")
    return " ".join(parts)

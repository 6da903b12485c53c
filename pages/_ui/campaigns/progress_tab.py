"""Progress of a campaign: will it be done in time?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import streamlit as st

from core.formatting import MISSING, format_clock, format_count, format_duration
from core.plots import campaigns
from core.ports.campaigns import Campaign, Participant
from core.ports.projects import Project
from core.services.campaigns import running
from core.services.campaigns.monitor import CampaignSnapshot, PersonProgress
from pages._ui.campaigns import campaign_data
from pages._ui.shared import errors, page, tables, wiring
from pages._ui.shared.markdown import escape_markdown


def draw_progress(project: Project, campaign: Campaign) -> None:
    """Draw the progress by day, system and person."""
    campaign_data.live(_live, campaign)
    if campaign_data.manages(campaign) and campaign.state != "finished":
        with st.expander("Retire or add systems"), errors.boundary():
            _systems(campaign)


def _live(campaign: Campaign) -> None:
    snapshot = campaign_data.current(campaign)
    if campaign.state == "draft":
        page.info("The campaign has not started. Check its people, then start it above.")
    elif not snapshot.progress.ratings:
        lost = "*People* makes" if campaign_data.manages(campaign) else "a manager makes"
        page.info(
            f"Nobody has submitted a unit yet. Annotators need their personal link, or log in. If a link is lost, {lost} a new one."
        )
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Ratings per day", anchor=False)
        if snapshot.progress.days:
            st.altair_chart(campaigns.ratings_per_day(days(snapshot), snapshot.progress.per_day), width="stretch")
        st.caption(escape_markdown(pace(snapshot)))
    with right:
        st.subheader("Ratings by system", anchor=False)
        rows = [
            {"system": s.system, "ratings": s.ratings, "wanted": s.planned, "text": f"{s.ratings:,} / {s.planned:,}"}
            for s in snapshot.progress.systems
        ]
        st.altair_chart(campaigns.by_system(rows), width="stretch")
    st.subheader("People", anchor=False)
    if not snapshot.people:
        invites = "Invite annotators on *People*." if campaign_data.manages(campaign) else "Managers invite annotators."
        page.info(f"Nobody has joined yet. {invites}")
        return
    if campaign_data.sees_people(campaign):
        _people(snapshot)
    else:
        st.caption(
            f"{format_count(len(snapshot.people), 'annotator')}. Names are hidden from people who decide on disagreements."
        )
    if campaign.state == "running":
        st.caption(f"As of {page.moment(snapshot.at, '%H:%M:%S')}. Refreshes every {campaign_data.EVERY} s.")


def days(snapshot: CampaignSnapshot) -> list[dict[str, object]]:
    """Return the ratings of every day from the first to the last, with the days without any."""
    by_day = dict(snapshot.progress.days)
    day, last = min(by_day), max(by_day)
    rows: list[dict[str, object]] = []
    while day <= last:
        rows.append({"day": f"{day:%Y-%m-%d}", "ratings": by_day.get(day, 0)})
        day += timedelta(days=1)
    return rows


def pace(snapshot: CampaignSnapshot) -> str:
    """Return the pace, the time per unit, and what is open."""
    p, parts = snapshot.progress, []
    if p.per_day is not None:
        parts.append(f"Pace of the last days (dashed): {format_count(round(p.per_day), 'rating')} per day")
    if p.seconds is not None:
        parts.append(f"median time per unit {format_duration(p.seconds)}")
    parts.append(f"{format_count(sum(person.open_units for person in snapshot.people), 'unit')} open now")
    if p.extra:
        parts.append(f"{format_count(p.extra, 'extra rating')} after a unit was given to somebody else")
    return " · ".join(parts)


def _people(snapshot: CampaignSnapshot) -> None:
    rows = [
        {
            "annotator": person.work.participant.rater,
            "submitted": person.work.units,
            "assigned": person.work.assigned,
            "open": person.open_units,
            "time per unit": MISSING if person.median_seconds is None else format_duration(person.median_seconds),
            "time, h:min:s": person.work.seconds,
            "last seen": ago(person.work.last, snapshot.at),
            "note": note(person.work.participant),
        }
        for person in by_recency(snapshot.people)
    ]
    tables.data_table(
        [{k: v for k, v in row.items() if k != "note" or any(r["note"] for r in rows)} for row in rows],
        {"time, h:min:s": format_clock},
        columns={"time per unit": st.column_config.TextColumn(help="Median working time of submitted units", alignment="right")},
        helps={"open": "Assigned and not submitted", "time, h:min:s": "Working time; a pause counts at most two minutes"},
    )  # fmt: skip


def by_recency(participants: Sequence[PersonProgress]) -> list[PersonProgress]:
    """Return the people, the one seen last first; those never seen at the end."""
    return sorted(participants, key=lambda p: -p.work.last.timestamp() if p.work.last else 0.0)


def note(who: Participant) -> str:
    """Return what is special about a participant."""
    if who.excluded:
        return "excluded"
    if who.passed_tutorial is False:
        return "tutorial not passed"
    return "gets no more units" if who.left else ""


def ago(then: datetime | None, now: datetime) -> str:
    """Return how long ago something was: "just now", "12 min ago", or the date."""
    if then is None:
        return "never"
    minutes = (now - then).total_seconds() / 60
    if minutes < 2:
        return "just now"
    if minutes < 90:
        return f"{minutes:.0f} min ago"
    if minutes < 36 * 60:
        return f"{minutes / 60:.0f} h ago"
    return f"{then.day} {then:%b}"


def _systems(campaign: Campaign) -> None:
    store, who = wiring.store(), wiring.identity().who
    if campaign_data.current(campaign).design.protocol.on_screen is None:
        st.markdown("All outputs of a segment are on one screen, so systems cannot be changed while the campaign runs.")
        return
    systems = running.systems(store, campaign)
    st.markdown("Units of a retired system are no longer given to annotators. Labels that exist stay and count.")
    for system in systems:
        with st.container(horizontal=True, vertical_alignment="center"):
            state = " · :gray[retired]" if system.retired else ""
            st.markdown(
                f"**{escape_markdown(system.name)}** · {format_count(system.units, 'unit')}{state}", width="content"
            )
            label = "Bring back" if system.retired else "Retire"
            if st.button(label, key=f"campaign-retire-{campaign.id}-{system.name}", type="tertiary"):
                with errors.boundary():
                    running.retire_system(store, who, campaign, system.name, not system.retired)
                    campaign_data.changed(campaign)
                    st.rerun()
    possible = running.can_add(store, campaign)
    if possible:
        with st.form(f"campaign-add-{campaign.id}", border=False), errors.boundary():
            chosen = st.selectbox("Add a system of the project", possible, index=None, placeholder="Choose a system")
            if st.form_submit_button("Add system") and chosen:
                running.add_system(store, who, campaign, chosen)
                campaign_data.changed(campaign)
                st.rerun()

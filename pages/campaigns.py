"""Campaigns: human evaluations with many people, from their set-up to their results."""

from __future__ import annotations

import streamlit as st

from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.services.campaigns.setup import SavedDraft, of_draft
from pages._ui.campaigns import campaign_data, campaign_list, campaign_tabs, imported, my_campaigns
from pages._ui.campaigns.setup import checks_step, choices, creation, people_step, protocol_step, start_step
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

DRAW = {
    "data": start_step.draw_data_step,
    "protocol": protocol_step.draw_protocol_step,
    "people": people_step.draw_people_step,
    "checks": checks_step.draw_checks_step,
    "start": start_step.draw_start_step,
}

SET_UP = "Set up human evaluations with several people, and follow them."
FOLLOW = "Follow human evaluations with several people."


def main() -> None:
    """Draw the page."""
    wiring.store()
    campaign_key, step = campaign_data.opened()
    if campaign_key == campaign_data.IMPORT and wiring.identity().manages:
        imported.draw_finished_import()
        return
    project = page.start("Campaigns", SET_UP if wiring.identity().manages else FOLLOW)
    my_campaigns.draw_my_campaigns(campaign_key)
    if project is None:
        return
    manages = wiring.may_change(project.id)
    if campaign_key == campaign_data.NEW and manages:
        set_up(project, step if step in DRAW else choices.NAMES[0])
    elif campaign_key == campaign_data.RATINGS:
        st.button("All campaigns", icon=":material/arrow_back:", on_click=campaign_data.open_list, type="tertiary")
        with errors.boundary():
            imported.draw_stored(project)
    elif campaign_key in (None, campaign_data.NEW, campaign_data.IMPORT):
        campaign_list.draw_campaign_list(project, manages=manages)
    elif step in DRAW and manages and (draft := draft_of(project, campaign_key)) is not None:
        set_up(project, step, draft)
    else:
        st.button("All campaigns", icon=":material/arrow_back:", on_click=campaign_data.open_list, type="tertiary")
        with errors.boundary():
            campaign = campaign_of_address(project, campaign_key)
            creation.links(campaign)
            if not my_campaigns.hides(campaign):
                campaign_tabs.draw_campaign(project, campaign)


def draft_of(project: Project, campaign_key: str) -> SavedDraft | None:
    """Return the draft that the address names, if it can be set up here."""
    mine = (c for c in wiring.store().campaigns.list(project.id) if str(c.id) == campaign_key)
    return next((draft for c in mine if (draft := of_draft(wiring.store(), c)) is not None), None)


def campaign_of_address(project: Project, campaign_key: str) -> Campaign:
    """Return the campaign that the address names. Raises `UserError` if the project has none with this number."""
    for campaign in wiring.store().campaigns.list(project.id):
        if str(campaign.id) == campaign_key:
            return campaign
    raise UserError(
        "this campaign does not exist", where="the address of this page", got=campaign_key,
        hint="It may have been deleted, or belong to another project. Choose one from the list",
    )  # fmt: skip


def set_up(project: Project, step: str, draft: SavedDraft | None = None) -> None:
    """Draw one step of the set-up of a new campaign, or of a draft."""
    setup = choices.opened(project, draft)
    setup.choices.keep_reached(choices.NAMES.index(step))

    def go(to: str) -> None:
        setup.choices.gather()
        setup.choices.begin_visit()
        campaign_data.open_step(to, setup.draft and setup.draft.id)

    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.button("All campaigns", icon=":material/arrow_back:", on_click=leave, args=(setup,), type="tertiary")
        if draft is not None:
            st.markdown(f"**{escape_markdown(draft.campaign.name)}** · :gray[Draft]", width="content")
        st.button(
            "Discard" if draft is None else "Discard changes",
            icon=":material/delete:",
            on_click=discard,
            args=(setup,),
            type="tertiary",
            help="Forget all choices of this new campaign"
            if draft is None
            else "Forget what was changed since the draft was saved",
        )
    choices.step_line(setup, step, go)
    body, foot = st.container(), st.container()
    with foot:  # first: it can be used while the step is still drawn
        choices.buttons(step, go)
    with body, errors.boundary():
        DRAW[step](setup)


def leave(setup: choices.Setup) -> None:
    """Go to the list; the choices are kept."""
    setup.choices.gather()
    setup.choices.begin_visit()
    campaign_data.open_list()


def discard(setup: choices.Setup) -> None:
    """Forget the choices and go to the list."""
    setup.choices.clear()
    campaign_data.open_list()


main()

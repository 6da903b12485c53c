"""Campaigns: human evaluations with many people, from their set-up to their results."""

from __future__ import annotations

import streamlit as st

from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.services.campaigns.setup import SavedDraft, of_draft
from pages._ui.campaigns import campaign_data, campaign_list, campaign_tabs, imported
from pages._ui.campaigns.setup import checks_step, choices, people_step, protocol_step, start_step
from pages._ui.shared import addresses, errors, page, wiring
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
    wiring.store()
    campaign_key, step = campaign_data.opened()
    if campaign_key == campaign_data.IMPORT and wiring.identity().manages:
        imported.draw_finished_import()
        return
    project = page.start("Campaigns", SET_UP if wiring.identity().manages else FOLLOW)
    campaign_data.draw_my_campaigns(campaign_key)
    if project is None:
        return
    manages = wiring.may_change(project.id)
    campaign = next((c for c in wiring.store().campaigns.list(project.id) if str(c.id) == campaign_key), None)
    if campaign_key == campaign_data.NEW and manages:
        set_up(project, step if step in DRAW else choices.NAMES[0])
    elif campaign_key == campaign_data.RATINGS:
        campaign_data.back_button()
        with errors.boundary():
            imported.draw_stored(project)
    elif campaign_key in (None, campaign_data.NEW, campaign_data.IMPORT):
        campaign_list.draw_campaign_list(project, manages=manages)
    elif step in DRAW and manages and campaign and (draft := of_draft(wiring.store(), campaign)) is not None:
        set_up(project, step, draft)
    else:
        campaign_data.back_button()
        with errors.boundary():
            draw_campaign(project, campaign, str(campaign_key))


def draw_campaign(project: Project, campaign: Campaign | None, campaign_key: str) -> None:
    """Draw the campaign that the address names. Raises `UserError` if the project has none with this number."""
    if campaign is None:
        raise UserError(
            "this campaign does not exist", where="the address of this page", got=campaign_key,
            hint="It may have been deleted, or belong to another project. Choose one from the list",
        )  # fmt: skip
    addresses.draw_campaign_links(campaign, started=True)
    if not campaign_data.hides(campaign):
        campaign_tabs.draw_campaign(project, campaign)


def set_up(project: Project, step: str, draft: SavedDraft | None = None) -> None:
    """Draw one step of the set-up of a new campaign, or of a draft."""
    setup = choices.opened(project, draft)
    setup.choices.keep_reached(choices.NAMES.index(step))

    def go(to: str) -> None:
        setup.choices.gather()
        setup.choices.begin_visit()
        campaign_data.go(setup.draft.id if setup.draft else campaign_data.NEW, to)

    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        campaign_data.back_button(leave, args=(setup,))
        if draft is not None:
            st.markdown(f"**{escape_markdown(draft.campaign.name)}** · :gray[Draft]", width="content")
        words = ("Discard", "Forget all choices of this new campaign")
        if draft is not None:
            words = ("Discard changes", "Forget what was changed since the draft was saved")
        label, help_text = words
        st.button(label, icon=":material/delete:", on_click=discard, args=(setup,), type="tertiary", help=help_text)
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
    campaign_data.go()


def discard(setup: choices.Setup) -> None:
    """Forget the choices and go to the list."""
    setup.choices.clear()
    campaign_data.go()


main()

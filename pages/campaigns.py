"""Campaigns: human evaluations with many people, from their set-up to their results."""

from __future__ import annotations

import streamlit as st

from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.services.campaigns import saved_setup
from core.services.campaigns.saved_setup import SavedDraft
from pages._ui.campaigns import address, campaign_list, campaign_tabs, finished_import, imported_view, my_campaigns
from pages._ui.campaigns.setup import checks_step, creation, data_step, people_step, protocol_step, start_step, steps
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

DRAW = {
    "data": data_step.draw,
    "protocol": protocol_step.draw,
    "people": people_step.draw,
    "checks": checks_step.draw,
    "start": start_step.draw,
}

SET_UP = "Set up human evaluations with several people, and follow them."
FOLLOW = "Follow human evaluations with several people."


def main() -> None:
    """Draw the page."""
    wiring.store()
    wanted, step = address.opened()
    if wanted == address.IMPORT and wiring.identity().manages:
        finished_import.draw()
        return
    project = page.start("Campaigns", SET_UP if wiring.identity().manages else FOLLOW)
    my_campaigns.draw(wanted)
    if project is None:
        return
    manages = wiring.may_change(project.id)
    if wanted == address.NEW and manages:
        set_up(project, step if step in DRAW else steps.NAMES[0])
    elif wanted == address.RATINGS:
        st.button("All campaigns", icon=":material/arrow_back:", on_click=address.open_list, type="tertiary")
        with errors.boundary():
            imported_view.draw_stored(project)
    elif wanted in (None, address.NEW, address.IMPORT):
        campaign_list.draw(project, manages=manages)
    elif step in DRAW and manages and (draft := draft_of(project, wanted)) is not None:
        set_up(project, step, draft)
    else:
        st.button("All campaigns", icon=":material/arrow_back:", on_click=address.open_list, type="tertiary")
        with errors.boundary():
            campaign = found(project, wanted)
            creation.links(campaign)
            if not my_campaigns.hides(campaign):
                campaign_tabs.draw(project, campaign)


def draft_of(project: Project, wanted: str) -> SavedDraft | None:
    """Return the draft that the address names, if it can be set up here."""
    mine = (c for c in wiring.store().campaigns.list(project.id) if str(c.id) == wanted)
    return next((draft for c in mine if (draft := saved_setup.of_draft(wiring.store(), c)) is not None), None)


def found(project: Project, wanted: str) -> Campaign:
    """Return the campaign that the address names. Raises `UserError` if the project has none with this number."""
    for campaign in wiring.store().campaigns.list(project.id):
        if str(campaign.id) == wanted:
            return campaign
    raise UserError(
        "this campaign does not exist", where="the address of this page", got=wanted,
        hint="It may have been deleted, or belong to another project. Choose one from the list",
    )  # fmt: skip


def set_up(project: Project, step: str, draft: SavedDraft | None = None) -> None:
    """Draw one step of the set-up of a new campaign, or of a draft."""
    setup = steps.opened(project, draft)
    setup.choices.keep_reached(steps.NAMES.index(step))

    def go(to: str) -> None:
        setup.choices.gather()
        setup.choices.begin_visit()
        address.open_step(to, setup.draft and setup.draft.id)

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
    steps.step_line(setup, step, go)
    body, foot = st.container(), st.container()
    with foot:  # first: it can be used while the step is still drawn
        steps.buttons(step, go)
    with body, errors.boundary():
        DRAW[step](setup)


def leave(setup: steps.Setup) -> None:
    """Go to the list; the choices are kept."""
    setup.choices.gather()
    setup.choices.begin_visit()
    address.open_list()


def discard(setup: steps.Setup) -> None:
    """Forget the choices and go to the list."""
    setup.choices.clear()
    address.open_list()


main()

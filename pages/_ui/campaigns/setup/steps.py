"""The set-up of a campaign: five steps on one page, each of which may be skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS
from core.campaigns.selection import Outline, counts
from core.columns import ProjectIndex
from core.errors import UserError
from core.formatting import format_count, format_percent
from core.mqm.typology import Typology
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.services.campaigns import setup_design
from core.services.campaigns.saved_setup import SavedDraft
from core.services.labels.typologies import of_project
from core.services.projects.texts import StoredTexts
from pages._ui.campaigns.setup.choices import REACHED, SetupChoices
from pages._ui.shared import page, wiring

STEPS = {"data": "Data", "protocol": "Protocol", "people": "People", "checks": "Checks", "start": "Start"}
NAMES = tuple(STEPS)


class Setup(NamedTuple):
    """What every step needs."""

    project: Project
    choices: SetupChoices
    outputs: ProjectIndex
    texts: StoredTexts
    outline: Outline
    own: Typology
    draft: Campaign | None = None

    def design(self) -> CampaignDesign:
        """Return the design so far. Raises `UserError` if the choices do not fit together."""
        return setup_design.design_of(self.choices.values, self.outline, self.own)


def opened(project: Project, saved: SavedDraft | None = None) -> Setup:
    """Return the set-up of a new campaign of a project, or of a draft, with what the browser sent."""
    draft = None if saved is None else saved.campaign
    choices = SetupChoices(project.id, draft)
    if saved is not None and choices.begin_with(saved.choices, saved.campaign.texts):
        st.toast("The draft was saved in another window. You see it as it is saved now.", icon=":material/sync:")
    choices.gather()
    index, own = wiring.index(project), of_project(wiring.store(), project.id)
    return Setup(project, choices, index, wiring.texts(project), index.outline, own, draft)


def step_line(setup: Setup, step: str, go: Callable[[str], None]) -> None:
    """Draw the names of the steps, which lead to them, and what is chosen so far."""
    reached = int(setup.choices.values.get(REACHED, 0))
    key = f"campaign-step-{step}"
    st.segmented_control(
        "Step", NAMES, default=step, key=key, required=True, label_visibility="collapsed",
        format_func=lambda name: _title(name, step, reached), on_change=lambda: go(st.session_state[key]),
    )  # fmt: skip
    page.caption(" · ".join(summary(setup)))


def _title(name: str, step: str, reached: int) -> str:
    at = NAMES.index(name)
    icon = ":material/check: " if at <= reached and name != step else ""
    return f"{icon}{at + 1} {STEPS[name]}"


def summary(setup: Setup) -> list[str]:
    """Return what is chosen so far, one phrase per step."""
    values = setup.choices.values
    chosen = setup_design.chosen
    try:
        of = counts(setup.outline, setup_design.systems_of(values), setup_design.segments_of(values, setup.outline))
        data = f"{format_count(of.segments, 'segment')} × {format_count(of.systems, 'system')}"
    except UserError as error:
        data = error.what
    checks = f"{format_percent(chosen(values, 'checks'))} attention checks, {format_percent(chosen(values, 'repeats'))} repeats"
    people = f"{format_count(chosen(values, 'people'), 'annotator')}, {chosen(values, 'overlap')} per output"
    name = setup_design.protocol_name(values)
    protocol = PROTOCOLS[name].title
    if name == "mqm":
        protocol += f" ({setup_design.typology_of(values, setup.own).title})"
    return [data, protocol, people, checks]


def buttons(step: str, go: Callable[[str], None]) -> None:
    """Draw Back and Next."""
    at = NAMES.index(step)
    with st.container(horizontal=True, horizontal_alignment="distribute" if at else "right"):
        if at:
            st.button("Back", icon=":material/chevron_left:", on_click=go, args=(NAMES[at - 1],))
        if at + 1 < len(NAMES):
            st.button("Next", icon=":material/chevron_right:", icon_position="right", type="primary", on_click=go, args=(NAMES[at + 1],))  # fmt: skip

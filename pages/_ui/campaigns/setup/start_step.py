"""Step 5: who gets a link, a summary of all choices, the start, and what annotators will see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.formatting import format_count, format_percent
from core.ports.people import Account
from core.services.campaigns import people, setup_design, starting
from core.services.campaigns.creating import estimate
from core.services.people.names import LONGEST
from pages._ui.access.links import VALID, warn_if_local
from pages._ui.campaigns import account_panel
from pages._ui.campaigns.setup import creation, people_step, preview
from pages._ui.campaigns.setup.data_step import WHICH
from pages._ui.campaigns.setup.people_step import ASSIGNING
from pages._ui.campaigns.setup.steps import Setup, summary
from pages._ui.shared import errors, page, tables, wiring
from pages._ui.shared.markdown import escape_markdown

LONGEST_NAME = 80
ACCOUNTS = "accounts"


def draw(setup: Setup) -> None:
    """Draw the step."""
    st.subheader("Who annotates?", anchor=False)
    design = None
    with errors.boundary():
        design = setup.design()
    if design is None:
        return
    left, right = st.columns([3, 2], gap="large")
    with left:
        _form(setup, design)
    with right, errors.boundary(), st.container(border=True):
        tables.text_table([{"Summary": label, " ": value} for label, value in _rows(setup, design)], tall=99)
    st.subheader("What annotators see", anchor=False)
    with errors.boundary():
        preview.draw(setup, design)


def _form(setup: Setup, design: CampaignDesign) -> None:
    choices, today, draft = setup.choices, datetime.now(UTC).date(), setup.draft
    taken = [c.name for c in wiring.store().campaigns.list(setup.project.id)]
    usual = draft.name if draft is not None else setup_design.usual_name(choices.values, taken, today)
    name = st.text_input("Name of the campaign", max_chars=LONGEST_NAME, key=choices.widget("name", usual))
    design = replace(design, title=_title(setup, name, design))
    invited = starting.invited(wiring.store(), draft) if draft is not None else []
    if invited:
        page.info(f"Invited already: {escape_markdown(', '.join(invited))}. Their links stay valid.")
    accounts = _accounts(setup, invited)
    usual_names = "" if invited else setup_design.usual_names(design.people - len(accounts))
    typed = st.text_area(
        "Annotators without an account, one name per line" if wiring.store().people.accounts() else "Annotators, one name per line",
        height="content", key=choices.widget("names", usual_names),
        help=f"Each gets a personal link. Names have up to {LONGEST} characters and appear in results; pseudonyms are fine.",
    )  # fmt: skip
    with st.container(horizontal=True):
        days = st.selectbox(
            "Links work for", VALID, format_func=VALID.__getitem__, key=choices.widget("days"), width=220
        )
        _deadline(setup)
    names = setup_design.names_of(typed)
    _compare_with_plan(len(names) + len(accounts) + len(invited), design)
    warn_if_local()
    expires = setup_design.expiry(int(days), today)
    with st.container(horizontal=True):
        label = f"Create {format_count(len(names), 'link')} and start" if names else "Create and start"
        st.button(
            label, type="primary", icon=":material/play_arrow:", disabled=not (names or accounts or invited),
            key="campaign-create",
            on_click=creation.press, args=(True,),
        )  # fmt: skip
        st.button(
            "Save as draft" if draft is None else "Save draft", key="campaign-keep",
            help="Nobody is invited, and nothing starts yet", on_click=creation.press, args=(False,),
        )  # fmt: skip
    with errors.boundary():
        creation.ask_if_pressed(setup, name, design, names, accounts, expires)
    with errors.boundary():
        creation.draw(setup)


def _compare_with_plan(n_people: int, design: CampaignDesign) -> None:
    """Say where the people chosen so far differ from the plan."""
    if n_people < design.overlap:
        text = f"{format_count(n_people, 'person', 'people')} so far; {design.overlap} or more are needed, because {design.overlap} people rate each output."
        st.caption(f":orange[:material/group_add:] {text}")
    elif n_people != design.people:
        st.caption(
            f"{format_count(n_people, 'person', 'people')}; the plan (step 3) counts on {design.people}, and so does the estimate."
        )


def _title(setup: Setup, name: str, design: CampaignDesign) -> str:
    """Draw the field for the name that annotators see, and return this name."""
    systems = design.systems or setup.outputs.systems
    usual = setup_design.usual_title(name, systems, design.protocol)
    typed = st.text_input(
        "Name that annotators see", max_chars=LONGEST_NAME, key=setup.choices.widget("title"), placeholder=usual,
        help="The name of the campaign, unless you type another one or it names a system: annotators must not know the systems.",
    )  # fmt: skip
    shown = " ".join(typed.split()) or usual
    if named := setup_design.named_system(shown, systems):
        st.warning(
            f"Annotators read this name, and it may tell them of the system **{escape_markdown(named)}**.",
            icon=":material/visibility:",
        )
    return shown


def _deadline(setup: Setup) -> None:
    """Draw the choice of a deadline."""
    key = setup.choices.widget("finish_by")
    if isinstance(st.session_state[key], str):
        st.session_state[key] = date.fromisoformat(st.session_state[key])
    st.date_input(
        "Finish by (optional)", key=key, value=None, format="YYYY-MM-DD", width=220,
        help="Annotators see this deadline. The campaign does not end by itself.",
    )  # fmt: skip


def _accounts(setup: Setup, invited: Sequence[str]) -> list[Account]:
    """Draw the choice of people with an account, and return them; nothing on a server without accounts."""
    choices, project = setup.choices, setup.project
    there = {a.id: a for a in people.active_accounts(wiring.store(), project.id) if a.name not in invited}
    if not there:
        return []
    kept = tuple(i for i in choices[ACCOUNTS] if i in there)
    if kept != tuple(choices[ACCOUNTS]):
        choices.keep(ACCOUNTS, kept)
    names = account_panel.titles(project.id, there.values())
    chosen = st.multiselect(
        "Annotators with an account", there, format_func=names.__getitem__, key=choices.widget(ACCOUNTS, options=tuple(names.items())),
        placeholder="Choose or type names",
        help="They need no link: they find the campaign when they log in.",
    )  # fmt: skip
    accounts = [there[i] for i in chosen]
    account_panel.say_who_is_not_blind(project.id, accounts)
    return accounts


def _rows(setup: Setup, design: CampaignDesign) -> list[tuple[str, str]]:
    data, *_ = summary(setup)
    tutorial = (
        f"{format_count(len(design.tutorial), 'output')}, pass mark {format_percent(design.pass_mark)}"
        if design.tutorial
        else "none"
    )
    return [
        ("Data", f"{data} ({WHICH[setup.choices['which']].lower()})"),
        ("Protocol", design.protocol.title),
        *([("Error typology", design.protocol.typology.title)] if design.protocol.name == "mqm" else []),
        ("Annotators", f"{design.people}, {design.overlap} per output"),
        ("Units given out", ASSIGNING[design.assigning].lower()),
        ("Attention checks", format_percent(design.checks)),
        ("Repeats", format_percent(design.repeats)),
        *([("Deadline", f"{design.finish_by:%d %b %Y}")] if design.finish_by else []),
        ("Tutorial", tutorial),
        *people_step.rows(estimate(dict(setup.outline), design), design),
    ]

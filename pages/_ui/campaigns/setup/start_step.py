"""Step 1, which outputs are rated, and step 5: links, a summary of all choices, a preview, and the creation of the campaign."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.units import counts
from core.formatting import format_count, format_percent
from core.ports.campaigns import Campaign
from core.ports.labels import Ask
from core.ports.people import Account
from core.progress import Progress
from core.services.campaigns import people, running, setup_design
from core.services.campaigns.planning import LONG_TEXT, long_texts
from core.services.campaigns.setup import create, estimate, preview_data, preview_suggestions, preview_units
from core.services.labels.editor import nearby
from core.services.people.accounts import LONGEST_PERSON_NAME
from pages._ui.campaigns import campaign_data, people_tab
from pages._ui.campaigns.setup import people_step, protocol_step
from pages._ui.campaigns.setup.choices import ASSIGNING, WHICH, Setup, summary
from pages._ui.components import span_editor
from pages._ui.shared import addresses, errors, long_jobs, page, tables, wiring
from pages._ui.shared.markdown import escape_markdown

_AT = "campaign-preview-at"
DOING: Mapping[Ask, str] = {"spans": "mark errors", "score": "set scores", "preference": "choose the better output"}


def draw_preview(setup: Setup, design: CampaignDesign) -> None:
    """Draw the instructions and one unit, which can be tried out."""
    units = preview_units(setup.outline, design)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        asked = " and ".join(DOING[ask] for ask in design.protocol.asks)
        st.caption(f"Try it: {asked}. Nothing is saved here.", width="content")
        st.button("Show another unit", icon=":material/refresh:", on_click=_next, disabled=len(units) < 2)
    unit = units[st.session_state.get(_AT, 0) % len(units)]
    with st.container(border=True):
        with st.expander("Instructions", expanded=True):
            st.markdown(design.protocol.instructions)
        texts = nearby(wiring.store(), setup.project.id, unit.of)
        suggested = preview_suggestions(wiring.store(), setup.project.id, design, texts, unit.of)
        span_editor(preview_data(texts, setup.project.id, design, unit, suggested), key="campaign-preview", on_go=_go)


def _go(to: str) -> None:
    if to in ("next", "unlabelled"):
        _next()


def _next() -> None:
    st.session_state[_AT] = st.session_state.get(_AT, 0) + 1


def draw_data_step(setup: Setup) -> None:
    choices, outline = setup.choices, setup.outline
    st.subheader("Which outputs are rated?", anchor=False)
    names = list(setup.outputs.systems)
    left, right = st.columns(2, gap="large")
    with left:
        if len(names) > 1:
            choices.draw("some_systems")
            if choices["some_systems"]:
                choices.draw("systems", options=names)
    with right:
        documents = list(dict.fromkeys(key.doc_id for key in outline))
        which = [name for name in WHICH if name != "documents" or len(documents) > 1]
        choices.draw("which", options=which)
        if choices["which"] == "sample":
            size, seed = st.columns(2)
            choices.draw("sample_size", size, setup_design.usual_sample(outline))
            choices.draw("seed", seed)
        elif choices["which"] == "documents":
            choices.draw("documents", options=documents)
    _facts(setup)


def _facts(setup: Setup) -> None:
    values = setup.choices.values
    systems, segments = setup_design.systems_of(values), setup_design.segments_of(values, setup.outline)
    of = counts(setup.outline, systems, segments)
    st.markdown(
        f"**{format_count(of.segments, 'segment')} × {format_count(of.systems, 'system')} = {format_count(of.outputs, 'output')}**, "
        f"{format_count(of.documents, 'document')}"
    )
    if of.outputs < of.segments * of.systems:
        missing = of.segments * of.systems - of.outputs
        st.caption(f"{format_count(missing, 'output')} missing: not every system has an output for every segment.")
    if long := long_texts(setup.outputs, systems, segments):
        st.warning(
            f"{format_count(long, 'output')} with more than {LONG_TEXT:,} characters. Annotators need more time for them: "
            "set the seconds per unit in step 3.",
            icon=":material/schedule:",
        )


ACCOUNTS = "accounts"


def draw_start_step(setup: Setup) -> None:
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
        draw_preview(setup, design)


def _form(setup: Setup, design: CampaignDesign) -> None:
    choices, today, draft = setup.choices, datetime.now(UTC).date(), setup.draft
    taken = [c.name for c in wiring.store().campaigns.list(setup.project.id)]
    usual = draft.name if draft is not None else setup_design.usual_name(choices.values, taken, today)
    name = choices.draw("name", default=usual)
    design = replace(design, title=_title(setup, name, design))
    invited = running.invited(wiring.store(), draft) if draft is not None else []
    if invited:
        page.info(f"Invited already: {escape_markdown(', '.join(invited))}. Their links stay valid.")
    accounts = _accounts(setup, invited)
    usual_names = "" if invited else setup_design.usual_names(design.people - len(accounts))
    typed = st.text_area(
        "Annotators without an account, one name per line" if wiring.store().people.accounts() else "Annotators, one name per line",
        height="content", key=choices.widget("names", usual_names),
        help=f"Each gets a personal link. Names have up to {LONGEST_PERSON_NAME} characters and appear in results; pseudonyms are fine.",
    )  # fmt: skip
    with st.container(horizontal=True):
        days = choices.draw("days")
        _deadline(setup)
    names = setup_design.names_of(typed)
    _compare_with_plan(len(names) + len(accounts) + len(invited), design)
    addresses.warn_if_local()
    with st.container(horizontal=True):
        label = f"Create {format_count(len(names), 'link')} and start" if names else "Create and start"
        st.button(
            label, type="primary", icon=":material/play_arrow:", disabled=not (names or accounts or invited),
            key="campaign-create",
            on_click=press, args=(True,),
        )  # fmt: skip
        st.button(
            "Save as draft" if draft is None else "Save draft", key="campaign-keep",
            help="Nobody is invited, and nothing starts yet", on_click=press, args=(False,),
        )  # fmt: skip
    with errors.boundary():
        ask_if_pressed(setup, name, design, names, accounts, int(days))
    with errors.boundary():
        draw_creation(setup)


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
    typed = setup.choices.draw("title", placeholder=usual)
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
    setup.choices.draw("finish_by")


def _accounts(setup: Setup, invited: Sequence[str]) -> list[Account]:
    """Draw the choice of people with an account, and return them; nothing on a server without accounts."""
    choices, project = setup.choices, setup.project
    available = {a.id: a for a in people.active_accounts(wiring.store(), project.id) if a.name not in invited}
    if not available:
        return []
    kept = tuple(i for i in choices[ACCOUNTS] if i in available)
    if kept != tuple(choices[ACCOUNTS]):
        choices.keep(ACCOUNTS, kept)
    names = people_tab.account_titles(project.id, available.values())
    chosen = st.multiselect(
        "Annotators with an account", available, format_func=names.__getitem__, key=choices.widget(ACCOUNTS, options=tuple(names.items())),
        placeholder="Choose or type names",
        help="They need no link: they find the campaign when they log in.",
    )  # fmt: skip
    accounts = [available[i] for i in chosen]
    people_tab.say_who_is_not_blind(project.id, accounts)
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
        *protocol_step.suggestion_rows(setup, design),
        ("Attention checks", format_percent(design.checks)),
        ("Repeats", format_percent(design.repeats)),
        *([("Deadline", f"{design.finish_by:%d %b %Y}")] if design.finish_by else []),
        ("Tutorial", tutorial),
        *people_step.rows(estimate(dict(setup.outline), design), design),
    ]


_PRESSED, _ASKED = "campaign-pressed", "campaign-new"


class NewCampaign(NamedTuple):
    """A campaign that was asked for, and what it is created with. With `start`, people are invited and may begin."""

    project: int
    draft: Campaign | None
    token: str
    start: bool
    options: Mapping[str, Any]


def press(start: bool) -> None:
    """Remember the click. A click that is seen in a run only is lost if that run is interrupted."""
    st.session_state[_PRESSED] = start


def ask_if_pressed(
    setup: Setup, name: str, design: CampaignDesign, names: Sequence[str], accounts: Sequence[Account], days: int
) -> None:
    """Ask for a campaign if a button was pressed: the page creates it in this run and, if it is interrupted, in the next one.

    Raises `UserError` for what would stop its start.
    """
    start, project, draft = st.session_state.pop(_PRESSED, None), setup.project.id, setup.draft
    if start is None:
        return
    names, accounts = (tuple(names), tuple(accounts)) if start else ((), ())
    running.check_start(wiring.store(), project, name, design, names, draft, accounts)
    options: dict[str, Any] = {"name": name, "design": design, "setup": setup.choices.values, "draft": draft}
    if start:
        options |= {"names": names, "accounts": accounts, "expires": addresses.expiry(days)}
    st.session_state[_ASKED] = NewCampaign(project, draft, secrets.token_hex(8), start, options)


def draw_creation(setup: Setup) -> None:
    """Create the campaign that was asked for, and open it."""
    new: NewCampaign | None = st.session_state.get(_ASKED)
    if new is None or (new.project, new.draft) != (setup.project.id, setup.draft):
        return
    st.empty().button(
        "Change the settings", on_click=_forget, type="tertiary", help="Stops the creation of the campaign"
    )

    def work(progress: Progress) -> int:
        store, who = wiring.store(), wiring.identity().who
        if new.start:
            made, links = running.start(store, who, new.project, progress=progress, **new.options)
            paths = [(link.link.rater, link.path) for link in links]
            names = [account.name for account in new.options["accounts"]]
            addresses.show_campaign_links(addresses.NewCampaignLinks(made.id, paths, names, started=True))
        else:
            made = create(store, who, new.project, progress=progress, **new.options)
        _forget()  # from here on, nothing may interrupt before the campaign is opened: it would be created again
        return made.id

    made = long_jobs.run_cached(("campaign", new.token), "Preparing texts and checks …", work)
    if made is not None:
        setup.choices.clear()
        campaign_data.go(made)
        st.rerun()


def _forget() -> None:
    st.session_state.pop(_ASKED, None)

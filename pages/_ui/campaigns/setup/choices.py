"""The set-up of a campaign: its five steps, and its choices, kept while a step is closed and when the page is loaded again.

Widgets of a closed step are forgotten by Streamlit, so `gather` copies what the browser sent into the mapping before anything is
drawn. Every visit of a step has widgets of its own, which begin with the values of the mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import LONGEST_INSTRUCTIONS, PROTOCOLS
from core.campaigns.suggestions import FEWEST_CONTROLS
from core.campaigns.units import Outline, counts
from core.columns import ProjectIndex
from core.data import SEVERITIES
from core.errors import UserError
from core.formatting import format_count, format_percent
from core.mqm.typology import Typology
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.services.campaigns import setup_design
from core.services.campaigns.setup import SavedDraft
from core.services.campaigns.setup_design import DEFAULTS
from core.services.labels.protocols import typology_of
from core.services.projects.texts import StoredTexts
from pages._ui.shared import addresses, drafts, page, wiring

REACHED = "reached"
"""The choice that holds the index of the last step that was opened."""
_TEXTS = "texts"
_VISIT = "campaign-setup-visit"
_DRAWN, _TABLES, _ROUNDS = "campaign-setup-drawn", "campaign-setup-tables", "campaign-setup-rounds"


class SetupChoices:
    """The choices for a new campaign of a project, or for a draft, and the keys of their widgets."""

    def __init__(self, project_id: int, draft: Campaign | None = None) -> None:
        self._key = f"campaign-setup-{project_id}" if draft is None else f"campaign-setup-{project_id}-{draft.id}"

    @property
    def values(self) -> Mapping[str, Any]:
        """Return what was chosen; what was not has its default (`setup_design.DEFAULTS`)."""
        chosen_values: Mapping[str, Any] = st.session_state.get(drafts.kept(self._key)) or {}
        return chosen_values

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name, DEFAULTS.get(name))

    def keep(self, name: str, value: Any) -> None:
        """Store a choice that no widget of its own shows."""
        st.session_state[drafts.kept(self._key)] = {**self.values, name: value}

    def begin_with(self, stored: Mapping[str, Any], texts: int) -> bool:
        """Begin with the choices of a draft that is stored with these `texts`, unless this was done before.

        Return whether choices based on other texts were replaced: the draft was saved elsewhere.
        """
        before = self.values
        if before.get(_TEXTS) == texts:
            return False
        st.session_state[drafts.kept(self._key)] = {**stored, _TEXTS: texts}
        self.begin_visit()
        return bool(before)

    def keep_reached(self, at: int) -> None:
        """Remember that the step with this index was opened."""
        if at > int(self.values.get(REACHED, 0)):
            self.keep(REACHED, at)

    def put_all(self, values: Mapping[str, Any]) -> None:
        """Store choices. Open widgets begin anew, with these values."""
        st.session_state[drafts.kept(self._key)] = {**self.values, **values}
        self.begin_visit()

    def drop(self, *names: str) -> None:
        """Let these choices have their defaults again."""
        st.session_state[self._key] = {name: value for name, value in self.values.items() if name not in names}
        self.begin_visit()

    def clear(self) -> None:
        """Forget all choices."""
        drafts.forget(self._key)
        self.begin_visit()

    def begin_visit(self) -> None:
        """Give the widgets new keys."""
        st.session_state[_VISIT] = st.session_state.get(_VISIT, 0) + 1
        st.session_state[_DRAWN], st.session_state[_TABLES], st.session_state[_ROUNDS] = {}, {}, {}

    def gather(self) -> None:
        """Copy what the browser has sent for the open widgets. Call it before anything is drawn, and in callbacks."""
        chosen_values = dict(self.values)
        for key, (name, default) in st.session_state.get(_DRAWN, {}).items():
            if key in st.session_state:
                chosen_values[name] = _plain(st.session_state[key])
                if chosen_values[name] == default:  # another one may be the default next time
                    del chosen_values[name]
        for key, (name, rows) in st.session_state.get(_TABLES, {}).items():
            if any((changes := st.session_state.get(key) or {}).values()):
                chosen_values[name] = edited(rows, changes)
        if chosen_values != self.values:
            st.session_state[drafts.kept(self._key)] = chosen_values

    def widget(self, name: str, default: Any = None, options: Hashable = None) -> str:
        """Return the key of the widget of a choice, which begins with its value.

        While nobody has changed the value, the widget follows its default. It gets a new key for that, and if the `options` change that
        it is drawn with: under the same key, the browser sends what it chose from the former ones. Otherwise the key stays while the
        step is open, so that what is chosen quickly after something else is not lost.
        """
        usual = DEFAULTS.get(name) if default is None else default
        rounds = st.session_state.setdefault(_ROUNDS, {})
        number, before, offered = rounds.get(name, (0, usual, options))
        number += offered != options or (before != usual and name not in self.values)
        rounds[name] = (number, usual, options)
        key = f"{self._widget_key(name)}-{number}"
        if key not in st.session_state:
            st.session_state[key] = self.values.get(name, usual)
        st.session_state.setdefault(_DRAWN, {})[key] = (name, usual)
        return key

    def draw(self, name: str, place: Any = st, default: Any = None, **more: Any) -> Any:
        """Draw the field of a choice (`FIELDS`) in `place`, with `more` options; return its value."""
        field = FIELDS[name.partition("/")[0]]
        return getattr(place, field.element)(field.label, key=self.widget(name, default), **{**field.options, **more})

    def table(self, name: str, rows: Sequence[Mapping[str, Any]], **options: Any) -> None:
        """Draw an editable table of a choice, which begins with its value or these rows."""
        key = self._widget_key(name)
        started = st.session_state.setdefault(_TABLES, {})
        start = started.setdefault(key, (name, list(self.values.get(name, rows))))[1]
        st.data_editor(start, key=key, hide_index=True, width="stretch", **options)

    def _widget_key(self, name: str) -> str:
        return f"{self._key}-{name}-{st.session_state.setdefault(_VISIT, 0)}"


def _plain(value: Any) -> Any:
    """Return what a widget sent as a value that JSON can hold."""
    if isinstance(value, date):
        return value.isoformat()
    return tuple(value) if isinstance(value, list) else value


def edited(rows: Sequence[Mapping[str, Any]], changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table after the changes that its browser sent."""
    edited_rows = [dict(row) for row in rows]
    for at, cells in (changes.get("edited_rows") or {}).items():
        edited_rows[int(at)] |= cells
    gone = set(changes.get("deleted_rows") or ())
    kept = [row for at, row in enumerate(edited_rows) if at not in gone]
    return kept + [dict(row) for row in changes.get("added_rows") or () if row]


class Field(NamedTuple):
    """A field of the set-up: the Streamlit element, its label, and its options besides the value."""

    element: str
    label: str
    options: Mapping[str, Any]


def _number(label: str, low: float, high: float, step: float, help: str, **more: Any) -> Field:
    return Field(
        "number_input", label, {"min_value": low, "max_value": high, "step": step, "help": help or None, **more}
    )


def _share(label: str, help: str = "", low: float = 0.0, high: float = 0.5, step: float = 0.05) -> Field:
    limits = {"min_value": low, "max_value": high, "step": step}
    return Field("slider", label, {**limits, "format": "percent", "help": help or None})


def _among(element: str, label: str, texts: Mapping[Any, str], **more: Any) -> Field:
    return Field(element, label, {"options": list(texts), "format_func": texts.__getitem__, **more})


SYSTEMS = {False: "All systems", True: "Chosen systems"}
WHICH = {"all": "All segments", "sample": "A random sample", "documents": "Chosen documents"}
ASSIGNING = {"dynamic": "As people come", "fixed": "Fixed lists"}
ABOUT_ASSIGNING = (
    "The next block of units goes to whoever asks. Fast people do more, and nobody holds up the rest.",
    "Everybody has a list from the start, equally long. For people who are paid for a fixed amount of work.",
)
LONGEST_NAME = 80
FIELDS = {
    "some_systems": _among("radio", "Systems", SYSTEMS, horizontal=True),
    "systems": Field("multiselect", "Chosen systems", {"label_visibility": "collapsed"}),
    "which": _among("radio", "Segments", WHICH, horizontal=True),
    "documents": Field("multiselect", "Chosen documents", {"label_visibility": "collapsed"}),
    "sample_size": _number("Segments in the sample", 1, 1_000_000, 10,
        "Whole documents are drawn at random, so that annotators see texts in context. The last document may be cut."),
    "seed": _number("Random number (seed)", 0, 2**31 - 1, 1, "The same number gives the same sample"),
    "instructions": Field("text_area", "Instructions in Markdown", {"height": 260, "max_chars": LONGEST_INSTRUCTIONS}),
    "ties": Field("checkbox", "Annotators may say that both outputs are equally good", {}),
    "severities": Field("multiselect", "Severities", {
        "options": SEVERITIES, "help": "Neutral marks something worth a remark that is no error"}),
    "control_share": _share("Units without suggestions",
        "The control arm, drawn for each annotator and unit. With fewer than 20 %, intervals are too wide to learn anything.", FEWEST_CONTROLS),
    "planted_share": _share("Outputs with a wrong suggestion",
        "A suggestion where the layer has no error span. *Quality* shows who accepts such suggestions."),
    "withheld_share": _share("Suggestions withheld",
        "Error spans of the layer that are not shown: do annotators with suggestions find them less often?"),
    "margin": _number("Margin for pooling (points)", 0.1, 50.0, 0.1,
        "Labels with and without suggestions may be used together if the effect on scores is shown to be smaller than this. Half "
        "of the smallest difference between systems that you want to claim. It cannot be changed later: “not significant” is no reason to pool.",
        format="%.1f"),
    "people": _number("Annotators", 1, 10_000, 1, "People you plan to invite. More can join later."),
    "overlap": _number("Annotators per output", 1, 20, 1,
        "Different people who rate each output. Two or more show how far annotators agree."),
    "assigning": _among("radio", "How units are given out", ASSIGNING, captions=ABOUT_ASSIGNING),
    "seconds": _number("Seconds per unit", 1.0, 36_000.0, 5.0,
        "A unit is what is on the screen at a time. The usual time of the protocol. Replace it with the time measured in a pilot.", format="%.0f"),
    "pay_per_hour": _number("Pay per hour", 0.0, 100_000.0, 1.0, "", format="%.2f"),
    "currency": Field("text_input", "Currency", {"max_chars": setup_design.LONGEST_CURRENCY}),
    "block_size": _number("Segments in a block", 1, 1000, 1,
        "One person gets up to so many consecutive segments of a document together, for the context."),
    "lease_minutes": _number("Minutes until an idle unit goes to somebody else", 1, 60 * 24 * 14, 10,
        "Only if units are given out as people come. What was labelled is kept, and counts if it is submitted late."),
    "checks": _share("Attention checks", step=0.01),
    "repeats": _share("Repeated units", step=0.01),
    "pass_mark": _share("Pass mark", "Whoever gets a lower mark over all items gets no units. At 0 %, everybody passes.", high=1.0),
    "name": Field("text_input", "Name of the campaign", {"max_chars": LONGEST_NAME}),
    "title": Field("text_input", "Name that annotators see", {"max_chars": LONGEST_NAME,
        "help": "The name of the campaign, unless you type another one or it names a system: annotators must not know the systems."}),
    "days": _among("selectbox", "Links work for", addresses.VALID, width=220),
    "finish_by": Field("date_input", "Finish by (optional)", {"value": None, "format": "YYYY-MM-DD", "width": 220,
        "help": "Annotators see this deadline. The campaign does not end by itself."}),
}  # fmt: skip
"""The fields of all steps by the name of their choice, up to a slash: `seconds/esa` is the field `seconds`."""


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
    index, own = wiring.index(project), typology_of(wiring.store(), project.id)
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
    annotators = f"{format_count(chosen(values, 'people'), 'annotator')}, {chosen(values, 'overlap')} per output"
    name = setup_design.protocol_name(values)
    protocol = PROTOCOLS[name].title
    if name == "mqm":
        protocol += f" ({setup_design.typology_of(values, setup.own).title})"
    if setup_design.suggestions_of(values) is not None:
        protocol += " with suggestions"
    return [data, protocol, annotators, checks]


def buttons(step: str, go: Callable[[str], None]) -> None:
    """Draw Back and Next."""
    at = NAMES.index(step)
    with st.container(horizontal=True, horizontal_alignment="distribute" if at else "right"):
        if at:
            st.button("Back", icon=":material/chevron_left:", on_click=go, args=(NAMES[at - 1],))
        if at + 1 < len(NAMES):
            st.button("Next", icon=":material/chevron_right:", icon_position="right", type="primary", on_click=go, args=(NAMES[at + 1],))  # fmt: skip

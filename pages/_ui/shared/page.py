"""Elements of every page: style, head, account, messages, links to other pages, and definitions of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import streamlit as st

from core.errors import UserError
from core.plots.colours import ROLES, THEMES, VARIABLES
from core.ports.projects import Project
from core.signature import fields_of
from pages._ui.shared import drafts, errors, state, wiring
from pages._ui.shared.markdown import escape_markdown, with_doc_links

ICONS = {
    "projects": "folder_open",
    "compare": "view_column",
    "annotate": "edit_note",
    "labels_and_raters": "group",
    "campaigns": "campaign",
    "meta_evaluation": "leaderboard",
    "calibrate": "tune",
    "robustness": "shield",
    "access": "key",
    "models": "memory",
    "help": "help",
}

TAB = "tab"
"""Query parameter with the name of the open tab; none for the first tab."""
NONE_IMPOSSIBLE: Mapping[str, str] = {}


def heading(title: str, purpose: str, project: Project | None = None) -> None:
    """Draw the title and the purpose (plain text), with the name of the project that the page shows."""
    st.title(title, anchor=False)
    name = f"**{escape_markdown(project.name)}** · " if project else ""
    st.caption(f"{name}{escape_markdown(purpose)}")


def start(title: str, purpose: str, *, empty: bool = False) -> Project | None:
    """Draw the head of a page and return the open project; without a project, say so, link to Projects and return None.

    A project without outputs counts as none, unless the page can show an `empty` one.
    """
    project = state.projects().project
    heading(title, purpose, project)
    if project is not None and (project.n_outputs or empty):
        return project
    missing = "There is no project yet." if project is None else "This project has no outputs yet."
    manages = wiring.identity().manages
    st.markdown(
        f"{missing} Upload the outputs of your systems, or open the sample project."
        if manages
        else f"{missing} A manager uploads outputs."
    )
    link("projects", "Open Projects")
    return None


def choose_tab(
    label: str, names: Sequence[str], key: str, first: str = "", impossible: Mapping[str, str] = NONE_IMPOSSIBLE
) -> str:
    """Draw the tabs and return the open one: the one just chosen, else from the address, else last open, else `first`.

    The `impossible` ones are disabled, with the reason why these data do not allow them.
    """
    possible = [name for name in names if name not in impossible]
    first, asked = first or possible[0], st.query_params.get(TAB)
    if key not in st.session_state and asked in possible:
        st.session_state[key] = asked
    drafts.kept(key, fits=possible.__contains__)
    if st.session_state.get(key) not in possible:
        st.session_state[key] = first
    with st.container(horizontal=True, gap="small"):
        chosen = str(st.segmented_control(label, possible, key=key, required=True, label_visibility="collapsed"))
        if disabled := [name for name in names if name in impossible]:
            st.segmented_control(
                "Not possible with these data",
                disabled,
                key=f"{key}-impossible",
                disabled=True,
                label_visibility="collapsed",
            )
    for why in dict.fromkeys(impossible.values()):
        caption(f"{', '.join(name for name in names if impossible.get(name) == why)}: {why}")
    if chosen == first:
        st.query_params.pop(TAB, None)
    elif chosen != asked:
        st.query_params[TAB] = chosen
    return chosen


def info(text: str) -> None:
    """Draw a message in Markdown."""
    st.info(text, icon=":material/info:")


def caption(text: str) -> None:
    """Draw a plain text in small print."""
    st.caption(with_doc_links(text))


def ask_first(label: str, words: str, button: str, act: Callable[[], object], key: str, **layout: Any) -> None:
    """Draw a button that opens `words` (Markdown) and another button, which acts and draws the page again."""
    with st.popover(label, key=f"{key}-ask", **layout):
        st.markdown(words)
        if st.button(button, key=key):
            with errors.boundary():
                act()
                st.rerun()


def cards(titles: Sequence[tuple[str, str]], across: int = 3) -> Iterator[int]:
    """Draw framed cards side by side, each with a title and a text in Markdown; yield their numbers for what else is in them."""
    for first in range(0, len(titles), across):
        for number, column in enumerate(st.columns(across)[: len(titles) - first], first):
            title, text = titles[number]
            with column.container(border=True, height="stretch"):
                st.subheader(title, anchor=False)
                st.markdown(text)
                yield number


@contextmanager
def row(words: str, help: str | None = None) -> Iterator[None]:
    """Draw a framed line with `words` (Markdown) at the left; what is drawn inside stands at the right."""
    with st.container(border=True), st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(words, help=help)
        st.space("stretch")
        yield


@st.cache_resource
def small_component(name: str, script: str, html: str | None = None, css: str | None = None) -> Any:
    """Return a browser component that is made of these texts."""
    return st.components.v2.component(name, js=script, html=html, css=css)


_WHEN_IDLE = """const whenIdle = window.requestIdleCallback ?? ((call) => setTimeout(call))
export default function ({ setTriggerValue }) {
  const began = performance.now()
  const isLoading = () => document.querySelector('[data-testid^="stSkeleton"]') && performance.now() - began < 2000
  const look = () => isLoading() ? setTimeout(look, 30)
    : whenIdle(() => setTriggerValue("shown", true), { timeout: 1000 })
  requestAnimationFrame(look)
}"""
"""Asks for the rest of a page when the browser is idle and has the scripts of all elements, or after 3 s."""


def comes_later(part: str, words: str) -> bool:
    """Return whether this part is drawn in the next run: once per session and part, with the caption `words` in its place.

    The browser shows new elements together, when the scripts of all of them are loaded: the charts and tables at the foot of a page kept
    what people read first from them for two seconds.
    """
    shown: set[str] = st.session_state.setdefault("errorscope_shown", set())
    if part in shown:
        return False
    st.caption(words)
    component = small_component("errorscope_deferred", _WHEN_IDLE)
    component(key=f"deferred-{part}", on_shown_change=lambda: shown.add(part))
    return True


def hidden() -> set[str]:
    """Return the pages that the sidebar and links leave out, because this person cannot use them. They refuse by themselves too."""
    try:
        who = wiring.identity()
    except UserError:  # the page says what is wrong
        return set()
    usable = {"annotate": who.labels_on_pages, "access": who.manages}
    return {name for name, can_use in usable.items() if not can_use}


def link(page: str, label: str) -> None:
    """Draw a link to another page, with the icon of the page; nothing if this person cannot use the page."""
    project = state.projects().project
    if page in hidden() or (page == "annotate" and project and not wiring.identity().may_label(project.id)):
        return
    st.page_link(f"pages/{page}.py", label=label, icon=icon(page))


def link_to_scoring(project: Project) -> None:
    """Draw a link to where scores are computed, or say who computes them."""
    if wiring.may_change(project.id):
        link("compare", "Compute scores on Compare")
    else:
        st.caption("A manager of this project can compute scores.")


def moment(when: datetime, form: str = "%d %b %Y %H:%M") -> str:
    """Return a time in the time zone of the browser, with UTC in brackets: "28 Nov 2026 17:05 (16:05 UTC)".

    Only UTC if the browser has that zone, or names none. `form` ends with the time of day.
    """
    utc, local = when.astimezone(UTC), _local(when)
    if local.utcoffset() == utc.utcoffset():
        return f"{utc:{form}} UTC"
    clock = form[form.index("%H") :] if local.date() == utc.date() or "%d" not in form else form
    return f"{local:{form}} ({utc:{clock}} UTC)"


def day(when: datetime) -> str:
    """Return the day of a time in the time zone of the browser."""
    return f"{_local(when):%d %b %Y}"


def _local(when: datetime) -> datetime:
    try:
        return when.astimezone(ZoneInfo(st.context.timezone or "UTC"))
    except (KeyError, ValueError, OSError):  # a name that this server does not know
        return when.astimezone(UTC)


def icon(page: str) -> str:
    """Return the icon of a page, as in the sidebar."""
    return f":material/{ICONS[page]}:"


STYLE = """
.stMainBlockContainer { padding-top: 3.25rem; padding-bottom: 5rem; max-width: 96rem; }
@media (min-width: 800px) { .stMainBlockContainer { padding-left: 2.5rem; padding-right: 2.5rem; } }
@media (max-width: 799px) { .stMainBlockContainer { padding-top: 4.5rem; } }  /* Streamlit's header is not transparent there */
.stLayoutWrapper:has(.st-key-errorscope-foot), [data-testid="stLayoutWrapper"]:has(.st-key-errorscope-foot) { position: sticky; bottom: 0; z-index: 15; }
.st-key-errorscope-foot { background: var(--paper); border-top: 1px solid var(--line); padding: .4rem 0 1rem; margin-bottom: -.6rem; }
.stMainBlockContainer h1 { font-size: 1.6rem; font-weight: 600; padding: 0 0 .25rem; }
.stMainBlockContainer h2, .stMainBlockContainer h3 { font-size: 1.1rem; font-weight: 600; padding: .5rem 0 .1rem; }
.stMainBlockContainer [data-testid="stCaptionContainer"]:has(a) { opacity: 1; color: var(--quiet); }  /* a link would be too light to read */
.stTabs [role="tab"][aria-selected="true"] { color: var(--accent); }  /* primaryColor is too dark for text on a dark page */
[data-testid="stButtonGroup"] [data-selected="true"] p { color: var(--ink); }
.stVegaLiteChart svg :is(.role-axis-label, .role-axis-title, .role-legend-label, .role-legend-title) text { fill: var(--quiet); }
.st-key-errorscope-foot [data-stale] { opacity: 1 !important; transition: none !important; }  /* it refreshes often: no fading */
.stMainBlockContainer a[data-testid="stPageLink-NavLink"] { border: 1px solid var(--line); }
[class*="links-box"] .stCode > div { opacity: 1 !important; visibility: visible !important; }  /* the copy button */
:is([data-testid="stTextArea"] textarea, :is([data-testid="stTextInput"], [data-testid="stSelectbox"]) input, .stText, [role="option"] div, [data-tag] > span) {
  unicode-bidi: plaintext; text-align: start;  /* right to left for Hebrew; in Markdown and charts: `core.formatting.isolated` */
}
::placeholder { color: var(--quiet) !important; opacity: 1; }
[data-testid="stSelectbox"] input { text-overflow: ellipsis; }  /* a cut choice shows that it is cut */
@media (min-width: 641px) {  /* below, each column has a row of its own */
  .stHorizontalBlock:not(:has(.stText)) > .stColumn:has(> .stVerticalBlock > .stElementContainer > .stSelectbox) { min-width: min(100%, 15.75rem); }
  .stHorizontalBlock > .stColumn:has(> .stVerticalBlock > .stElementContainer .stVegaLiteChart) { min-width: min(100%, 20rem); }
  .stColumn:has(.stButton, .stPopover):not(:has(.stMarkdown, .stSelectbox, .stTextInput)) { min-width: max-content; }
}  /* what does not fit beside the others gets the next row, instead of being cut */
[data-testid="stElementToolbar"] button[aria-label="Download as CSV"] { display: none; }  /* it does not escape spreadsheet formulas */
"""


_BUNDLED = {
    "bundled/bart-mini": "the bundled demonstration BART, small",
    "bundled/nli-mini": "the bundled demonstration entailment model, small",
}


def apply_theme() -> None:
    """Put the shared style on the page."""
    st.html(f"<style>{VARIABLES}{STYLE}</style>")


def scored_by(signature: str) -> str:
    """Return the model in a signature, as Markdown; bundled models are marked as demonstration models."""
    facts = fields_of(signature)
    if "model" not in facts:
        return ""
    name = _BUNDLED.get(facts["model"], escape_markdown(facts["model"]))
    return f"scored by {name} (revision {escape_markdown(facts.get('rev', 'unknown'))})"


def colour(role: str) -> str:
    """Return the colour of a role (`ROLES`) in the theme that the browser shows, for charts and tables."""
    chosen: str = THEMES["dark" if st.context.theme.type == "dark" else "light"][ROLES[role]]
    return chosen


GLOSSARY = Path(__file__).parents[3] / "docs" / "glossary.md"


def definition(term: str) -> str:
    """Return the definition of a term as Markdown: the first paragraph of its entry. Case does not matter.

    Raises `KeyError` for a term without an entry.
    """
    return glossary_entries()[term.casefold()]


@cache
def glossary_entries() -> dict[str, str]:
    """Return every definition by its term, case-folded."""
    return {term.casefold(): text for term, text in terms().items()}


@cache
def terms() -> dict[str, str]:
    """Return every definition by its term, in the order of the file."""
    sections = GLOSSARY.read_text(encoding="utf-8").split("\n## ")[1:]
    paragraphs = [section.split("\n\n") for section in sections]
    return {term.strip(): " ".join(first.split()) for term, first, *_ in paragraphs}


def draw_account() -> None:
    """Draw the name and the link to log out; nothing on a server without accounts."""
    account = wiring.identity().account
    if account is None:
        return
    name = f'<span style="overflow-wrap: anywhere">{escape(account.name)}</span>'
    st.sidebar.html(
        f'<p>{name} · <a href="{escape(wiring.address("logout"))}" target="_self" style="color: var(--accent)">Log out</a></p>'
    )

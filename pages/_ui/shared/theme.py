"""The style that all pages share. Colours come from the theme in .streamlit/config.toml, as CSS variables for pages and components."""

from __future__ import annotations

import streamlit as st

from core.plots.colours import ROLES, THEMES, VARIABLES
from pages._ui.shared.markdown import escape_markdown

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
.st-key-campaign-links .stCode > div { opacity: 1 !important; visibility: visible !important; }  /* the copy button */
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


def apply() -> None:
    """Put the shared style on the page."""
    st.html(f"<style>{VARIABLES}{STYLE}</style>")


def scored_by(signature: str) -> str:
    """Return the model in a signature, as Markdown; bundled models are marked as demonstration models."""
    facts = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    if "model" not in facts:
        return ""
    name = _BUNDLED.get(facts["model"], escape_markdown(facts["model"]))
    return f"scored by {name} (revision {escape_markdown(facts.get('rev', 'unknown'))})"


def colour(role: str) -> str:
    """Return the colour of a role (`ROLES`) in the theme that the browser shows, for charts and tables."""
    chosen: str = THEMES["dark" if st.context.theme.type == "dark" else "light"][ROLES[role]]
    return chosen

"""Help: the steps of an evaluation, the documentation, keys, glossary, and the facts for a report of a problem."""

from __future__ import annotations

import streamlit as st

from pages._ui.help import help_parts
from pages._ui.shared import wiring
from pages._ui.shared.page import heading


def main() -> None:
    wiring.store()
    heading(
        "Help", "See the steps of an evaluation, read the documentation, look up keys and terms, and report a problem."
    )
    first, second, third, fourth, fifth = st.tabs(
        [
            ":material/route: Workflow",
            ":material/article: Documentation",
            ":material/keyboard: Keys",
            ":material/menu_book: Glossary",
            ":material/bug_report: Report a problem",
        ]
    )
    with first:
        help_parts.draw_workflow()
    with second:
        help_parts.draw_documentation()
    with third:
        help_parts.draw_keys()
    with fourth:
        help_parts.draw_term_search()
    with fifth:
        help_parts.draw_report()


main()

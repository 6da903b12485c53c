"""The glossary, searchable."""

from __future__ import annotations

import streamlit as st

from pages._ui.shared.glossary import terms


def draw() -> None:
    """Draw the terms that match the search."""
    words = st.text_input("Search", key="help-words", placeholder="Search terms", icon=":material/search:")
    found = matching(words)
    if not found:
        st.info("No term matches all of these words.", icon=":material/search_off:")
    for term, text in found.items():
        st.markdown(f"**{term}**  \n{text}")


def matching(words: str) -> dict[str, str]:
    """Return the terms that contain every word, in their name or definition; those with all of them in the name first."""
    wanted = words.casefold().split()
    found = {t: text for t, text in terms().items() if all(word in f"{t} {text}".casefold() for word in wanted)}
    return dict(sorted(found.items(), key=lambda item: not all(word in item[0].casefold() for word in wanted)))

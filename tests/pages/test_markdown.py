"""`escape_markdown`: the text comes back from it, and nothing stands in it that Streamlit reads (in a browser: tests/browser)."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from pages._ui.shared.markdown import escape_markdown

PIECES = st.lists(
    st.sampled_from(
        ["https://", "www.", "a@b.c", ":smile:", ":material/home:", ":", "--", "->", "<-", ">=", "~=", "$x$", "![x](y)", "<b>", " ", "\n", "\t", "1. ", "# ", "|", "x", "\\"]
    )
).map("".join)  # fmt: skip


def read(markdown: str) -> str:
    """The text of Markdown that `escape_markdown` wrote."""
    lines = markdown.replace(":small[]", "").replace("  \n", "\n").split("\n")
    return "\n".join(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", html.unescape(line)) for line in lines)


@given(PIECES)
def test_the_text_comes_back_and_nothing_in_it_is_markup(text: str) -> None:
    escaped = escape_markdown(text)
    assert " ".join(read(escaped).split()) == " ".join(text.split())
    for part in re.split(r":small\[\]", escaped):
        shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", part)
        assert not re.search(r"https?://|www\.\S|:[\w+-]+:|\w@\w|(?:^|\s)(?:<->|->|<-|--|>=|<=|~=)(?:\s|$)", shown), (
            part
        )
    assert ":material/" not in escaped


def test_names_keep_their_letters_so_that_labels_are_read_aloud_as_they_are() -> None:
    for name in ("doc_id", "a_b.csv", "v1.5-beta_2", "wmt23.en-de"):
        assert escape_markdown(name) == name
    assert escape_markdown("שם!\nc!") == "\u2068שם\\!\u2069  \nc\\!"  # other texts of the label do not move
    assert escape_markdown("שם! has the highest mean") == "שם\\! has the highest mean"
    assert escape_markdown("_a_ -b 1. c--d") == "\\_a\\_ \\-b 1\\. c\\-:small[]\\-d"

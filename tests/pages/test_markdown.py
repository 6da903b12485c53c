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
def test_the_text_comes_back(text: str) -> None:
    assert " ".join(read(escape_markdown(text)).split()) == " ".join(text.split())


@given(PIECES)
def test_no_link_icon_emoji_or_symbol_can_be_found_in_any_part(text: str) -> None:
    for part in re.split(r":small\[\]", escape_markdown(text)):
        shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", part)
        assert not re.search(r"https?://|www\.\S|:[\w+-]+:|\w@\w|(?:^|\s)(?:<->|->|<-|--|>=|<=|~=)(?:\s|$)", shown), (
            part
        )
    assert ":material/" not in escape_markdown(text)

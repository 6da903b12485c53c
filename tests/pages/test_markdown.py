"""Texts on pages: what escapes them, and tables in which figures stand at the right, have one minus sign, and a dash if missing."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.tables import are_figures


def test_numbers_have_minus_signs_dashes_and_stand_at_the_right() -> None:
    figures = [
        [".417 [.32, .50]", "−.078 [−.22, .05] •", "–"],
        ["41 %", "±0 %", ""],
        ["1", "1–3"],
        ["<.001", ".434 [.33, .53] (468/529) †"],
        ["∞", "1.7"],
        ["12,345", "0"],
    ]
    assert [values for values in figures if not are_figures(values)] == []
    texts = [["A", "1"], ["–", ""], ["2 outputs"], ["negation"], ["d-1"]]
    assert [values for values in texts if are_figures(values)] == []

    at = AppTest.from_function(_page, default_timeout=60).run()
    (shown,) = at.dataframe
    assert list(shown.value["score"]) == [-1.5, 0.25]  # still numbers, so that they sort
    texts = shown.proto.arrow_data.styler.display_values
    assert "−1.500".encode() in texts
    assert "–".encode() in texts
    assert b"None" not in texts
    (table,) = at.table
    styles = table.proto.arrow_data.styler.styles
    assert ".col1 { text-align: right" in styles
    assert ".col0" not in styles


def _page() -> None:
    from core.formatting import format_number
    from pages._ui.shared import tables

    rows = [{"who": "A", "minutes": 2.0, "score": -1.5}, {"who": "B", "minutes": None, "score": 0.25}]
    tables.data_table(rows, {"minutes": format_number, "score": format_number})
    tables.text_table([{"metric": "a_b", "value": "−.5"}, {"metric": "c", "value": "–"}])


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

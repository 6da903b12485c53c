"""Tables of pages: figures stand at the right, numbers have one minus sign, and what is missing is a dash."""

from streamlit.testing.v1 import AppTest

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
    assert not at.exception
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

"""Edits of the model against marks of people, counted out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Span
from core.refine.edits import CharacterCounts, agreement, count_characters, edited, layers, marked
from core.text.edits import diff

TEXT = "The river rose 😀 its banks."
#       0123456789 0    5


def span(start: int, end: int, severity: str = "Major", side: str = "output", text: str = TEXT) -> Span:
    return Span(side, start, end, text[start:end] if side == "output" else "x", severity, "Accuracy")


def test_characters_missing_from_the_refined_text_count_as_edited() -> None:
    edits = edited(TEXT, "The river burst its banks.")
    assert edits == {10, 11, 12, 13, 15}  # "rose" and the emoji, one code point; the blank between them does not count


def test_an_edit_inside_a_word_counts_the_word_an_insertion_nothing() -> None:
    assert edited("a river", "a wide river") == frozenset()
    assert edited("two rivers", "two river") == frozenset(range(4, 10))


def test_people_mark_with_major_and_minor_in_the_output_only() -> None:
    spans = [span(0, 3), span(2, 9, "Minor"), span(10, 14, "Neutral"), span(15, 20, "Major", "source"), span(17, 17)]
    assert marked(TEXT, spans) == {0, 1, 2, 4, 5, 6, 7, 8}  # "The river", the blank left out


def test_precision_recall_and_f_by_hand() -> None:
    model, human = edited(TEXT, "The river burst its banks."), marked(TEXT, [span(4, 14)])
    # model: rose + emoji = 5; people: river + rose = 9; both: rose = 4
    result = agreement([count_characters(model, human)])
    assert result.counts == CharacterCounts(4, 5, 9)
    assert (result.precision, result.recall, result.f) == (
        pytest.approx(4 / 5),
        pytest.approx(4 / 9),
        pytest.approx(8 / 14),
    )
    assert (result.status, result.comparisons) == ("ok", 1)


def test_raters_are_compared_separately_and_summed() -> None:
    model = frozenset(range(4))
    raters = [frozenset(range(2)), frozenset(range(2, 10)), frozenset[int]()]
    # both: 2 + 2 + 0; model: 4 each; people: 2 + 8 + 0. Precision is the mean of 2/4, 2/4 and 0
    result = agreement([count_characters(model, r) for r in raters])
    assert result.counts == CharacterCounts(4, 12, 10)
    assert result.precision == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert result.recall == pytest.approx(4 / 10)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([], "it has not been rated yet"),
        ([CharacterCounts(0, 0, 3)], "the model removed nothing"),
        ([CharacterCounts(0, 3, 0)], "no rater marked an error"),
        ([CharacterCounts(0, 0, 0)] * 2, "the model removed nothing and no rater marked an error"),
    ],
)
def test_without_edits_or_marks_nothing_is_defined(counts: list[CharacterCounts], reason: str) -> None:
    result = agreement(counts)
    assert (result.status, result.precision, result.recall, result.f) == ("undefined", None, None, None)
    assert result.reason == reason


def test_no_overlap_is_zero_and_defined() -> None:
    result = agreement([CharacterCounts(0, 2, 3)])
    assert (result.status, result.precision, result.recall, result.f) == ("ok", 0, 0, 0)


def test_layers_show_worst_severity_number_of_raters_and_insertion() -> None:
    text = "red cat ran"
    drawn = layers(text, "red dog ran off", [[span(0, 7, "Minor", text=text)], [span(4, 7, text=text)]])
    assert [tuple(layer) for layer in drawn] == [
        ("red ", False, "Minor", 1, ""),
        ("cat", True, "Major", 2, ""),
        (" ran", False, "", 0, ""),
        ("", False, "", 0, " off"),
    ]


words = st.text("ab 😀ل", max_size=12)
places = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12), st.sampled_from(["Major", "Minor", "Neutral"])), max_size=3
)


@given(words, words, st.lists(places, max_size=3))
def test_layers_and_counts_equal_a_count_by_character(text: str, refined: str, raters: list) -> None:
    spans = [[span(min(a, b, len(text)), min(max(a, b), len(text)), s, text=text) for a, b, s in one] for one in raters]
    drawn = layers(text, refined, spans)
    assert "".join(layer.text for layer in drawn) == text
    gone, at = set(), 0
    for kind, piece in diff(text, refined):
        if kind != "insert":
            gone |= set(range(at, at + len(piece))) if kind == "delete" else set()
            at += len(piece)
    flat = [layer for layer in drawn for _ in layer.text]
    assert [layer.edited for layer in flat] == [i in gone for i in range(len(text))]
    for one in spans:
        counts = count_characters(edited(text, refined), marked(text, one))
        of = [[s for s in one if s.start <= i < s.end and s.severity != "Neutral"] for i in range(len(text))]
        seen = [i for i, c in enumerate(text) if not c.isspace()]
        assert counts == CharacterCounts(
            sum(i in gone and bool(of[i]) for i in seen), sum(i in gone for i in seen), sum(bool(of[i]) for i in seen)
        )

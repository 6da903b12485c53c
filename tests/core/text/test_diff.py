"""Edits of a text, and differences of two texts."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.edits import Change, Edit, Refused, apply, changed, diff
from core.text.words import units

TEXT = st.text(max_size=20) | st.text("ab 。字\n", max_size=20)


def test_edits_that_overlap_are_an_error() -> None:
    with pytest.raises(ValueError, match="2:4 after 3"):
        apply("abcdef", [Edit(0, 3, "x"), Edit(2, 4, "y")])


def test_edits_that_change_nothing_are_dropped() -> None:
    assert changed("abc", [Edit(0, 1, "a")]) == Refused("the text would stay the same")
    edits = Edit(2, 3, "d"), Edit(0, 1, "x")
    assert changed("abc", [*edits, Edit(1, 2, "b")]) == Change("xbd", edits[::-1])


def marked(a: str, b: str) -> str:
    signs = {"same": "{}", "delete": "[-{}]", "insert": "[+{}]"}
    return "".join(signs[p.kind].format(p.text) for p in diff(a, b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("the cat sat", "the dog sat", "the [-cat][+dog] sat"),
        ("the sat", "the cat sat", "the [+cat ]sat"),
        ("one two three four", "one x y four", "one [-two three][+x y] four"),
        ("Yes, it is.", "Yes it is!", "Yes[-,] it is[-.][+!]"),
        ("我喜欢茶", "我喜欢咖啡", "我喜欢[-茶][+咖啡]"),
        ("a", "", "[-a]"),
        ("", "a", "[+a]"),
        ("a  b", "a b", "a [- ]b"),
        ("", "", ""),
    ],
)
def test_what_changed_is_marked(a: str, b: str, expected: str) -> None:
    assert marked(a, b) == expected


@given(TEXT, TEXT)
def test_the_pieces_give_both_texts(a: str, b: str) -> None:
    pieces = diff(a, b)
    assert "".join(p.text for p in pieces if p.kind != "insert") == a
    assert "".join(p.text for p in pieces if p.kind != "delete") == b
    assert all(p.text for p in pieces)
    assert all(x.kind != y.kind for x, y in zip(pieces, pieces[1:], strict=False))
    assert all((x.kind, y.kind) != ("insert", "delete") for x, y in zip(pieces, pieces[1:], strict=False))


@given(st.text())
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert [p.kind for p in diff(text, text)] == ["same"] * bool(text)


@given(st.lists(st.sampled_from("abcd"), max_size=9), st.lists(st.sampled_from("abcd"), max_size=9))
def test_as_many_words_are_kept_as_can_be(a: list[str], b: list[str]) -> None:
    # the length of a longest common subsequence by the textbook table
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    kept = "".join(p.text for p in diff(" ".join(a), " ".join(b)) if p.kind == "same")
    assert len(units(kept.replace("", " "))) == table[-1][-1]


def test_a_thousand_words_take_no_time() -> None:
    draw = random.Random(0)
    a, b = (" ".join(draw.choices("the cat sat on a mat".split(), k=1000)) for _ in range(2))
    start = time.process_time()
    diff(a, b)
    assert time.process_time() - start < 1.0  # about 0.01 s; a quadratic search takes many seconds

"""Words of many scripts, in code points."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.words import units, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't pay 3.5, or 1,000!", ["I", "don't", "pay", "3.5", "or", "1,000"]),
        ("rock 'n' roll", ["rock", "n", "roll"]),
        ("snake_case e.g. co-op", ["snake_case", "e", "g", "co", "op"]),
        ("我们对宇宙", list("我们对宇宙")),
        ("Tōkyō は東京", ["Tōkyō", "は", "東", "京"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שלום, עולם", ["שלום", "עולם"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("cafe\u0301 s", ["cafe\u0301", "s"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("", []),
        ("…!", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert [text[a:b] for a, b in words(text)] == expected


@pytest.mark.parametrize("sign", ["👩‍👩‍👧", "👍🏽", "🇩🇪", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
def test_an_emoji_is_one_unit(sign: str) -> None:
    assert [(u.start, u.end, u.is_word) for u in units(sign + "a")] == [
        (0, len(sign), False),
        (len(sign), len(sign) + 1, True),
    ]


@given(st.text() | st.text("a'’.,1 \u200d\u200c\u0301👩🇩字ก", max_size=12))
def test_units_cover_all_but_white_space_in_order(text: str) -> None:
    end = 0
    for unit in units(text):
        assert end <= unit.start < unit.end
        assert not text[end : unit.start].strip()
        assert not any(c.isspace() for c in text[unit.start : unit.end])
        end = unit.end
    assert not text[end:].strip()


@given(st.text("ab'Z09_.,-! \t\n\x1c\x00(", max_size=12))
def test_ascii_texts_have_the_units_of_other_texts(text: str) -> None:
    assert units(text) == units(f"{text} é")[:-1]


def test_half_width_sound_marks_belong_to_the_kana_before_them() -> None:
    text = "ﾊﾞｽﾊﾟ"
    assert [text[start:end] for start, end in words(text)] == ["ﾊﾞ", "ｽ", "ﾊﾟ"]

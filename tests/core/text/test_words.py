"""Words of many scripts, in code points, and the languages of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.languages import UNKNOWN, language
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The council decided to close the bridge.", "English"),
        ("Der Stadtrat hat beschlossen, die Brücke zu schließen.", "German"),
        ("Le conseil a décidé de fermer le pont dans la ville.", "French"),
        ("El consejo decidió cerrar el puente por la noche.", "Spanish"),
        ("Il consiglio non ha deciso per la chiusura della strada.", "Italian"),
        ("O conselho não decidiu fechar a ponte com uma votação.", "Portuguese"),
        ("De raad heeft het niet besloten met een stemming.", "Dutch"),
        ("Rådet har inte beslutat att stänga och det är bra.", "Swedish"),
        ("Rada nie zdecydowała się na to, że jest w mieście.", "Polish"),
        ("لحجز موعد يمكن الاتصال بالرقم ٠٦٢٤٤٧١", "Arabic script"),
        ("市议会决定关闭大桥。", "Chinese"),
        ("議会は橋を閉鎖することを決めた。", "Japanese"),
        ("시의회는 다리를 폐쇄하기로 했다.", "Korean"),
        ("Совет решил закрыть мост.", "Cyrillic script"),
        ("12 : 7", UNKNOWN),
        ("", UNKNOWN),
        ("Ahrfelden Hallenbad", UNKNOWN),
    ],
)
def test_the_language_is_told_by_script_and_function_words(text: str, expected: str) -> None:
    assert language(text) == expected

"""Windows of long texts: nothing is left out, everything fits, words stay whole."""

from hypothesis import given
from hypothesis import strategies as st

from core.models.pieces import Reader
from tests.tiny_checkpoints import pair_tokenizer

READER = Reader(pair_tokenizer())
WORDS = " ".join(f"word{i}" for i in range(60))


def test_a_text_that_fits_is_left_as_it_is() -> None:
    assert READER.pieces("  the cat ", "a dog\n", 64) == (["  the cat "], ["a dog\n"])


def test_windows_cover_the_text_overlap_and_end_between_words() -> None:
    windows = READER.windows(WORDS, 60)
    assert len(windows) > 2
    words = [w.split() for w in windows]
    assert [w for piece in words for w in piece if w not in WORDS.split()] == []
    assert all(set(a) & set(b) for a, b in zip(words, words[1:], strict=False))
    assert words[0][0] == "word0"
    assert words[-1][-1] == "word59"


@given(st.text(max_size=200), st.text(max_size=200), st.integers(40, 90))
def test_no_character_is_lost_and_every_two_pieces_fit(first: str, second: str, limit: int) -> None:
    firsts, seconds = READER.pieces(first, second, limit)
    for text, pieces in ((first, firsts), (second, seconds)):
        at = 0
        for piece in pieces:
            blanks = len(text[at:]) - len(text[at:].lstrip())
            start = text.rfind(piece, 0, at + blanks + len(piece))  # the last place that leaves no gap
            assert start >= 0
            at = max(at, start + len(piece))
        assert at >= len(text.rstrip())
    for a in firsts:
        for b in seconds:
            assert READER.count(a) + READER.count(b) + READER.special <= limit


def test_two_long_texts_get_half_of_the_room_each() -> None:
    firsts, seconds = READER.pieces(WORDS, WORDS, 64)
    assert len(firsts) > 3
    assert len(seconds) > 3
    assert READER.pieces(WORDS, "a dog", 64)[1] == ["a dog"]

"""Sentences: nothing is lost, spans are in order, and the signs of many scripts are known."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.text.sentences import (
    FINAL,
    LANGUAGES,
    OPEN_ENDED,
    SPLITTERS,
    Span,
    facts,
    movable_sentences,
    sentences,
    split_at_points,
    split_at_punctuation,
    split_with_abbreviations,
    splitter,
)
from tests.paths import CASES

MADE_OF = st.text(alphabet="ab.?!。…\"'”“)( \n\u2028\r中文ก3,-।؟😀\u0301\ud800", max_size=40)
ANY = MADE_OF | st.text(st.characters(), max_size=40)


def bare(text: str) -> str:
    return "".join(c for c in text if not c.isspace())


def check(text: str, spans: list[tuple[int, int]]) -> None:
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert bare("".join(text[s:e] for s, e in spans)) == bare(text)


@pytest.mark.parametrize("name", ["prose", "rule", "point"])
@given(text=ANY)
def test_sentences_are_ordered_disjoint_and_complete(name: str, text: str) -> None:
    check(text, splitter(name)(text))


@given(text=ANY)
def test_pysbd_loses_nothing_either(text: str) -> None:
    pytest.importorskip("pysbd")
    check(text, splitter("pysbd:en")(text))


WAYS: dict[str, Callable[[str], Sequence[Span]]] = {
    "prose": split_with_abbreviations,
    "rule": split_at_punctuation,
    "movable": movable_sentences,
}


@pytest.mark.parametrize("name", WAYS)
def test_sentences_end_where_they_are_marked(name: str) -> None:
    section = (
        Path(__file__).with_name("sentences.txt").read_text("utf-8").partition(f"[{name}]\n")[2].partition("\n\n")[0]
    )
    lines = [line for line in section.splitlines() if not line.startswith("#")]
    marked = [line.replace("\\n", "\n").replace("\\r", "\r") for line in lines]
    assert len(marked) > 20
    for text in marked:
        whole = text.replace("‖", "")
        assert [whole[start:end] for start, end in WAYS[name](whole)] == [piece.strip() for piece in text.split("‖")]


def test_blank_texts_have_no_sentence() -> None:
    assert [sentences(text, split_at_punctuation) for text in ("", " \n\t")] == [[], []]


def test_without_points_abbreviations_make_no_difference() -> None:
    for text in (
        "What?! No... Yes… Well",
        "他走了。“我来了！”她说。",
        "كيف حالك؟ أنا بخير. شكرا",
        "یہ گھر ہے۔ وہ باغ ہے۔",
        "",
    ):
        assert split_with_abbreviations(text) == split_at_punctuation(text)


def test_many_abbreviations_are_read_in_linear_time() -> None:
    text = "Dr. " * 20_000 + "1. " * 20_000
    assert sentences(text, split_with_abbreviations)[0].startswith("Dr. Dr.")


@pytest.mark.skipif(not CASES.exists(), reason="needs ../shared/cases")
def test_exchanged_sentences_of_the_shared_case_are_the_same() -> None:
    for line in (CASES / "greek-question-mark" / "in.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        first, second = (sentences(text, splitter("prose")) for text in (row["output"], row["references"][0]))
        assert (len(first), sorted(first)) == (2, sorted(second))


def test_the_rule_cannot_tell_an_abbreviation_from_an_end() -> None:
    # documented in decision 007: it knows signs and no words
    assert sentences("Dr. Smith came.", split_at_punctuation) == ["Dr.", "Smith came."]


def test_the_old_default_rule_has_another_signature() -> None:
    assert facts("prose") == {"sentences": "prose", "prose": 3}
    assert facts("rule") == {"sentences": "rule (given)", "rule": 2}


def test_point_cuts_before_a_space_and_nowhere_else() -> None:
    assert sentences("One. Two.\nthree! 。Four .", split_at_points) == ["One.", "Two.\nthree!", "。Four ."]


def test_the_terminators_are_those_of_unicode() -> None:
    regex = pytest.importorskip("regex")
    ends = regex.compile(r"\p{Sentence_Terminal}")
    ours = regex.compile(f"[{OPEN_ENDED}{FINAL}]")
    every = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    of_unicode, of_ours = set(ends.findall(every)), set(ours.findall(every))
    # beside Unicode's property: the ellipses and the Greek question mark; its newest members may not be known to every regex
    assert of_unicode <= of_ours
    assert {"…", "‥", "\u037e"} <= of_ours - of_unicode


def test_a_long_text_of_signs_is_split_in_linear_time() -> None:
    text = "。\"'“" * 50_000 + "a"
    check(text, split_at_punctuation(text))


def test_an_unknown_splitter_is_answered_with_those_there_are() -> None:
    with pytest.raises(UserError, match="prose, rule, point, pysbd:en"):
        splitter("nltk")
    with pytest.raises(UserError, match="pysbd:xx"):
        splitter("pysbd:xx")


def test_pysbd_is_signed_and_knows_abbreviations() -> None:
    pytest.importorskip("pysbd")
    from pysbd.languages import LANGUAGE_CODES

    assert set(LANGUAGES) == set(LANGUAGE_CODES)
    assert len(SPLITTERS) == 3 + len(LANGUAGES)
    assert facts("pysbd:en") == {"sentences": "pysbd:en", "pysbd": "0.3.4"}
    assert sentences("Dr. Smith came. He sat.", splitter("pysbd:en")) == ["Dr. Smith came.", "He sat."]


def test_what_pysbd_gives_back_changed_stays_as_it_was_written() -> None:
    pytest.importorskip("pysbd")
    # pySBD takes ∯ for a point it has hidden itself
    text = "It left ∯ now. Then it came."
    check(text, splitter("pysbd:en")(text))

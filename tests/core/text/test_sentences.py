"""Sentences: nothing is lost, spans are in order, and the signs of many scripts are known."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.text.sentences import (
    FINAL,
    LANGUAGES,
    OPEN_ENDED,
    SPLITTERS,
    facts,
    sentences,
    split_at_points,
    split_at_punctuation,
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained. We left! Why?", ["It rained.", "We left!", "Why?"]),
        ("He said “No.” Then he left.", ["He said “No.”", "Then he left."]),
        ('She asked "Why?" He (quietly.) left', ['She asked "Why?"', "He (quietly.)", "left"]),
        ("Er sagte: „Nein.“ Dann ging er.", ["Er sagte: „Nein.“", "Dann ging er."]),
        ("Version 3.5 of a.b.c costs $1.50.", ["Version 3.5 of a.b.c costs $1.50."]),
        ("What?! No... Yes… Well", ["What?!", "No...", "Yes…", "Well"]),
        ("a draw . ' It 's a great goal , ' he said .", ["a draw .", "' It 's a great goal , ' he said ."]),
        ("One . . . two .", ["One . . .", "two ."]),
        ("... and so on.", ["... and so on."]),
        ("他走了。“我来了！”她说。", ["他走了。", "“我来了！”", "她说。"]),
        ("我喜欢Node.js和Python3.5版本.很好!真的", ["我喜欢Node.js和Python3.5版本.", "很好!", "真的"]),
        ("价格是３．５元。好", ["价格是３．５元。", "好"]),
        ("これはペンです。それは本です｡", ["これはペンです。", "それは本です｡"]),
        ("كيف حالك؟ أنا بخير. شكرا", ["كيف حالك؟", "أنا بخير.", "شكرا"]),
        ("वह गया।वह आया॥ फिर", ["वह गया।", "वह आया॥", "फिर"]),
        ("یہ گھر ہے۔ وہ باغ ہے۔", ["یہ گھر ہے۔", "وہ باغ ہے۔"]),
        ("ሰላም። ደህና ነህ፧ አዎ", ["ሰላም።", "ደህና ነህ፧", "አዎ"]),
        ("Τι κάνεις; Είμαι καλά.", ["Τι κάνεις;", "Είμαι καλά."]),
        ("Πού είναι ο Dr. Smith; ok. Τι; ναι", ["Πού είναι ο Dr.", "Smith;", "ok.", "Τι;", "ναι"]),
        ("Ξέρεις «τι;» Το API; Όχι; ναι", ["Ξέρεις «τι;»", "Το API; Όχι;", "ναι"]),
        ("I am well; he too. Τι; Well; no", ["I am well; he too.", "Τι;", "Well; no"]),
        ("Ինչպե՞ս ես: Սա թեստ է 12:30: Այո", ["Ինչպե՞ս ես:", "Սա թեստ է 12:30:", "Այո"]),
        ("Note: see below: here", ["Note: see below: here"]),
        ("ཁོ་སོང་། ང་ཉལ།། །ཡིན།", ["ཁོ་སོང་།", "ང་ཉལ།། །", "ཡིན།"]),
        ("ሰላም ነው:: ደህና፡፡ አዎ: ነው", ["ሰላም ነው::", "ደህና፡፡", "አዎ: ነው"]),
        ("वह गया| वह आया|| क | ख", ["वह गया|", "वह आया||", "क | ख"]),
        ("Title\nFirst line\r\n\r\nSecond", ["Title", "First line", "Second"]),
        ("", []),
        (" \n\t", []),
        ("?", ["?"]),
    ],
)
def test_the_rule_knows_the_signs_of_many_scripts(text: str, expected: list[str]) -> None:
    assert sentences(text, split_at_punctuation) == expected


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

"""Tokens, tags, articles and language detection for English."""

import pkgutil
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.english
import core.perturbations
from core.english import parsing
from core.english.tagger import brill
from core.english.tokens import tokens
from core.text.edits import Edit, Refused
from tests.bench.listing import sample_texts


@given(st.text())
def test_tokens_contain_everything_except_white_space(text: str) -> None:
    found = tokens(text)
    assert [text[t.start : t.end] for t in found] == [t.text for t in found]
    assert "".join(t.text for t in found) == "".join(c for c in text if not c.isspace())
    assert all(a.end <= b.start for a, b in zip(found, found[1:], strict=False))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He doesn’t know Mr. Smith's U.S. car.", "He does n’t know Mr. Smith 's U.S. car ."),
        ("We cannot pay $1,500.50 (35%).", "We can not pay $ 1,500.50 ( 35 % ) ."),
        ("did n't well-known 12th 2007-08", "did n't well-known 12th 2007-08"),
    ],
)
def test_clitics_stand_alone_and_numbers_stay_whole(text: str, words: str) -> None:
    assert [t.text for t in tokens(text)] == words.split()


@pytest.mark.parametrize(
    ("sentence", "tags"),
    [
        ("They want to increase the increase .", "PRP VBP TO VB DT NN ."),  # NN VB PREVTAG TO; VB NN PREV1OR2TAG DT
        ("She will blorg slowly .", "PRP MD VB RB ."),  # unknown: NN; NN VB PREV1OR2TAG MD; -ly RB
        ("The blorgs of Blorgia are blorgable .", "DT NNS IN NNP VBP JJ ."),  # -s NNS; capital NNP; -ble JJ
    ],
)
def test_rules_for_unknown_words_and_context_are_applied(sentence: str, tags: str) -> None:
    assert brill().tag(sentence.split()) == tags.split()


def test_tags_agree_with_textblob_unless_rules_interact() -> None:
    """TextBlob's own loop tests every rule against the tag a word had before the first of them; Brill's rules are made to
    work on each other's results. So a few tags differ, and no more than a few."""
    text = pytest.importorskip("textblob._text")
    lexicon = pytest.importorskip("textblob.en").lexicon
    equal = both = 0
    for sentence in sample_texts():
        words = [t.text for t in tokens(sentence)]
        words[0] = "the"  # a name that opens a sentence is looked up otherwise here
        theirs = text.find_tags(words, lexicon=lexicon, morphology=lexicon.morphology, context=lexicon.context)
        equal += sum(a == b for a, (_, b) in zip(brill().tag(words), theirs, strict=True))
        both += len(words)
    assert both > 200
    assert equal >= 0.95 * both


@pytest.mark.parametrize(
    ("word", "expected"),
    [("house", "a"), ("old", "an"), ("hour", "an"), ("unit", "a"), ("unknown", "an"), ("European", "a"), ("university", "a"),
     ("useful", "a"), ("ugly", "an"), ("one", "a"), ("honest", "an"), ("union", "a"), ("unimportant", "an"), ("urban", "an"),
     ("useless", "a"), ("idea", "an"), ("uncle", "an"), ("Uruguay", "a"), ("eighty-nine", "an"), ("11", "an"), ("80", "an")],
)  # fmt: skip
def test_the_article_goes_by_sound(word: str, expected: str) -> None:
    assert parsing.article(word) == expected


def test_forms_come_from_the_dictionary_and_none_is_guessed() -> None:
    assert parsing.inflect("go", "VBD") == "went"
    assert parsing.inflect("child", "NNS") == "children"
    assert parsing.inflect("blorg", "VBD") == ""
    assert parsing.lemmas("knives", "NOUN") == ("knife",)
    assert parsing.pos_tags("light") >= {"NOUN", "VERB", "ADJ"}
    assert parsing.pos_tags("blorg") == frozenset()


def test_a_text_that_is_too_long_is_refused() -> None:
    text = parsing.tag_text("The house is old. " * 2000)
    assert isinstance(text, Refused)
    assert "longer than" in text.reason


def test_sentences_end_at_their_signs_or_with_the_text() -> None:
    found = tokens("The house is old. Is it ? " + "the old man and " * 50)
    text = parsing.TaggedText("", found, [""] * len(found))
    assert [text.sentence(i) for i in range(text.n)] == [(0, 5)] * 5 + [(5, 8)] * 3 + [(8, text.n)] * 200
    assert text.sentence_words(6) == {"is", "it", "?"}


ENGLISH = (
    "Last week Tony Blair, Jacques Chirac, and Gerhard Schroeder met in Berlin.",
    "Maternal mortality rates remain dismal in several countries.",
    "Six men met in the city.",
    "Barack Obama is in Paris.",
)
OTHERS = (
    "Jan was gisteren met Piet in Amsterdam.",
    "De man met de hond loopt over straat.",
    "Minister opent nieuw museum in Rotterdam.",
    "Die Kinder spielen in Berlin.",
    "Angela Merkel besucht heute Paris.",
    "Peter ist gestern krank geworden.",
    "Le chat dort sur la table.",
    "Jean mange une pomme rouge.",
    "Pierre marche par hasard.",
    "Pedro vive con Maria en Madrid.",
    "Mi hermano compra tres libros nuevos.",
)


@pytest.mark.parametrize("text", ENGLISH)
def test_words_shared_between_languages_are_not_evidence(text: str) -> None:
    assert isinstance(parsing.tag_text(text), parsing.TaggedText)


@pytest.mark.parametrize("text", OTHERS)
def test_other_languages_in_ascii_letters_are_detected(text: str) -> None:
    assert isinstance(parsing.tag_text(text), Refused)


def test_dropping_words_takes_one_space_with_them() -> None:
    text = parsing.tag_text("The old house is here.")
    assert not isinstance(text, Refused)
    assert text.drop(1, 2) == Edit(3, 7, "")
    assert text.drop(0, 1) == Edit(0, 4, "")


def test_an_installed_model_of_spacy_tags_instead_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Word:
        def __init__(self, word: str) -> None:
            self.tag_ = "XX" + word

    spacy, parts = types.ModuleType("spacy"), types.ModuleType("spacy.tokens")
    parts.Doc = lambda vocab, words: [Word(w) for w in words]  # type: ignore[attr-defined]
    model = lambda document: document  # noqa: E731
    model.vocab = None  # type: ignore[attr-defined]
    spacy.load = lambda name, exclude: model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "spacy.tokens", parts)
    monkeypatch.setattr(parsing, "find_spec", lambda name: name in ("spacy", "en_core_web_sm") or None)
    monkeypatch.setattr(parsing, "package", lambda name: "3.0.0")
    parsing._tagger.cache_clear()
    parsing.tag_text.cache_clear()
    try:
        assert parsing.tagger() == "spacy en_core_web_sm 3.0.0"
        text = parsing.tag_text("The house stood here.")
        assert not isinstance(text, Refused)
        assert [text.tag(i) for i in range(text.n)] == ["DT", "XXhouse", "XXstood", "XXhere", "XX."]
    finally:
        parsing._tagger.cache_clear()
        parsing.tag_text.cache_clear()


def test_a_perturbation_without_edits_is_refused() -> None:
    change = parsing.english(lambda parsed, random: [])
    assert change("The house is old.", Random(0)) == Refused("the text would stay the same")


def word_lists() -> Iterator[tuple[str, str]]:
    for package in (core.english, core.perturbations):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in vars(import_module(module.name)).items():
                if isinstance(value, (set, frozenset, tuple, list, dict)) and not name.startswith("__"):
                    yield from ((f"{module.name}.{name}", word) for word in value if isinstance(word, str))


def test_word_lists_contain_no_names_of_code() -> None:
    """Renaming a function once replaced the modal verb `may` in word lists."""
    words = list(word_lists())
    assert len(words) > 5000
    assert not [
        (place, word) for place, word in words if "_" in word and not word.isupper() and "en_core_web" not in word
    ]
    assert "may" in {word for place, word in words if place.endswith("phrases.MODALS")}

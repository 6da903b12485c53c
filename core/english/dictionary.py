"""English words: parts of speech, lemmas, inflected forms, articles, letter case, and lists of function words.

The forms are those of lemminflect's dictionaries, loaded without spaCy and kept as text; none is guessed.

lemminflect imports spaCy, if installed, and with it torch, only to register extensions that are unused here. That would cost
seconds and 200 MB in processes that never parse a text. Its own tables are dictionaries of dictionaries of tuples: 45 MB for 3 MB of text.
"""

from __future__ import annotations

import gzip
import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from itertools import accumulate
from threading import RLock, get_ident
from typing import Any

from core.english.word_lists import word_set

IMPORTING = RLock()
"""Held while spaCy or lemminflect is imported without the packages that they would load in vain."""


class _Hidden:
    """An import finder that hides a package from the thread that makes it."""

    def __init__(self, package: str) -> None:
        self.package, self.thread = package, get_ident()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self.package and get_ident() == self.thread:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


@contextmanager
def without(package: str) -> Iterator[None]:
    """Make imports of a package by this thread fail if it is not loaded yet."""
    finder: Any = _Hidden(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


Forms = dict[str, tuple[str, ...]]


class WordTable:
    """Maps words to their forms. Keeps the lines of a dictionary file as text, sorted by word, and parses those of a word at each lookup.

    `instead` holds words whose lines are not used, with their forms.
    """

    def __init__(self, path: str, parse: Callable[[str], Forms], instead: Mapping[str, Forms]) -> None:
        with gzip.open(path, "rb") as file:
            lines = sorted(file, key=lambda line: line.partition(b",")[0])
        self._text, self._starts = b"".join(lines), array("I", accumulate(map(len, lines), initial=0))
        self._parse, self._instead = parse, instead

    def get(self, word: str, default: Forms) -> Forms:
        """Return the forms of all parts of speech of a word, or `default` if it is unknown."""
        if word in self._instead:
            return self._instead[word]
        of_word, key, count = Forms(), word.encode(errors="surrogatepass"), len(self._starts) - 1
        at = bisect_left(range(count), key, key=self._word)
        while at < count and self._word(at) == key:
            of_word |= self._parse(self._line(at).decode())
            at += 1
        return of_word or default

    def _line(self, at: int) -> bytes:
        return self._text[self._starts[at] : self._starts[at + 1]]

    def _word(self, at: int) -> bytes:
        return self._line(at).partition(b",")[0]


@cache
def dictionary() -> Any:
    """Return the module lemminflect."""
    with IMPORTING:
        return _kept()  # its own cache is asked under the lock: two threads may come here


@cache
def _kept() -> Any:
    with without("spacy"):
        module = import_module("lemminflect")
    from lemminflect import config
    from lemminflect.codecs.InflectionLUCodec import InflectionLUCodec
    from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec
    from lemminflect.core.LexicalUtils import categoryToUPos

    def lemmas(line: str) -> Forms:
        _, category, forms = LemmaLUCodec.fromString(line)
        return {categoryToUPos(category): forms}

    def inflections(line: str) -> Forms:
        forms: Forms = InflectionLUCodec.fromString(line)[2]
        return forms

    module.Lemmatizer().lemma_dict = WordTable(config.lemma_lu_fn, lemmas, {})
    module.Inflections().infl_dict = WordTable(
        config.inflection_lu_fn, inflections, InflectionLUCodec.updateForAuxMod({})
    )
    return module


@lru_cache(maxsize=65536)
def pos_tags(word: str) -> frozenset[str]:
    """Return the possible parts of speech of a lower-case word (NOUN, VERB, ADJ, ADV, AUX); empty if it is not in the
    dictionary."""
    return frozenset(dictionary().getAllLemmas(word))


@lru_cache(maxsize=65536)
def lemmas(word: str, part: str) -> tuple[str, ...]:
    """Return the dictionary forms of a word as this part of speech; empty if it cannot be one."""
    by_part: dict[str, tuple[str, ...]] = dictionary().getAllLemmas(word, part)
    return by_part.get(part, ())


@lru_cache(maxsize=65536)
def inflect(lemma: str, tag: str) -> str:
    """Return the first form of a lemma under a tag; "" if the dictionary has none."""
    if lemma == "be":
        return {"VBZ": "is", "VBP": "are", "VB": "be", "VBG": "being", "VBN": "been"}.get(tag, "")
    known: tuple[str, ...] = dictionary().getInflection(lemma, tag, inflect_oov=False)
    return known[0] if known else ""


def forms(word: str, tags: Sequence[str]) -> set[tuple[str, str]]:
    """Return (lemma, tag) for every reading of a word as one of these forms of a verb."""
    return {(lemma, tag) for lemma in lemmas(word, "VERB") for tag in tags if word in _all(lemma, tag)}


@lru_cache(maxsize=65536)
def _all(lemma: str, tag: str) -> tuple[str, ...]:
    return tuple(dictionary().getInflection(lemma, tag, inflect_oov=False))


@lru_cache(maxsize=65536)
def noun_number(low: str) -> str:
    """Return NN or NNS for a noun in the dictionary, else ""."""
    if low in _PLURALS:
        return "NNS"
    known = lemmas(low, "NOUN")
    if low in known:
        return "NN"
    return "NNS" if any(inflect(lemma, "NNS") == low for lemma in known) else ""


def noun_base(low: str) -> str:
    """Return the first dictionary form of a noun; "" if it is not in the dictionary."""
    return "person" if low == "people" else (lemmas(low, "NOUN") or ("",))[0]


@lru_cache(maxsize=65536)
def base_form(low: str, tag: str) -> str:
    """Return the dictionary form of a verb under this tag; "" if there is none or several."""
    if low in _BASES:
        return _BASES[low]
    known = sorted({lemma for lemma, _ in forms(low, (tag,)) if "-" not in lemma})
    if len(known) > 1:
        known = [lemma for lemma in known if lemma != low and not low.startswith(lemma)] or known
    return known[0] if len(known) == 1 else ""


_BASES = {
    "is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "been": "be", "being": "be", "has": "have", "had": "have",
    "having": "have", "does": "do", "did": "do", "done": "do", "doing": "do", "found": "find", "saw": "see", "felt": "feel",
    "left": "leave", "fell": "fall", "wound": "wind", "lay": "lie", "bore": "bear", "bound": "bind", "ground": "grind",
    "shot": "shoot", "put": "put", "hung": "hang", "dying": "die", "lying": "lie", "tying": "tie", "led": "lead", "rose": "rise",
}  # fmt: skip
_PLURALS = frozenset("people police men women children cattle".split())


def cased(new: str, old: str) -> str:
    """Return `new` in the letter case of `old`: all capitals, or an initial capital."""
    if len(old) > 1 and old.isupper() and not old.isdigit():
        return new.upper()
    if old[:1].isupper():
        return new[:1].upper() + new[1:]
    return new


_AN = re.compile(r"(?:[aeiou]|hour|honest|heir|honou?r|8|11\b|18\b)", re.I)
_A = re.compile(r"(?:one\b|once|eu|ewe|u[kn]\b|uni(?!m|n)|us[eu]|uto|uru|ugan|ukr|ut[ei])", re.I)


def article(word: str) -> str:
    """Return `a` or `an`, by the initial sound of the word."""
    return "an" if _AN.match(word) and not _A.match(word) else "a"


ARTICLE_WORDS = frozenset({"the", "a", "an"})
PREPOSITION_WORDS = word_set("prepositions")
STOP_WORDS = ARTICLE_WORDS | PREPOSITION_WORDS | word_set("more-stop-words")  # fmt: skip
"""Closed-class words of English (determiners, pronouns, conjunctions, auxiliaries, prepositions, `not`) and the commonest
adverbs of place, time and degree. `ca`, `sha` and `wo` remain after splitting off `n't`."""

BE = frozenset("is are was were am 's 're 'm be been being".split())
HAVE = frozenset("has have had 've having".split())
DO = frozenset("do does did".split())
DO_FORMS = {"VBZ": "does", "VBP": "do", "VBD": "did"}
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
"""Modals that lose a letter before `n't`."""
MODALS = frozenset("can could will would shall should may might must 'll 'd ca wo sha".split())
NOT = frozenset("not n't".split())
NEGATIVE = NOT | frozenset(
    "no never nothing nobody none neither nor nowhere hardly scarcely barely without seldom rarely cannot".split()
)
POSSESSIVES = frozenset("my your his her its our their".split())

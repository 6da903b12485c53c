"""English text as the perturbations read it: tokens with tags, what a word may be, its inflections, its article.

Tags come from spaCy where one of its models is installed, else from the tagger TextBlob bundles; `tagger()` says which, and
suites record it, for another tagger may perturb another word. Inflection is lemminflect's dictionary: a form it does not
hold is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from random import Random
from typing import Any

from core.signature import package
from core.stress.base import Change, Edit, Outcome, Refused, changed
from core.stress.brill import brill
from core.stress.dictionary import dictionary
from core.stress.language import is_english
from core.stress.tokens import Token, tokens

LONGEST = 20_000
"""Code points of a text that is perturbed; what is longer is a document, to be perturbed sentence by sentence."""

SPACY_MODELS = ("en_core_web_trf", "en_core_web_lg", "en_core_web_md", "en_core_web_sm")
_ENDS = (".", "!", "?", "…")
_FORCED = {
    "the": "DT", "a": "DT", "an": "DT", "to": "TO", "n't": "RB", "not": "RB", "he": "PRP", "she": "PRP", "they": "PRP",
    "we": "PRP", "i": "PRP", "it": "PRP", "us": "PRP", "him": "PRP", "them": "PRP", "me": "PRP", "my": "PRP$",
    "our": "PRP$", "your": "PRP$", "their": "PRP$", "its": "PRP$", "of": "IN", "and": "CC", "or": "CC", "but": "CC",
    "is": "VBZ", "are": "VBP", "was": "VBD", "were": "VBD", "am": "VBP", "be": "VB", "been": "VBN", "being": "VBG",
    "has": "VBZ", "does": "VBZ", "would": "MD", "should": "MD", "could": "MD", "'re": "VBP", "'ve": "VBP", "'ll": "MD",
    "'m": "VBP",
}  # fmt: skip


class Parsed:
    """Tokens and tags of one text. `low` and `tag` answer for any place: "" before the first token and after the last."""

    __slots__ = ("_bounds", "_low", "_tag", "_words", "n", "text", "tokens")

    def __init__(self, text: str, found: Sequence[Token], tags: Sequence[str]) -> None:
        self.text, self.tokens, self.n = text, found, len(found)
        self._low = [t.low for t in found] + [""] * 8
        self._tag = [*tags] + [""] * 8
        self._bounds = _sentences(self._low[: self.n])
        self._words: dict[int, frozenset[str]] = {}

    def low(self, i: int) -> str:
        return self._low[i] if 0 <= i < self.n else ""

    def tag(self, i: int) -> str:
        return self._tag[i] if 0 <= i < self.n else ""

    def word(self, i: int) -> str:
        return self.tokens[i].text if 0 <= i < self.n else ""

    def sentence(self, i: int) -> tuple[int, int]:
        """First token and one past the last of the sentence that token i stands in."""
        return self._bounds[i]

    def sentence_words(self, i: int) -> frozenset[str]:
        """The tokens, in lower case, of the sentence that token i stands in."""
        start, end = self._bounds[i]
        if start not in self._words:
            self._words[start] = frozenset(self._low[start:end])
        return self._words[start]

    def lows(self, start: int, end: int) -> list[str]:
        return self._low[max(start, 0) : max(min(end, self.n), 0)]

    def replace(self, i: int, new: str) -> Edit:
        """Token i gives way to a word, in the letter case it stands in."""
        token = self.tokens[i]
        return Edit(token.start, token.end, cased(new, token.text, first=self.opens(i)))

    def after(self, i: int, new: str) -> Edit:
        return Edit(self.tokens[i].end, self.tokens[i].end, new)

    def drop(self, start: int, end: int) -> Edit:
        """Tokens start..end-1 go, with the white space before them (after them, at the beginning of the text)."""
        left = self.tokens[start - 1].end if start else self.tokens[start].start
        right = self.tokens[end - 1].end if start or end >= self.n else self.tokens[end].start
        return Edit(left, right, "")

    def opens(self, i: int) -> bool:
        """True for the first word of a sentence."""
        return i == 0 or self.low(i - 1) in (*_ENDS, "“", '"', "``", ":", "‘") or (i == 1 and not self.low(0).isalnum())

    def article(self, i: int, new: str) -> list[Edit]:
        """What becomes of an `a` or `an` right before token i when `new` stands there."""
        if self.low(i - 1) not in ("a", "an") or i < 1:
            return []
        return [self.replace(i - 1, article(new))]


def _sentences(low: Sequence[str]) -> list[tuple[int, int]]:
    """The sentence of each token, as `Parsed.sentence` gives it."""
    bounds: list[tuple[int, int]] = []
    start = 0
    for i, word in enumerate(low):
        if word in _ENDS or i + 1 == len(low):
            bounds += [(start, i + 1)] * (i + 1 - start)
            start = i + 1
    return bounds


def cased(new: str, old: str, *, first: bool = False) -> str:
    """`new` in the letter case of `old`: capitals stay capitals; a capital that only opens a sentence opens it again."""
    if len(old) > 1 and old.isupper() and not old.isdigit():
        return new.upper()
    if old[:1].isupper():
        return new[:1].upper() + new[1:]
    return new


_AN = re.compile(r"(?:[aeiou]|hour|honest|heir|honou?r|8|11\b|18\b)", re.I)
_A = re.compile(r"(?:one\b|once|eu|ewe|u[kn]\b|uni(?!m|n)|us[eu]|uto|uru|ugan|ukr|ut[ei])", re.I)


def article(word: str) -> str:
    """`a` or `an`, by the sound a word begins with."""
    return "an" if _AN.match(word) and not _A.match(word) else "a"


@lru_cache(maxsize=2048)
def parse(text: str) -> Parsed | Refused:
    """The text read, or why it cannot be."""
    if len(text) > LONGEST:
        return Refused(f"longer than {LONGEST} characters; perturb it sentence by sentence")
    found = tokens(text)
    if not any(t.low[0].isalpha() for t in found):
        return Refused("no word in it")
    if not is_english([t.low for t in found]):
        return Refused("not English, as far as its letters and small words tell")
    return Parsed(text, found, _tags(found))


def english(make: Callable[[Parsed, Random], Outcome | Sequence[Edit]]) -> Callable[[str, Random], Outcome]:
    """A perturbation of texts out of one of parsed English: `make` gives edits, or refuses."""

    def change(text: str, random: Random) -> Outcome:
        parsed = parse(text)
        if isinstance(parsed, Refused):
            return parsed
        made = make(parsed, random)
        return made if isinstance(made, (Change, Refused)) else changed(text, made)

    return change


def _tags(found: Sequence[Token]) -> list[str]:
    _, tag = _tagger()
    out: list[str] = []
    start = 0
    for i, token in enumerate(found):
        if token.low in _ENDS or i + 1 == len(found):
            out += tag([_plain(t) for t in found[start : i + 1]])
            start = i + 1
    return [_FORCED.get(t.low, g) for t, g in zip(found, out, strict=True)]


def _plain(token: Token) -> str:
    return token.text.replace("’", "'")


def tagger() -> str:
    """Which tagger is at work, with its version: part of what a suite depends on."""
    return _tagger()[0]


@cache
def _tagger() -> tuple[str, Callable[[Sequence[str]], list[str]]]:
    if find_spec("spacy") is not None:
        for model in SPACY_MODELS:
            if find_spec(model) is not None:
                return f"spacy {model} {package(model.replace('_', '-'))}", _spacy(model)
    return f"textblob {package('textblob')} pattern.en", brill().tag


def _spacy(model: str) -> Callable[[Sequence[str]], list[str]]:
    import spacy
    from spacy.tokens import Doc

    nlp: Any = spacy.load(model, exclude=["ner", "lemmatizer"])

    def tag(words: Sequence[str]) -> list[str]:
        return [token.tag_ for token in nlp(Doc(nlp.vocab, words=list(words)))]

    return tag


@lru_cache(maxsize=65536)
def may(word: str) -> frozenset[str]:
    """What a word in lower case may be, of NOUN, VERB, ADJ, ADV, AUX; empty for words the dictionary does not hold."""
    return frozenset(dictionary().getAllLemmas(word))


@lru_cache(maxsize=65536)
def lemmas(word: str, part: str) -> tuple[str, ...]:
    """The dictionary forms of a word as this part of speech; empty where it is none."""
    found: dict[str, tuple[str, ...]] = dictionary().getAllLemmas(word, part)
    return found.get(part, ())


@lru_cache(maxsize=65536)
def inflect(lemma: str, tag: str) -> str:
    """The first form of a lemma under a tag, "" where the dictionary has none."""
    if lemma == "be":
        return {"VBZ": "is", "VBP": "are", "VB": "be", "VBG": "being", "VBN": "been"}.get(tag, "")
    found: tuple[str, ...] = dictionary().getInflection(lemma, tag, inflect_oov=False)
    return found[0] if found else ""


def forms(word: str, part: str, tags: Sequence[str]) -> set[tuple[str, str]]:
    """(lemma, tag) of every reading of a word as one of the tags."""
    return {(lemma, tag) for lemma in lemmas(word, part) for tag in tags if word in _all(lemma, tag)}


@lru_cache(maxsize=65536)
def _all(lemma: str, tag: str) -> tuple[str, ...]:
    return tuple(dictionary().getInflection(lemma, tag, inflect_oov=False))

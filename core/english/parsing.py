"""English text for the perturbations: tagged tokens, parts of speech, inflection, articles.

Tags come from a spaCy model if one is installed, else from TextBlob's tagger. `tagger()` names the one in use; suites record
it, because another tagger may change other words. Inflected forms come from lemminflect's dictionary and are never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from random import Random
from typing import Any

from core.english.detection import is_english
from core.english.dictionary import dictionary
from core.english.tagger import brill
from core.english.tokens import EnglishToken, tokens
from core.signature import package
from core.text.edits import Change, Edit, Outcome, Refused, changed

LONGEST = 20_000
"""Maximum code points of a text; longer documents must be perturbed sentence by sentence."""

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


class TaggedText:
    """Tokens and tags of one text. `low` and `tag` return "" for positions outside the text."""

    __slots__ = ("_bounds", "_low", "_tag", "_words", "n", "text", "tokens")

    def __init__(self, text: str, found: Sequence[EnglishToken], tags: Sequence[str]) -> None:
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
        """Return the first token and the end of the sentence that contains token i."""
        return self._bounds[i]

    def sentence_words(self, i: int) -> frozenset[str]:
        """Return the lower-case tokens of the sentence that contains token i."""
        start, end = self._bounds[i]
        if start not in self._words:
            self._words[start] = frozenset(self._low[start:end])
        return self._words[start]

    def lows(self, start: int, end: int) -> list[str]:
        return self._low[max(start, 0) : max(min(end, self.n), 0)]

    def replace(self, i: int, new: str) -> Edit:
        """Return the edit that replaces token i, keeping its letter case."""
        token = self.tokens[i]
        return Edit(token.start, token.end, cased(new, token.text, first=self.opens(i)))

    def after(self, i: int, new: str) -> Edit:
        return Edit(self.tokens[i].end, self.tokens[i].end, new)

    def drop(self, start: int, end: int) -> Edit:
        """Return the edit that deletes tokens start..end-1 with the white space before them (after them at the start of the
        text)."""
        left = self.tokens[start - 1].end if start else self.tokens[start].start
        right = self.tokens[end - 1].end if start or end >= self.n else self.tokens[end].start
        return Edit(left, right, "")

    def opens(self, i: int) -> bool:
        """Return whether token i is the first word of a sentence."""
        return i == 0 or self.low(i - 1) in (*_ENDS, "“", '"', "``", ":", "‘") or (i == 1 and not self.low(0).isalnum())

    def article(self, i: int, new: str) -> list[Edit]:
        """Return the edit that adapts an `a` or `an` right before token i to `new`."""
        if self.low(i - 1) not in ("a", "an") or i < 1:
            return []
        return [self.replace(i - 1, article(new))]


def _sentences(low: Sequence[str]) -> list[tuple[int, int]]:
    """Return the sentence bounds of each token, as `TaggedText.sentence` returns them."""
    bounds: list[tuple[int, int]] = []
    start = 0
    for i, word in enumerate(low):
        if word in _ENDS or i + 1 == len(low):
            bounds += [(start, i + 1)] * (i + 1 - start)
            start = i + 1
    return bounds


def cased(new: str, old: str, *, first: bool = False) -> str:
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


@lru_cache(maxsize=2048)
def tag_text(text: str) -> TaggedText | Refused:
    """Return the tagged text, or the reason why it cannot be tagged."""
    if len(text) > LONGEST:
        return Refused(f"longer than {LONGEST} characters; split it into sentences first")
    found = tokens(text)
    if not any(t.low[0].isalpha() for t in found):
        return Refused("no word in the text")
    if not is_english([t.low for t in found]):
        return Refused("not English, judging by its letters and function words")
    return TaggedText(text, found, _tags(found))


def english(make: Callable[[TaggedText, Random], Outcome | Sequence[Edit]]) -> Callable[[str, Random], Outcome]:
    """Return a perturbation of texts from one of tagged English. `make` returns edits or refuses."""

    def change(text: str, random: Random) -> Outcome:
        parsed = tag_text(text)
        if isinstance(parsed, Refused):
            return parsed
        made = make(parsed, random)
        return made if isinstance(made, (Change, Refused)) else changed(text, made)

    return change


def _tags(found: Sequence[EnglishToken]) -> list[str]:
    _, tag = _tagger()
    out: list[str] = []
    start = 0
    for i, token in enumerate(found):
        if token.low in _ENDS or i + 1 == len(found):
            out += tag([_plain(t) for t in found[start : i + 1]])
            start = i + 1
    return [_FORCED.get(t.low, g) for t, g in zip(found, out, strict=True)]


def _plain(token: EnglishToken) -> str:
    return token.text.replace("’", "'")


def tagger() -> str:
    """Return the tagger in use with its version, for signatures."""
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
def pos_tags(word: str) -> frozenset[str]:
    """Return the possible parts of speech of a lower-case word (NOUN, VERB, ADJ, ADV, AUX); empty if it is not in the
    dictionary."""
    return frozenset(dictionary().getAllLemmas(word))


@lru_cache(maxsize=65536)
def lemmas(word: str, part: str) -> tuple[str, ...]:
    """Return the dictionary forms of a word as this part of speech; empty if it cannot be one."""
    found: dict[str, tuple[str, ...]] = dictionary().getAllLemmas(word, part)
    return found.get(part, ())


@lru_cache(maxsize=65536)
def inflect(lemma: str, tag: str) -> str:
    """Return the first form of a lemma under a tag; "" if the dictionary has none."""
    if lemma == "be":
        return {"VBZ": "is", "VBP": "are", "VB": "be", "VBG": "being", "VBN": "been"}.get(tag, "")
    found: tuple[str, ...] = dictionary().getInflection(lemma, tag, inflect_oov=False)
    return found[0] if found else ""


def forms(word: str, tags: Sequence[str]) -> set[tuple[str, str]]:
    """Return (lemma, tag) for every reading of a word as one of these forms of a verb."""
    return {(lemma, tag) for lemma in lemmas(word, "VERB") for tag in tags if word in _all(lemma, tag)}


@lru_cache(maxsize=65536)
def _all(lemma: str, tag: str) -> tuple[str, ...]:
    return tuple(dictionary().getInflection(lemma, tag, inflect_oov=False))

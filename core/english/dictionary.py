"""lemminflect's dictionaries, loaded without spaCy and kept as text.

lemminflect imports spaCy, if installed, and with it torch, only to register extensions that are unused here. That would cost
seconds and 200 MB in processes that never parse a text. Its own tables are dictionaries of dictionaries of tuples: 45 MB for 3 MB of text.
"""

from __future__ import annotations

import gzip
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import accumulate
from threading import RLock
from typing import Any

IMPORTING = RLock()
"""Held while spaCy is imported or its import is blocked."""


class _WithoutSpacy:
    """An import finder that hides spaCy."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "spacy":
            raise ModuleNotFoundError("spaCy is not needed here", name=name)


@contextmanager
def _without_spacy() -> Iterator[None]:
    finder: Any = _WithoutSpacy
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
        found, wanted, count = Forms(), word.encode(errors="surrogatepass"), len(self._starts) - 1
        at = bisect_left(range(count), wanted, key=self._word)
        while at < count and self._word(at) == wanted:
            found |= self._parse(self._line(at).decode())
            at += 1
        return found or default

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
    with _without_spacy():
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

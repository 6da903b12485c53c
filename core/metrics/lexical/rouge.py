"""ROUGE-1, ROUGE-2 and ROUGE-L per segment, as computed by the package rouge-score, by default without stemming (Lin 2004).

In scripts written without spaces each character is a word; vowel signs and other marks belong to the letter before them. The
script of the references decides for the whole segment. Each text is tokenized once.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, Option, Values, family, measure_option
from core.progress import Progress
from core.signature import GIVEN, package
from core.text.languages import writing
from core.text.words import is_unspaced
from core.text.words import words as words_of

WORD = re.compile(r"[^\W_]+")
SCRIPT, UNICODE = "script", "unicode"
OPTIONS = (
    Option("stem", "yes_no", False, "compare word stems (Porter stemmer for English, as in rouge-score)", "Stemming", "stemmed"),
    measure_option("words"),
    Option(
        "tokenize", "choice", SCRIPT, "how texts are split into words: by script (in scripts written without spaces, each character "
        "is a word), or into runs of letters and digits in all scripts (unicode)", "Tokenizer", "words by {}",
        choices=(SCRIPT, UNICODE),
    ),
)  # fmt: skip
MEASURES = {"p": 1, "r": 2, "f": 0}
UNREAD = "no reference contains a word (letters or digits)"
Reading = Literal["unicode", "marks", "characters"]
"""Tokenization: runs of letters and digits, the same with combining marks, or single characters where there are no spaces."""

READINGS: dict[Reading, str] = {"unicode": UNICODE, "marks": "unicode-marks", "characters": "characters"}


DOTTED = "i\u0307"
"""What İ becomes in lower case: i and a combining dot."""


def lowered(text: str) -> str:
    """Return the text in lower case, in which İ is one letter (as itself) and not a letter and a mark that would divide the word."""
    return text.lower() if text.isascii() else text.lower().replace(DOTTED, "İ")


class UnicodeWords:
    """Tokenizer for lower-cased runs of letters and digits of any script; same tokens as rouge-score on ASCII text.

    With `stem`, rouge-score's stemmer is applied to ASCII words. As "characters", each character of a script written without spaces is a
    word, with its marks. As "marks", combining marks (vowel signs, accents) stay in the word.
    """

    def __init__(self, how: Reading = "unicode", *, stem: bool = False) -> None:
        self._how, self._stemmed = how, _stemmer() if stem else None

    def tokenize(self, text: str) -> list[str]:
        text = lowered(text)
        if self._how == "characters":
            words = [word for part in _parts(text) for word in part]
        else:
            words = (_marked_word() if self._how == "marks" and not text.isascii() else WORD).findall(text)
        if self._stemmed is None:
            return words
        return [stem for word in words for stem in (self._stemmed(word) if word.isascii() else [word])]


def tokenizer(values: Values, how: Reading) -> Callable[[str], list[str]]:
    """Return the tokenizer for given options and a kind of script."""
    return UnicodeWords(how if values["tokenize"] == SCRIPT else "unicode", stem=bool(values["stem"])).tokenize


@lru_cache(maxsize=1 << 14)
def reading(texts: Sequence[str]) -> Reading:
    """Return how a segment is tokenized, decided by the script of its references (a tuple), in lower case as they are compared."""
    if writing(texts) != "spaced":
        return "characters"
    marked = (not text.isascii() and _letter_marked().search(lowered(text)) for text in texts)
    return "marks" if any(marked) else "unicode"


@cache
def _marks() -> str:
    """Return all combining marks, as content of a regex character class."""
    codes = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
    return "".join(chr(code) for code in codes if unicodedata.category(chr(code))[0] == "M")


@cache
def _marked_word() -> re.Pattern[str]:
    return re.compile(rf"[^\W_](?:[^\W_]|(?<=[^\W\d_]|[{_marks()}])[{_marks()}])*")


@cache
def _letter_marked() -> re.Pattern[str]:
    return re.compile(rf"[^\W\d_][{_marks()}]")


def _parts(text: str) -> Iterator[list[str]]:
    for start, end in words_of(text):
        unit = text[start:end]
        yield [unit] if is_unspaced(unit[0]) else WORD.findall(unit)


def _stemmer() -> Callable[[str], list[str]]:
    from rouge_score.tokenizers import DefaultTokenizer

    own: Any = DefaultTokenizer(use_stemmer=True)
    return lambda word: [str(stem) for stem in own.tokenize(word)]


HELD = 1024
"""Texts kept tokenized: the references of a segment are used again for each output."""


class _Ready(NamedTuple):
    """A tokenized text: its words, its n-grams unless for ROUGE-L, and the number of what is compared."""

    words: list[str]
    grams: Counter[tuple[str, ...]]
    size: int


class _Overlap:
    """Counts what two texts share: words (`n` = 1), word pairs (2), or the longest common subsequence (0)."""

    def __init__(self, n: int, tokenize: Callable[[str], list[str]]) -> None:
        self._n, self._tokenize = n, tokenize
        self.ready = lru_cache(HELD)(self.read)

    def read(self, text: str) -> _Ready:
        words = self._tokenize(text)
        grams = Counter(zip(*(words[i:] for i in range(self._n)), strict=False))
        return _Ready(words, grams, grams.total() if self._n else len(words))

    def shared(self, a: _Ready, b: _Ready) -> int:
        if not self._n:
            from rapidfuzz.distance import LCSseq

            return LCSseq.similarity(a.words, b.words)
        return sum(min(count, b.grams[gram]) for gram, count in a.grams.items() if gram in b.grams)


def _metric(name: str, label: str, n: int, help_: str) -> Metric:
    spec = MetricSpec(
        name=name,
        label=label,
        paper="Lin 2004",
        help=help_
        + " Shows how much of the reference's wording is covered. With several references, the best one counts.",
        range=(0, 1),
        needs=frozenset({"reference"}),
        options=OPTIONS,
        version=2,
    )

    def make(values: Values) -> Metric:
        stem, column = bool(values["stem"]), MEASURES[values["measure"]]
        by_script = values["tokenize"] == SCRIPT

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            overlaps = {how: _Overlap(n, tokenizer(values, how)) for how in READINGS}
            out = []
            for done, item in enumerate(items):
                progress(done / len(items))
                out.append(_value(overlaps[reading(item.references) if by_script else "unicode"], item, column))
            return out

        def signed(items: Sequence[Item]) -> str:
            references = [item.references for item in items if item.references]
            tok = _tokens(references) if by_script else f"{UNICODE}{GIVEN}"
            facts = {"nrefs": "var", "measure": values["measure"], "stem": stem, "tok": tok}
            facts |= {"unread": "undefined"} if any(map(_unread, references)) else {}
            facts |= {"dotted-i": "letter"} if any(map(_dotted, items)) else {}
            return spec.signed(facts | {"rouge-score": package("rouge-score")})

        return Metric(spec, lambda: signed(()), score, signature_for=signed)

    return family(spec, make)


def _tokens(references: Sequence[Sequence[str]]) -> str:
    """Return the tokenizations of the segments, joined by +; the first one if there are none."""
    tokenizations = {reading(tuple(texts)) for texts in references}
    return "+".join(name for how, name in READINGS.items() if how in tokenizations) or UNICODE


def _value(overlap: _Overlap, item: Item, column: int) -> Value:
    references = [overlap.ready(text) for text in item.references]
    if not any(r.words for r in references) and _unread(item.references):
        return Value(None, "undefined", UNREAD)
    own, overlaps = overlap.read(item.hypothesis), []
    for reference in references:
        shared = overlap.shared(reference, own)
        precision, recall = shared / max(own.size, 1), shared / max(reference.size, 1)
        # Equal to the F of rouge-score but for its last bit, which would decide ties there.
        overlaps.append((2 * shared / max(own.size + reference.size, 1), precision, recall))
    best = max(overlaps, key=lambda score: score[column])
    return Value(best[column], parts={"precision": best[1], "recall": best[2]})


def _dotted(item: Item) -> bool:
    """Return whether a text of the item has İ, or its lower case."""
    return any(not text.isascii() and ("İ" in text or DOTTED in text) for text in (item.hypothesis, *item.references))


def _unread(references: Sequence[str]) -> bool:
    """Return whether the references have text but no word; if all are empty, they count as a text of length 0."""
    return any(text.strip() for text in references) and not any(map(WORD.search, references))


ROUGE1 = _metric("rouge1", "ROUGE-1", 1, "Words shared with the reference (F by default).")
ROUGE2 = _metric("rouge2", "ROUGE-2", 2, "Word pairs shared with the reference (F by default).")
ROUGE_L = _metric("rougeL", "ROUGE-L", 0, "Longest common subsequence of words with the reference (F by default).")

"""ROUGE-1, ROUGE-2 and ROUGE-L of a segment, as the package rouge-score counts them, without stemming unless asked (Lin 2004).

In scripts written without spaces every character is a word, and vowel signs and other marks belong to the letter before them; how
the references are written decides for the whole segment.
Each text is cut into words and n-grams once, however many references and outputs it is compared with.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from core.data import Item, Value
from core.metrics.base import Cancelled, Metric, MetricSpec, Option, Progress, Values, Work, family
from core.signature import GIVEN, package, signature
from core.text.scripts import writing
from core.text.words import is_unspaced
from core.text.words import words as words_of

WORD = re.compile(r"[^\W_]+")
SCRIPT, UNICODE = "script", "unicode"
OPTIONS = (
    Option("stem", "yes_no", False, "compare English word stems (Porter), as rouge-score does", "Stems", "stemmed"),
    Option(
        "measure", "choice", "f", "F, precision (of the output's words) or recall (of the reference's)", "Measure",
        "measure {}", choices=("f", "p", "r"),
    ),
    Option(
        "tokenize", "choice", SCRIPT, "how words are found: by script (every character is a word in scripts written without "
        "spaces), or runs of letters and digits in all scripts (unicode)", "Words by", "words by {}",
        choices=(SCRIPT, UNICODE),
    ),
)  # fmt: skip
MEASURES = {"p": 1, "r": 2, "f": 0}
UNREAD = "no reference has a word (letters or digits)"
Reading = Literal["unicode", "marks", "characters"]
"""How words are found: runs of letters and digits, such runs with the marks on their letters, or also characters."""

READINGS: dict[Reading, str] = {"unicode": UNICODE, "marks": "unicode-marks", "characters": "characters"}


class UnicodeWords:
    """Lower-cased runs of letters and digits of any script; on ASCII text the same tokens as rouge-score's own.

    With `stem`, a word of ASCII letters and digits is given to rouge-score's stemmer; others stay as they are. With
    `characters`, a character of a script written without spaces is a word, together with its marks. With `marks`, a letter's
    combining marks (vowel signs, accents) stay in its word.
    """

    def __init__(self, *, stem: bool = False, characters: bool = False, marks: bool = False) -> None:
        self._stemmed, self._characters, self._marks = _stemmer() if stem else None, characters, marks

    def tokenize(self, text: str) -> list[str]:
        text = text.lower()
        found = _marked_word() if self._marks and not text.isascii() else WORD
        words = [word for part in _parts(text) for word in part] if self._characters else found.findall(text)
        if self._stemmed is None:
            return words
        return [stem for word in words for stem in (self._stemmed(word) if word.isascii() else [word])]


def tokenizer(values: Values, how: Reading) -> Callable[[str], list[str]]:
    """What finds words under values of the options, beside a text that is read so."""
    return _words(values, how).tokenize


def _words(values: Values, how: Reading) -> UnicodeWords:
    by_script = values["tokenize"] == SCRIPT
    return UnicodeWords(
        stem=bool(values["stem"]), characters=by_script and how == "characters", marks=by_script and how == "marks"
    )


@lru_cache(maxsize=1 << 14)
def reading(texts: Sequence[str]) -> Reading:
    """How the references of a segment (a tuple) are read: they alone decide, as they are written."""
    if writing(texts) != "spaced":
        return "characters"
    return "marks" if any(not text.isascii() and _letter_marked().search(text) for text in texts) else "unicode"


@cache
def _marks() -> str:
    """All combining marks, as the inside of a character class; they lie below the emoji and among the last selectors."""
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
"""Texts that are held ready: the references of one segment come again with each of its outputs."""


class _Ready(NamedTuple):
    """A text as it is compared: its n-grams, or for ROUGE-L its words as numbers; `size` counts them, `read`: it has words."""

    grams: Counter[tuple[str, ...]]
    words: list[int]
    size: int
    read: bool


class _Overlap:
    """What two texts share: words, word pairs, or the length of the longest common sequence of words (`n` 1, 2, or 0)."""

    def __init__(self, n: int, tokenizer: UnicodeWords) -> None:
        self._n, self._tokenizer = n, tokenizer
        self._numbers: dict[str, int] = {}
        self.ready = lru_cache(HELD)(self.read)

    def read(self, text: str) -> _Ready:
        words = self._tokenizer.tokenize(text)
        if not self._n:
            return _Ready(
                Counter(), [self._numbers.setdefault(w, len(self._numbers)) for w in words], len(words), bool(words)
            )
        grams = Counter(zip(*(words[i:] for i in range(self._n)), strict=False))
        return _Ready(grams, [], grams.total(), bool(words))

    def shared(self, a: _Ready, b: _Ready) -> int:
        if not self._n:
            from rapidfuzz.distance import LCSseq

            return LCSseq.similarity(a.words, b.words)
        return sum(min(count, b.grams[gram]) for gram, count in a.grams.items() if gram in b.grams)


def _metric(name: str, label: str, n: int, help_: str) -> Metric:
    spec = MetricSpec(
        name=name,
        label=label,
        version=1,
        paper="Lin 2004",
        help=help_ + " Several references: the best one.",
        range=(0, 1),
        higher_is_better=True,
        needs=frozenset({"reference"}),
        options=OPTIONS,
    )

    def make(values: Values) -> Work:
        stem, column = bool(values["stem"]), MEASURES[values["measure"]]
        by_script = values["tokenize"] == SCRIPT

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            overlaps = {how: _Overlap(n, _words(values, how)) for how in READINGS}
            out = []
            for done, item in enumerate(items):
                if not progress(done):
                    raise Cancelled
                out.append(_value(overlaps[reading(item.references) if by_script else "unicode"], item, column))
            return out

        def signed(items: Sequence[Item]) -> str:
            references = [item.references for item in items if item.references]
            tok = _tokens(references) if by_script else f"{UNICODE}{GIVEN}"
            facts: dict[str, object] = {"v": 1, "nrefs": "var", "measure": values["measure"], "stem": stem, "tok": tok}
            facts |= {"unread": "undefined"} if any(map(_unread, references)) else {}
            return signature(name, facts | {"rouge-score": package("rouge-score")})

        return Work(lambda: signed(()), score, signed=signed)

    return family(spec, make)


def _tokens(references: Sequence[Sequence[str]]) -> str:
    """The names of the readings of the segments, joined by +; the first where there are none."""
    found = {reading(tuple(texts)) for texts in references}
    return "+".join(name for how, name in READINGS.items() if how in found) or UNICODE


def _value(overlap: _Overlap, item: Item, column: int) -> Value:
    from rouge_score.scoring import fmeasure

    references = [overlap.ready(text) for text in item.references]
    if not any(r.read for r in references) and _unread(item.references):
        return Value(None, "undefined", UNREAD)
    own, found = overlap.read(item.hypothesis), []
    for reference in references:
        shared = overlap.shared(reference, own)
        precision, recall = shared / max(own.size, 1), shared / max(reference.size, 1)
        found.append((float(fmeasure(precision, recall)), precision, recall))
    best = max(found, key=lambda score: score[column])
    return Value(best[column], parts={"precision": best[1], "recall": best[2]})


def _unread(references: Sequence[str]) -> bool:
    """Whether the references have text, and no word in it; empty ones alone are a text of length 0."""
    return any(text.strip() for text in references) and not any(map(WORD.search, references))


ROUGE1 = _metric("rouge1", "ROUGE-1", 1, "Words shared with the reference, F unless another measure is chosen.")
ROUGE2 = _metric("rouge2", "ROUGE-2", 2, "Word pairs shared with the reference, F unless another measure is chosen.")
ROUGE_L = _metric(
    "rougeL", "ROUGE-L", 0, "Longest common word sequence with the reference, F unless another measure is chosen."
)

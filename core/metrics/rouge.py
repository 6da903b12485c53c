"""ROUGE-1, ROUGE-2 and ROUGE-L of a segment, as the package rouge-score counts them, without stemming unless asked (Lin 2004).

In scripts written without spaces every character is a word; how the references are written decides for the whole segment.
Each text is cut into words and n-grams once, however many references and outputs it is compared with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from core.data import Item, Value
from core.metrics.base import Cancelled, Metric, MetricSpec, Option, Progress, Values, Work, family
from core.signature import GIVEN, package, signature
from core.text.scripts import Writing, tokens_by, writing
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
_NAMES: dict[Writing, str] = {"spaced": UNICODE, "han": "characters", "unspaced": "characters"}


class UnicodeWords:
    """Lower-cased runs of letters and digits of any script; on ASCII text the same tokens as rouge-score's own.

    With `stem`, a word of ASCII letters and digits is given to rouge-score's stemmer; others stay as they are. With
    `characters`, a character of a script written without spaces is a word, together with its marks.
    """

    def __init__(self, *, stem: bool = False, characters: bool = False) -> None:
        self._stemmed, self._characters = _stemmer() if stem else None, characters

    def tokenize(self, text: str) -> list[str]:
        text = text.lower()
        words = [word for part in _parts(text) for word in part] if self._characters else WORD.findall(text)
        if self._stemmed is None:
            return words
        return [stem for word in words for stem in (self._stemmed(word) if word.isascii() else [word])]


def tokenizer(values: Values, how: Writing) -> Callable[[str], list[str]]:
    """What finds words under values of the options, beside a text that is written so."""
    characters = values["tokenize"] == SCRIPT and how != "spaced"
    return UnicodeWords(stem=bool(values["stem"]), characters=characters).tokenize


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
            overlaps = {c: _Overlap(n, UnicodeWords(stem=stem, characters=c)) for c in (False, True)}
            out = []
            for done, item in enumerate(items):
                if not progress(done):
                    raise Cancelled
                out.append(_value(overlaps[by_script and writing(item.references) != "spaced"], item, column))
            return out

        def signed(items: Sequence[Item]) -> str:
            references = [item.references for item in items if item.references]
            tok = tokens_by(_NAMES, references) if by_script else f"{UNICODE}{GIVEN}"
            facts: dict[str, object] = {"v": 1, "nrefs": "var", "measure": values["measure"], "stem": stem, "tok": tok}
            facts |= {"unread": "undefined"} if any(map(_unread, references)) else {}
            return signature(name, facts | {"rouge-score": package("rouge-score")})

        return Work(lambda: signed(()), score, signed=signed)

    return family(spec, make)


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

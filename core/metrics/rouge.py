"""ROUGE-1, ROUGE-2 and ROUGE-L F of a segment, as the package rouge-score counts them, without stemming unless asked (Lin 2004).

Each text is cut into words and n-grams once, however many references and outputs it is compared with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from core.data import Item, Value
from core.metrics.base import Cancelled, Metric, MetricSpec, Option, Progress, Values, Work, family
from core.signature import package, signature

WORD = re.compile(r"[^\W_]+")
STEM = Option("stem", "yes_no", False, "compare English word stems (Porter), as rouge-score does", "Stems", "stemmed")


class UnicodeWords:
    """Lower-cased runs of letters and digits of any script; on ASCII text the same tokens as rouge-score's own.

    With `stem`, a word of ASCII letters and digits is given to rouge-score's stemmer; others stay as they are.
    """

    def __init__(self, *, stem: bool = False) -> None:
        self._stemmed = _stemmer() if stem else None

    def tokenize(self, text: str) -> list[str]:
        words = WORD.findall(text.lower())
        if self._stemmed is None:
            return words
        return [stem for word in words for stem in (self._stemmed(word) if word.isascii() else [word])]


def _stemmer() -> Callable[[str], list[str]]:
    from rouge_score.tokenizers import DefaultTokenizer

    own: Any = DefaultTokenizer(use_stemmer=True)
    return lambda word: [str(stem) for stem in own.tokenize(word)]


HELD = 1024
"""Texts that are held ready: the references of one segment come again with each of its outputs."""


class _Ready(NamedTuple):
    """A text as it is compared: its n-grams, or for ROUGE-L its words as numbers; `size` counts them."""

    grams: Counter[tuple[str, ...]]
    words: list[int]
    size: int


class _Overlap:
    """What two texts share: words, word pairs, or the length of the longest common sequence of words (`n` 1, 2, or 0)."""

    def __init__(self, n: int, tokenizer: UnicodeWords) -> None:
        self._n, self._tokenizer = n, tokenizer
        self._numbers: dict[str, int] = {}
        self.ready = lru_cache(HELD)(self.read)

    def read(self, text: str) -> _Ready:
        words = self._tokenizer.tokenize(text)
        if not self._n:
            return _Ready(Counter(), [self._numbers.setdefault(w, len(self._numbers)) for w in words], len(words))
        grams = Counter(zip(*(words[i:] for i in range(self._n)), strict=False))
        return _Ready(grams, [], grams.total())

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
        options=(STEM,),
    )

    def make(values: Values) -> Work:
        stem = bool(values["stem"])

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            from rouge_score.scoring import fmeasure

            overlap, out = _Overlap(n, UnicodeWords(stem=stem)), []
            for done, item in enumerate(items):
                if not progress(done):
                    raise Cancelled
                own, found = overlap.read(item.hypothesis), []
                for reference in map(overlap.ready, item.references):
                    shared = overlap.shared(reference, own)
                    precision, recall = shared / max(own.size, 1), shared / max(reference.size, 1)
                    found.append((float(fmeasure(precision, recall)), precision, recall))
                f, precision, recall = max(found, key=lambda score: score[0])
                out.append(Value(f, parts={"precision": precision, "recall": recall}))
            return out

        def sign() -> str:
            return signature(
                name,
                {
                    "v": 1,
                    "nrefs": "var",
                    "measure": "f",
                    "stem": stem,
                    "tok": "unicode",
                    "rouge-score": package("rouge-score"),
                },
            )

        return Work(sign, score)

    return family(spec, make)


ROUGE1 = _metric("rouge1", "ROUGE-1", 1, "Words shared with the reference, F.")
ROUGE2 = _metric("rouge2", "ROUGE-2", 2, "Word pairs shared with the reference, F.")
ROUGE_L = _metric("rougeL", "ROUGE-L", 0, "Longest common word sequence with the reference, F.")

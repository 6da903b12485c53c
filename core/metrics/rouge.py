"""ROUGE-1, ROUGE-2 and ROUGE-L F of a segment, by the package rouge-score, without stemming unless asked (Lin 2004)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

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


def _metric(name: str, label: str, kind: str, help_: str) -> Metric:
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
            from rouge_score.rouge_scorer import RougeScorer

            scorer: Any = RougeScorer([kind], use_stemmer=False, tokenizer=UnicodeWords(stem=stem))
            out = []
            for done, item in enumerate(items):
                if not progress(done):
                    raise Cancelled
                best = scorer.score_multi(list(item.references), item.hypothesis)[kind]
                parts = {"precision": float(best.precision), "recall": float(best.recall)}
                out.append(Value(float(best.fmeasure), parts=parts))
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


ROUGE1 = _metric("rouge1", "ROUGE-1", "rouge1", "Words shared with the reference, F.")
ROUGE2 = _metric("rouge2", "ROUGE-2", "rouge2", "Word pairs shared with the reference, F.")
ROUGE_L = _metric("rougeL", "ROUGE-L", "rougeL", "Longest common word sequence with the reference, F.")

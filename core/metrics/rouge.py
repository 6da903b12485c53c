"""ROUGE-1, ROUGE-2 and ROUGE-L F of a segment, by the package rouge-score, without stemming (Lin 2004)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from core.data import Item, Value
from core.metrics.base import Cancelled, Metric, MetricSpec, Progress
from core.signature import package, signature

WORD = re.compile(r"[^\W_]+")


class UnicodeWords:
    """Lower-cased runs of letters and digits of any script; on ASCII text the same tokens as rouge-score's own."""

    def tokenize(self, text: str) -> list[str]:
        return WORD.findall(text.lower())


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
    )

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        from rouge_score.rouge_scorer import RougeScorer

        scorer: Any = RougeScorer([kind], use_stemmer=False, tokenizer=UnicodeWords())
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
                "stem": False,
                "tok": "unicode",
                "rouge-score": package("rouge-score"),
            },
        )

    return Metric(spec, sign, score)


ROUGE1 = _metric("rouge1", "ROUGE-1", "rouge1", "Words shared with the reference, F.")
ROUGE2 = _metric("rouge2", "ROUGE-2", "rouge2", "Word pairs shared with the reference, F.")
ROUGE_L = _metric("rougeL", "ROUGE-L", "rougeL", "Longest common word sequence with the reference, F.")

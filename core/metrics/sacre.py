"""chrF, BLEU and TER of a segment, computed by sacreBLEU (Post 2018) and signed with its own signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from core.data import Item, Value
from core.metrics.base import Cancelled, Metric, MetricSpec, Option, Progress, Values, Work, family
from core.signature import package, signature

HELD = 16
"""References that are held ready: outputs of one segment often come one after the other."""

References = list[list[str]]


def _metric(
    spec: MetricSpec, build: Callable[[Values, References], Any], facts: Callable[[Values], dict[str, object]]
) -> Metric:
    def make(values: Values) -> Work:
        signed = {"v": spec.version, **facts(values), "level": "segment"}

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            @lru_cache(HELD)
            def against(references: tuple[str, ...]) -> Any:
                return build(values, [[reference] for reference in references])

            out = []
            for done, item in enumerate(items):
                if not progress(done):
                    raise Cancelled
                out.append(Value(float(against(item.references).corpus_score([item.hypothesis], None).score)))
            return out

        return Work(lambda: signature(spec.name, signed | {"sacrebleu": package("sacrebleu")}), score)

    return family(spec, make)


BETA = 2  # sacreBLEU leaves β out of its signature; here any other stands in it


def _chrf(values: Values, references: References) -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(beta=values["beta"], word_order=values["word_order"], references=references)


def _chrf_facts(values: Values) -> dict[str, object]:
    beta = {} if values["beta"] == BETA else {"beta": values["beta"]}
    return {"nrefs": "var", "case": "mixed", "eff": True, "nc": 6, "nw": values["word_order"], "space": False, **beta}


def _bleu(values: Values, references: References) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True, tokenize=values["tokenize"], references=references)


def _bleu_facts(values: Values) -> dict[str, object]:
    return {"nrefs": "var", "case": "mixed", "eff": True, "tok": values["tokenize"], "smooth": "exp"}


def _ter(values: Values, references: References) -> Any:
    from sacrebleu.metrics.ter import TER

    return TER(references=references)


def _ter_facts(values: Values) -> dict[str, object]:
    return {"nrefs": "var", "case": "lc", "tok": "tercom", "norm": False, "punct": True, "asian": False}


CHRF = _metric(
    MetricSpec(
        name="chrf",
        label="chrF",
        version=1,
        paper="Popović 2015",
        help="Character n-gram overlap with the reference, F2. Several references: the best one.",
        range=(0, 100),
        higher_is_better=True,
        needs=frozenset({"reference"}),
        options=(
            Option("beta", "whole", BETA, "weight of recall against precision in F", "β", "β = {}", low=1, high=10),
            Option(
                "word_order", "whole", 0, "word n-grams counted beside those of characters; 2 is chrF++", "Word order",
                "word order {}", low=0, high=6,
            ),
        ),
    ),
    _chrf,
    _chrf_facts,
)  # fmt: skip

BLEU = _metric(
    MetricSpec(
        name="bleu",
        label="BLEU",
        version=1,
        paper="Papineni et al. 2002",
        help="Word n-gram precision with brevity penalty, for one sentence (effective order, exponential smoothing).",
        range=(0, 100),
        higher_is_better=True,
        needs=frozenset({"reference"}),
        options=(
            Option(
                "tokenize", "choice", "13a", "how sacreBLEU finds words; zh for Chinese, char for other scripts without blanks",
                "Words by", "words by {}", choices=("13a", "intl", "zh", "char", "none"),
            ),
        ),
    ),
    _bleu,
    _bleu_facts,
)  # fmt: skip

TER = _metric(
    MetricSpec(
        name="ter",
        label="TER",
        version=1,
        paper="Snover et al. 2006",
        help="Edits needed to reach the reference, per 100 reference words. Lower is better; may exceed 100.",
        range=(0, float("inf")),
        higher_is_better=False,
        needs=frozenset({"reference"}),
    ),
    _ter,
    _ter_facts,
)

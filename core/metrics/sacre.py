"""chrF, BLEU and TER of a segment, computed by sacreBLEU (Post 2018) and signed with its own signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core.data import Item, Value
from core.metrics.base import Cancelled, Metric, MetricSpec, Progress
from core.signature import package, signature


def _metric(spec: MetricSpec, build: Callable[[], Any], facts: dict[str, object]) -> Metric:
    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        scorer, out = build(), []
        for done, item in enumerate(items):
            if not progress(done):
                raise Cancelled
            out.append(Value(float(scorer.sentence_score(item.hypothesis, list(item.references)).score)))
        return out

    def sign() -> str:
        return signature(spec.name, {"v": spec.version, **facts, "level": "segment", "sacrebleu": package("sacrebleu")})

    return Metric(spec, sign, score)


def _chrf() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _bleu() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)


def _ter() -> Any:
    from sacrebleu.metrics.ter import TER

    return TER()


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
    ),
    _chrf,
    {"nrefs": "var", "case": "mixed", "eff": True, "nc": 6, "nw": 0, "space": False},
)

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
    ),
    _bleu,
    {"nrefs": "var", "case": "mixed", "eff": True, "tok": "13a", "smooth": "exp"},
)

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
    {"nrefs": "var", "case": "lc", "tok": "tercom", "norm": False, "punct": True, "asian": False},
)

"""BARTScore++ (Lu et al. 2023): the weighted distances of explicit and implicit errors, with the refinement behind them.

A value is stored at λ = 1 together with its two distances; any other λ is arithmetic on those (`core.refine.result.weighted`).
"""

from __future__ import annotations

from collections.abc import Sequence

from core.data import Item, Value
from core.metrics.bartscore import DIRECTIONS, TRUNCATED, model_facts, needs_of, scorer
from core.metrics.base import Cancelled, Metric, MetricSpec, Option, Progress
from core.refine.result import Refinement, Variant, weighted
from core.signature import number, signature

VERSION = 1


def refinement_signature(variant: Variant) -> str:
    """What the distances and the refined sentence depend on; λ is not part of it."""
    return signature(
        "refinement",
        {
            "v": VERSION,
            "variant": variant,
            "nrefs": "best",
            "nt": "overlap0.2+prob0.7",
            "k": 10,
            "rounds": "half",
            "prompt": "none",
        }
        | model_facts(),
    )


def at_lambda(refinement: str, lam: float) -> str:
    """The signature of BARTScore++ at λ, from that of its refinement."""
    name, _, rest = refinement.partition("|")
    return f"bartscore++|lambda:{number(lam)}|{rest}"


def refined(item: Item, variant: Variant) -> Refinement:
    """The analysis of one item; torch is loaded on the first call."""
    from core.refine.engine import refine

    return refine(
        scorer(), item.hypothesis, [item.source or ""] if variant == "faithfulness" else item.references, variant
    )


def _metric(variant: Variant, name: str, label: str) -> Metric:
    spec = MetricSpec(
        name=name,
        label=label,
        version=VERSION,
        paper="Lu et al. 2023",
        help=f"−(ω·explicit + (1−ω)·implicit) errors, ω = λ/(1+λ); scored {DIRECTIONS[variant]}. Nearer 0 is better.",
        range=(float("-inf"), float("inf")),
        higher_is_better=True,
        needs=needs_of(variant),
        perfect_on_copy=False,  # the implicit distance may be negative
        options=(
            Option("lambda", 1.0, "weight of explicit against implicit errors, 0 … ∞; changing it rescores nothing"),
        ),
    )

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        out = []
        for done, item in enumerate(items):
            if not progress(done):
                raise Cancelled
            analysis = refined(item, variant)
            out.append(
                Value(
                    weighted(analysis.dist_exp, analysis.dist_imp, 1.0),
                    reason=TRUNCATED if analysis.truncated else "",
                    parts=analysis.parts(),
                    detail=analysis.to_json(),
                )
            )
        return out

    return Metric(spec, lambda: at_lambda(refinement_signature(variant), 1.0), score)


F = _metric("f", "bartscore++", "BARTScore++")
PRECISION = _metric("precision", "bartscore++-p", "BARTScore++ P")
RECALL = _metric("recall", "bartscore++-r", "BARTScore++ R")
FAITHFULNESS = _metric("faithfulness", "bartscore++-faithfulness", "BARTScore++ faithfulness")

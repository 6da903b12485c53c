"""BARTScore++ (Lu et al. 2023): the weighted distances of explicit and implicit errors, with the refinement behind them.

A value is stored at λ = 1 together with its two distances; any other λ is arithmetic on those (`core.refine.result.weighted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from core.data import Item, Value
from core.metrics.asked import TRUNCATED
from core.metrics.bartscore import DIRECTIONS, PROMPT, SIDE, model_facts, needs_of, scorer
from core.metrics.base import Cancelled, Metric, MetricSpec, Option, Progress, Values, Work, family
from core.refine.options import NonTranslation, Options
from core.refine.result import EDITS, Refinement, Variant, weighted
from core.signature import number, signature

VERSION = 1
USUAL = Options()
NAMES: dict[str, Variant] = {
    "bartscore++": "f",
    "bartscore++-p": "precision",
    "bartscore++-r": "recall",
    "bartscore++-faithfulness": "faithfulness",
}
NON_TRANSLATION = Option(
    "nt", "choice", USUAL.non_translation,
    "test before refining: token overlap for ten tokens or more, else improbable tokens; probability alone; or off",
    "Non-translation test", "non-translation test: {}", choices=get_args(NonTranslation),
)  # fmt: skip
NON_TRANSLATION_SOURCE = replace(
    NON_TRANSLATION,
    default="probability",
    choices=("probability", "off"),
    help="test before refining: by improbable tokens, or off",
)
"""A summary shares few tokens with its document: there is no overlap test."""
OVERLAP = Option(
    "overlap", "decimal", USUAL.overlap, "of ten tokens or more: no translation at this token overlap or less",
    "Overlap limit", "overlap ≤ {}", low=0, high=1, when=lambda values: bool(values["nt"] == "overlap"),
)  # fmt: skip
OPTIONS: tuple[Option, ...] = (
    Option(
        "k", "whole", USUAL.k, "most probable tokens tried at the worst place (the paper: 10)",
        "Candidates k", "k = {}", low=1, high=1000,
    ),
    Option(
        "rounds", "whole", USUAL.rounds, "edits at most; half: half as many as the output has tokens, rounded up",
        "Rounds at most", "rounds ≤ {}", low=0, high=10_000, none="half",
    ),
    Option("edits", "several", USUAL.edits, "kinds of edit that are tried", "Edits", "only {}", choices=EDITS),
    NON_TRANSLATION,
    OVERLAP,
    Option(
        "share", "decimal", USUAL.share, "no translation when this share of tokens or more is improbable",
        "Improbable tokens limit", "improbable ≥ {}", low=0, high=1, when=lambda values: bool(values["nt"] != "off"),
    ),
    PROMPT,
    SIDE,
)  # fmt: skip
SOURCE_OPTIONS = tuple(NON_TRANSLATION_SOURCE if o is NON_TRANSLATION else o for o in OPTIONS if o is not OVERLAP)


def refinement_signature(variant: Variant, options: Options = USUAL) -> str:
    """What the distances and the refined sentence depend on; λ is not part of it."""
    facts = {"v": VERSION, "variant": variant, "nrefs": "best"}
    return signature("refinement", facts | options.facts() | model_facts())


def at_lambda(refinement: str, lam: float) -> str:
    """The signature of BARTScore++ at λ, from that of its refinement."""
    name, _, rest = refinement.partition("|")
    return f"bartscore++|lambda:{number(lam)}|{rest}"


def refinement_of(signed: str) -> str:
    """The signature of the refinement behind BARTScore++ at some λ: `at_lambda` undone."""
    facts = signed.split("|")[1:]
    return "|".join(["refinement", *(fact for fact in facts if not fact.startswith("lambda:"))])


def options_of(values: Values, variant: Variant = "f") -> Options:
    """The refinement's options from those of the metric. A summary shares few tokens with its document: no overlap test."""
    options = Options(
        k=values["k"],
        rounds=values["rounds"],
        edits=tuple(values["edits"]),
        non_translation=values["nt"],
        overlap=values.get("overlap", USUAL.overlap),
        share=values["share"],
        prompts=tuple(values["prompt"]),
        side=values["side"],
    )
    return options.without_overlap() if variant == "faithfulness" else options


def refined(
    items: Sequence[Item], variant: Variant, options: Options = USUAL, progress: Progress = lambda done: True
) -> list[Refinement]:
    """The analyses of some items, in their order; torch is loaded on the first call. Raises `Cancelled`."""
    from core.refine.engine import Stopped, Task, refine_all

    tasks = [Task(i.hypothesis, (i.source or "",) if variant == "faithfulness" else i.references) for i in items]
    try:
        return refine_all(scorer(), tasks, variant, options, progress)
    except Stopped as stopped:
        raise Cancelled from stopped


def _metric(name: str, label: str) -> Metric:
    variant = NAMES[name]
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
        options=SOURCE_OPTIONS if variant == "faithfulness" else OPTIONS,
    )

    def make(values: Values) -> Work:
        options = options_of(values, variant)

        def sign() -> str:
            return at_lambda(refinement_signature(variant, options), 1.0)

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            return [_value(analysis) for analysis in refined(items, variant, options, progress)]

        return Work(sign, score)

    return family(spec, make)


def _value(analysis: Refinement) -> Value:
    return Value(
        weighted(analysis.dist_exp, analysis.dist_imp, 1.0),
        reason=TRUNCATED if analysis.truncated else "",
        parts=analysis.parts(),
        detail=analysis.to_json(),
    )


F = _metric("bartscore++", "BARTScore++")
PRECISION = _metric("bartscore++-p", "BARTScore++ P")
RECALL = _metric("bartscore++-r", "BARTScore++ R")
FAITHFULNESS = _metric("bartscore++-faithfulness", "BARTScore++ faithfulness")

"""BARTScore++ (Lu et al. 2023): weighted distances of explicit and implicit errors, with the underlying refinement.

Values are stored for λ = 1, with both distances; other λ are computed from these (`core.refine.result.weighted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, Option, Values, family
from core.metrics.generation.bartscore import DIRECTIONS, PROMPT, SIDE, model_facts, needs_of, scorer
from core.metrics.learned.question_metrics import TRUNCATED
from core.progress import Progress, no_progress
from core.refine.result import EDITS, NonTranslation, Options, Refinement, Variant, weighted
from core.signature import format_exact, signature

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
    "test for non-translations before refining: by token overlap (from ten tokens on, otherwise by improbable tokens), by "
    "improbable tokens only (probability), or off",
    "Non-translation test", "non-translation test: {}", choices=get_args(NonTranslation),
)  # fmt: skip
NON_TRANSLATION_SOURCE = replace(
    NON_TRANSLATION,
    default="probability",
    choices=("probability", "off"),
    help="test for non-translations before refining: by improbable tokens, or off",
)
"""No overlap test, since a summary shares few tokens with its document."""
OVERLAP = Option(
    "overlap", "decimal", USUAL.overlap, "outputs of ten tokens or more are non-translations at this token overlap or less",
    "Overlap limit", "overlap ≤ {}", low=0, high=1, when=lambda values: bool(values["nt"] == "overlap"),
)  # fmt: skip
OPTIONS: tuple[Option, ...] = (
    Option(
        "k", "whole", USUAL.k, "number of most probable tokens tried at the worst position (paper: 10)",
        "Candidates k", "k = {}", low=1, high=1000,
    ),
    Option(
        "rounds", "whole", USUAL.rounds, "maximum number of edits; half: half the number of output tokens, rounded up",
        "Maximum rounds", "rounds ≤ {}", low=0, high=10_000, none="half",
    ),
    Option("edits", "several", USUAL.edits, "kinds of edits that are tried", "Edits", "only {}", choices=EDITS),
    NON_TRANSLATION,
    OVERLAP,
    Option(
        "share", "decimal", USUAL.share, "the output is a non-translation if this share of its tokens or more is improbable",
        "Improbable tokens limit", "improbable ≥ {}", low=0, high=1, when=lambda values: bool(values["nt"] != "off"),
    ),
    PROMPT,
    SIDE,
)  # fmt: skip
SOURCE_OPTIONS = tuple(NON_TRANSLATION_SOURCE if o is NON_TRANSLATION else o for o in OPTIONS if o is not OVERLAP)


def refinement_signature(variant: Variant, options: Options = USUAL) -> str:
    """Return the signature of distances and refined sentence, which do not depend on λ."""
    facts = {"v": VERSION, "variant": variant, "nrefs": "best"}
    return signature("refinement", facts | options.facts() | model_facts())


def at_lambda(refinement: str, lam: float) -> str:
    """Return the signature of BARTScore++ at λ, given that of its refinement."""
    name, _, rest = refinement.partition("|")
    return f"bartscore++|lambda:{format_exact(lam)}|{rest}"


def refinement_of(signed: str) -> str:
    """Return the signature of the refinement behind a BARTScore++ signature (inverse of `at_lambda`)."""
    facts = signed.split("|")[1:]
    return "|".join(["refinement", *(fact for fact in facts if not fact.startswith("lambda:"))])


def options_of(values: Values, variant: Variant = "f") -> Options:
    """Return refinement options for metric options; faithfulness has no overlap test."""
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
    items: Sequence[Item], variant: Variant, options: Options = USUAL, progress: Progress = no_progress
) -> list[Refinement]:
    """Return the refinement of each item, in order. Loads torch on the first call. Raises what `progress` raises."""
    from core.refine.engine import Task, refine_all

    tasks = [Task(i.hypothesis, (i.source or "",) if variant == "faithfulness" else i.references) for i in items]
    return refine_all(scorer(), tasks, variant, options, progress)


def _metric(name: str, label: str) -> Metric:
    variant = NAMES[name]
    spec = MetricSpec(
        name=name,
        label=label,
        version=VERSION,
        paper="Lu et al. 2023",
        help=f"BARTScore that separates explicit errors, which editing the output can fix, from implicit ones, which remain. λ sets how much explicit errors count; 0 is best. Formula: −(ω·explicit + (1−ω)·implicit), ω = λ/(1+λ), BARTScore {DIRECTIONS[variant]}.",
        range=(float("-inf"), float("inf")),
        needs=needs_of(variant),
        options=SOURCE_OPTIONS if variant == "faithfulness" else OPTIONS,
    )

    def make(values: Values) -> Metric:
        options = options_of(values, variant)

        def sign() -> str:
            return at_lambda(refinement_signature(variant, options), 1.0)

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            return [_value(analysis) for analysis in refined(items, variant, options, progress)]

        return Metric(spec, sign, score)

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

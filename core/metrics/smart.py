"""SMART-1, -2, -L and -X (Amplayo et al. 2022): compare an output with source and references sentence by sentence.

Sentences are matched by any metric with range [0, 1] or [0, 100], or by embedding cosine. chrF, BLEU and ROUGE compute whole matrices
(`core.smart.overlap`); other metrics score each distinct pair of sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import (
    SENTENCE_SPLITTER,
    Metric,
    MetricSpec,
    Need,
    Option,
    Values,
    family,
    measure_option,
    texts_compared,
)
from core.metrics.embedding.distances import encoder
from core.metrics.lexical.rouge import reading, tokenizer
from core.metrics.lexical.sacre import bleu
from core.models import configs
from core.progress import Progress
from core.signature import signature
from core.smart.alignment import Array, Matcher, Sentences, Texts, Variant, matrices, smart
from core.smart.overlap import bleu_matrices, chrf_matrices, rouge_matrices
from core.text.sentences import Splitter, facts, sentences, splitter

EMBEDDING = "embedding"
LIKELY = ("chrf", "bleu", "rouge1", "rouge2", "rougeL", EMBEDDING)
DIVISORS: dict[tuple[float, float], int] = {(0, 1): 1, (0, 100): 100, (-1, 1): 1}
"""Divisor per range of a metric; results are clamped to [0, 1]."""

UNBOUNDED = ("bleurt",)
"""Unbounded regression metrics trained on values from 0 to 1; results are clamped."""


class MatcherSpec(NamedTuple):
    """A matcher before it is created: signature, required models, factory, and the signature for given target texts if their
    scripts decide how words are found."""

    signature: Callable[[], str]
    needs: frozenset[Need]
    make: Callable[[Progress], Matcher]
    signature_for: Callable[[Sequence[str]], str] | None = None


def settled(text: str) -> str:
    """Return the canonical name of a matcher. Raises UserError if it does not exist or cannot match sentences."""
    if text == EMBEDDING:
        return EMBEDDING
    return _matching_metric(text).spec.name


def matching(name: str) -> MatcherSpec:
    """Return the matcher of a canonical name. Raises UserError as `settled`."""
    if name == EMBEDDING:
        return MatcherSpec(
            lambda: signature(EMBEDDING, {"v": 1} | configs.configured_facts("encoder")),
            frozenset({"encoder"}),
            lambda progress: partial(cosines, progress=progress),
        )
    metric = _matching_metric(name)
    signed = metric.signature_for
    return MatcherSpec(
        metric.signature,
        metric.spec.needs - {"source", "reference"},
        lambda progress: _made(metric, progress),
        None if signed is None else lambda targets: signed([Item(None, "", (target,)) for target in targets]),
    )


def _matching_metric(text: str) -> Metric:
    from core.metrics import registry

    if registry.split(text)[0].startswith("smart"):
        raise UserError("SMART cannot use itself as sentence matcher", got=f"“{text}”", expected=", ".join(LIKELY))
    metric = registry.load_metric(text)
    spec = metric.spec
    if _divisor(metric) is None or not spec.higher_is_better:
        raise UserError(
            f"{spec.label} cannot match sentences: its values are unbounded, or lower is better",
            got=f"“{text}”",
            expected="a metric with range 0 to 1 or 0 to 100, such as " + ", ".join(LIKELY),
        )
    others = len(spec.needs & {"source", "reference"})
    if metric.fit is not None or others != 1:
        raise UserError(
            f"{spec.label} cannot match sentences: it reads {'more than two texts' if others else 'only the output'}",
            got=f"“{text}”",
            expected="a metric that compares the output with one other text, such as " + ", ".join(LIKELY),
        )
    return metric


def _made(metric: Metric, progress: Progress) -> Matcher:
    from core.metrics import registry

    name, option_texts = registry.split(metric.spec.name)
    values = {
        o.name: o.parse(option_texts[o.name]) if o.name in option_texts else o.default for o in metric.spec.options
    }
    if name == "chrf":
        return partial(chrf_matrices, beta=values["beta"], word_order=values["word_order"])
    if name == "bleu":
        return partial(bleu_matrices, make=partial(bleu, values["tokenize"]))
    if name.startswith("rouge"):
        how = {"make": partial(tokenizer, values), "read": reading, "measure": values["measure"]}
        return partial(rouge_matrices, kind=name, **how)
    return partial(pairwise, metric=metric, progress=progress)


def _divisor(metric: Metric) -> int | None:
    if metric.spec.name.partition("|")[0] in UNBOUNDED:
        return 1
    return DIVISORS.get(metric.spec.range)


def pairwise(pairs: Sequence[Texts], metric: Metric, progress: Progress) -> list[Array]:
    """Match sentences by a registered metric, which scores each distinct pair of sentences once, in one call.

    The candidate sentence is the output; the target sentence is its reference, or its source if the metric needs one.
    """
    asked = dict.fromkeys((t, c) for targets, candidates in pairs for t in targets for c in candidates)
    read = "source" in metric.spec.needs
    values = metric.score([Item(t, c, ()) if read else Item(None, c, (t,)) for t, c in asked], progress)
    divisor = _divisor(metric) or 1
    scores = [np.nan if v.value is None else min(1.0, max(0.0, v.value / divisor)) for v in values]
    known = dict(zip(asked, scores, strict=True))
    return [np.array([[known[t, c] for c in candidates] for t in targets]) for targets, candidates in pairs]


def cosines(pairs: Sequence[Texts], progress: Progress) -> list[Array]:
    """Match sentences by the cosine of their embeddings by the configured encoder; negative values become 0."""

    def block(targets: Sequence[str], candidates: Sequence[str]) -> Array:
        progress(0)
        vectors = encoder().sentences([*targets, *candidates]).astype(np.float64)
        similarities: Array = np.clip(vectors[: len(targets)] @ vectors[len(targets) :].T, 0, 1)
        return similarities

    return matrices(block, pairs)


BLOCK = 64  # outputs matched together, sorted by segment
MEASURES = {"p": 0, "r": 1, "f": 2}
NOTHING = "there is nothing to compare with: source and references are empty"
NOT_BOTH = "the source is empty, or all references are; the option `against` needs both"
UNMATCHED = "the matcher has no score for a pair of sentences"

OPTIONS = (
    Option(
        "matcher", "text", "chrf", "metric that compares two sentences: chrF, BLEU, ROUGE, embedding cosine, or any "
        "other with range 0 to 1 or 0 to 100, with its options", "Sentence matcher", "matched by {}",
        choices=LIKELY, settle=settled,
    ),
    Option(
        "against", "choice", "both", "what the output is compared with: the best of source and references (both), their mean "
        "(average), the lower of the two (minimum), or only one of them", "Compared with", "against {}",
        choices=("both", "average", "minimum", "reference", "source"),
    ),
    SENTENCE_SPLITTER,
    measure_option("sentences", "the others"),
)  # fmt: skip

HELP: dict[Variant, str] = {
    "1": "Matches each sentence with the most similar one of source and references (F). Made for texts of several sentences.",
    "2": "Matches pairs of adjacent sentences with those of source and references (F), so that their order counts.",
    "L": "Matches sentences with those of source and references in the same order (F), like ROUGE-L for sentences.",
    "X": "Mean of SMART-1, SMART-2 and SMART-L.",
}


class TargetSentences(NamedTuple):
    """A text the output is compared with; `number` is 0 for the source, and counts references from 1."""

    number: int
    sentences: Sentences


class TargetScores(NamedTuple):
    """Precision, recall and F (3,), and the number of the best target, or None if there are several."""

    scores: Array
    target: int | None


def _metric(variant: Variant) -> Metric:
    spec = MetricSpec(
        name=f"smart{variant}",
        label=f"SMART-{variant}",
        paper="Amplayo et al. 2022",
        help=HELP[variant]
        + " If there is no source, choose “reference” for the option “against” (scoring panel, Metric options).",
        range=(0, 1),
        needs=frozenset({"source", "reference"}),
        options=OPTIONS,
    )

    def make(values: Values) -> Metric:
        chosen: MatcherSpec = matching(values["matcher"])

        def sign(matcher: str) -> str:
            facts_of_options = {"matcher": matcher, "against": values["against"], **facts(values["sentences"])}
            return spec.signed(facts_of_options | {"measure": values["measure"], "nrefs": "max"})

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            return _Scoring(variant, values, chosen, items, progress).values()

        signed = chosen.signature_for

        def among(items: Sequence[Item]) -> str:
            texts = dict.fromkeys(text for item in items for _, text in _targets(item, values["against"]))
            return sign(signed(list(texts)) if signed else chosen.signature())

        needs = texts_compared(values["against"]) | chosen.needs
        return Metric(
            replace(spec, needs=needs), lambda: sign(chosen.signature()), score, signature_for=among if signed else None
        )

    return family(spec, make)


def _targets(item: Item, against: str) -> Iterator[tuple[int, str]]:
    """Yield the texts the output is compared with, each with its number (`TargetSentences`)."""
    if item.source is not None and against != "reference":
        yield 0, item.source
    if against != "source":
        yield from enumerate(item.references, 1)


class _Scoring:
    """One call of `score`, in blocks of outputs."""

    def __init__(
        self, variant: Variant, values: Values, chosen: MatcherSpec, items: Sequence[Item], progress: Progress
    ) -> None:
        self.against, self.column = values["against"], MEASURES[values["measure"]]
        self.variants: tuple[Variant, ...] = ("1", "2", "L") if variant == "X" else (variant,)
        self.split: Splitter = splitter(values["sentences"])
        self.items, self.progress, self.done = items, progress, 0
        self.matcher: Matcher = chosen.make(lambda _: self._report())

    def values(self) -> list[Value]:
        by_targets: dict[tuple[object, ...], list[int]] = {}
        for i, item in enumerate(self.items):
            by_targets.setdefault((item.source, item.references), []).append(i)
        order = [i for together in by_targets.values() for i in together]
        out: dict[int, Value] = {}
        for start in range(0, len(order), BLOCK):
            self._report()
            part = order[start : start + BLOCK]
            out |= zip(part, self._values([self.items[i] for i in part]), strict=True)
            self.done += len(part)
        return [out[i] for i in range(len(self.items))]

    def _report(self) -> None:
        self.progress(self.done / len(self.items))

    def _values(self, items: Sequence[Item]) -> Iterator[Value]:
        known: dict[str, Sentences] = {}

        def split(text: str) -> Sentences:
            if text not in known:
                known[text] = tuple(sentences(text, self.split))
            return known[text]

        targets = [
            [TargetSentences(n, s) for n, text in _targets(item, self.against) if (s := split(text))] for item in items
        ]
        outputs = [split(item.hypothesis) for item in items]
        pairs = [(t.sentences, o) for ts, o in zip(targets, outputs, strict=True) if o for t in ts]
        matrices = self.matcher(pairs)
        scores = np.stack([smart(matrices, variant) for variant in self.variants])
        at = 0
        for ts, output in zip(targets, outputs, strict=True):
            n = len(ts) if output else 0
            yield self._value(ts, scores[:, at : at + n] if n else np.zeros((len(self.variants), len(ts), 3)))
            at += n

    def _value(self, targets: Sequence[TargetSentences], scores: Array) -> Value:
        """Return the value for scores of shape (variants, targets, 3)."""
        if not targets:
            return Value(None, "undefined", NOTHING)
        two_sides = self.against in ("average", "minimum")
        if two_sides and (targets[0].number > 0 or len(targets) == 1):
            return Value(None, "undefined", NOT_BOTH)
        if np.isnan(scores).any():
            return Value(None, "undefined", UNMATCHED)
        per_variant = [(self._of_two if two_sides else self._best)(targets, of) for of in scores]
        p, r, f = np.mean([one.scores for one in per_variant], axis=0)
        parts = {"precision": float(p), "recall": float(r)}
        for variant, one in zip(self.variants, per_variant, strict=True):
            if one.target is not None:
                parts["target" if len(per_variant) == 1 else f"target{variant}"] = float(one.target)
        return Value(float((p, r, f)[self.column]), parts=parts)

    def _best(self, targets: Sequence[TargetSentences], scores: Array) -> TargetScores:
        """Return the maxima of P, R and F over the targets (equation 11, section 4.4)."""
        return TargetScores(scores.max(axis=0), targets[int(scores[:, self.column].argmax())].number)

    def _of_two(self, targets: Sequence[TargetSentences], scores: Array) -> TargetScores:
        """Return the mean or the lower of source and best reference (Table 3)."""
        source, best = self._best(targets[:1], scores[:1]), self._best(targets[1:], scores[1:])
        if self.against == "average":
            return TargetScores((source.scores + best.scores) / 2, None)
        lower = source if source.scores[self.column] <= best.scores[self.column] else best
        return TargetScores(np.minimum(source.scores, best.scores), lower.target)


SMART_1, SMART_2, SMART_L, SMART_X = (_metric(v) for v in ("1", "2", "L", "X"))

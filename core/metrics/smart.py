"""SMART-1, -2, -L and -X (Amplayo et al. 2022): compare an output with source and references sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, family, texts_compared
from core.metrics.options import SENTENCES, Option, Values, measure_option
from core.metrics.smart_matchers import LIKELY, MatcherSpec, matching, settled
from core.progress import Progress
from core.signature import signature
from core.smart.alignment import Array, Matcher, Sentences, Variant, smart
from core.text.sentences import Splitter, facts, sentences, splitter

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
    SENTENCES,
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
            return signature(
                spec.name,
                {
                    "v": 1,
                    "matcher": matcher,
                    "against": values["against"],
                    **facts(values["sentences"]),
                    "measure": values["measure"],
                    "nrefs": "max",
                },
            )

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

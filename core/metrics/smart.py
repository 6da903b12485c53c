"""SMART-1, -2, -L and -X (Amplayo et al. 2022): an output against its source and references, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from core.data import Item, Value
from core.metrics.base import Cancelled, Metric, MetricSpec, Need, Option, Progress, Values, Work, family
from core.metrics.smart_matchers import LIKELY, Matching, matching, settled
from core.signature import signature
from core.smart.alignment import Array, Variant, smart
from core.smart.matching import Matcher, Sentences
from core.text.sentences import DEFAULT, SPLITTERS, Splitter, facts, sentences, splitter

BLOCK = 64  # outputs matched together; those of one segment stand side by side
MEASURES = {"p": 0, "r": 1, "f": 2}
NOTHING = "there is no sentence to compare with: every text it is held against is empty"
NOT_BOTH = "the source or every reference is empty, and both are asked for"
UNMATCHED = "the matcher gave no score to a pair of its sentences"

OPTIONS = (
    Option(
        "matcher", "text", "chrf", "metric that says how alike two sentences are: chrF, BLEU, ROUGE, the embedding, or any "
        "other from 0 to 1 or 0 to 100, with its options", "Sentences matched by", "matched by {}",
        choices=LIKELY, settle=settled,
    ),
    Option(
        "against", "choice", "both", "what the output is held against: source and references, the best (both), the mean of "
        "the two, the lower, or one of them alone", "Against", "against {}",
        choices=("both", "average", "minimum", "reference", "source"),
    ),
    Option(
        "sentences", "choice", DEFAULT, "how sentences are found: by the signs of all scripts but not after abbreviations (prose), or at every such sign (rule), after . ? ! before a "
        "space (point), or by pySBD for a language", "Sentences by", "sentences by {}", choices=SPLITTERS,
    ),
    Option(
        "measure", "choice", "f", "F, precision (of the output's sentences) or recall (of the others)", "Measure",
        "measure {}", choices=("f", "p", "r"),
    ),
)  # fmt: skip

HELP: dict[Variant, str] = {
    "1": "Best match of every sentence with the source and the references, F.",
    "2": "Best match of every pair of neighbouring sentences with the source and the references, F.",
    "L": "Sentences matched in their order with the source and the references, F.",
    "X": "Mean of SMART-1, SMART-2 and SMART-L.",
}


class Target(NamedTuple):
    """A text an output is held against; `number` is 0 for the source, and counts references from 1."""

    number: int
    sentences: Sentences


class Found(NamedTuple):
    """Precision, recall and F, and the number of the target that gave the measure, None where several did."""

    scores: Array
    target: int | None


def _metric(variant: Variant) -> Metric:
    spec = MetricSpec(
        name=f"smart{variant}",
        label=f"SMART-{variant}",
        version=1,
        paper="Amplayo et al. 2022",
        help=HELP[variant] + " Segments without a source need against:reference.",
        range=(0, 1),
        higher_is_better=True,
        needs=frozenset({"source", "reference"}),
        options=OPTIONS,
    )

    def make(values: Values) -> Work:
        chosen: Matching = matching(values["matcher"])

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

        signed = chosen.signed

        def among(items: Sequence[Item]) -> str:
            texts = dict.fromkeys(text for item in items for _, text in _targets(item, values["against"]))
            return sign(signed(list(texts)) if signed else chosen.signature())

        return Work(lambda: sign(chosen.signature()), score, signed=among if signed else None)

    return family(spec, make, _needs)


def _needs(values: Values) -> frozenset[Need]:
    texts: dict[str, frozenset[Need]] = {"reference": frozenset({"reference"}), "source": frozenset({"source"})}
    return texts.get(values["against"], frozenset({"source", "reference"})) | matching(values["matcher"]).needs


def _targets(item: Item, against: str) -> Iterator[tuple[int, str]]:
    """What the output is held against, with its number (`Target`)."""
    if item.source is not None and against != "reference":
        yield 0, item.source
    if against != "source":
        yield from enumerate(item.references, 1)


class _Scoring:
    """One call of `score`, some outputs at a time."""

    def __init__(
        self, variant: Variant, values: Values, chosen: Matching, items: Sequence[Item], progress: Progress
    ) -> None:
        self.against, self.column = values["against"], MEASURES[values["measure"]]
        self.variants: tuple[Variant, ...] = ("1", "2", "L") if variant == "X" else (variant,)
        self.split: Splitter = splitter(values["sentences"])
        self.items, self.progress, self.done = items, progress, 0
        self.matcher: Matcher = chosen.make(lambda _: progress(self.done))

    def values(self) -> list[Value]:
        by_targets: dict[tuple[object, ...], list[int]] = {}
        for i, item in enumerate(self.items):
            by_targets.setdefault((item.source, item.references), []).append(i)
        order = [i for together in by_targets.values() for i in together]
        out: dict[int, Value] = {}
        for start in range(0, len(order), BLOCK):
            if not self.progress(self.done):
                raise Cancelled
            part = order[start : start + BLOCK]
            out |= zip(part, self._values([self.items[i] for i in part]), strict=True)
            self.done += len(part)
        return [out[i] for i in range(len(self.items))]

    def _values(self, items: Sequence[Item]) -> Iterator[Value]:
        known: dict[str, Sentences] = {}

        def split(text: str) -> Sentences:
            if text not in known:
                known[text] = tuple(sentences(text, self.split))
            return known[text]

        targets = [[Target(n, s) for n, text in _targets(item, self.against) if (s := split(text))] for item in items]
        outputs = [split(item.hypothesis) for item in items]
        pairs = [(t.sentences, o) for ts, o in zip(targets, outputs, strict=True) if o for t in ts]
        matrices = self.matcher.matrices(pairs)
        scores = np.stack([smart(matrices, variant) for variant in self.variants])
        at = 0
        for ts, output in zip(targets, outputs, strict=True):
            n = len(ts) if output else 0
            yield self._value(ts, scores[:, at : at + n] if n else np.zeros((len(self.variants), len(ts), 3)))
            at += n

    def _value(self, targets: Sequence[Target], scores: Array) -> Value:
        """From scores of shape (variants, targets, 3)."""
        if not targets:
            return Value(None, "undefined", NOTHING)
        two_sides = self.against in ("average", "minimum")
        if two_sides and (targets[0].number > 0 or len(targets) == 1):
            return Value(None, "undefined", NOT_BOTH)
        if np.isnan(scores).any():
            return Value(None, "undefined", UNMATCHED)
        found = [(self._of_two if two_sides else self._best)(targets, of) for of in scores]
        p, r, f = np.mean([one.scores for one in found], axis=0)
        parts = {"precision": float(p), "recall": float(r)}
        for variant, one in zip(self.variants, found, strict=True):
            if one.target is not None:
                parts["target" if len(found) == 1 else f"target{variant}"] = float(one.target)
        return Value(float((p, r, f)[self.column]), parts=parts)

    def _best(self, targets: Sequence[Target], scores: Array) -> Found:
        """Equation 11 and §4.4: the maximum of each of P, R and F over the targets."""
        return Found(scores.max(axis=0), targets[int(scores[:, self.column].argmax())].number)

    def _of_two(self, targets: Sequence[Target], scores: Array) -> Found:
        """Table 3: the mean or the lower of source and best reference."""
        source, best = self._best(targets[:1], scores[:1]), self._best(targets[1:], scores[1:])
        if self.against == "average":
            return Found((source.scores + best.scores) / 2, None)
        lower = source if source.scores[self.column] <= best.scores[self.column] else best
        return Found(np.minimum(source.scores, best.scores), lower.target)


SMART_1, SMART_2, SMART_L, SMART_X = (_metric(v) for v in ("1", "2", "L", "X"))

"""NLI metrics (Chen and Eger 2023, section 4.3): does the output follow from the reference or source, and vice versa?

A model gives the probabilities e, n, c of entailment, neutral and contradiction. One of five formulas turns them into a score,
in one of three directions: 15 pooling strategies. With direction `both`, probabilities are averaged before the formula. With
several references the best score counts; empty references are ignored.

Texts beyond the model's maximum length are read in overlapping windows, or sentence by sentence. Each piece of the hypothesis
takes all three probabilities from the premise piece that entails it best; these are averaged over the pieces of the
hypothesis (as in SummaC-ZS, Laban et al. 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.base import SENTENCE_SPLITTER, Metric, MetricSpec, Need, Option, Values, family
from core.metrics.learned.question_metrics import NO_REFERENCE, TRUNCATED, answers, compared_with
from core.models import configs
from core.models.configs import facts_of
from core.progress import Progress
from core.text.sentences import facts, sentences, splitter

if TYPE_CHECKING:
    from core.models.architectures.nli import NliModel

Array = npt.NDArray[np.float64]
Pair = tuple[str, str]

FORMULAS: dict[str, tuple[float, float, float]] = {
    "e": (1, 0, 0), "-c": (0, 0, -1), "e-n": (1, -1, 0), "e-c": (1, 0, -1), "e-n-2c": (1, -1, -2),
}  # fmt: skip
"""Weights of e, n and c."""
FORWARD, BACKWARD, BOTH = "forward", "backward", "both"
DIRECTIONS: dict[str, tuple[float, float]] = {FORWARD: (1, 0), BACKWARD: (0, 1), BOTH: (0.5, 0.5)}
"""Weights of the directions anchor → output and output → anchor; the anchor is a reference or the source."""
STRATEGIES: tuple[tuple[str, str], ...] = tuple((d, f) for d in DIRECTIONS for f in FORMULAS)
WINDOWS, SENTENCES, CUT = "windows", "sentences", "cut"


class NliProbabilities(NamedTuple):
    """P(entailment), P(neutral), P(contradiction), shape (3,), of one text pair; `truncated` is True if a text was cut."""

    shares: Array
    truncated: bool


Pieces = Callable[[str, str], tuple[list[str], list[str]]]
"""Splits a premise and a hypothesis into the pieces that are compared."""


def pooled(shares: npt.ArrayLike, direction: str, formula: str) -> Array:
    """Return scores (…,) from probabilities (…, 2, 3): directions anchor → output, output → anchor; then e, n, c (section 4.3)."""
    both = np.asarray(shares, dtype=np.float64)
    weights: Array = np.outer(DIRECTIONS[direction], FORMULAS[formula])
    used = weights.any(axis=1)  # an unused direction may be NaN
    scores: Array = (both[..., used, :] * weights[used]).sum(axis=(-2, -1)) + 0.0
    return scores


def bounds(formula: str) -> tuple[float, float]:
    """Return the lowest and highest value of a formula over all e + n + c = 1."""
    return min(FORMULAS[formula]), max(FORMULAS[formula])


def judge(pairs: Sequence[Pair], long: str, split: str, progress: Progress) -> list[NliProbabilities]:
    """Return the probabilities of each pair (premise, hypothesis), by the `nli` model.

    Raises UserError if no model is configured, or if it lacks one of the three classes.
    """
    from core.models.architectures import nli

    model = nli.nli()
    pieces = _pieces(long, split, model)
    cut = [pieces(*pair) for pair in pairs]
    asked = [(p, h) for premises, hypotheses in cut for p in premises for h in hypotheses]
    outputs = model.judged(asked, progress)
    judged, at = [], 0
    for premises, hypotheses in cut:
        last = at + len(premises) * len(hypotheses)
        shares = outputs.values[at:last].reshape(len(premises), len(hypotheses), 3)
        judged.append(NliProbabilities(supported(shares), bool(outputs.truncated[at:last].any())))
        at = last
    return judged


def supported(shares: Array) -> Array:
    """Return probabilities (3,) of a split hypothesis, from those of all pairs of pieces (premise, hypothesis, 3)."""
    best = shares[:, :, 0].argmax(axis=0)
    probabilities: Array = shares[best, np.arange(shares.shape[1])].mean(axis=0)
    return probabilities


def _pieces(long: str, split: str, model: NliModel) -> Pieces:
    if long == CUT:
        return lambda premise, hypothesis: ([premise], [hypothesis])
    from core.models.pieces import reader

    tokens = reader(model.classifier.tokenizer)
    if long == WINDOWS:
        return lambda premise, hypothesis: tokens.pieces(premise, hypothesis, model.classifier.limit)
    rule = splitter(split)
    half = (model.classifier.limit - tokens.special) // 2

    def by_sentence(text: str) -> list[str]:
        """Split a text into sentences, and sentences of more than half the maximum length into windows."""
        return [piece for sentence in sentences(text, rule) or [text] for piece in tokens.windows(sentence, half)]

    return lambda premise, hypothesis: (by_sentence(premise), by_sentence(hypothesis))


class _NliScoring(NamedTuple):
    """The options of an NLI metric: what the output is compared with, and how."""

    source: bool
    direction: str
    formula: str
    long: str
    split: str

    def pairs(self, anchor: str, output: str) -> list[Pair]:
        """Return the pairs (premise, hypothesis) of the configured directions, anchor → output first."""
        both = ((anchor, output), (output, anchor))
        return [pair for pair, weight in zip(both, DIRECTIONS[self.direction], strict=True) if weight]

    def values(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        def ask(pairs: list[Pair], progress: Progress) -> list[NliProbabilities]:
            return judge(pairs, self.long, self.split, progress)

        anchors = [compared_with(item, self.source) for item in items]
        groups = [
            [pair for anchor in of.values() for pair in self.pairs(anchor, item.hypothesis)]
            for item, of in zip(items, anchors, strict=True)
        ]
        n = sum(map(bool, DIRECTIONS[self.direction]))
        return [
            self._best([of_item[k : k + n] for k in range(0, len(of_item), n)], list(of))
            for of_item, of in zip(answers(groups, ask, progress), anchors, strict=True)
        ]

    def _best(self, anchors: Sequence[Sequence[NliProbabilities]], places: Sequence[int]) -> Value:
        if not anchors:
            return Value(None, "undefined", NO_REFERENCE)
        means = [np.mean([judged.shares for judged in anchor], axis=0) for anchor in anchors]
        scores = [float(mean @ FORMULAS[self.formula]) + 0.0 for mean in means]
        at = max(range(len(scores)), key=scores.__getitem__)
        parts = dict(zip("enc", map(float, means[at]), strict=True)) | {"condition": float(places[at])}
        if self.direction == BOTH:
            for name, judged in zip((FORWARD, BACKWARD), anchors[at], strict=True):
                parts |= {f"{k}_{name}": float(v) for k, v in zip("enc", judged.shares, strict=True)}
        cut = any(judged.truncated for judged in anchors[at])
        return Value(scores[at], reason=TRUNCATED if cut else "", parts=parts)


def _metric(name: str, label: str, anchor: Need, formula: str, direction: str, help_: str) -> Metric:
    words = {FORWARD: f"{anchor}-output", BACKWARD: f"output-{anchor}", BOTH: BOTH}
    of_word = {word: d for d, word in words.items()}
    choices = (
        Option(
            "formula", "choice", formula, "how the score is computed from P(entailment) e, P(neutral) n and P(contradiction) c",
            "Formula", "{}", choices=tuple(FORMULAS),
        ),
        Option(
            "direction", "choice", words[direction], f"what must follow from what: the output from the {anchor}, the "
            f"{anchor} from the output, or both (probabilities are averaged)", "Direction", "{}", choices=tuple(of_word),
        ),
        Option(
            "long", "choice", WINDOWS, "texts beyond the model's maximum length: read in overlapping windows, all texts sentence "
            "by sentence (SummaC), or cut", "Long texts", "long texts: {}", choices=(WINDOWS, SENTENCES, CUT),
        ),
        replace(SENTENCE_SPLITTER, when=lambda values: bool(values["long"] == SENTENCES)),
    )  # fmt: skip
    spec = MetricSpec(
        name=name,
        label=label,
        version=2 if anchor == "reference" else 1,
        paper="Chen and Eger 2023",
        help=help_,
        range=bounds(formula),
        needs=frozenset({anchor, "nli"}),
        options=choices,
    )

    def make(values: Values) -> Metric:
        way, long = of_word[values["direction"]], values["long"]
        asking = _NliScoring(anchor == "source", way, values["formula"], long, values["sentences"])

        def sign() -> str:
            model = configs.checked("nli")
            configs.labels(model).three()
            how = {"formula": values["formula"], "direction": values["direction"], "long": long}
            how |= facts(values["sentences"]) if long == SENTENCES else {}
            how |= {"nrefs": "best"} if anchor == "reference" else {}
            return spec.signed(how | facts_of(model))

        return Metric(replace(spec, range=bounds(values["formula"])), sign, asking.values)

    return family(spec, make)


NLI = _metric(
    "nli", "NLI", "reference", "e", BOTH,
    "Do reference and output say the same? Probability that each follows from the other, by the NLI model. Sensitive to changes of meaning that string metrics miss; recommended for translation.",
)  # fmt: skip
NLI_SUMMARY = _metric(
    "nli-ref-sum", "NLI for summaries", "reference", "e-c", BACKWARD,
    "Does the summary say what the reference says? Probability that the reference follows from the summary minus the probability that they contradict, by the NLI model.",
)  # fmt: skip
NLI_SOURCE = _metric(
    "nli-src", "NLI from the source", "source", "-c", FORWARD,
    "Does the source contradict the output? Minus that probability, by the NLI model; 0 is best. Finds hallucinations in summaries without references.",
)  # fmt: skip

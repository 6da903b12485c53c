"""Metrics from natural language inference (Chen and Eger 2023, section 4.3): does the output follow, and what follows from it?

A model gives the probabilities e, n, c that a text entails, leaves open or contradicts another. One of five formulas, in one
of three directions, makes a score of them: 15 pooling strategies. Both ways, the probabilities are averaged first, and the
formula comes after. Of several references the best score counts; empty ones are passed over.

A text that is too long for the model is read in overlapping windows, or each text sentence by sentence. Every piece of the
hypothesis then takes the piece of the premise that entails it best, all three probabilities together, and these are averaged
over the pieces of the hypothesis (so SummaC-ZS, Laban et al. 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.errors import UserError
from core.metrics.asked import NO_REFERENCE, TRUNCATED, Tick, source_of, ticking, written
from core.metrics.base import Metric, MetricSpec, Need, Option, Progress, Values, Work, family
from core.models import configs
from core.signature import signature
from core.text.sentences import DEFAULT, SPLITTERS, facts, sentences, splitter

if TYPE_CHECKING:
    from core.models.classifier import NliModel

Array = npt.NDArray[np.float64]
Pair = tuple[str, str]

FORMULAS: dict[str, tuple[float, float, float]] = {
    "e": (1, 0, 0), "-c": (0, 0, -1), "e-n": (1, -1, 0), "e-c": (1, 0, -1), "e-n-2c": (1, -1, -2),
}  # fmt: skip
"""How often e, n and c count."""
FORWARD, BACKWARD, BOTH = "forward", "backward", "both"
DIRECTIONS: dict[str, tuple[float, float]] = {FORWARD: (1, 0), BACKWARD: (0, 1), BOTH: (0.5, 0.5)}
"""How much the probabilities count of anchor → output, and of output → anchor; the anchor is a reference or the source."""
STRATEGIES: tuple[tuple[str, str], ...] = tuple((d, f) for d in DIRECTIONS for f in FORMULAS)
WINDOWS, SENTENCES, CUT = "windows", "sentences", "cut"


class Judged(NamedTuple):
    """Entailment, neutral and contradiction (3,) of one premise and hypothesis; `truncated`: not all was read."""

    shares: Array
    truncated: bool


Pieces = Callable[[str, str], tuple[list[str], list[str]]]
"""A premise and a hypothesis as the pieces that are held against each other."""


def pooled(shares: npt.ArrayLike, direction: str, formula: str) -> Array:
    """Scores (…,) from probabilities (…, 2, 3): anchor → output, then output → anchor; e, n, c (section 4.3)."""
    both = np.asarray(shares, dtype=np.float64)
    weights: Array = np.outer(DIRECTIONS[direction], FORMULAS[formula])
    used = weights.any(axis=1)  # a direction that was not asked may be NaN
    scores: Array = (both[..., used, :] * weights[used]).sum(axis=(-2, -1)) + 0.0
    return scores


def bounds(formula: str) -> tuple[float, float]:
    """The lowest and the highest value of a formula, over all e + n + c = 1."""
    return min(FORMULAS[formula]), max(FORMULAS[formula])


def judge(pairs: Sequence[Pair], long: str = WINDOWS, split: str = DEFAULT, tick: Tick | None = None) -> list[Judged]:
    """What the model in the role `nli` says of each premise and hypothesis; equal ones are asked once, all in one pass.

    Raises UserError where nobody plays the role, or the model does not tell all three classes.
    """
    if not pairs:
        return []
    from core.models import classifier

    model = classifier.nli()
    pieces = _pieces(long, split, model)
    distinct = list(dict.fromkeys(pairs))
    cut = [pieces(*pair) for pair in distinct]
    asked = [(p, h) for premises, hypotheses in cut for p in premises for h in hypotheses]
    given = model.judged(asked, tick)
    known, at = {}, 0
    for pair, (premises, hypotheses) in zip(distinct, cut, strict=True):
        last = at + len(premises) * len(hypotheses)
        shares = given.values[at:last].reshape(len(premises), len(hypotheses), 3)
        known[pair] = Judged(supported(shares), bool(given.truncated[at:last].any()))
        at = last
    return [known[pair] for pair in pairs]


def supported(shares: Array) -> Array:
    """Probabilities (3,) of a hypothesis in pieces, from those of every pair of pieces (premise, hypothesis, 3)."""
    best = shares[:, :, 0].argmax(axis=0)
    found: Array = shares[best, np.arange(shares.shape[1])].mean(axis=0)
    return found


def _pieces(long: str, split: str, model: NliModel) -> Pieces:
    if long == CUT:
        return lambda premise, hypothesis: ([premise], [hypothesis])
    from core.models.windows import reader

    tokens = reader(model.classifier.tokenizer)
    if long == WINDOWS:
        return lambda premise, hypothesis: tokens.pieces(premise, hypothesis, model.limit)
    rule = splitter(split)
    half = (model.limit - tokens.special) // 2

    def by_sentence(text: str) -> list[str]:
        """A sentence of more than half the room is cut as well."""
        return [piece for sentence in sentences(text, rule) or [text] for piece in tokens.windows(sentence, half)]

    return lambda premise, hypothesis: (by_sentence(premise), by_sentence(hypothesis))


class _Asking(NamedTuple):
    """A metric's choices: what the output is held against, and how."""

    source: bool
    direction: str
    formula: str
    long: str
    split: str

    def anchors(self, item: Item) -> dict[int, str]:
        """What the output is held against, by its place among the references; empty references are passed over."""
        return {0: source_of(item)} if self.source else written(item.references)

    def pairs(self, item: Item) -> Iterator[list[Pair]]:
        """For each anchor of an item its premises and hypotheses, anchor → output first."""
        for anchor in self.anchors(item).values():
            both = ((anchor, item.hypothesis), (item.hypothesis, anchor))
            yield [pair for pair, weight in zip(both, DIRECTIONS[self.direction], strict=True) if weight]

    def values(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        tick = ticking(progress, len(items))
        tick(0, 1)
        groups = [list(self.pairs(item)) for item in items]
        flat = [pair for group in groups for pairs in group for pair in pairs]
        given = iter(judge(flat, self.long, self.split, tick))
        answered = [[[next(given) for _ in pairs] for pairs in group] for group in groups]
        return [self._best(found, list(self.anchors(item))) for found, item in zip(answered, items, strict=True)]

    def _best(self, anchors: Sequence[Sequence[Judged]], places: Sequence[int]) -> Value:
        if not anchors:
            return Value(None, "undefined", NO_REFERENCE)
        means = [np.mean([judged.shares for judged in found], axis=0) for found in anchors]
        scores = [float(mean @ FORMULAS[self.formula]) + 0.0 for mean in means]
        at = max(range(len(scores)), key=scores.__getitem__)
        parts = dict(zip("enc", map(float, means[at]), strict=True)) | {"condition": float(places[at])}
        if self.direction == BOTH:
            for name, judged in zip((FORWARD, BACKWARD), anchors[at], strict=True):
                parts |= {f"{k}_{name}": float(v) for k, v in zip("enc", judged.shares, strict=True)}
        cut = any(judged.truncated for judged in anchors[at])
        return Value(scores[at], reason=TRUNCATED if cut else "", parts=parts)


def three_labels() -> None:
    """Raise UserError unless the model in the role `nli` names entailment, neutral and contradiction."""
    found = configs.labels(configs.checked("nli"))
    if None in found:
        raise UserError(
            "this entailment model does not tell neutral from contradiction",
            where="ERRORSCOPE_NLI",
            expected="a model with the labels entailment, neutral and contradiction",
            hint="The metric `entailment` takes it as it is",
        )


def _metric(name: str, label: str, anchor: Need, formula: str, direction: str, told: str) -> Metric:
    words = {FORWARD: f"{anchor}-output", BACKWARD: f"output-{anchor}", BOTH: BOTH}
    of_word = {word: d for d, word in words.items()}
    options = (
        Option(
            "formula", "choice", formula, "what is made of the probabilities of entailment, neutral and contradiction",
            "Formula", "{}", choices=tuple(FORMULAS),
        ),
        Option(
            "direction", "choice", words[direction], f"what is to follow from what: the output from the {anchor}, the "
            f"{anchor} from the output, or both (the probabilities are averaged)", "Direction", "{}", choices=tuple(of_word),
        ),
        Option(
            "long", "choice", WINDOWS, "texts longer than the model reads: in overlapping windows, every text sentence by "
            "sentence (SummaC), or cut", "Long texts", "long texts: {}", choices=(WINDOWS, SENTENCES, CUT),
        ),
        Option(
            "sentences", "choice", DEFAULT, "how sentences are found: by the signs of all scripts but not after abbreviations (prose), or at every such sign (rule), after . ? ! before a "
            "space (point), or by pySBD for a language", "Sentences by", "sentences by {}", choices=SPLITTERS,
            when=lambda values: bool(values["long"] == SENTENCES),
        ),
    )  # fmt: skip
    spec = MetricSpec(
        name=name,
        label=label,
        version=2 if anchor == "reference" else 1,
        paper="Chen and Eger 2023",
        help=told,
        range=bounds(formula),
        higher_is_better=True,
        needs=frozenset({anchor, "nli"}),
        options=options,
        perfect_on_copy=False,
    )

    def make(values: Values) -> Work:
        way, long = of_word[values["direction"]], values["long"]
        asking = _Asking(anchor == "source", way, values["formula"], long, values["sentences"])

        def sign() -> str:
            model = configs.facts("nli")
            three_labels()
            how: dict[str, object] = {
                "v": spec.version,
                "formula": values["formula"],
                "direction": values["direction"],
                "long": long,
            }
            how |= facts(values["sentences"]) if long == SENTENCES else {}
            how |= {"nrefs": "best"} if anchor == "reference" else {}
            return signature(name, how | model)

        return Work(sign, asking.values)

    return _ranged(family(spec, make))


def _ranged(metric: Metric) -> Metric:
    """The metric whose range follows the formula."""
    plain = metric.under

    def under(values: Values) -> Metric:
        found = metric if plain is None else plain(values)
        return replace(found, spec=replace(found.spec, range=bounds(values["formula"])), under=under)

    return replace(metric, under=under)


NLI = _metric(
    "nli", "NLI", "reference", "e", BOTH,
    "Entailment of reference and output both ways, by the model in the NLI role; the choice for translation.",
)  # fmt: skip
NLI_SUMMARY = _metric(
    "nli-ref-sum", "NLI for summaries", "reference", "e-c", BACKWARD,
    "Does the reference follow from the summary: entailment less contradiction, by the model in the NLI role.",
)  # fmt: skip
NLI_SOURCE = _metric(
    "nli-src", "NLI from the source", "source", "-c", FORWARD,
    "Does the source contradict the output: −c, 0 is best; the choice for summaries without references.",
)  # fmt: skip

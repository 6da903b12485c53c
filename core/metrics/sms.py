"""Sentence Mover's Similarity (Clark et al. 2019): exp(−d), d the cost of carrying the sentences of an output over into a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.asked import NO_REFERENCE, TRUNCATED
from core.metrics.base import MetricSpec, Option, Progress, Values, Work, family
from core.metrics.encoding import NO_OUTPUT, Tick, encoder, in_blocks, model_facts, squared_distances
from core.metrics.transport import earth_movers_distance
from core.signature import signature
from core.text.sentences import DEFAULT, SPLITTERS, Splitter, facts, sentences, splitter
from core.text.words import words

if TYPE_CHECKING:
    from core.models.encoder import Encoder, Tokens, Vectors

Array = npt.NDArray[np.float64]

OPTIONS = (
    Option(
        "units", "choice", "sentences", "what is carried: sentences (SMS), words (WMS), or both at once (S+WMS)", "Units",
        "units: {}", choices=("sentences", "words", "both"),
    ),
    Option(
        "sentences", "choice", DEFAULT, "how sentences are found: by the signs of all scripts but not after abbreviations (prose), or at every such sign (rule), after . ? ! before a space "
        "(point), or by pySBD for a language", "Sentences by", "sentences by {}", choices=SPLITTERS,
    ),
)  # fmt: skip

SPEC = MetricSpec(
    name="sms",
    label="Sentence Mover's Similarity",
    version=1,
    paper="Clark et al. 2019",
    help="e to the power of −(cost of carrying the output's sentences over into the reference's), by the model in the encoder role. Several references: the best one.",
    range=(0, 1),
    higher_is_better=True,
    needs=frozenset({"reference", "encoder"}),
    options=OPTIONS,
)


class Bag(NamedTuple):
    """What is carried of a text: vectors (units, d) and their weights (units,)."""

    vectors: Vectors
    weights: Array
    truncated: bool


def _make(values: Values) -> Work:
    def sign() -> str:
        return signature(
            SPEC.name,
            {"v": 1, "units": values["units"], **facts(values["sentences"]), "nrefs": "best", **model_facts()},
        )

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        bags = _Bags(encoder(), splitter(values["sentences"]), values["units"])
        return in_blocks(items, lambda i: (i.hypothesis, *i.references), bags.of, _value, progress)

    return Work(sign, score)


class _Bags:
    """Texts as bags. A sentence weighs as much as it has words (1 at least), a word 1: with both, the paper's S+WMS."""

    def __init__(self, model: Encoder, split: Splitter, units: str) -> None:
        self.model, self.split, self.units = model, split, units

    def of(self, texts: Sequence[str], tick: Tick) -> list[Bag]:
        pieces = [sentences(text, self.split) for text in texts]
        flat = list(dict.fromkeys(sentence for found in pieces for sentence in found))
        bags = dict(zip(flat, self._sentences(flat, tick), strict=True))
        width = next(iter(bags.values())).vectors.shape[1] if bags else 0
        return [self._joined([bags[sentence] for sentence in found], width) for found in pieces]

    def _sentences(self, flat: Sequence[str], tick: Tick) -> list[Bag]:
        counts = [max(1, len(words(sentence))) for sentence in flat]
        whole, cut = self.model.embed(flat, tick)
        bags = [Bag(v[None], np.array([n], dtype=float), bool(c)) for v, n, c in zip(whole, counts, cut, strict=True)]
        if self.units == "sentences":
            return bags
        single = [
            _words(sentence, tokens)
            for sentence, tokens in zip(flat, self.model.tokens(flat, [self.model.layers], tick), strict=True)
        ]
        if self.units == "words":
            return single
        return [self._joined(pair, whole.shape[1]) for pair in zip(bags, single, strict=True)]

    @staticmethod
    def _joined(bags: Sequence[Bag], width: int) -> Bag:
        none: Vectors = np.empty((0, width), dtype=np.float32)
        vectors = np.concatenate([none, *(bag.vectors for bag in bags)])
        return Bag(vectors, np.concatenate([[], *(bag.weights for bag in bags)]), any(bag.truncated for bag in bags))


def _words(sentence: str, tokens: Tokens) -> Bag:
    """One unit a word: the mean of the last layer over its tokens. A sentence without words is one word of all its tokens."""
    starts, ends = (np.array(side) for side in zip(*tokens.read.offsets, strict=True))
    text = ~tokens.read.special
    inside = [text & (starts < end) & (ends > start) for start, end in words(sentence)]
    chosen = [tokens.states[0][mask].mean(axis=0) for mask in inside if mask.any()]
    vectors = np.array(chosen or [tokens.states[0].mean(axis=0)], dtype=np.float32)
    return Bag(vectors, np.ones(len(vectors)), tokens.read.truncated)


def _value(item: Item, known: Mapping[str, Bag]) -> Value:
    output = known[item.hypothesis]
    if not len(output.weights):
        return Value(None, "undefined", NO_OUTPUT)
    scores = {i: _similarity(known[t], output) for i, t in enumerate(item.references) if len(known[t].weights)}
    if not scores:
        return Value(None, "undefined", NO_REFERENCE)
    at = max(scores, key=lambda i: scores[i])
    cut = output.truncated or known[item.references[at]].truncated
    return Value(scores[at], reason=TRUNCATED if cut else "", parts={"condition": float(at)})


def _similarity(reference: Bag, output: Bag) -> float:
    distances = np.sqrt(squared_distances(reference.vectors, output.vectors))
    return float(np.exp(-earth_movers_distance(reference.weights, output.weights, distances)))


SMS = family(SPEC, _make)

"""Sentence Mover's Similarity (Clark et al. 2019): exp(−d), with the earth mover's distance d between sentence embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, family
from core.metrics.embedding.distances import NO_OUTPUT, earth_movers_distance, encoder, in_blocks, squared_distances
from core.metrics.learned.question_metrics import ModelAnswer, best
from core.metrics.options import SENTENCES, Option, Values
from core.models import configs
from core.progress import Progress
from core.signature import signature
from core.text.sentences import Splitter, facts, sentences, splitter
from core.text.words import words

if TYPE_CHECKING:
    from core.models.architectures.encoder import Encoder, Tokens, Vectors

Array = npt.NDArray[np.float64]

OPTIONS = (
    Option(
        "units", "choice", "sentences", "units that are compared: sentences (SMS), words (WMS), or both (S+WMS)", "Units",
        "units: {}", choices=("sentences", "words", "both"),
    ),
    SENTENCES,
)  # fmt: skip

SPEC = MetricSpec(
    name="sms",
    label="Sentence Mover's Similarity",
    paper="Clark et al. 2019",
    help="Similarity of output and reference as sets of sentences, by sentence embeddings and their lengths. Made for texts of several sentences, whose order it ignores. With several references, the best one counts.",
    range=(0, 1),
    needs=frozenset({"reference", "encoder"}),
    options=OPTIONS,
)


class WeightedUnits(NamedTuple):
    """The units of a text: vectors (units, d) and weights (units,)."""

    vectors: Vectors
    weights: Array
    truncated: bool


def _make(values: Values) -> Metric:
    def sign() -> str:
        return signature(
            SPEC.name,
            {
                "v": 1,
                "units": values["units"],
                **facts(values["sentences"]),
                "nrefs": "best",
                **configs.configured_facts("encoder"),
            },
        )

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        bags = _Bags(encoder(), splitter(values["sentences"]), values["units"])
        return in_blocks(items, lambda i: (i.hypothesis, *i.references), bags.of, _value, progress)

    return Metric(SPEC, sign, score)


class _Bags:
    """Turns texts into weighted units. A sentence weighs as many as its words (at least 1), a word weighs 1 (paper: S+WMS)."""

    def __init__(self, model: Encoder, split: Splitter, units: str) -> None:
        self.model, self.split, self.units = model, split, units

    def of(self, texts: Sequence[str], progress: Progress) -> list[WeightedUnits]:
        pieces = [sentences(text, self.split) for text in texts]
        flat = list(dict.fromkeys(sentence for text_sentences in pieces for sentence in text_sentences))
        bags = dict(zip(flat, self._sentences(flat, progress), strict=True))
        width = next(iter(bags.values())).vectors.shape[1] if bags else 0
        return [self._joined([bags[sentence] for sentence in text_sentences], width) for text_sentences in pieces]

    def _sentences(self, flat: Sequence[str], progress: Progress) -> list[WeightedUnits]:
        counts = [max(1, len(words(sentence))) for sentence in flat]
        whole, cut = self.model.embed(flat, progress)
        bags = [
            WeightedUnits(v[None], np.array([n], dtype=float), bool(c))
            for v, n, c in zip(whole, counts, cut, strict=True)
        ]
        if self.units == "sentences":
            return bags
        single = [
            _words(sentence, tokens)
            for sentence, tokens in zip(flat, self.model.tokens(flat, [self.model.layers], progress), strict=True)
        ]
        if self.units == "words":
            return single
        return [self._joined(pair, whole.shape[1]) for pair in zip(bags, single, strict=True)]

    @staticmethod
    def _joined(bags: Sequence[WeightedUnits], width: int) -> WeightedUnits:
        none: Vectors = np.empty((0, width), dtype=np.float32)
        vectors = np.concatenate([none, *(bag.vectors for bag in bags)])
        return WeightedUnits(
            vectors, np.concatenate([[], *(bag.weights for bag in bags)]), any(bag.truncated for bag in bags)
        )


def _words(sentence: str, tokens: Tokens) -> WeightedUnits:
    """Return one unit per word: the mean of the last layer over its tokens. A sentence without words is one unit."""
    starts, ends = (np.array(side) for side in zip(*tokens.read.offsets, strict=True))
    text = ~tokens.read.special
    inside = [text & (starts < end) & (ends > start) for start, end in words(sentence)]
    chosen = [tokens.states[0][mask].mean(axis=0) for mask in inside if mask.any()]
    vectors = np.array(chosen or [tokens.states[0].mean(axis=0)], dtype=np.float32)
    return WeightedUnits(vectors, np.ones(len(vectors)), tokens.read.truncated)


def _value(item: Item, known: Mapping[str, WeightedUnits]) -> Value:
    output = known[item.hypothesis]
    if not len(output.weights):
        return Value(None, "undefined", NO_OUTPUT)
    return best(
        {
            i: ModelAnswer(_similarity(known[text], output), output.truncated or known[text].truncated)
            for i, text in enumerate(item.references)
            if len(known[text].weights)
        }
    )


def _similarity(reference: WeightedUnits, output: WeightedUnits) -> float:
    distances = np.sqrt(squared_distances(reference.vectors, output.vectors))
    return float(np.exp(-earth_movers_distance(reference.weights, output.weights, distances)))


SMS = family(SPEC, _make)

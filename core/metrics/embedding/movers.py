"""MoverScore (Zhao et al. 2019) on unigrams, and Sentence Mover's Similarity (Clark et al. 2019).

MoverScore is 1 minus the earth mover's distance between the weighted words of output and reference; SMS is exp(−d), with that between sentence
embeddings.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.base import SENTENCE_SPLITTER, AllOutputs, Metric, MetricSpec, Option, Values, family
from core.metrics.embedding.distances import (
    NO_OUTPUT,
    Idf,
    earth_movers_distance,
    encoder,
    in_blocks,
    references,
    squared_distances,
)
from core.metrics.learned.question_metrics import ModelAnswer, best
from core.models import configs
from core.progress import Progress
from core.text.languages import has_unspaced
from core.text.sentences import Splitter, facts, sentences, splitter
from core.text.words import is_unspaced, words

if TYPE_CHECKING:
    from core.models.architectures.encoder import Encoder, Tokens, Vectors

Array = npt.NDArray[np.float64]
LAYERS = 5
PUNCTUATION = frozenset(string.punctuation)
NO_WORDS = "the output has no word with a weight above 0"
NOTHING_TO_COMPARE = "no reference has a word with a weight above 0"

OPTIONS = (
    Option(
        "idf", "choice", "own", "weight words by inverse document frequency: of outputs in all outputs and of references in all "
        "references (own), of both in the references, or not (no)", "idf weights", "idf {}",
        choices=("own", "references", "no"),
    ),
    Option(
        "pool", "choice", "pmeans", "how the last five layers are combined: minimum, mean and maximum concatenated "
        "(pmeans), or their mean", "Layer pooling", "layers joined by {}", choices=("pmeans", "mean"),
    ),
    Option(
        "distance", "choice", "squared", "distance of two words: squared Euclidean, as in the authors' code, or "
        "Euclidean, as in the paper", "Distance", "{} distance", choices=("squared", "euclidean"),
    ),
)  # fmt: skip

SPEC = MetricSpec(
    name="moverscore",
    label="MoverScore",
    paper="Zhao et al. 2019",
    help="How little the output's words must be moved in embedding space to become the reference's words (1 − that cost). Unlike BERTScore, one word may match several. With several references, the best one counts.",
    range=(-3, 1),
    needs=frozenset({"reference", "encoder"}),
    options=OPTIONS,
)


class IdfTables(NamedTuple):
    """idf tables for outputs and references."""

    outputs: Idf
    references: Idf

    @property
    def name(self) -> str:
        if self.outputs is self.references:
            return self.references.name
        return f"{self.outputs.name}+{self.references.name}"


class WeightedWords(NamedTuple):
    """Word vectors (words, d) of a text, and the word weights (words,) if it is an output or a reference."""

    vectors: Vectors
    as_output: Array
    as_reference: Array
    truncated: bool


def _make(values: Values, weights: IdfTables | None = None, unspaced: bool = False) -> Metric:
    weighs = values["idf"] != "no"

    def sign(unspaced: bool = unspaced) -> str:
        return SPEC.signed(
            {
                "n": 1,
                "idf": f"{values['idf']}-{weights.name}" if weights else values["idf"],
                "layers": f"last{LAYERS}",
                "pool": values["pool"],
                "distance": values["distance"],
                "nrefs": "best",
                **({"words": "characters"} if unspaced else {}),
                **configs.configured_facts("encoder"),
            },
        )

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        if weighs and weights is None:
            raise TypeError("idf weights depend on all texts: call Metric.for_outputs first")
        return _Scoring(encoder(), weights, values).values(items, progress)

    def fit(all_outputs: AllOutputs) -> Metric:
        own = Idf(references(all_outputs))
        outputs = Idf([item.hypothesis for _, item in all_outputs]) if values["idf"] == "own" else own
        return _make(values, IdfTables(outputs, own), _unspaced([item for _, item in all_outputs]))

    return Metric(SPEC, sign, score, fit if weighs else None, lambda items: sign(_unspaced(items)))


def _unspaced(items: Sequence[Item]) -> bool:
    """Return whether a text has characters that are words, which a subword tokenizer may have merged."""
    return any(has_unspaced(text) for item in items for text in (item.hypothesis, *item.references))


class _Scoring:
    def __init__(self, model: Encoder, weights: IdfTables | None, values: Values) -> None:
        self.model, self.weights = model, weights
        self.pmeans, self.squared = values["pool"] == "pmeans", values["distance"] == "squared"
        self.layers = range(max(1, model.layers - LAYERS + 1), model.layers + 1)

    def values(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        return in_blocks(items, lambda i: (i.hypothesis, *i.references), self._bags, self._value, progress)

    def _bags(self, texts: Sequence[str], progress: Progress) -> list[WeightedWords]:
        embedded = self.model.tokens(texts, self.layers, progress)
        return [self._bag(text, tokens) for text, tokens in zip(texts, embedded, strict=True)]

    def _bag(self, text: str, tokens: Tokens) -> WeightedWords:
        read = tokens.read
        kept = [i for i in range(len(read.ids)) if not read.special[i] and not _dropped(text, tokens, i)]
        ids = [read.ids[i] for i in kept]
        return WeightedWords(
            self._pooled(tokens.states[:, kept]),
            self._weighed(ids, self.weights and self.weights.outputs),
            self._weighed(ids, self.weights and self.weights.references),
            read.truncated,
        )

    def _weighed(self, ids: Sequence[int], idf: Idf | None) -> Array:
        return idf.weights(ids, self.model, lambda text: self.model.read(text).ids) if idf else np.ones(len(ids))

    def _pooled(self, states: Vectors) -> Vectors:
        """Return vectors (words, d or 3 d) from states (layers, words, d), scaled to length 1 per layer."""
        unit = states / np.linalg.norm(states, axis=2, keepdims=True)
        joined: Vectors = unit.mean(axis=0)
        if self.pmeans:
            joined = np.concatenate([unit.min(axis=0), joined, unit.max(axis=0)], axis=1)
        return joined

    def _value(self, item: Item, known: Mapping[str, WeightedWords]) -> Value:
        output = known[item.hypothesis]
        references = {i: known[text] for i, text in enumerate(item.references) if known[text].as_reference.any()}
        if not references:
            return Value(None, "undefined", NOTHING_TO_COMPARE)
        if not output.as_output.any():
            return Value(None, "undefined", NO_WORDS)
        return best(
            {
                i: ModelAnswer(1 - self._cost(reference, output), output.truncated or reference.truncated)
                for i, reference in references.items()
            }
        )

    def _cost(self, reference: WeightedWords, output: WeightedWords) -> float:
        squares = squared_distances(reference.vectors, output.vectors)
        return earth_movers_distance(
            reference.as_reference, output.as_output, squares if self.squared else np.sqrt(squares)
        )


def _dropped(text: str, tokens: Tokens, i: int) -> bool:
    """Return True for ASCII punctuation, and for a word piece that is not the first of its word.

    Pieces that begin with a character of a script without spaces are kept, because a tokenizer may treat a whole sentence
    as one "word".
    """
    start, end = tokens.read.offsets[i]
    if text[start:end] in PUNCTUATION:
        return True
    if i == 0 or tokens.read.words[i] != tokens.read.words[i - 1]:
        return False
    piece = text[start:end].lstrip()
    return not (piece and is_unspaced(piece[0]) and tokens.read.offsets[i - 1][0] < start)


MOVERSCORE = family(SPEC, _make)


SMS_OPTIONS = (
    Option(
        "units", "choice", "sentences", "units that are compared: sentences (SMS), words (WMS), or both (S+WMS)", "Units",
        "units: {}", choices=("sentences", "words", "both"),
    ),
    SENTENCE_SPLITTER,
)  # fmt: skip

SMS_SPEC = MetricSpec(
    name="sms",
    label="Sentence Mover's Similarity",
    paper="Clark et al. 2019",
    help="Similarity of output and reference as sets of sentences, by sentence embeddings and their lengths. Made for texts of several sentences, whose order it ignores. With several references, the best one counts.",
    range=(0, 1),
    needs=frozenset({"reference", "encoder"}),
    options=SMS_OPTIONS,
)


class WeightedUnits(NamedTuple):
    """The units of a text: vectors (units, d) and weights (units,)."""

    vectors: Vectors
    weights: Array
    truncated: bool


def _make_sms(values: Values) -> Metric:
    def sign() -> str:
        how = {"units": values["units"], **facts(values["sentences"]), "nrefs": "best"}
        return SMS_SPEC.signed(how | configs.configured_facts("encoder"))

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        bags = _Bags(encoder(), splitter(values["sentences"]), values["units"])
        return in_blocks(items, lambda i: (i.hypothesis, *i.references), bags.of, _sms_value, progress)

    return Metric(SMS_SPEC, sign, score)


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


def _sms_value(item: Item, known: Mapping[str, WeightedUnits]) -> Value:
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


SMS = family(SMS_SPEC, _make_sms)

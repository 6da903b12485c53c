"""MoverScore (Zhao et al. 2019) on unigrams: earth mover's distance between the weighted words of output and reference."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.base import AllOutputs, Metric, MetricSpec, family
from core.metrics.embedding.distances import (
    Idf,
    earth_movers_distance,
    encoder,
    in_blocks,
    references,
    squared_distances,
)
from core.metrics.learned.question_metrics import ModelAnswer, best
from core.metrics.options import Option, Values
from core.models import configs
from core.progress import Progress
from core.signature import signature
from core.text.languages import has_unspaced
from core.text.words import is_unspaced

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
    perfect_on_copy=False,
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
        return signature(
            SPEC.name,
            {
                "v": 1,
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

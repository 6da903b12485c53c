"""MoverScore (Zhao et al. 2019) on single words: what it costs to carry the weighted words of an output over into a reference."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.asked import TRUNCATED
from core.metrics.base import Company, MetricSpec, Option, Progress, Values, Work, family
from core.metrics.encoding import Tick, encoder, in_blocks, model_facts, references, squared_distances
from core.metrics.idf import Idf
from core.metrics.transport import earth_movers_distance
from core.signature import signature
from core.text.scripts import has_unspaced
from core.text.words import is_unspaced

if TYPE_CHECKING:
    from core.models.encoder import Encoder, Tokens, Vectors

Array = npt.NDArray[np.float64]
LAYERS = 5
PUNCTUATION = frozenset(string.punctuation)
NO_WORDS = "the output has no word that weighs anything"
NOTHING_TO_COMPARE = "no reference has a word that weighs anything"

OPTIONS = (
    Option(
        "idf", "choice", "own", "rare words weigh more, by the texts of the project: outputs by all outputs and references by all "
        "references (own), both by the references, or not at all (no)", "idf weights", "idf {}",
        choices=("own", "references", "no"),
    ),
    Option(
        "pool", "choice", "pmeans", "how the last five layers become one vector: their minimum, mean and maximum side by side "
        "(pmeans), or their mean", "Layers joined by", "layers joined by {}", choices=("pmeans", "mean"),
    ),
    Option(
        "distance", "choice", "squared", "distance of two words: the squared Euclidean one, as in the released program, or the "
        "Euclidean one of the paper", "Distance", "{} distance", choices=("squared", "euclidean"),
    ),
)  # fmt: skip

SPEC = MetricSpec(
    name="moverscore",
    label="MoverScore",
    version=1,
    paper="Zhao et al. 2019",
    help="1 − the cost of carrying the output's words over into the reference's, by the model in the encoder role. Several references: the best one.",
    range=(-3, 1),
    higher_is_better=True,
    needs=frozenset({"reference", "encoder"}),
    options=OPTIONS,
    perfect_on_copy=False,
)


class Weights(NamedTuple):
    """idf tables for outputs and references."""

    outputs: Idf
    references: Idf

    @property
    def name(self) -> str:
        if self.outputs is self.references:
            return self.references.name
        return f"{self.outputs.name}+{self.references.name}"


class Bag(NamedTuple):
    """Words of a text: vectors (words, d), and their weights as a word of an output and of a reference (words,)."""

    vectors: Vectors
    as_output: Array
    as_reference: Array
    truncated: bool


def _make(values: Values) -> Work:
    return _work(values, None)


def _work(values: Values, weights: Weights | None, unspaced: bool = False) -> Work:
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
                **model_facts(),
            },
        )

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        if weighs and weights is None:
            raise TypeError("idf weights depend on all texts: score with Metric.on(company)")
        return _Scoring(encoder(), weights, values).values(items, progress)

    def on(company: Company) -> Work:
        own = Idf(references(company))
        outputs = Idf([item.hypothesis for _, item in company]) if values["idf"] == "own" else own
        return _work(values, Weights(outputs, own), _unspaced([item for _, item in company]))

    return Work(sign, score, on if weighs else None, lambda items: sign(_unspaced(items)))


def _unspaced(items: Sequence[Item]) -> bool:
    """Whether a text has characters that are words by themselves, which a subword tokenizer may have joined."""
    return any(has_unspaced(text) for item in items for text in (item.hypothesis, *item.references))


class _Scoring:
    def __init__(self, model: Encoder, weights: Weights | None, values: Values) -> None:
        self.model, self.weights = model, weights
        self.pmeans, self.squared = values["pool"] == "pmeans", values["distance"] == "squared"
        self.layers = range(max(1, model.layers - LAYERS + 1), model.layers + 1)

    def values(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        return in_blocks(items, lambda i: (i.hypothesis, *i.references), self._bags, self._value, progress)

    def _bags(self, texts: Sequence[str], tick: Tick) -> list[Bag]:
        found = self.model.tokens(texts, self.layers, tick)
        return [self._bag(text, tokens) for text, tokens in zip(texts, found, strict=True)]

    def _bag(self, text: str, tokens: Tokens) -> Bag:
        read = tokens.read
        kept = [i for i in range(len(read.ids)) if not read.special[i] and not _dropped(text, tokens, i)]
        ids = [read.ids[i] for i in kept]
        return Bag(
            self._pooled(tokens.states[:, kept]),
            self._weighed(ids, self.weights and self.weights.outputs),
            self._weighed(ids, self.weights and self.weights.references),
            read.truncated,
        )

    def _weighed(self, ids: Sequence[int], idf: Idf | None) -> Array:
        return idf.weights(ids, self.model, lambda text: self.model.read(text).ids) if idf else np.ones(len(ids))

    def _pooled(self, states: Vectors) -> Vectors:
        """Vectors (words, d or 3 d) of states (layers, words, d): each layer's are scaled to length 1 first."""
        unit = states / np.linalg.norm(states, axis=2, keepdims=True)
        joined: Vectors = unit.mean(axis=0)
        if self.pmeans:
            joined = np.concatenate([unit.min(axis=0), joined, unit.max(axis=0)], axis=1)
        return joined

    def _value(self, item: Item, known: Mapping[str, Bag]) -> Value:
        output = known[item.hypothesis]
        there = [i for i, text in enumerate(item.references) if known[text].as_reference.any()]
        if not there:
            return Value(None, "undefined", NOTHING_TO_COMPARE)
        if not output.as_output.any():
            return Value(None, "undefined", NO_WORDS)
        scores = {i: 1 - self._cost(known[item.references[i]], output) for i in there}
        at = max(scores, key=lambda i: scores[i])
        cut = output.truncated or known[item.references[at]].truncated
        return Value(scores[at], reason=TRUNCATED if cut else "", parts={"condition": float(at)})

    def _cost(self, reference: Bag, output: Bag) -> float:
        squares = squared_distances(reference.vectors, output.vectors)
        return earth_movers_distance(
            reference.as_reference, output.as_output, squares if self.squared else np.sqrt(squares)
        )


def _dropped(text: str, tokens: Tokens, i: int) -> bool:
    """True for a sign of ASCII punctuation, and for a piece of a word that is not its first. A piece that begins with another
    character of a script without spaces is no such piece: a tokenizer may give it one "word" for a whole sentence."""
    start, end = tokens.read.offsets[i]
    if text[start:end] in PUNCTUATION:
        return True
    if i == 0 or tokens.read.words[i] != tokens.read.words[i - 1]:
        return False
    piece = text[start:end].lstrip()
    return not (piece and is_unspaced(piece[0]) and tokens.read.offsets[i - 1][0] < start)


MOVERSCORE = family(SPEC, _make)

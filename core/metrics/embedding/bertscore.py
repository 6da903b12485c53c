"""BERTScore (Zhang et al. 2020): match each token with the most similar token of the other text, by cosine of hidden states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, family
from core.metrics.embedding.bertscore_layers import RescaleBaseline, baseline_of, layer_of
from core.metrics.embedding.distances import Idf, encoder, in_blocks, references
from core.metrics.learned.question_metrics import NO_REFERENCE, TRUNCATED
from core.metrics.options import Option, Values, measure_option
from core.models.configs import configured_model, facts_of
from core.progress import Progress
from core.signature import GIVEN, signature

if TYPE_CHECKING:
    from core.models.architectures.encoder import Encoder, Tokens

Array = npt.NDArray[np.float64]
MEASURES = {"p": 0, "r": 1, "f": 2}
WEIGHTLESS = "all tokens of a text have idf weight 0, because every reference contains them"
OPPOSED = "precision and recall have opposite signs, so F is undefined"

OPTIONS = (
    measure_option("tokens"),
    Option(
        "layer", "whole", None, "hidden layer to use, counted from 0; by default the authors' recommendation for the model, or three quarters "
        "of its depth", "Layer", "layer {}", low=0, high=200, none="recommended",
    ),
    Option(
        "idf", "yes_no", False, "weight tokens by inverse document frequency in the references of the project; values then depend on all references",
        "idf weights", "idf {}",
    ),
    Option(
        "rescale", "yes_no", False, "rescale values so that unrelated sentences score 0; needs the baseline file of the model",
        "Rescale with baseline", "rescaled {}",
    ),
)  # fmt: skip

SPEC = MetricSpec(
    name="bertscore",
    label="BERTScore",
    paper="Zhang et al. 2020",
    help="Matches tokens of output and reference by the similarity of their contextual embeddings, so paraphrases score higher than with string metrics. With several references, the best one counts.",
    range=(-1, 1),
    needs=frozenset({"reference", "encoder"}),
    options=OPTIONS,
)


class WeightedTokens(NamedTuple):
    """Unit-length states (tokens, d) of a text and token weights (tokens,), 0 for special tokens."""

    unit: npt.NDArray[np.float32]
    weights: Array
    empty: bool
    truncated: bool


def _make(values: Values, idf: Idf | None = None) -> Metric:
    def sign() -> str:
        checkpoint = configured_model("encoder")
        layer = layer_of(checkpoint, values["layer"])
        return signature(
            SPEC.name,
            {
                "v": 1,
                "measure": values["measure"],
                "layer": layer if values["layer"] is None else f"{layer}{GIVEN}",
                "idf": ("refs-" + idf.name if idf else "refs") if values["idf"] else False,
                "baseline": baseline_of(checkpoint, layer).digest if values["rescale"] else False,
                "nrefs": "best",
                **facts_of(checkpoint),
            },
        )

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        if values["idf"] and idf is None:
            raise TypeError("idf weights depend on all references: call Metric.for_outputs first")
        checkpoint = configured_model("encoder")
        layer = layer_of(checkpoint, values["layer"])
        baseline = baseline_of(checkpoint, layer) if values["rescale"] else None
        return _Scoring(encoder(), layer, idf, MEASURES[values["measure"]], baseline).values(items, progress)

    spec = replace(SPEC, range=(float("-inf"), 1)) if values["rescale"] else SPEC
    if not values["idf"]:
        return Metric(spec, sign, score)
    return Metric(spec, sign, score, lambda all_outputs: _make(values, Idf(references(all_outputs))))


class _Scoring:
    def __init__(
        self, model: Encoder, layer: int, idf: Idf | None, measure: int, baseline: RescaleBaseline | None
    ) -> None:
        self.model, self.layer, self.idf, self.measure, self.baseline = model, layer, idf, measure, baseline
        self.spaced = any(c.__name__ in ("RobertaTokenizer", "GPT2Tokenizer") for c in type(model.tokenizer).__mro__)

    def values(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        return in_blocks(items, lambda i: (i.hypothesis, *i.references), self._weighed, self._value, progress)

    def _text(self, text: str) -> str:
        """Return the text as bert-score reads it: stripped, with a leading space for byte-level BPE tokenizers."""
        bare = text.strip()
        return " " + bare if self.spaced and bare else bare

    def _weighed(self, texts: Sequence[str], progress: Progress) -> list[WeightedTokens]:
        embedded = self.model.tokens([self._text(text) for text in texts], [self.layer], progress)
        return [self._of(tokens) for tokens in embedded]

    def _of(self, tokens: Tokens) -> WeightedTokens:
        read = tokens.read
        if self.idf is None:
            weights = np.ones(len(read.ids))
        else:
            weights = self.idf.weights(read.ids, self.model, lambda text: self.model.read(self._text(text)).ids)
        unit = tokens.states[0] / np.linalg.norm(tokens.states[0], axis=1, keepdims=True)
        return WeightedTokens(unit, np.where(read.special, 0.0, weights), bool(read.special.all()), read.truncated)

    def _value(self, item: Item, known: Mapping[str, WeightedTokens]) -> Value:
        output = known[item.hypothesis]
        nonempty = [i for i, text in enumerate(item.references) if not known[text].empty]
        if not nonempty:
            return Value(None, "undefined", NO_REFERENCE)
        scores = {i: self._compared(output, known[item.references[i]]) for i in nonempty}
        usable = {i: s for i, s in scores.items() if np.isfinite(s[self.measure])}
        if not usable:
            weightless = any(np.isnan(s[:2]).any() for s in scores.values())
            return Value(None, "undefined", WEIGHTLESS if weightless else OPPOSED)
        at = max(usable, key=lambda i: float(usable[i][self.measure]))
        parts = dict(zip(("precision", "recall", "f"), map(float, usable[at]), strict=True)) | {"condition": float(at)}
        cut = output.truncated or known[item.references[at]].truncated
        return Value(float(usable[at][self.measure]), reason=TRUNCATED if cut else "", parts=parts)

    def _compared(self, output: WeightedTokens, reference: WeightedTokens) -> Array:
        """Return precision, recall and F (3,), rescaled if requested; 0 for an empty output, NaN if undefined."""
        if output.empty:
            scores = np.zeros(3)
        else:
            cosines = (output.unit @ reference.unit.T).astype(np.float64)
            p, r = _mean(cosines.max(axis=1), output.weights), _mean(cosines.max(axis=0), reference.weights)
            scores = np.array([p, r, _f(p, r)])
        if self.baseline is None:
            return scores
        floor = np.array(self.baseline[:3])
        rescaled: Array = (scores - floor) / (1 - floor)
        return rescaled


def _mean(values: Array, weights: Array) -> float:
    total = weights.sum()
    return float(values @ weights / total) if total > 0 else float("nan")


def _f(p: float, r: float) -> float:
    if p == r == 0:
        return 0.0
    return 2 * p * r / (p + r) if p * r >= 0 else float("nan")


BERTSCORE = family(SPEC, _make)

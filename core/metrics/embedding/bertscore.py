"""BERTScore (Zhang et al. 2020): match each token with the most similar token of the other text, by cosine of hidden states.

With the layers that the authors recommend, and baselines for rescaling.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import Metric, MetricSpec, Option, Values, family, measure_option
from core.metrics.embedding.distances import Idf, encoder, in_blocks, references
from core.metrics.learned.question_metrics import NO_REFERENCE, TRUNCATED
from core.models.architectures.shapes import encoder_shape
from core.models.checkpoint import Checkpoint
from core.models.configs import configured_model, facts_of
from core.progress import Progress
from core.settings import load_settings
from core.signature import GIVEN

if TYPE_CHECKING:
    from core.models.architectures.encoder import Encoder, Tokens

MINIATURES = {2: (1, 1, 1, 2), 4: (3, 3, 3, 3), 6: (5, 5, 5, 5), 8: (7, 7, 6, 7), 10: (8, 8, 9, 8), 12: (10, 11, 10, 9)}
"""Recommended layers of the small BERT models, by number of layers, for the widths 128, 256, 512 and 768 (64 per head)."""
RECOMMENDED = {
    f"google/bert_uncased_L-{layers}_H-{width}_A-{width // 64}": layer
    for layers, row in MINIATURES.items()
    for width, layer in zip((128, 256, 512, 768), row, strict=True)
} | {
    name: layer
    for layer, names in {
        0: "amazon/bort",
        1: "google/byt5-small",
        2: "facebook/blenderbot-400M-distill sshleifer/tiny-mbart",
        4: """zhiheng-huang/bert-base-uncased-embedding-relative-key microsoft/deberta-v3-small
            dbmdz/distilbert-base-turkish-cased distilbert-base-uncased-distilled-squad
            microsoft/prophetnet-large-uncased""",
        5: "distilbert-base-multilingual-cased distilbert-base-uncased distilroberta-base xlnet-base-cased",
        6: "facebook/bart-base allenai/led-base-16384 t5-small xlm-mlm-en-2048",
        7: """zhiheng-huang/bert-base-uncased-embedding-relative-key-query facebook/blenderbot_small-90M
            allenai/longformer-base-4096 microsoft/prophetnet-large-uncased-cnndm roberta-base-openai-detector
            xlnet-large-cased microsoft/xprophetnet-large-wiki100-cased""",
        8: """albert-xxlarge-v1 albert-xxlarge-v2 bert-base-chinese google/bigbird-base-trivia-itc microsoft/mpnet-base
            google/mt5-small google/pegasus-large allenai/scibert_scivocab_uncased SpanBERT/spanbert-base-cased
            princeton-nlp/unsup-simcse-roberta-base""",
        9: """albert-base-v2 facebook/bart-large-xsum bert-base-cased-finetuned-mrpc bert-base-multilingual-cased
            bert-base-uncased vinai/bertweet-base YituTech/conv-bert-medium-small microsoft/deberta-base
            microsoft/deberta-base-mnli microsoft/deberta-v3-base google/electra-base-discriminator
            google/electra-small-generator nfliu/scibert_basevocab_uncased allenai/scibert_scivocab_cased
            squeezebert/squeezebert-mnli squeezebert/squeezebert-mnli-headless squeezebert/squeezebert-uncased
            xlm-roberta-base""",
        10: """albert-base-v1 facebook/bart-large facebook/bart-large-cnn dbmdz/bert-base-turkish-cased
            google/bigbird-roberta-base YituTech/conv-bert-base YituTech/conv-bert-small microsoft/deberta-v2-xlarge
            microsoft/deberta-v3-xsmall google/electra-base-generator ProsusAI/finbert microsoft/mdeberta-v3-base
            roberta-base princeton-nlp/sup-simcse-bert-base-uncased princeton-nlp/sup-simcse-roberta-base
            princeton-nlp/unsup-simcse-bert-base-uncased xlm-mlm-100-1280""",
        11: """facebook/bart-large-mnli google/electra-small-discriminator google/mt5-base google/pegasus-xsum t5-base
            ramsrigouthamg/t5_paraphraser""",
        12: """microsoft/deberta-v3-large facebook/mbart-large-50 facebook/mbart-large-50-many-to-many-mmt
            facebook/mbart-large-50-one-to-many-mmt facebook/mbart-large-cc25 facebook/mbart-large-en-ro
            Vamsi/T5_Paraphrase_Paws""",
        13: "albert-xlarge-v2 princeton-nlp/unsup-simcse-roberta-large",
        14: """albert-large-v2 google/bigbird-roberta-large google/electra-large-discriminator
            allenai/longformer-large-4096 allenai/longformer-large-4096-finetuned-triviaqa""",
        15: "tuner007/pegasus_paraphrase roberta-large-openai-detector",
        16: "albert-xlarge-v1 microsoft/deberta-large princeton-nlp/sup-simcse-roberta-large",
        17: """albert-large-v1 google/byt5-base microsoft/deberta-v2-xlarge-mnli roberta-large
            SpanBERT/spanbert-large-cased xlm-roberta-large""",
        18: """bert-large-uncased microsoft/deberta-large-mnli khalidalt/DeBERTa-v3-large-mnli microsoft/deberta-xlarge
            google/electra-large-generator princeton-nlp/sup-simcse-bert-large-uncased
            princeton-nlp/unsup-simcse-bert-large-uncased""",
        19: """zhiheng-huang/bert-large-uncased-whole-word-masking-embedding-relative-key-query google/mt5-large
            roberta-large-mnli""",
        21: "microsoft/deberta-v2-xxlarge",
        22: "microsoft/deberta-v2-xxlarge-mnli",
        23: "t5-large",
        24: "google/mt5-xl",
        30: "google/byt5-large",
        40: "microsoft/deberta-xlarge-mnli",
    }.items()
    for name in names.split()
}
"""Layers recommended by the authors from WMT16 judgements (table of bert-score 0.3.13), looked up by the last part of the name."""


class RescaleBaseline(NamedTuple):
    """Scores of unrelated sentences at one layer, and the start of the SHA-256 of their file."""

    precision: float
    recall: float
    f: float
    digest: str


def layer_of(checkpoint: Checkpoint, requested: int | None) -> int:
    """Return the requested layer, or by default the authors' recommendation, or else ⌈3/4 of the layers⌉.

    The latter is close to most recommendations (9 of 12, 17 of 24). Raises UserError for an unknown layer.
    """
    layers = encoder_shape(checkpoint).layers
    if requested is None:
        own = {name.rpartition("/")[2]: layer for name, layer in RECOMMENDED.items()}
        return min(own.get(checkpoint.name.rpartition("/")[2], ceil(3 * layers / 4)), layers)
    if requested > layers:
        raise UserError(
            "the model has no such layer",
            where=checkpoint.name,
            got=f"layer {requested}",
            expected=f"a whole number from 0 to {layers}",
        )
    return requested


def baseline_of(checkpoint: Checkpoint, layer: int) -> RescaleBaseline:
    """Return the baseline of a layer from the model's file in bert-score format (header LAYER,P,R,F).

    Raises UserError if the home folder has no such file, or the file has no valid row for the layer.
    """
    path = load_settings().home / "baselines" / f"{checkpoint.name.rpartition('/')[2]}.tsv"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"there are no BERTScore baselines for {checkpoint.name}",
            where=str(path),
            expected="a file with the header LAYER,P,R,F, one row per layer",
            hint="Download the file of this model from bert-score (rescale_baseline) to this path, or set rescale:no",
        ) from error
    row = _row(path, content, layer)
    return RescaleBaseline(*row, hashlib.sha256(content).hexdigest()[:8])


def _row(path: Path, content: bytes, layer: int) -> tuple[float, float, float]:
    for row in csv.DictReader(content.decode("utf-8-sig", "replace").splitlines()):
        if row.get("LAYER") == str(layer):
            try:
                p, r, f = (float(row[name]) for name in "PRF")
            except (KeyError, TypeError, ValueError):
                break
            if max(p, r, f) < 1:
                return p, r, f
            break
    raise UserError(
        "this file has no baseline for the layer",
        where=str(path),
        expected=f"the header LAYER,P,R,F and a row {layer},… with three numbers below 1",
    )


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
        return SPEC.signed(
            {
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

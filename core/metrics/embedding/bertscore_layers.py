"""Recommended layers of BERTScore and baselines for rescaling, without torch."""

from __future__ import annotations

import csv
import hashlib
from math import ceil
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError
from core.models.architectures.encoder_shape import shape_of
from core.models.checkpoint import Checkpoint
from core.settings import load as settings

MINIATURES = {2: (1, 1, 1, 2), 4: (3, 3, 3, 3), 6: (5, 5, 5, 5), 8: (7, 7, 6, 7), 10: (8, 8, 9, 8), 12: (10, 11, 10, 9)}
"""Recommended layers of the small BERT models, by number of layers, for the widths 128, 256, 512 and 768 (64 per head)."""
RECOMMENDED = {
    f"google/bert_uncased_L-{layers}_H-{width}_A-{width // 64}": layer
    for layers, row in MINIATURES.items()
    for width, layer in zip((128, 256, 512, 768), row, strict=True)
} | {
    "albert-base-v1": 10,
    "albert-base-v2": 9,
    "albert-large-v1": 17,
    "albert-large-v2": 14,
    "albert-xlarge-v1": 16,
    "albert-xlarge-v2": 13,
    "albert-xxlarge-v1": 8,
    "albert-xxlarge-v2": 8,
    "facebook/bart-base": 6,
    "facebook/bart-large": 10,
    "facebook/bart-large-cnn": 10,
    "facebook/bart-large-mnli": 11,
    "facebook/bart-large-xsum": 9,
    "bert-base-cased-finetuned-mrpc": 9,
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "dbmdz/bert-base-turkish-cased": 10,
    "bert-base-uncased": 9,
    "zhiheng-huang/bert-base-uncased-embedding-relative-key": 4,
    "zhiheng-huang/bert-base-uncased-embedding-relative-key-query": 7,
    "bert-large-uncased": 18,
    "zhiheng-huang/bert-large-uncased-whole-word-masking-embedding-relative-key-query": 19,
    "vinai/bertweet-base": 9,
    "google/bigbird-base-trivia-itc": 8,
    "google/bigbird-roberta-base": 10,
    "google/bigbird-roberta-large": 14,
    "facebook/blenderbot-400M-distill": 2,
    "facebook/blenderbot_small-90M": 7,
    "amazon/bort": 0,
    "google/byt5-base": 17,
    "google/byt5-large": 30,
    "google/byt5-small": 1,
    "YituTech/conv-bert-base": 10,
    "YituTech/conv-bert-medium-small": 9,
    "YituTech/conv-bert-small": 10,
    "microsoft/deberta-base": 9,
    "microsoft/deberta-base-mnli": 9,
    "microsoft/deberta-large": 16,
    "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-v2-xlarge": 10,
    "microsoft/deberta-v2-xlarge-mnli": 17,
    "microsoft/deberta-v2-xxlarge": 21,
    "microsoft/deberta-v2-xxlarge-mnli": 22,
    "microsoft/deberta-v3-base": 9,
    "microsoft/deberta-v3-large": 12,
    "khalidalt/DeBERTa-v3-large-mnli": 18,
    "microsoft/deberta-v3-small": 4,
    "microsoft/deberta-v3-xsmall": 10,
    "microsoft/deberta-xlarge": 18,
    "microsoft/deberta-xlarge-mnli": 40,
    "distilbert-base-multilingual-cased": 5,
    "dbmdz/distilbert-base-turkish-cased": 4,
    "distilbert-base-uncased": 5,
    "distilbert-base-uncased-distilled-squad": 4,
    "distilroberta-base": 5,
    "google/electra-base-discriminator": 9,
    "google/electra-base-generator": 10,
    "google/electra-large-discriminator": 14,
    "google/electra-large-generator": 18,
    "google/electra-small-discriminator": 11,
    "google/electra-small-generator": 9,
    "ProsusAI/finbert": 10,
    "allenai/led-base-16384": 6,
    "allenai/longformer-base-4096": 7,
    "allenai/longformer-large-4096": 14,
    "allenai/longformer-large-4096-finetuned-triviaqa": 14,
    "facebook/mbart-large-50": 12,
    "facebook/mbart-large-50-many-to-many-mmt": 12,
    "facebook/mbart-large-50-one-to-many-mmt": 12,
    "facebook/mbart-large-cc25": 12,
    "facebook/mbart-large-en-ro": 12,
    "microsoft/mdeberta-v3-base": 10,
    "microsoft/mpnet-base": 8,
    "google/mt5-base": 11,
    "google/mt5-large": 19,
    "google/mt5-small": 8,
    "google/mt5-xl": 24,
    "google/pegasus-large": 8,
    "google/pegasus-xsum": 11,
    "tuner007/pegasus_paraphrase": 15,
    "microsoft/prophetnet-large-uncased": 4,
    "microsoft/prophetnet-large-uncased-cnndm": 7,
    "roberta-base": 10,
    "roberta-base-openai-detector": 7,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "roberta-large-openai-detector": 15,
    "nfliu/scibert_basevocab_uncased": 9,
    "allenai/scibert_scivocab_cased": 9,
    "allenai/scibert_scivocab_uncased": 8,
    "SpanBERT/spanbert-base-cased": 8,
    "SpanBERT/spanbert-large-cased": 17,
    "squeezebert/squeezebert-mnli": 9,
    "squeezebert/squeezebert-mnli-headless": 9,
    "squeezebert/squeezebert-uncased": 9,
    "princeton-nlp/sup-simcse-bert-base-uncased": 10,
    "princeton-nlp/sup-simcse-bert-large-uncased": 18,
    "princeton-nlp/sup-simcse-roberta-base": 10,
    "princeton-nlp/sup-simcse-roberta-large": 16,
    "t5-base": 11,
    "t5-large": 23,
    "t5-small": 6,
    "Vamsi/T5_Paraphrase_Paws": 12,
    "ramsrigouthamg/t5_paraphraser": 11,
    "sshleifer/tiny-mbart": 2,
    "princeton-nlp/unsup-simcse-bert-base-uncased": 10,
    "princeton-nlp/unsup-simcse-bert-large-uncased": 18,
    "princeton-nlp/unsup-simcse-roberta-base": 8,
    "princeton-nlp/unsup-simcse-roberta-large": 13,
    "xlm-mlm-100-1280": 10,
    "xlm-mlm-en-2048": 6,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "xlnet-base-cased": 5,
    "xlnet-large-cased": 7,
    "microsoft/xprophetnet-large-wiki100-cased": 7,
}
"""Layers recommended by the authors from WMT16 judgements (table of bert-score 0.3.13), looked up by the last part of the name."""


class RescaleBaseline(NamedTuple):
    """Scores of unrelated sentences at one layer, and the start of the SHA-256 of their file."""

    precision: float
    recall: float
    f: float
    digest: str


def layer_of(checkpoint: Checkpoint, wanted: int | None) -> int:
    """Return the requested layer, or by default the authors' recommendation, or else ⌈3/4 of the layers⌉.

    The latter is close to most recommendations (9 of 12, 17 of 24). Raises UserError for an unknown layer.
    """
    layers = shape_of(checkpoint).layers
    if wanted is None:
        own = {name.rpartition("/")[2]: layer for name, layer in RECOMMENDED.items()}
        return min(own.get(checkpoint.name.rpartition("/")[2], ceil(3 * layers / 4)), layers)
    if wanted > layers:
        raise UserError(
            "the model has no such layer",
            where=checkpoint.name,
            got=f"layer {wanted}",
            expected=f"a whole number from 0 to {layers}",
        )
    return wanted


def baseline_of(checkpoint: Checkpoint, layer: int) -> RescaleBaseline:
    """Return the baseline of a layer from the model's file in bert-score format (header LAYER,P,R,F).

    Raises UserError if the home folder has no such file, or the file has no valid row for the layer.
    """
    path = settings().home / "baselines" / f"{checkpoint.name.rpartition('/')[2]}.tsv"
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

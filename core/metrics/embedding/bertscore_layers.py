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
from core.settings import load_settings

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
    layers = shape_of(checkpoint).layers
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

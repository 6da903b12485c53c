"""Tiny untrained checkpoints on disk, one for each role, so that metrics run through the very loading a real model takes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from tests.judge_server import shared_judge
from tests.tiny import tiny_m2m100, tiny_scorer, tiny_t5, tokenizer

LABELS = {0: "CONTRADICTION", 1: "Entailment", 2: "neutral"}
WINDOW = 32
SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.4,
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
}
HPARAMS: dict[str, Any] = {
    "class_identifier": "regression_metric", "layer": "mix", "layer_transformation": "sparsemax", "layer_norm": False,
    "pool": "avg", "hidden_sizes": [8, 4], "activations": "Tanh", "final_activation": None,
}  # fmt: skip
_KEPT = TemporaryDirectory(prefix="tiny-checkpoints-")


def pair_tokenizer(types: bool = False) -> PreTrainedTokenizerFast:
    """The byte tokenizer with a form for two texts, and token types on demand."""
    words = tokenizer()
    second = ":1" if types else ""
    words.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair=f"<s> $A </s> $B{second} </s>{second}",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return words


def saved(model: PreTrainedModel, words: PreTrainedTokenizerFast, folder: Path) -> Path:
    """A checkpoint as one would fetch it."""
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def nli(folder: Path, names: dict[int, str] = LABELS, seed: int = 0) -> Path:
    """BERT with three classes, and token types."""
    torch.manual_seed(seed)
    words = pair_tokenizer(types=True)
    config = BertConfig(vocab_size=len(words), max_position_embeddings=WINDOW * 2, id2label=names, **SMALL)
    return saved(BertForSequenceClassification(config), words, folder)


def regressor(folder: Path, seed: int = 0) -> Path:
    """RoBERTa with one output."""
    torch.manual_seed(seed)
    words = pair_tokenizer()
    config = RobertaConfig(vocab_size=len(words), max_position_embeddings=WINDOW * 2 + 2, num_labels=1, **SMALL)
    return saved(RobertaForSequenceClassification(config), words, folder)


def causal(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    words = tokenizer("$A")
    config = GPT2Config(
        vocab_size=len(words), n_positions=WINDOW, n_embd=16, n_layer=2, n_head=2, initializer_range=0.4,
        bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    return saved(GPT2LMHeadModel(config), words, folder)


def masked(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    words = tokenizer()
    config = RobertaConfig(vocab_size=len(words), max_position_embeddings=WINDOW + 2, **SMALL)
    return saved(RobertaForMaskedLM(config), words, folder)


def comet(folder: Path, **hparams: object) -> Path:
    """XLM-R and COMET's estimator, converted as docs/models.md says; every weight by a formula, so that it can be made anew
    by any library."""
    given = HPARAMS | hparams
    words = tokenizer()
    config = XLMRobertaConfig(vocab_size=len(words), max_position_embeddings=WINDOW * 2 + 2, **SMALL)
    encoder = XLMRobertaModel(config, add_pooling_layer=False)
    shapes = {f"encoder.model.{k}": tuple(v.shape) for k, v in encoder.state_dict().items() if v.is_floating_point()}
    shapes |= {f"layerwise_attention.scalar_parameters.{i}": (1,) for i in range(config.num_hidden_layers + 1)}
    shapes["layerwise_attention.gamma"] = (1,)
    widths = [
        config.hidden_size * (6 if given["class_identifier"] == "regression_metric" else 4),
        *given["hidden_sizes"],
        1,
    ]
    for i, (many, few) in enumerate(zip(widths, widths[1:], strict=False)):
        shapes |= {f"estimator.ff.{3 * i}.weight": (few, many), f"estimator.ff.{3 * i}.bias": (few,)}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(formula(shapes), folder / "model.safetensors")
    config.save_pretrained(folder)
    words.save_pretrained(folder)
    (folder / "comet.json").write_text(json.dumps(given))
    return folder


def fetched_comet(folder: Path, beside: object = None, **hparams: object) -> Path:
    """The same as `hf download --local-dir` leaves it, with the encoder's files; `beside`: what the pickle holds besides."""
    comet(folder, **hparams)
    (folder / "checkpoints").mkdir()
    weights = folder / "model.safetensors"
    torch.save({"state_dict": load_file(weights), "callbacks": beside}, folder / "checkpoints" / "model.ckpt")
    given = json.loads((folder / "comet.json").read_text()) | {"pretrained_model": "xlm-roberta-large"}
    (folder / "hparams.yaml").write_text(json.dumps(given))  # JSON is YAML
    weights.unlink()
    (folder / "comet.json").unlink()
    return folder


def pickled(folder: Path) -> Path:
    """Weights as PyTorch's pickle instead of safetensors."""
    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()
    return folder


def formula(shapes: dict[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """Weights 0.5 sin(i² + k) for the i-th number of the k-th tensor by name."""
    out = {}
    for k, (name, shape) in enumerate(sorted(shapes.items())):
        at = torch.arange(math.prod(shape), dtype=torch.float64)
        out[name] = (0.5 * torch.sin(at * at % 1009 + k)).float().reshape(shape)
    return out


def home(name: str) -> Path:
    return Path(_KEPT.name) / name


def environment() -> dict[str, str]:
    """Settings under which every role of a metric that reads texts is played by a tiny checkpoint. Made once a process."""
    if not home("done").exists():
        nli(home("nli"))
        regressor(home("bleurt"))
        causal(home("lm"))
        masked(home("mlm"))
        comet(home("comet"))
        comet(home("comet-qe"), class_identifier="referenceless_regression_metric", layer_norm=True)
        for name, scorer in (("seq2seq", tiny_scorer()), ("m2m100", tiny_m2m100()), ("unieval", tiny_t5())):
            saved(scorer.model, scorer.tokenizer, home(name))  # type: ignore[arg-type]
        home("done").touch()
    roles = ("nli", "bleurt", "lm", "mlm", "comet", "unieval", "seq2seq")
    return {f"ERRORSCOPE_{role.upper()}": str(home(role)) for role in roles}


def environment_of(metric: str) -> dict[str, str]:
    """As `environment`, with the checkpoint that this metric asks for where two share a role."""
    given = environment()
    if metric.startswith("prism"):
        given |= {"ERRORSCOPE_SEQ2SEQ": str(home("m2m100")), "ERRORSCOPE_LANGUAGES": "de-en"}
    if metric.startswith("judge-"):
        other = {"judges": {"other": {"address": shared_judge().address, "model": "m", "concurrency": 2}}}
        home("judges.json").write_text(json.dumps(other), encoding="utf-8")
        given |= {"ERRORSCOPE_JUDGE": shared_judge().setting, "ERRORSCOPE_JUDGES": str(home("judges.json"))}
    if metric.startswith("comet-qe"):
        given |= {"ERRORSCOPE_COMET": str(home("comet-qe"))}
    return given

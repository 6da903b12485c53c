"""Read the architecture of a COMET checkpoint and of an encoder from its files, without torch.

That of a converted COMET checkpoint is in comet.json (its hparams.yaml as JSON).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, get_args

from core.errors import PROGRAM, UserError
from core.models.checkpoint import Checkpoint
from core.models.configs import read_config

HPARAMS = "comet.json"
CONVERT_COMET = f"Convert it once, on Models or with: {PROGRAM} models comet FOLDER"
KINDS = {"regression_metric": True, "referenceless_regression_metric": False}
Pool = Literal["avg", "cls", "max"]
ACTIVATIONS = ("Tanh", "Sigmoid", "ReLU", "GELU")


class CometShape(NamedTuple):
    """The architecture. `references`: it reads a reference; `layer`: the encoder layer it uses, or None for a mix of all."""

    references: bool
    layer: int | None
    transformation: Literal["softmax", "sparsemax"]
    layer_norm: bool
    pool: Pool
    hidden_sizes: tuple[int, ...]
    activations: str
    final_activation: str


def comet_shape(checkpoint: Checkpoint) -> CometShape:
    """Return the architecture. Raises UserError if the checkpoint is not converted or not supported."""
    if not (checkpoint.path / HPARAMS).is_file():
        raise UserError(
            "this COMET checkpoint is not converted",
            where=str(checkpoint.path),
            expected=f"{HPARAMS} and weights as safetensors",
            hint=f"COMET's own checkpoints are pickles, which Errorscope never loads. {CONVERT_COMET}",
        )
    return comet_shape_of(read_config(checkpoint, HPARAMS), checkpoint.path / HPARAMS)


def comet_shape_of(hparams: Mapping[str, Any], where: Path) -> CometShape:
    """Return the architecture that hyperparameters describe. Raises UserError, with the file in `where`, if it is not supported."""
    kind = _supported("kind of COMET", where, hparams.get("class_identifier"), KINDS)
    pool = _supported("pooling", where, hparams.get("pool", "avg"), get_args(Pool))
    activations = _supported("activation", where, hparams.get("activations", "Tanh"), ACTIVATIONS)
    final = hparams.get("final_activation") or ""
    if final:
        _supported("activation", where, final, ACTIVATIONS)
    layer = hparams.get("layer", "mix")
    return CometShape(
        references=KINDS[kind],
        layer=None if layer == "mix" else int(layer),
        transformation="sparsemax" if hparams.get("layer_transformation") == "sparsemax" else "softmax",
        layer_norm=bool(hparams.get("layer_norm", True)),
        pool=pool,
        hidden_sizes=tuple(int(n) for n in hparams.get("hidden_sizes", ())),
        activations=activations,
        final_activation=final,
    )


def _supported(what: str, where: Path, value: Any, known: Collection[str]) -> Any:
    """Return a value of the configuration. Raises UserError if it is not among the known ones."""
    if value in known:
        return value
    raise UserError(
        f"this {what} is not supported",
        where=str(where),
        got=str(value),
        expected=", ".join(known),
    )


DEPTHS = ("encoder_layers", "num_hidden_layers", "num_layers", "n_layers", "n_layer")
"""Names of the number of layers by model family, encoder layers of encoder–decoders first."""

Pooling = Literal["mean", "cls"]
POOLINGS: dict[str, Pooling] = {
    "mean": "mean", "pooling_mode_mean_tokens": "mean", "cls": "cls", "pooling_mode_cls_token": "cls"
}  # fmt: skip
"""Names of poolings in sentence encoders: values of `pooling_mode`, or flags in older checkpoints."""
MODULES = ("Transformer", "Pooling", "Normalize")
"""Supported modules of sentence encoders; vectors are always scaled to length 1."""


class EncoderShape(NamedTuple):
    """Number of layers, sentence pooling, and maximum tokens per sentence (0 if not stated)."""

    layers: int
    pooling: Pooling
    sentence_tokens: int


def encoder_shape(checkpoint: Checkpoint) -> EncoderShape:
    """Return depth and pooling of an encoder.

    Raises UserError if the number of layers is missing, the pooling is neither mean nor first token, or `modules.json` lists
    other modules, such as a dense layer.
    """
    config = read_config(checkpoint)
    layers = next((int(config[name]) for name in DEPTHS if config.get(name)), 0)
    if not layers:
        raise UserError(
            "the configuration of this model lacks the number of layers",
            where=str(checkpoint.path / "config.json"),
            expected="one of " + ", ".join(DEPTHS),
        )
    tokens = int(_beside(checkpoint, "sentence_bert_config.json").get("max_seq_length") or 0)
    return EncoderShape(layers, _pooling(checkpoint), tokens)


def _pooling(checkpoint: Checkpoint) -> Pooling:
    """Return the pooling; "mean" for checkpoints that are not sentence encoders."""
    modules = _modules(checkpoint)
    folder = modules.get("Pooling", "1_Pooling")
    name = str(PurePosixPath(folder, "config.json"))
    if "Pooling" not in modules and not (checkpoint.path / name).is_file():
        return "mean"
    said = read_config(checkpoint, name)
    chosen = [flag for flag, value in said.items() if flag.startswith("pooling_mode_") and value]
    named = said.get("pooling_mode") or []
    chosen += map(str, named) if isinstance(named, list) else [str(named)]
    poolings = {POOLINGS.get(mode) for mode in chosen}
    pooling = poolings.pop() if len(poolings) == 1 else None
    if pooling is None:
        raise UserError(
            "this sentence pooling is not supported",
            where=str(checkpoint.path / name),
            got=", ".join(chosen) or "none",
            expected="mean or first token: " + ", ".join(POOLINGS),
        )
    return pooling


def _modules(checkpoint: Checkpoint) -> dict[str, str]:
    """Return the module folders of a sentence encoder by type; empty for other models. Raises UserError if unsupported."""
    path = checkpoint.path / "modules.json"
    if not path.is_file():
        return {}
    try:
        folders = {
            str(m["type"]).rpartition(".")[2]: str(m["path"]) for m in json.loads(path.read_text(encoding="utf-8"))
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(
            "cannot read the module list of this sentence encoder", where=str(path), got=str(error)
        ) from error
    if away := [
        path for path in folders.values() if len(PurePosixPath(path).parts) > 1 or path.startswith(("/", ".."))
    ]:
        raise UserError(
            "a module of this sentence encoder lies outside its folder", where=str(checkpoint.path), got=", ".join(away)
        )
    if other := [kind for kind in folders if kind not in MODULES]:
        raise UserError(
            "this sentence encoder has an unsupported module",
            where=str(path),
            got=", ".join(other),
            expected="only the modules " + ", ".join(MODULES),
        )
    return folders


def _beside(checkpoint: Checkpoint, name: str) -> dict[str, Any]:
    return read_config(checkpoint, name) if (checkpoint.path / name).is_file() else {}

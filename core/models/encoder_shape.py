"""What the files of an encoder say of it, read without torch: its depth, and how its authors make a vector of a text."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

from core.errors import UserError
from core.models.checkpoint import Checkpoint
from core.models.configs import read

DEPTHS = ("encoder_layers", "num_hidden_layers", "num_layers", "n_layers", "n_layer")
"""How model families name the number of layers; of an encoder–decoder the first is that of its encoder."""

Pooling = Literal["mean", "cls"]
POOLINGS: dict[str, Pooling] = {
    "mean": "mean", "pooling_mode_mean_tokens": "mean", "cls": "cls", "pooling_mode_cls_token": "cls"
}  # fmt: skip
"""How checkpoints of sentence encoders name a pooling: by `pooling_mode`, older ones by a flag of its own."""
MODULES = ("Transformer", "Pooling", "Normalize")
"""What a sentence passes through that is computed here; vectors are always scaled to length 1."""


class Shape(NamedTuple):
    """`layers` of the encoder; `pooling` of a sentence; `sentence_tokens` it is cut at, 0 where nothing is said."""

    layers: int
    pooling: Pooling
    sentence_tokens: int


def shape_of(checkpoint: Checkpoint) -> Shape:
    """Raises UserError for a configuration without a number of layers, for a pooling other than the mean or the first token,
    and for a sentence encoder with modules of another kind (`modules.json`), such as a dense layer after the pooling."""
    config = read(checkpoint)
    layers = next((int(config[name]) for name in DEPTHS if config.get(name)), 0)
    if not layers:
        raise UserError(
            "the configuration of this model does not say how many layers it has",
            where=str(checkpoint.path / "config.json"),
            expected="one of " + ", ".join(DEPTHS),
        )
    tokens = int(_beside(checkpoint, "sentence_bert_config.json").get("max_seq_length") or 0)
    return Shape(layers, _pooling(checkpoint), tokens)


def _pooling(checkpoint: Checkpoint) -> Pooling:
    """The mean for a checkpoint that is no sentence encoder: it has neither modules nor a pooling."""
    modules = _modules(checkpoint)
    folder = modules.get("Pooling", "1_Pooling")
    name = str(PurePosixPath(folder, "config.json"))
    if "Pooling" not in modules and not (checkpoint.path / name).is_file():
        return "mean"
    said = read(checkpoint, name)
    chosen = [flag for flag, value in said.items() if flag.startswith("pooling_mode_") and value]
    named = said.get("pooling_mode") or []
    chosen += map(str, named) if isinstance(named, list) else [str(named)]
    found = {POOLINGS.get(mode) for mode in chosen}
    pooling = found.pop() if len(found) == 1 else None
    if pooling is None:
        raise UserError(
            "this pooling of a sentence is not known here",
            where=str(checkpoint.path / name),
            got=", ".join(chosen) or "none",
            expected="the mean of the tokens or the first one: " + ", ".join(POOLINGS),
        )
    return pooling


def _modules(checkpoint: Checkpoint) -> dict[str, str]:
    """The folders of the modules of a sentence encoder, by kind; none for other models. Raises UserError for other kinds."""
    path = checkpoint.path / "modules.json"
    if not path.is_file():
        return {}
    try:
        found = {
            str(m["type"]).rpartition(".")[2]: str(m["path"]) for m in json.loads(path.read_text(encoding="utf-8"))
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(
            "this list of the modules of a sentence encoder cannot be read", where=str(path), got=str(error)
        ) from error
    if away := [path for path in found.values() if len(PurePosixPath(path).parts) > 1 or path.startswith(("/", ".."))]:
        raise UserError(
            "a module of this sentence encoder is not in its folder", where=str(checkpoint.path), got=", ".join(away)
        )
    if other := [kind for kind in found if kind not in MODULES]:
        raise UserError(
            "this sentence encoder has a module that is not computed here",
            where=str(path),
            got=", ".join(other),
            expected="no modules but " + ", ".join(MODULES),
        )
    return found


def _beside(checkpoint: Checkpoint, name: str) -> dict[str, Any]:
    return read(checkpoint, name) if (checkpoint.path / name).is_file() else {}

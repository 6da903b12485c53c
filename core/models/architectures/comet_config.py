"""Read the configuration of a converted COMET checkpoint, comet.json (its hparams.yaml as JSON), without torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
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


def shape(checkpoint: Checkpoint) -> CometShape:
    """Return the architecture. Raises UserError if the checkpoint is not converted or not supported."""
    if not (checkpoint.path / HPARAMS).is_file():
        raise UserError(
            "this COMET checkpoint is not converted",
            where=str(checkpoint.path),
            expected=f"{HPARAMS} and weights as safetensors",
            hint=f"COMET's own checkpoints are pickles, which Errorscope never loads. {CONVERT_COMET}",
        )
    return shape_of(read_config(checkpoint, HPARAMS), checkpoint.path / HPARAMS)


def shape_of(hparams: Mapping[str, Any], where: Path) -> CometShape:
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

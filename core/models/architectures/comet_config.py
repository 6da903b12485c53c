"""Read the configuration of a converted COMET checkpoint, comet.json (its hparams.yaml as JSON), without torch."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from core.errors import UserError
from core.models.checkpoint import Checkpoint
from core.models.configs import read

HPARAMS = "comet.json"
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
    """Return the architecture. Raises UserError if the checkpoint is not converted (docs/models.md) or not supported."""
    if not (checkpoint.path / HPARAMS).is_file():
        raise UserError(
            "this COMET checkpoint is not converted",
            where=str(checkpoint.path),
            expected=f"{HPARAMS} and weights as safetensors",
            hint="COMET's own checkpoints are pickles, which Errorscope never loads. Convert it as described in docs/models.md",
        )
    given = read(checkpoint, HPARAMS)
    kind = given.get("class_identifier")
    if kind not in KINDS:
        raise _other("kind of COMET", checkpoint, kind, KINDS)
    pool, activations = given.get("pool", "avg"), given.get("activations", "Tanh")
    final = given.get("final_activation") or ""
    transformation = given.get("layer_transformation", "softmax")
    if pool not in get_args(Pool):
        raise _other("pooling", checkpoint, pool, get_args(Pool))
    if activations not in ACTIVATIONS or final not in ("", *ACTIVATIONS):
        raise _other("activation", checkpoint, final or activations, ACTIVATIONS)
    layer = given.get("layer", "mix")
    return CometShape(
        references=KINDS[kind],
        layer=None if layer == "mix" else int(layer),
        transformation="sparsemax" if transformation == "sparsemax" else "softmax",
        layer_norm=bool(given.get("layer_norm", True)),
        pool=pool,
        hidden_sizes=tuple(int(n) for n in given.get("hidden_sizes", ())),
        activations=activations,
        final_activation=final,
    )


def _other(what: str, checkpoint: Checkpoint, got: Any, expected: Any) -> UserError:
    return UserError(
        f"this {what} is not supported",
        where=str(checkpoint.path / HPARAMS),
        got=str(got),
        expected=", ".join(expected),
    )

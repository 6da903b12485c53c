"""What the configuration of a checkpoint says of the role it may play; read from its JSON alone, without torch."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from core.errors import UserError
from core.models import roles
from core.models.checkpoint import Checkpoint
from core.models.roles import ROLES, player

HEADS: dict[str, tuple[str, ...]] = {
    "seq2seq": ("ForConditionalGeneration",),
    "nli": ("ForSequenceClassification",),
    "bleurt": ("ForSequenceClassification",),
    "lm": ("ForCausalLM", "LMHeadModel"),
    "mlm": ("ForMaskedLM", "BertForPreTraining"),
    "unieval": ("ForConditionalGeneration",),
}
"""How the class names of models end that can play a role; a model of another class lacks the weights of its last layer."""

MULTILINGUAL = ("m2m_100",)
"""Model types with a token for the language, as `core.models.seq2seq` reads them (M2M100, NLLB, SMaLL-100)."""


class Unfit(UserError):  # noqa: N818  (a state, not a fault)
    """The model in a role is not of the kind a metric needs; `command` fetches one that is and sets it, `note` says what to do
    in between."""

    def __init__(self, what: str, role: str, *, got: str, expected: str, command: str, note: str = "") -> None:
        self.role, self.command, self.note = role, command, note
        hint = " && ".join(command.split("\n")) + (f" ({note})" if note else "")
        super().__init__(what, where=ROLES[role].variable, got=got, expected=expected, hint=hint)


class Labels(NamedTuple):
    """Columns of the logits; neutral and contradiction are None where a model knows entailment and its opposite alone."""

    entailment: int
    neutral: int | None
    contradiction: int | None


def read(checkpoint: Checkpoint, name: str = "config.json") -> dict[str, Any]:
    """A JSON file of a checkpoint. Raises UserError when it is not there or no JSON object."""
    path = checkpoint.path / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"this checkpoint has no {name} that can be read", where=str(checkpoint.path), got=str(error)
        ) from error
    if not isinstance(found, dict):
        raise UserError("this is no configuration of a model", where=str(path), got=type(found).__name__)
    return found


def facts(role: str) -> dict[str, object]:
    """What a signature says of the model in a role, after a look at whether it can play it. Raises UserError."""
    checked(role)
    return roles.facts(role)


def checked(role: str) -> Checkpoint:
    """The checkpoint in a role. Raises UserError where nobody plays it, or the model is of another kind."""
    checkpoint = player(role)
    classes = read(checkpoint).get("architectures") or []
    heads = HEADS.get(role, ())
    if heads and classes and not any(str(name).endswith(heads) for name in classes):
        raise UserError(
            f"this model cannot be {ROLES[role].words}",
            where=ROLES[role].variable,
            got=", ".join(map(str, classes)),
            expected="a model of a class that ends in " + " or ".join(heads),
        )
    return checkpoint


def labels(checkpoint: Checkpoint) -> Labels:
    """The order of the labels of an entailment model, from the names in its configuration; never assumed.

    Upper and lower case, and forms such as "entails" or "contradiction", are the same. Raises UserError when not exactly one
    name says entailment, as where they are only numbered (LABEL_0, LABEL_1, …).
    """
    names = {int(i): str(name) for i, name in (read(checkpoint).get("id2label") or {}).items()}
    found = {
        stem: [i for i, name in sorted(names.items()) if _bare(name).startswith(stem)]
        for stem in ("entail", "neutral", "contradict")
    }
    if len(found["entail"]) != 1 or max(map(len, found.values())) > 1:
        raise UserError(
            "it is not said which label of this model means entailment",
            where=f"id2label in {checkpoint.path / 'config.json'}",
            got=", ".join(f"{i}: {name}" for i, name in sorted(names.items())) or "no names",
            expected="entailment, neutral and contradiction, in the order the model was trained with",
            hint="Write the names there as its authors give them",
        )
    return Labels(*(columns[0] if columns else None for columns in found.values()))  # type: ignore[arg-type]


def regressor(role: str) -> Checkpoint:
    """The checkpoint in a role, of a model with one number as its output. Raises UserError as `checked` does, or for more."""
    checkpoint = checked(role)
    config = read(checkpoint)
    outputs = len(config["id2label"]) if config.get("id2label") else config.get("num_labels", 2)
    if outputs != 1:
        raise UserError(
            f"this model cannot be {ROLES[role].words}: it tells classes apart",
            where=ROLES[role].variable,
            got=f"{outputs} labels",
            expected="a model with one number as its output",
        )
    return checkpoint


def multilingual(checkpoint: Checkpoint) -> bool:
    """True for an encoder–decoder that is told the languages."""
    return read(checkpoint).get("model_type") in MULTILINGUAL


def _bare(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalpha())

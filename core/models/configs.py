"""Check from its configuration which kinds of model a checkpoint can be. Reads JSON only, without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import UserError
from core.models.checkpoint import Checkpoint
from core.models.kinds import MODEL_KINDS, configured_model, facts_of

HEADS: dict[str, tuple[str, ...]] = {
    "seq2seq": ("ForConditionalGeneration",),
    "nli": ("ForSequenceClassification",),
    "bleurt": ("ForSequenceClassification",),
    "lm": ("ForCausalLM", "LMHeadModel"),
    "mlm": ("ForMaskedLM", "BertForPreTraining"),
    "unieval": ("ForConditionalGeneration",),
}
"""Suffixes of the model classes that fit a kind; models of other classes lack the weights of the last layer."""

MULTILINGUAL = ("m2m_100",)
"""Model types with a language token that `core.models.architectures.seq2seq` supports (M2M100, NLLB, SMaLL-100)."""


LANGUAGES = "source-target, such as de-en, in the language codes of the model"


class WrongModel(UserError):  # noqa: N818  (a state, not a fault)
    """The configured model does not suit the metric; `command` fetches and sets one that does, `note` describes manual steps
    in between."""

    def __init__(self, what: str, kind: str, *, got: str, expected: str, command: str, note: str = "") -> None:
        self.kind, self.command, self.note = kind, command, note
        hint = " && ".join(command.split("\n")) + (f" ({note})" if note else "")
        super().__init__(what, where=MODEL_KINDS[kind].variable, got=got, expected=expected, hint=hint)


class NliLabels(NamedTuple):
    """Columns of the logits; neutral and contradiction are None for models with two classes."""

    entailment: int
    neutral: int | None
    contradiction: int | None

    def three(self) -> list[int]:
        """Return all columns. Raises UserError if the model lacks one of the labels."""
        if self.neutral is None or self.contradiction is None:
            raise UserError(
                "this NLI model does not distinguish neutral from contradiction",
                where="ERRORSCOPE_NLI",
                expected="a model with the labels entailment, neutral and contradiction",
                hint="Set another model, or use the metric `entailment`, which needs only the first label",
            )
        return [self.entailment, self.neutral, self.contradiction]


def read(checkpoint: Checkpoint, name: str = "config.json") -> dict[str, Any]:
    """Return a JSON file of a checkpoint. Raises UserError if it is missing or not a JSON object."""
    return read_json(checkpoint.path, name)


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return a JSON file of a folder. Raises UserError if it is missing or not a JSON object."""
    path = folder / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot read {name} of this checkpoint", where=str(folder), got=str(error)) from error
    if not isinstance(found, dict):
        raise UserError("the model configuration is not a JSON object", where=str(path), got=type(found).__name__)
    return found


def facts(kind: str) -> dict[str, object]:
    """Return the signature fields of the configured model of a kind, after checking its class. Raises UserError."""
    return facts_of(checked(kind))


def checked(kind: str) -> Checkpoint:
    """Return the configured checkpoint of a kind. Raises UserError if there is none, or its class does not fit."""
    checkpoint = configured_model(kind)
    check(kind, checkpoint)
    return checkpoint


def check(kind: str, checkpoint: Checkpoint) -> None:
    """Raise UserError unless a checkpoint fits the kind."""
    check_config(kind, read(checkpoint), checkpoint.name, MODEL_KINDS[kind].variable)


def check_config(kind: str, config: Mapping[str, Any], name: str, where: str) -> None:
    """Raise UserError unless a model with this configuration fits the kind."""
    classes = config.get("architectures") or []
    heads = HEADS.get(kind, ())
    if heads and classes and not any(str(name).endswith(heads) for name in classes):
        raise UserError(
            f"this model cannot be used as {MODEL_KINDS[kind].words}",
            where=where,
            got=", ".join(map(str, classes)),
            expected="a model class ending in " + " or ".join(heads),
        )
    if kind != "bleurt":
        return
    if config.get("model_type") == "bleurt":
        raise UserError(
            "this checkpoint needs its own model code, which Errorscope never runs",
            where=where,
            got=name,
            expected=f"a BLEURT checkpoint in BERT format with a single output, such as {MODEL_KINDS[kind].model}",
        )
    outputs = len(config["id2label"]) if config.get("id2label") else config.get("num_labels", 2)
    if outputs != 1:
        raise UserError(
            f"this model is a classifier and cannot be used as {MODEL_KINDS[kind].words}",
            where=where,
            got=f"{outputs} labels",
            expected="a model with a single output",
        )


def labels(checkpoint: Checkpoint) -> NliLabels:
    """Return the label order of an NLI model, from the label names in its configuration.

    Case and inflection ("entails", "contradiction") are ignored. Raises UserError unless exactly one name means entailment,
    for example if labels are only numbered (LABEL_0, LABEL_1, …).
    """
    names = {int(i): str(name) for i, name in (read(checkpoint).get("id2label") or {}).items()}
    found = {
        stem: [i for i, name in sorted(names.items()) if _bare(name).startswith(stem)]
        for stem in ("entail", "neutral", "contradict")
    }
    if len(found["entail"]) != 1 or max(map(len, found.values())) > 1:
        raise UserError(
            "the label names of this model do not identify entailment",
            where=f"id2label in {checkpoint.path / 'config.json'}",
            got=", ".join(f"{i}: {name}" for i, name in sorted(names.items())) or "no names",
            expected="entailment, neutral and contradiction, in the order the model was trained with",
            hint="Write the label names into that file, as documented by the model's authors",
        )
    return NliLabels(*(columns[0] if columns else None for columns in found.values()))  # type: ignore[arg-type]


def multilingual(checkpoint: Checkpoint) -> bool:
    """Return whether this is a multilingual encoder–decoder, which needs language codes."""
    return read(checkpoint).get("model_type") in MULTILINGUAL


def missing_languages() -> UserError:
    """Return the error for a multilingual model without configured languages."""
    what = "the languages of the multilingual model are not configured"
    return UserError(what, where="ERRORSCOPE_LANGUAGES", expected=LANGUAGES)


def _bare(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalpha())

"""The kinds of model that metrics use, the configured model of each, and which checkpoints fit. Without torch."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import PROGRAM, UserError
from core.models import prepared
from core.models.checkpoint import FILES, PICKLED, Checkpoint, ModelPreset, preset_named, read_json, resolve
from core.settings import Settings, load_settings
from core.signature import package


class ModelKind(NamedTuple):
    """A kind of model. `name` is also its field in `Settings`; the other fields describe the suggested model.

    `encoder` is a repository whose configuration and tokenizer the model needs, because its own has none.
    """

    name: str
    words: str
    model: str
    size: str
    licence: str
    note: str = ""  # manual steps between download and use
    encoder: str = ""

    @property
    def variable(self) -> str:
        """Return the environment variable that configures it."""
        return f"ERRORSCOPE_{self.name.upper()}"

    @property
    def is_prepared(self) -> bool:
        """Return whether *Models* and `errorscope models` make it ready for use: it has no default."""
        return _DEFAULTS[self.name] == ""

    @property
    def folder(self) -> Path:
        """Return where the command puts the suggested model."""
        return prepared.models_folder() / self.model.rpartition("/")[2]

    @property
    def command(self) -> str:
        """Return the commands that fetch the suggested model and configure it."""
        if not self.is_prepared:
            return f"hf download {self.model} {FILES}\n{self.variable}={self.model} make run"
        folder = shlex.quote(str(self.folder))
        return "\n".join([*self.fetch(self.folder), f"{PROGRAM} models {self.name} {folder}"])

    def fetch(self, folder: Path) -> list[str]:
        """Return the commands that fetch the suggested model into a folder."""
        files = "" if self.note else f"{FILES} "
        own = f"hf download {self.model} {files}--local-dir {shlex.quote(str(folder))}"
        return [own, *([fetch_encoder(self.encoder, folder)] if self.encoder else [])]


XLM_R = "FacebookAI/xlm-roberta-large"
MODEL_KINDS: dict[str, ModelKind] = {
    kind.name: kind
    for kind in (
        ModelKind("seq2seq", "a seq2seq model", "facebook/bart-large-cnn", "1.6 GB", "MIT"),
        ModelKind("encoder", "a text encoder", "FacebookAI/roberta-large", "1.4 GB", "MIT"),
        ModelKind("nli", "an entailment model", "cross-encoder/nli-deberta-v3-base", "0.7 GB", "Apache-2.0"),
        ModelKind("lm", "a causal language model", "openai-community/gpt2", "0.5 GB", "MIT"),
        ModelKind("mlm", "a masked language model", "FacebookAI/roberta-base", "0.5 GB", "MIT"),
        ModelKind("unieval", "a UniEval model", "MingZhong/unieval-sum", "3.1 GB", "MIT", PICKLED),
        ModelKind("bleurt", "a BLEURT model", "Elron/bleurt-large-512", "1.3 GB", "Apache-2.0", PICKLED),
        ModelKind("comet", "a COMET model", "Unbabel/wmt22-comet-da", "2.3 GB", "Apache-2.0", PICKLED, XLM_R),
    )
}
_DEFAULTS = {field.name: field.default for field in fields(Settings)}
_TRIED: ContextVar[tuple[str, str]] = ContextVar("tried", default=("", ""))


def fetch_encoder(repository: str, folder: Path) -> str:
    """Return the command that fetches the configuration and tokenizer of an encoder, without its weights."""
    files = "config.json tokenizer.json tokenizer_config.json"
    return f"hf download {repository} {files} --local-dir {shlex.quote(str(folder))}"


@contextmanager
def trying(kind: str, folder: Path) -> Iterator[None]:
    """Use the model in a folder for a kind of model, in this thread and within the `with` block."""
    token = _TRIED.set((kind, str(folder)))
    try:
        yield
    finally:
        _TRIED.reset(token)


def setting_of(name: str) -> str:
    """Return the setting of a kind of model, presets as the id of their checkpoint; "" if not configured."""
    return _setting(name)[0]


def preset_of(name: str) -> ModelPreset | None:
    """Return the preset configured for a kind of model, or None if the setting is not a preset."""
    return _setting(name)[1]


def is_set(name: str) -> bool:
    """Return whether the environment configures a kind of model, which takes precedence over a prepared one."""
    return bool(os.environ.get(MODEL_KINDS[name].variable))


def _setting(name: str) -> tuple[str, ModelPreset | None]:
    tried, folder = _TRIED.get()
    chosen = folder if tried == name else str(getattr(load_settings(), name)) or prepared.folder_of(name)
    preset = preset_named(name, chosen)
    return (preset.checkpoint if preset else "") or chosen, preset


def configured_model(name: str) -> Checkpoint:
    """Return the configured checkpoint of a kind. Raises UserError with the command that configures or fetches it."""
    kind, (chosen, preset) = MODEL_KINDS[name], _setting(name)
    if not chosen:
        raise UserError(
            f"{kind.words} is needed but not configured",
            where=kind.variable,
            expected=f"a folder or the hub id of a downloaded model, such as {kind.model} ({kind.size}, {kind.licence})"
            + (f"; {kind.note}" if kind.note else ""),
            hint=kind.command.replace("\n", " && "),
        )
    if preset and not preset.checkpoint:
        raise UserError(f"{preset.label} is not on this machine", where=kind.variable, got=chosen, hint=preset.note)
    return resolve(chosen)


def configured_facts(name: str, **options: object) -> dict[str, object]:
    """Return the signature fields of a configured model: name, revision, options, library versions.

    Raises UserError as `configured_model`.
    """
    return facts_of(configured_model(name), **options)


def facts_of(checkpoint: Checkpoint, **options: object) -> dict[str, object]:
    """Return the signature fields of a checkpoint: name, revision, options, library versions."""
    return {
        "model": checkpoint.name,
        "rev": checkpoint.revision,
        **options,
        "torch": package("torch").split("+")[0],
        "transformers": package("transformers"),
    }


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


def read_config(checkpoint: Checkpoint, name: str = "config.json") -> dict[str, Any]:
    """Return a JSON file of a checkpoint. Raises UserError if it is missing or not a JSON object."""
    return read_json(checkpoint.path, name)


def checked_facts(kind: str) -> dict[str, object]:
    """Return the signature fields of the configured model of a kind, after checking its class. Raises UserError."""
    return facts_of(checked(kind))


def checked(kind: str) -> Checkpoint:
    """Return the configured checkpoint of a kind. Raises UserError if there is none, or its class does not fit."""
    checkpoint = configured_model(kind)
    check(kind, checkpoint)
    return checkpoint


def check(kind: str, checkpoint: Checkpoint) -> None:
    """Raise UserError unless a checkpoint fits the kind."""
    check_config(kind, read_config(checkpoint), checkpoint.name, MODEL_KINDS[kind].variable)


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
    names = {int(i): str(name) for i, name in (read_config(checkpoint).get("id2label") or {}).items()}
    by_stem = {
        stem: [i for i, name in sorted(names.items()) if _bare(name).startswith(stem)]
        for stem in ("entail", "neutral", "contradict")
    }
    if len(by_stem["entail"]) != 1 or max(map(len, by_stem.values())) > 1:
        raise UserError(
            "the label names of this model do not identify entailment",
            where=f"id2label in {checkpoint.path / 'config.json'}",
            got=", ".join(f"{i}: {name}" for i, name in sorted(names.items())) or "no names",
            expected="entailment, neutral and contradiction, in the order the model was trained with",
            hint="Write the label names into that file, as documented by the model's authors",
        )
    return NliLabels(*(columns[0] if columns else None for columns in by_stem.values()))  # type: ignore[arg-type]


def multilingual(checkpoint: Checkpoint) -> bool:
    """Return whether this is a multilingual encoder–decoder, which needs language codes."""
    return read_config(checkpoint).get("model_type") in MULTILINGUAL


def missing_languages() -> UserError:
    """Return the error for a multilingual model without configured languages."""
    what = "the languages of the multilingual model are not configured"
    return UserError(what, where="ERRORSCOPE_LANGUAGES", expected=LANGUAGES)


def _bare(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalpha())

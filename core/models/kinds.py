"""The kinds of model that metrics use, the configured model of each, and how to configure a missing one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from core.errors import PROGRAM, UserError
from core.models import prepared, presets
from core.models.checkpoint import Checkpoint, resolve
from core.models.presets import PICKLED
from core.settings import Settings
from core.settings import load as settings
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
            return f"hf download {self.model} {presets.FILES}\n{self.variable}={self.model} make run"
        folder = shlex.quote(str(self.folder))
        return "\n".join([*self.fetch(self.folder), f"{PROGRAM} models {self.name} {folder}"])

    def fetch(self, folder: Path) -> list[str]:
        """Return the commands that fetch the suggested model into a folder."""
        files = "" if self.note else f"{presets.FILES} "
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


def preset_of(name: str) -> presets.ModelPreset | None:
    """Return the preset configured for a kind of model, or None if the setting is not a preset."""
    return _setting(name)[1]


def is_set(name: str) -> bool:
    """Return whether the environment configures a kind of model, which takes precedence over a prepared one."""
    return bool(os.environ.get(MODEL_KINDS[name].variable))


def _setting(name: str) -> tuple[str, presets.ModelPreset | None]:
    tried, folder = _TRIED.get()
    chosen = folder if tried == name else str(getattr(settings(), name)) or prepared.folder_of(name)
    preset = presets.named(name, chosen)
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


def facts(name: str, **options: object) -> dict[str, object]:
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

"""The roles models play: what each is for, who plays it, and what it takes to fill one that is empty."""

from __future__ import annotations

from typing import NamedTuple

from core.errors import UserError
from core.models import presets
from core.models.checkpoint import Checkpoint, resolve
from core.settings import load as settings
from core.signature import package


class Role(NamedTuple):
    """`name` is also the field of `Settings`; the other fields speak of the model a user would most likely want."""

    name: str
    words: str
    model: str
    size: str
    licence: str
    note: str = ""  # what stands between fetching and playing

    @property
    def variable(self) -> str:
        """The environment variable that fills it."""
        return f"ERRORSCOPE_{self.name.upper()}"

    @property
    def command(self) -> str:
        """What fetches the suggested model and makes it play."""
        if self.note:
            folder = self.model.rpartition("/")[2]
            return f"hf download {self.model} --local-dir {folder}\n{self.variable}={folder} make run"
        return (
            f"hf download {self.model} --include '*.json' '*.txt' '*.model' '*.safetensors'\n"
            f"{self.variable}={self.model} make run"
        )


PICKLED = "the weights come as a pickle, which is never loaded: convert them once in between, as docs/models.md says"

ROLES: dict[str, Role] = {
    role.name: role
    for role in (
        Role("seq2seq", "an encoder–decoder", "facebook/bart-large-cnn", "1.6 GB", "MIT"),
        Role("encoder", "a text encoder", "FacebookAI/roberta-large", "1.4 GB", "MIT"),
        Role("nli", "an entailment model", "cross-encoder/nli-deberta-v3-base", "0.7 GB", "Apache-2.0"),
        Role("lm", "a causal language model", "openai-community/gpt2", "0.5 GB", "MIT"),
        Role("mlm", "a masked language model", "FacebookAI/roberta-base", "0.5 GB", "MIT"),
        Role("unieval", "a T5 trained to answer yes or no", "MingZhong/unieval-sum", "3.1 GB", "MIT", PICKLED),
        Role("bleurt", "a BLEURT regressor", "Elron/bleurt-large-512", "1.3 GB", "Apache-2.0", PICKLED),
        Role("comet", "a COMET checkpoint", "Unbabel/wmt22-comet-da", "2.3 GB", "Apache-2.0", PICKLED),
    )
}


def chosen_for(name: str) -> str:
    """What is set for a role, a preset by the id of its checkpoint; "" where nothing is."""
    chosen = str(getattr(settings(), name))
    preset = presets.named(name, chosen)
    return preset.checkpoint or chosen if preset else chosen


def preset_of(name: str) -> presets.Preset | None:
    """The preset that is set for a role, by its name; None where something else is."""
    return presets.named(name, str(getattr(settings(), name)))


def player(name: str) -> Checkpoint:
    """The checkpoint that plays a role. Raises UserError with the command that fills an empty one, or fetches what is set."""
    role, chosen, preset = ROLES[name], chosen_for(name), preset_of(name)
    if not chosen:
        raise UserError(
            f"this needs {role.words}, and none is set",
            where=role.variable,
            expected=f"a folder or a fetched hub id, such as {role.model} ({role.size}, {role.licence})"
            + (f"; {role.note}" if role.note else ""),
            hint=role.command.replace("\n", " && "),
        )
    if preset and not preset.checkpoint:
        raise UserError(f"{preset.label} is not on this machine", where=role.variable, got=chosen, hint=preset.note)
    return resolve(chosen)


def facts(name: str) -> dict[str, object]:
    """What a signature says of the model in a role: name, revision, library versions. Raises UserError as `player` does."""
    checkpoint = player(name)
    return {
        "model": checkpoint.name,
        "rev": checkpoint.revision,
        "torch": package("torch").split("+")[0],
        "transformers": package("transformers"),
    }

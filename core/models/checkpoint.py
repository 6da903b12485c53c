"""Which checkpoint plays a role, said without loading it: its name, its revision, whether it is here."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError

BUNDLED = Path(__file__).parent / "bart_mini"


class Checkpoint(NamedTuple):
    """`name` is the hub id or the folder's name, `revision` the start of the SHA-256 of its weights, `note` what they should know."""

    name: str
    path: Path
    revision: str
    note: str

    @property
    def bundled(self) -> bool:
        return self.path == BUNDLED


def resolve(role: str) -> Checkpoint:
    """The checkpoint for `bundled`, a local folder, or a hub id that is in the local hub cache; nothing is downloaded.

    Raises UserError, with the command that fetches it, when the weights are not on this machine as safetensors.
    """
    if role == "bundled":
        return Checkpoint(
            "bundled/bart-mini", BUNDLED, _revision(BUNDLED), "small demonstration model that ships with Errorscope"
        )
    folder = Path(role).expanduser()
    if not folder.is_dir():
        folder = _hub_folder(role)
    return Checkpoint(folder.name if Path(role).expanduser().is_dir() else role, folder, _revision(folder), "")


def describe(role: str) -> str:
    """One line for screens: who speaks when a number depends on this role."""
    checkpoint = resolve(role)
    return f"{checkpoint.name} ({checkpoint.revision})" + (f": {checkpoint.note}" if checkpoint.note else "")


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
            hint="Pickled weights (.bin, .pt) are never loaded; convert them to safetensors first",
        )
    return _digest(tuple((str(w), w.stat().st_mtime_ns) for w in weights))


@lru_cache(maxsize=32)
def _digest(files: tuple[tuple[str, int], ...]) -> str:
    digest = hashlib.sha256()
    for name, _ in files:
        with open(name, "rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:12]

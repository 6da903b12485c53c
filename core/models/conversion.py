"""Convert pickled weights to safetensors, reading nothing of the pickle but numbers.

A pickle can name any function to be called when it is read. torch reads these with `weights_only`: it calls nothing but what makes
tensors and containers. Objects of training programs, which COMET's checkpoints may hold beside the weights, are replaced by empty ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor
from torch.serialization import get_unsafe_globals_in_checkpoint, safe_globals

from core.errors import UserError
from core.models.architectures.shapes import HPARAMS
from core.models.checkpoint import SETTLING, WEIGHTS
from core.models.folders import ModelFolder, original_of, read_hparams
from core.progress import Progress, no_progress, part

TRAINERS = (
    "pytorch_lightning",
    "lightning",
    "lightning_fabric",
    "lightning_utilities",
    "torchmetrics",
    "comet",
    "argparse",
)
"""Packages whose objects beside the weights are not read."""
DTYPES = {
    torch.int64: "I64", torch.float64: "F64", torch.float32: "F32", torch.int32: "I32", torch.bfloat16: "BF16",
    torch.float16: "F16", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip
"""Their names in safetensors, in the order in which it writes them."""
BLOCK = 1 << 24


class _NotRead:
    """Stands for an object of a training program."""

    def __new__(cls, *_: object, **__: object) -> _NotRead:
        return object.__new__(cls)

    def __setstate__(self, state: object) -> None:
        pass


def convert(folder: ModelFolder, target: Path, progress: Progress = no_progress) -> str:
    """Write a pickled model as safetensors, with its other files, and return the SHA-256 of the pickle.

    The file appears under its name when it is complete. Raises UserError if the pickle holds anything but weights, is not the one
    that was published, or does not fit on the disk.
    """
    source = folder.pickled
    if source is None:
        raise ValueError("nothing to convert")
    digest = _digest(source, part(progress, 0, 2))
    published = original_of(folder)[1]
    if published and published != digest:
        raise UserError(
            "this file is not the one that was published", where=str(source), got=f"SHA-256 {digest}", expected=published,
            hint="Its download is damaged. Delete the file and fetch it again",
        )  # fmt: skip
    state = _weights(source)
    target.mkdir(parents=True, exist_ok=True)
    if target != folder.path:
        for file in folder.path.iterdir():
            if file.is_file() and file.name.endswith(SETTLING):
                shutil.copyfile(file, target / file.name)
    if folder.kind == "comet":
        write_hparams(folder.path, target)
    write_safetensors(state, target / WEIGHTS, part(progress, 1, 2), {} if folder.kind == "comet" else {"format": "pt"})
    return digest


def write_hparams(source: Path, target: Path) -> None:
    """Write the hyperparameters of a COMET checkpoint as JSON into the folder `target`."""
    with _finished(target / HPARAMS) as out:
        out.write(json.dumps(read_hparams(source), default=str).encode())


def write_safetensors(
    tensors: Mapping[str, Tensor], path: Path, progress: Progress = no_progress, about: Mapping[str, str] | None = None
) -> None:
    """Write tensors as `safetensors.torch.save_file` does, byte by byte, one at a time and with progress.

    Raises UserError if there is no room. Nothing is left of a file that is not finished.
    """
    ordered = sorted(tensors, key=lambda name: (list(DTYPES).index(tensors[name].dtype), name))
    header: dict[str, Any] = {"__metadata__": dict(about)} if about else {}
    end = 0
    for name in ordered:
        tensor = tensors[name]
        start, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    free = shutil.disk_usage(path.parent).free
    if free < end + (1 << 26):
        raise UserError(
            "there is no room for the converted weights", where=str(path.parent), got=f"{free / 1e9:.1f} GB free",
            expected=f"{end / 1e9:.1f} GB", hint="Make room, and convert again",
        )  # fmt: skip
    with _finished(path) as out:
        out.write(len(text).to_bytes(8, "little") + text)
        done = 0
        for name in ordered:
            numbers = tensors[name].detach().contiguous().reshape(-1).view(torch.uint8).numpy()
            for at in range(0, len(numbers), BLOCK):
                done += out.write(numbers[at : at + BLOCK].data)
                progress(done / max(end, 1))


@contextmanager
def _finished(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears under its name when it is complete. Nothing is left of one that is not."""
    unfinished = path.with_suffix(".part")
    try:
        with open(unfinished, "wb") as out:
            yield out
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _weights(source: Path) -> dict[str, Tensor]:
    """Return the tensors in a pickle. Raises UserError if it asks for anything else."""
    try:
        is_zip = zipfile.is_zipfile(source)
        unknown = get_unsafe_globals_in_checkpoint(source) if is_zip else []
        skipped = [(_NotRead, name) for name in unknown if name.partition(".")[0] in TRAINERS]
        with safe_globals(skipped):  # type: ignore[arg-type]  # the annotation of torch asks for functions
            loaded = torch.load(source, map_location="cpu", weights_only=True, mmap=is_zip)
    except Exception as error:  # torch raises many kinds for a damaged file
        said = str(error)
        named = re.search(r"GLOBAL (\S+)", said)
        raise UserError(
            "these weights cannot be read safely", where=str(source),
            got=f"the file asks to call {named[1]}" if named else said.partition("\n")[0][:200],
            expected="a file of torch.save with nothing but weights", hint="Fetch the file again from its authors' repository",
        ) from error  # fmt: skip
    state = loaded.get("state_dict", loaded) if isinstance(loaded, dict) else loaded
    if not isinstance(state, dict) or not state:
        raise UserError(
            "this file has no weights", where=str(source), got=type(state).__name__, expected="tensors by name"
        )
    odd = [
        str(k)
        for k, v in state.items()
        if not isinstance(v, Tensor) or v.layout != torch.strided or v.dtype not in DTYPES
    ]
    if odd:
        raise UserError(
            "this file has something else among its weights",
            where=str(source),
            got=", ".join(odd[:3]),
            expected="tensors by name",
        )
    return {str(name): tensor for name, tensor in state.items()}


def _digest(path: Path, progress: Progress) -> str:
    digest, size, done = hashlib.sha256(), max(path.stat().st_size, 1), 0
    with open(path, "rb") as handle:
        while block := handle.read(BLOCK):
            digest.update(block)
            done += len(block)
            progress(done / size)
    return digest.hexdigest()

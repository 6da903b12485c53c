"""Check the files of a fetched model before it is used: what each is, what was expected, and the next step. Loads no torch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from core.errors import UserError
from core.models import configs
from core.models.architectures.shapes import HPARAMS, comet_shape_of
from core.models.checkpoint import INDEX, WEIGHTS, check_weights, read_json
from core.models.configs import MODEL_KINDS, fetch_encoder
from core.models.prepared import models_folder

YAML = "hparams.yaml"
COMET_WEIGHTS, PYTORCH_WEIGHTS = "checkpoints/model.ckpt", "pytorch_model.bin"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
FETCH = "Fetch it"
EXPECTED = {YAML: "COMET's hyperparameters", "config.json": "the configuration of the model"}
LFS = b"version https://git-lfs"
UNFINISHED = "*.incomplete"
HUB_FILES = ".cache/huggingface/download"
"""Where `hf download --local-dir` keeps the commit and digest of each file, and parts of unfinished ones."""
SHORT_NAMES = {name: f"FacebookAI/{name}" for name in ("xlm-roberta-base", "xlm-roberta-large")}
"""Encoders as COMET's hyperparameters name them, and their repositories on the model hub."""


class FileCheck(NamedTuple):
    """A file that a model needs. `expected`, `todo` (the next step) and its `command`, if it has one, are "" if it is fine."""

    name: str
    got: str
    expected: str = ""
    todo: str = ""
    command: str = ""

    @property
    def fine(self) -> bool:
        return not self.expected


class ModelFolder(NamedTuple):
    """A folder with a fetched model. `pickled` are weights that must be converted, or None; `encoder` is COMET's encoder."""

    kind: str
    path: Path
    files: tuple[FileCheck, ...]
    pickled: Path | None
    encoder: str = ""

    @property
    def usable(self) -> bool:
        """Return whether all files are there, converted or not."""
        return all(file.fine for file in self.files)

    def error(self) -> UserError:
        """Return the first fault as an error."""
        one = next(file for file in self.files if not file.fine)
        return UserError(
            f"{MODEL_KINDS[self.kind].words} cannot be made of this folder", where=str(self.path / one.name),
            got=one.got, expected=one.expected, hint=": ".join(filter(None, (one.todo, one.command))),
        )  # fmt: skip


def model_folder(kind: str, text: str) -> ModelFolder:
    """Check the folder of a model, given by its path or that of a file in it. Raises UserError if there is no such folder."""
    path = Path(text.strip()).expanduser()
    path = path.parent if path.is_file() else path
    path = path.parent if path.name == "checkpoints" else path
    if not path.is_dir():
        raise UserError(
            "there is no such folder on the machine of the server", where=str(path), expected="the folder into which you fetched the model",
            hint="Fetch the model first, or check the path",
        )  # fmt: skip
    pickled, weights = _weights(kind, path)
    if kind == "comet":
        hparams, encoder = _hparams(path)
        files = [hparams, weights, *_encoder_files(path, encoder)]
        return ModelFolder(kind, path, tuple(files), pickled, encoder)
    config = _checked(path, "config.json", lambda: _config(kind, path), _fetch(kind, path))
    return ModelFolder(kind, path, (config, weights, _tokenizer(path, _fetch(kind, path))), pickled)


def found_folders(kind: str) -> list[ModelFolder]:
    """Return the folders that look like a model of this kind: in the folder of models, then where the program was started."""
    places = [*_below(models_folder()), *(Path.cwd() / name for name in _suggested(kind))]
    places.sort(key=lambda path: path.name not in _suggested(kind))
    unique = {path.resolve(): path for path in reversed(places) if path.is_dir()}
    return [model_folder(kind, str(path)) for path in reversed(unique.values()) if _resembles(kind, path)]


def _suggested(kind: str) -> dict[str, str]:
    """Return the suggested models of a kind, by the name of their folder."""
    return {model.rpartition("/")[2]: model for model in (MODEL_KINDS[kind].model, *OTHERS.get(kind, ()))}


OTHERS = {"comet": ("Unbabel/wmt20-comet-qe-da",)}


def original_of(folder: ModelFolder) -> tuple[str, str]:
    """Return the commit and the SHA-256 that `hf download` noted for the pickled weights, each "" if not known."""
    if folder.pickled is None:
        return "", ""
    name = folder.pickled.relative_to(folder.path)
    try:
        lines = (folder.path / HUB_FILES / f"{name}.metadata").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return "", ""
    commit, digest = (*lines, "", "")[:2]
    return (
        commit if re.fullmatch(r"[0-9a-f]{40}", commit) else "",
        digest if re.fullmatch(r"[0-9a-f]{64}", digest) else "",
    )


def read_hparams(path: Path) -> dict[str, Any]:
    """Return COMET's hyperparameters, from hparams.yaml or comet.json. Raises UserError."""
    if (path / HPARAMS).is_file():
        return read_json(path, HPARAMS)
    try:
        hparams = yaml.safe_load((path / YAML).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise UserError(f"cannot read {YAML}", where=str(path), got=" ".join(str(error).split())[:200]) from error
    if not isinstance(hparams, dict):
        raise UserError(f"{YAML} has no hyperparameters", where=str(path), got=type(hparams).__name__)
    return hparams


def _below(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def _resembles(kind: str, path: Path) -> bool:
    if path.name in _suggested(kind):
        return True
    is_comet = any((path / name).is_file() for name in (YAML, HPARAMS, COMET_WEIGHTS))
    if kind == "comet" or is_comet:
        return kind == "comet" and is_comet
    try:
        _config(kind, path)
    except UserError:
        return False
    return bool(read_json(path, "config.json").get("architectures"))


def _fetch(kind: str, path: Path) -> str:
    """Return the command that completes a folder, or fetches the suggested model into its own if this one has something else."""
    chosen = MODEL_KINDS[kind]
    model = _suggested(kind).get(path.name, chosen.model)
    return chosen._replace(model=model).fetch(path if _resembles(kind, path) else chosen.folder)[0]


def _config(kind: str, path: Path) -> str:
    config = read_json(path, "config.json")
    configs.check_config(kind, config, path.name, str(path / "config.json"))
    return ", ".join(map(str, config.get("architectures") or [])) or str(config.get("model_type", "read"))


def _checked(path: Path, name: str, read: Callable[[], str], command: str) -> FileCheck:
    """Return the check of a file by `read`, which describes it or raises UserError."""
    if not (path / name).is_file():
        return FileCheck(name, _instead(path), EXPECTED[name], FETCH, command)
    try:
        return FileCheck(name, read())
    except UserError as error:
        said = f"{error.what}: {error.got}"
        return FileCheck(
            name, said, error.expected or "a file of the model", error.hint or FETCH, "" if error.hint else command
        )


def _instead(path: Path) -> str:
    """Return what there is instead of a file: the folder that was probably meant, or nothing."""
    unfinished = len(list((path / HUB_FILES).rglob(UNFINISHED))) if (path / HUB_FILES).is_dir() else 0
    if unfinished:
        return "not here: the download is not finished"
    deeper = [below.name for below in _below(path) if (below / "config.json").is_file() or (below / YAML).is_file()]
    return f"not here, but there is a model in its folder {deeper[0]}" if deeper else "not here"


def _weights(kind: str, path: Path) -> tuple[Path | None, FileCheck]:
    """Return the weights to convert, or None, and the check of the weights."""
    original = COMET_WEIGHTS if kind == "comet" else PYTORCH_WEIGHTS
    if any((path / name).is_file() for name in (WEIGHTS, INDEX)):
        name = WEIGHTS if (path / WEIGHTS).is_file() else INDEX
        try:
            check_weights(path)
        except UserError as error:
            return None, FileCheck(name, f"{error.what}: {error.got}", error.expected, error.hint)
        return None, _file(path, name, _fetch(kind, path))
    return path / original, _file(path, original, _fetch(kind, path))


def _file(path: Path, name: str, command: str) -> FileCheck:
    expected = f"{MODEL_KINDS['comet'].size} or so" if name == COMET_WEIGHTS else "the weights of the model"
    try:
        with open(path / name, "rb") as handle:
            start, size = handle.read(len(LFS)), os.fstat(handle.fileno()).st_size
    except OSError as error:
        others = [one for one in ("tf_model.h5", "flax_model.msgpack", "bert_config.json") if (path / one).exists()]
        instead = f"not here, but {others[0]}, which Errorscope cannot read" if others else _instead(path)
        return FileCheck(
            name, instead if isinstance(error, FileNotFoundError) else str(error.strerror), expected, FETCH, command
        )
    if start == LFS:
        return FileCheck(name, f"the {size} bytes that Git LFS keeps in place of the file", expected, FETCH, command)
    if not size:
        return FileCheck(name, "an empty file", expected, FETCH, command)
    unit, factor = next(((u, f) for u, f in (("GB", 1e9), ("MB", 1e6)) if size >= f), ("kB", 1e3))
    return FileCheck(name, f"{size / factor:.1f} {unit}")


def _hparams(path: Path) -> tuple[FileCheck, str]:
    """Return the check of COMET's hyperparameters, and the repository of the encoder."""
    name = HPARAMS if (path / HPARAMS).is_file() else YAML
    encoder = MODEL_KINDS["comet"].encoder

    def described() -> str:
        nonlocal encoder
        hparams = read_hparams(path)
        shape = comet_shape_of(hparams, path / name)
        encoder = _encoder(hparams) or encoder
        return f"COMET {'with' if shape.references else 'without'} references, encoder {hparams.get('pretrained_model', 'not named')}"

    check = _checked(path, name, described, _fetch("comet", path))
    if check.expected.startswith("regression_metric"):
        models = " or ".join((MODEL_KINDS["comet"].model, *OTHERS["comet"]))
        check = check._replace(todo=f"Fetch {models} instead, or import the scores as external scores", command="")
    return check, encoder


def _encoder(hparams: Mapping[str, Any]) -> str:
    name = str(hparams.get("pretrained_model") or "")
    return SHORT_NAMES.get(name, name)


def _encoder_files(path: Path, encoder: str) -> Iterator[FileCheck]:
    command = fetch_encoder(encoder, path)
    yield _checked(path, "config.json", lambda: str(read_json(path, "config.json").get("model_type")), command)
    yield _tokenizer(path, command)


def _tokenizer(path: Path, command: str) -> FileCheck:
    name = next((name for name in TOKENIZERS if (path / name).is_file()), "")
    return (
        FileCheck(name, "there")
        if name
        else FileCheck(TOKENIZERS[0], "not here", "the tokenizer of the model", FETCH, command)
    )

"""Only hashed files are loaded: no pickle, no file outside the folder, no code of a checkpoint."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForMaskedLM

from core.errors import UserError
from core.models import loading
from core.models.architectures import comet, encoder, language_models, nli, seq2seq
from core.models.checkpoint import NLI_FOLDER, Checkpoint, resolve
from tests import tiny_checkpoints as tiny

ADAPTER = "adapter_model.safetensors"


def pickled(folder: Path, scale: float) -> Path:
    """The bundled adapter with its weights scaled and written as a pickle."""
    shutil.copytree(NLI_FOLDER, folder)
    weights = {k: v * scale for k, v in load_file(folder / ADAPTER).items()}
    (folder / ADAPTER).unlink()
    torch.save(weights, folder / "adapter_model.bin")
    return folder


@pytest.mark.parametrize("decoy", ["", "model.safetensors", "other.safetensors"])
def test_an_adapter_without_safetensors_is_refused(decoy: str, tmp_path: Path) -> None:
    folder = pickled(tmp_path / "a", 3)
    if decoy:
        shutil.copy(NLI_FOLDER / ADAPTER, folder / decoy)
    with pytest.raises(UserError, match=r"no safetensors weights .*adapter_model\.bin"):
        resolve(str(folder))
    with pytest.raises(UserError, match="no safetensors weights"):
        nli.with_adapter(Checkpoint("a", folder, "x", ""), "cpu")


def test_adapters_with_other_weights_have_other_revisions(tmp_path: Path) -> None:
    revisions = []
    for scale in (1, 3, 9):
        folder = tmp_path / str(scale)
        shutil.copytree(NLI_FOLDER, folder)
        save_file({k: v * scale for k, v in load_file(NLI_FOLDER / ADAPTER).items()}, folder / ADAPTER)
        revisions.append(resolve(str(folder)).revision)
    assert len(set(revisions)) == 3


@pytest.mark.parametrize(
    "change", [{"peft_type": "PROMPT_TUNING"}, {"megatron_config": {"a": 1}, "megatron_core": "x"}]
)
def test_other_kinds_of_adapters_are_refused(change: dict[str, object], tmp_path: Path) -> None:
    folder = tmp_path / "a"
    shutil.copytree(NLI_FOLDER, folder)
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UserError, match="kind of adapter"):
        nli.with_adapter(resolve(str(folder)), "cpu")


MODEL_KINDS: dict[str, Callable[[], object]] = {
    "encoder": encoder.load_encoder, "lm": language_models.load_causal, "mlm": language_models.load_masked, "unieval": seq2seq.load_yes_no,
    "seq2seq": lambda: seq2seq.load_seq2seq(str(Path(os.environ["ERRORSCOPE_SEQ2SEQ"]))),
    "nli": nli.nli, "bleurt": lambda: nli.regressor("bleurt"),
}  # fmt: skip


@pytest.mark.parametrize("role", ["encoder", "lm", "mlm", "unieval", "seq2seq"])
def test_an_adapter_is_refused_where_no_base_takes_it(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ERRORSCOPE_{role.upper()}", str(NLI_FOLDER))
    with pytest.raises(UserError, match="adapter|cannot be"):
        MODEL_KINDS[role]()


def whole(tmp_path: Path) -> Path:
    folder = tmp_path / "whole"
    tiny.environment()
    shutil.copytree(tiny.home("mlm"), folder)
    return folder


@pytest.mark.parametrize("role", list(MODEL_KINDS))
def test_a_pickle_beside_other_safetensors_is_refused(
    role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.environment()
    folder = tmp_path / role
    shutil.copytree(tiny.home("mlm" if role == "encoder" else role), folder)
    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.rename(folder / "decoy.safetensors")
    monkeypatch.setenv(f"ERRORSCOPE_{role.upper()}", str(folder))
    with pytest.raises(UserError, match=r"no safetensors weights .*pytorch_model\.bin"):
        MODEL_KINDS[role]()


def test_a_comet_checkpoint_that_is_a_pickle_is_refused(tmp_path: Path) -> None:
    tiny.environment()
    folder = tmp_path / "comet"
    shutil.copytree(tiny.home("comet"), folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "model.ckpt")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="no safetensors weights"):
        resolve(str(folder))
    (folder / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0damaged")
    with pytest.raises(UserError, match="cannot read"):
        comet.load_comet(resolve(str(folder)))


@pytest.mark.parametrize("name", ["adapter_model.bin", "../model.safetensors", "model.safetensors.index.json"])
def test_weights_named_by_the_configuration_must_be_hashed_ones(name: str, tmp_path: Path) -> None:
    folder = whole(tmp_path)
    shutil.copy(folder / "model.safetensors", tmp_path / "model.safetensors")
    torch.save(load_file(folder / "model.safetensors"), folder / "adapter_model.bin")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "transformers_weights": name}))
    with pytest.raises(UserError, match="these weights cannot be used"):
        loading.pretrained(AutoModelForMaskedLM, resolve(str(folder)))


def test_shards_are_hashed_and_stay_in_their_folder(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    half = len(weights) // 2
    parts = {"a.safetensors": list(weights)[:half], "b.safetensors": list(weights)[half:]}
    for name, keys in parts.items():
        save_file({k: weights[k].contiguous() for k in keys}, folder / name, {"format": "pt"})
    index = {"metadata": {}, "weight_map": {k: name for name, keys in parts.items() for k in keys}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    first = resolve(str(folder))
    network, _ = loading.pretrained(AutoModelForMaskedLM, first)
    assert sum(p.numel() for p in network.parameters()) > 0
    save_file(
        {k: weights[k].contiguous() * 3 for k in parts["b.safetensors"]}, folder / "b.safetensors", {"format": "pt"}
    )
    assert resolve(str(folder)).revision != first.revision
    (folder / "deep").mkdir()
    (folder / "b.safetensors").rename(folder / "deep" / "b.safetensors")
    index["weight_map"] = {k: v.replace("b.", "deep/b.") for k, v in index["weight_map"].items()}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match="these weights cannot be used"):
        loading.pretrained(AutoModelForMaskedLM, resolve(str(folder)))


def test_code_that_comes_with_a_checkpoint_is_never_run(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    ran = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Own: pass\n")
    for file in ("config.json", "tokenizer_config.json"):
        config = json.loads((folder / file).read_text())
        config |= {"auto_map": dict.fromkeys(("AutoConfig", "AutoModel", "AutoTokenizer"), "own.Own")}
        config |= {"model_type": "own", "tokenizer_class": "Own"}
        (folder / file).write_text(json.dumps(config))
    with pytest.raises(UserError, match="cannot read this model"):
        loading.pretrained(AutoModel, resolve(str(folder)))
    with pytest.raises(UserError, match="cannot read this tokenizer"):
        loading.tokenizer(resolve(str(folder)))
    assert not ran.exists()

"""A fetched model becomes ready for use: its files are checked, pickles are converted without running them, two outputs are scored."""

from __future__ import annotations

import argparse
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from cli import metrics as command
from core.errors import UserError
from core.metrics import readiness, registry
from core.models import folders, prepared
from core.models.configs import MODEL_KINDS
from core.models.conversion import write_safetensors
from core.models.prepared import PairScores
from core.progress import Cancelled
from core.services.models import preparing
from tests import tiny_checkpoints as tiny

QE = "referenceless_regression_metric"


class _Runs:
    """A pickle that would call a function when it is read."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.made,)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in MODEL_KINDS.values():
        monkeypatch.delenv(kind.variable, raising=False)
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state_of(metric: str) -> tuple[str, str]:
    one = readiness.readiness_of(registry.load_metric(metric))
    return one.state, one.reason


def test_a_fetched_checkpoint_is_converted_tested_and_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published = home / "models" / "wmt22-comet-da"
    tiny.fetched_comet(published, {"best": 0.5, "options": argparse.Namespace(epochs=3)})
    (found,) = folders.found_folders("comet")
    assert (found.path, found.usable, found.encoder) == (published, True, "FacebookAI/xlm-roberta-large")
    assert state_of("comet") == ("weights", "a COMET model is not configured")

    def cancel(share: float) -> None:
        if share > 0.5:
            raise Cancelled

    before = sorted(file.name for file in published.iterdir())
    with pytest.raises(Cancelled):
        preparing.prepare(found, cancel)
    assert sorted(file.name for file in published.iterdir() if file.name != "comet.json") == before

    shares: list[float] = []
    model = preparing.prepare(found, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    save_file(load_file(tiny.comet(home / "as") / "model.safetensors"), home / "x")
    assert (published / "model.safetensors").read_bytes() == (home / "x").read_bytes()
    assert (model.tested.metric, model.tested.published_good, model.tested.differs) == ("comet", 0.8417, True)
    assert model.tested.good > model.tested.bad
    assert state_of("comet") == ("ready", "")
    assert f"|model:wmt22-comet-da|rev:{model.revision}|" in registry.load_metric("comet").signature()
    monkeypatch.setenv("ERRORSCOPE_COMET", "no/such-model")
    monkeypatch.setenv("HF_HUB_CACHE", str(home))
    assert "no/such-model" in state_of("comet")[1]
    monkeypatch.delenv("ERRORSCOPE_COMET")

    with pytest.raises(UserError, match="scores a bad output at least as high"):
        preparing.prepare(folders.model_folder("comet", str(tiny.fetched_comet(home / "qe", class_identifier=QE))))
    assert prepared.folder_of("comet") == str(published)
    malicious = tiny.fetched_comet(home / "malicious", _Runs(home / "ran"))
    with pytest.raises(UserError, match=r"read safely .*asks to call"):
        preparing.prepare(folders.model_folder("comet", str(malicious / "checkpoints" / "model.ckpt")))
    assert not (home / "ran").exists()
    assert not (malicious / "model.safetensors").exists()

    prepared.keep("comet", None)
    assert state_of("comet") == ("weights", "a COMET model is not configured")
    scores = PairScores(
        metric="bleurt", good_text="", bad_text="", good=0.9879, bad=0.047, published_good=0.9877, published_bad=0.0475
    )
    assert not scores.differs
    (home / "models.json").write_text('{"comet": 1}')
    with pytest.raises(UserError, match="list of prepared models cannot be read"):
        prepared.all_prepared()


@pytest.mark.extended
def test_files_that_are_missing_or_unsuitable_are_named_with_the_next_step(home: Path) -> None:
    folder = tiny.fetched_comet(home / "models" / "wmt22-comet-da")

    def faults(kind: str = "comet", path: Path = folder) -> dict[str, str]:
        return {file.name: file.got for file in folders.model_folder(kind, str(path)).files if not file.fine}

    assert faults() == {}
    weights = folder / "checkpoints" / "model.ckpt"
    content = weights.read_bytes()
    weights.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    assert "Git LFS" in faults()["checkpoints/model.ckpt"]
    weights.write_bytes(b"")
    assert faults() == {"checkpoints/model.ckpt": "an empty file"}
    weights.unlink()
    unfinished = folder / folders.HUB_FILES / "checkpoints" / "x.incomplete"
    unfinished.parent.mkdir(parents=True)
    unfinished.touch()
    assert faults() == {"checkpoints/model.ckpt": "not here: the download is not finished"}
    weights.write_bytes(content[:-200])
    with pytest.raises(UserError, match="cannot be read safely"):
        preparing.prepare(folders.model_folder("comet", str(folder)))
    weights.write_bytes(content)
    (unfinished.parent / "model.ckpt.metadata").write_text(f"{'a' * 40}\n{'b' * 64}\n1.0\n")
    with pytest.raises(UserError, match="not the one that was published .*expected bbbb"):
        preparing.prepare(folders.model_folder("comet", str(folder)))
    (unfinished.parent / "model.ckpt.metadata").write_text(f"{'a' * 40}\n{'b' * 40}\n1.0\n")
    assert preparing.prepare(folders.model_folder("comet", str(folder))).hub == "a" * 40

    (folder / "tokenizer.json").rename(home / "t")
    (checked,) = (file for file in folders.model_folder("comet", str(folder)).files if not file.fine)
    assert (
        checked.command
        == f"hf download FacebookAI/xlm-roberta-large config.json tokenizer.json tokenizer_config.json --local-dir {folder}"
    )
    (home / "t").rename(folder / "tokenizer.json")
    kiwi = tiny.fetched_comet(home / "kiwi")
    given = json.loads((kiwi / "hparams.yaml").read_text()) | {"class_identifier": "unified_metric"}
    (kiwi / "hparams.yaml").write_text(json.dumps(given))
    (checked,) = (file for file in folders.model_folder("comet", str(kiwi)).files if not file.fine)
    assert "unified_metric" in checked.got
    assert "wmt22-comet-da" in checked.todo
    (kiwi / "hparams.yaml").write_text("a: !!python/object/apply:os.getcwd []")
    assert "cannot read hparams.yaml" in faults(path=kiwi)["hparams.yaml"]
    assert "in its folder" in faults(path=folder.parent)["hparams.yaml"]
    assert "GPT2LMHeadModel" in faults("bleurt", tiny.causal(home / "gpt2"))["config.json"]
    assert "3 labels" in faults("bleurt", tiny.nli(home / "nli"))["config.json"]
    with pytest.raises(UserError, match="no such folder"):
        folders.model_folder("bleurt", str(home / "none"))

    other = tiny.fetched_comet(home / "other")
    config = json.loads((other / "config.json").read_text())
    for change, said in (
        ({"hidden_size": 32}, "config.json is not that"),
        ({"vocab_size": 100}, "config.json is not that"),
    ):
        (other / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(UserError, match=said):
            preparing.prepare(folders.model_folder("comet", str(other)))


def ran(kind: str, folder: Path) -> bool:
    """Whether the command takes the model: an untrained one may prefer the bad output."""
    try:
        command.models_command(kind, str(folder))
    except UserError as error:
        if not error.what.startswith("this model scores a bad output"):
            raise
        return False
    return True


@pytest.mark.extended
def test_other_kinds_are_prepared_by_the_command(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="is not fetched yet .*hf download Elron/bleurt-large-512"):
        command.models_command("bleurt")
    passed = Counter[bool]()
    for seed in range(12):
        folder = home / "models" / f"bleurt-{seed}"
        passed[ran("bleurt", tiny.pickled(tiny.regressor(folder, seed)))] += 1
    assert set(passed) == {True, False}
    said = capsys.readouterr().out
    assert "good output “hi universe”" in said
    assert state_of("bleurt") == ("ready", "")
    with pytest.raises(UserError, match="which folder"):
        command.models_command("bleurt")
    nli = tiny.pickled(tiny.nli(home / "nli"))
    command.models_command("nli", str(nli))
    assert f"ERRORSCOPE_NLI={nli}" in capsys.readouterr().out
    for kind, make in (("lm", tiny.causal), ("mlm", tiny.masked)):
        for seed in range(12):
            shutil.rmtree(home / kind, ignore_errors=True)
            if ran(kind, make(home / kind, seed)):
                break
        assert state_of({"lm": "gpt-ppl", "mlm": "mlm-ppl"}[kind]) == ("ready", "")
    monkeypatch.setattr(preparing, "_can_write", lambda folder: False)
    read_only = tiny.pickled(tiny.nli(home / "elsewhere"))
    assert preparing.convert_only(folders.model_folder("nli", str(read_only))) == home / "models" / "elsewhere"
    assert not (read_only / "model.safetensors").exists()
    assert (home / "models" / "elsewhere" / "config.json").is_file()


@pytest.mark.extended
def test_the_converted_file_is_that_of_safetensors(tmp_path: Path) -> None:
    kinds = (
        torch.float32,
        torch.int64,
        torch.bfloat16,
        torch.float64,
        torch.bool,
        torch.float16,
        torch.int32,
        torch.uint8,
        torch.int8,
        torch.int16,
    )
    tensors = {f"é{i}": torch.arange(i * 3).to(kind).reshape(i, 3) for i, kind in enumerate(kinds)} | {
        "one": torch.tensor(2.5)
    }
    for about in ({}, {"format": "pt"}):
        write_safetensors(tensors, tmp_path / "own", about=about)
        save_file(tensors, tmp_path / "theirs", about or None)
        assert (tmp_path / "own").read_bytes() == (tmp_path / "theirs").read_bytes()

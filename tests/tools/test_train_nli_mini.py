"""Training of the bundled entailment model: what is trained on, and that a stopped run continues as if it had not been stopped."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.models.checkpoint import NLI_FOLDER, resolve
from tools import nli_pairs, train_nli_mini
from tools.nli_pairs import NliPair
from tools.train_nli_mini import TARGETS, NliTrainingSettings, read_nli, train

pytestmark = pytest.mark.extended

ROWS = [
    ("A man sleeps.", "A person sleeps.", "entailment", "conjnli", "train"),
    ("A man sleeps.", "A man runs.", "contradiction", "conjnli", "train"),
    ("A man sleeps.", "A tall man sleeps.", "neutral", "conjnli", "train"),
    ("It rained today.", "Today it rained.", "entailment", "msrp", "train"),
    ("It snowed today.", "It did not snow today.", "contradiction", "conjnli", "dev"),
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path]]:
    nli, made = tmp_path / "nli.tsv.gz", tmp_path / "made.tsv.gz"
    lines = ["premise\thypothesis\tlabel\torigin\tsplit", *("\t".join(row) for row in ROWS)]
    nli.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    pairs = [
        NliPair(f"He saw {n} cars.", f"He saw {n + 1} cars.", TARGETS["contradiction"], "number", n == 9)
        for n in range(10)
    ]
    nli_pairs.write(made, pairs)
    return nli, [made]


def test_dev_is_kept_out_and_what_holds_both_ways_is_trained_both_ways(files: tuple[Path, list[Path]]) -> None:
    trained, dev = read_nli(files[0], np.random.default_rng(0))
    seen = {(pair.premise, pair.hypothesis) for pair in trained}
    assert [pair.premise for pair in dev] == ["It snowed today."]
    assert not seen & {("It snowed today.", "It did not snow today."), ("It did not snow today.", "It snowed today.")}
    assert {("A man runs.", "A man sleeps."), ("Today it rained.", "It rained today.")} <= seen
    assert not seen & {("A person sleeps.", "A man sleeps."), ("A tall man sleeps.", "A man sleeps.")}


def test_a_stopped_run_continues_to_the_same_weights(
    files: tuple[Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = NliTrainingSettings(rank=2, alpha=4, steps=4, batch_tokens=60)
    train(*files, tmp_path / "whole", settings, every=2)
    keep = train_nli_mini.keep

    def keep_and_stop(*given: object) -> None:
        keep(*given)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(train_nli_mini, "keep", keep_and_stop)
    with pytest.raises(KeyboardInterrupt):
        train(*files, tmp_path / "halves", settings, every=2)
    monkeypatch.setattr(train_nli_mini, "keep", keep)
    torch.manual_seed(99)
    train(*files, tmp_path / "halves", settings, resume=True, every=2)
    whole, halves = (load_file(tmp_path / name / "adapter_model.safetensors") for name in ("whole", "halves"))
    assert whole.keys() == halves.keys()
    assert all(torch.allclose(whole[key], halves[key], atol=1e-3) for key in whole)
    told = [json.loads((tmp_path / name / "training.json").read_text()) for name in ("whole", "halves")]
    assert [(t["steps"], t["pairs_seen"], t["continued"]) for t in told] == [(4, told[0]["pairs_seen"], None)] * 2
    assert not (tmp_path / "halves" / train_nli_mini.STATE).exists()
    assert resolve(str(tmp_path / "whole")).path


def test_another_run_can_start_from_the_bundled_adapter(files: tuple[Path, list[Path]], tmp_path: Path) -> None:
    train(*files, tmp_path / "on", NliTrainingSettings(steps=1, learning_rate=1e-9), start=NLI_FOLDER)
    before, after = (load_file(folder / "adapter_model.safetensors") for folder in (NLI_FOLDER, tmp_path / "on"))
    assert all(torch.allclose(before[key].float(), after[key].float(), atol=1e-3) for key in before)
    told = json.loads((tmp_path / "on" / "training.json").read_text())
    assert told["continued"] == json.loads((NLI_FOLDER / "training.json").read_text())
    names = json.loads((tmp_path / "on" / "adapter_config.json").read_text())["modules_to_save"]
    assert len(names) == len(set(names))
    assert {"pool", "classifier"} <= set(names)

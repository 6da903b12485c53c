"""Training of the bundled BART: damaged prefixes and their labels, and that a stopped round continues as the same round."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.utils.data import DataLoader

from tools import train_bart_mini
from tools.bart_cases import BOS, EOS, BartTrainingSettings, Corpus, damaged_prefix
from tools.train_bart_mini import TrainingBatches, train

pytestmark = pytest.mark.extended

TINY = BartTrainingSettings(
    vocabulary=290, d_model=16, layers=1, heads=2, feed_forward=16, positions=64, steps=4, batch_tokens=60, warmup=1
)
STARTS = np.array([i % 2 == 0 for i in range(20)])
"""Even tokens start a word."""


def test_a_long_word_is_cut_short_anywhere_in_inputs_and_labels() -> None:
    settings = BartTrainingSettings(word_errors=0, token_errors=0, cut_short=1)
    corpus = Corpus([], [[6, 8]], STARTS)
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(900):
        inputs, labels = damaged_prefix([6, 7, 9, 11, 8], corpus, settings, rng)
        assert inputs[:2] == [EOS, BOS]
        assert labels == [BOS, *inputs[2:], EOS]
        kept.append(len(inputs) - 3)
    assert [kept.count(n) for n in (1, 2, 3)] == pytest.approx([300, 300, 300], rel=0.25)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pairs, sentences = tmp_path / "pairs.tsv.gz", tmp_path / "sentences.txt.gz"
    texts = [f"The {a} dog saw the {b} cat." for a in ("old", "small", "red") for b in ("young", "large", "blue")]
    pairs.write_bytes(gzip.compress("".join(f"{t}\tA {t.lower()}\n" for t in texts).encode()))
    sentences.write_bytes(gzip.compress("\n".join(texts).encode()))
    return pairs, sentences


def test_loading_processes_draw_different_reproducible_cases() -> None:
    corpus = Corpus([([6, 8], [10, 12])], [[6, 8, 10], [12, 14]], STARTS)
    settings = BartTrainingSettings(vocabulary=20, batch_tokens=60)

    def first() -> list[torch.Tensor]:
        cases = DataLoader(TrainingBatches(corpus, settings, [1]), batch_size=None, num_workers=2)
        return [batch[0] for batch in islice(cases, 2)]

    one, other = first()
    assert one.shape != other.shape or not torch.equal(one, other)
    assert all(torch.equal(a, b) for a, b in zip(first(), (one, other), strict=True))


def test_cases_can_be_made_in_other_processes(files: tuple[Path, Path], tmp_path: Path) -> None:
    train(*files, tmp_path / "out", TINY, None, loaders=1)
    assert [r["steps"] for r in json.loads((tmp_path / "out/training.json").read_text())["rounds"]] == [4]


def test_a_stopped_round_continues_as_the_same_round(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    replace = Path.replace

    def replace_and_stop(path: Path, target: Path) -> Path:
        done = replace(path, target)
        if target.name == train_bart_mini.STATE:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Path, "replace", replace_and_stop)
    with pytest.raises(KeyboardInterrupt):
        train(*files, out, TINY, None, every=2)
    monkeypatch.setattr(Path, "replace", replace)
    stopped = torch.load(out / train_bart_mini.STATE, weights_only=True)
    assert stopped["at"]["step"] == 2
    assert [r["steps"] for r in json.loads((out / "training.json").read_text())["rounds"]] == [2]
    train(*files, out, TINY, None, resume=True, every=2)
    assert [r["steps"] for r in json.loads((out / "training.json").read_text())["rounds"]] == [4]
    assert not (out / train_bart_mini.STATE).exists()
    name = "model.encoder.layers.0.fc1.weight"
    assert not torch.equal(load_file(out / "model.safetensors")[name].float(), stopped["model"][name])

"""Training of the bundled BART: damaged prefixes and their labels, and that a stopped round continues as the same round."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.training import train_bart_mini
from core.training.bart_cases import BOS, EOS, BartTrainingSettings, Corpus, damaged_prefix
from core.training.train_bart_mini import train

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


def test_a_stopped_round_continues_as_the_same_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, sentences = tmp_path / "pairs.tsv.gz", tmp_path / "sentences.txt.gz"
    texts = [f"The {a} dog saw the {b} cat." for a in ("old", "small", "red") for b in ("young", "large", "blue")]
    pairs.write_bytes(gzip.compress("".join(f"{t}\tA {t.lower()}\n" for t in texts).encode()))
    sentences.write_bytes(gzip.compress("\n".join(texts).encode()))
    out = tmp_path / "out"
    replace = Path.replace

    def replace_and_stop(path: Path, target: Path) -> Path:
        done = replace(path, target)
        if target.name == train_bart_mini.STATE:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Path, "replace", replace_and_stop)
    with pytest.raises(KeyboardInterrupt):
        train(pairs, sentences, out, TINY, None, every=2)
    monkeypatch.setattr(Path, "replace", replace)
    stopped = torch.load(out / train_bart_mini.STATE, weights_only=True)
    assert stopped["at"]["step"] == 2
    assert [r["steps"] for r in json.loads((out / "training.json").read_text())["rounds"]] == [2]
    train(pairs, sentences, out, TINY, None, resume=True, every=2)
    assert [r["steps"] for r in json.loads((out / "training.json").read_text())["rounds"]] == [4]
    assert not (out / train_bart_mini.STATE).exists()
    name = "model.encoder.layers.0.fc1.weight"
    assert not torch.equal(load_file(out / "model.safetensors")[name].float(), stopped["model"][name])

"""COMET against the package unbabel-comet, on a tiny checkpoint whose weights are made by a formula; BLEURT against its regressor.

The values of COMET are what unbabel-comet 2.2.7 (transformers 4.57.6, NumPy 1.26) gives for the checkpoints of
`tests.tiny_checkpoints.comet`: RegressionMetric and ReferencelessRegression built with these hyperparameters and
load_pretrained_weights=False, the state read from model.safetensors, and forward(**prepare_sample(rows, "predict")).
The greatest difference was 1.2e-7.
"""

import json
from pathlib import Path

import pytest
import torch
from transformers import RobertaForSequenceClassification

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.metrics.learned.regression import COMET, QE
from core.models.architectures.comet import sparsemax
from core.progress import no_progress
from tests import tiny_checkpoints as tiny

ROWS = [
    ("die Katze", "the cat sat", "the cat sat on the mat"),
    ("der Hund", "a red dog 😀", "the red dog"),
    ("", "", "the house"),
    ("x" * 60, "the cat " * 40, "a blue house"),
]
QE_KIND = {"class_identifier": "referenceless_regression_metric"}
OF_THE_PACKAGE = [
    ({}, [-0.324130, -0.325041, -0.329891, -0.325849]),
    ({"layer_transformation": "softmax", "layer_norm": True}, [-0.316943, -0.310424, -0.311559, -0.325499]),
    ({"pool": "max"}, [-0.345789, -0.334720, -0.334354, -0.348772]),
    ({"pool": "cls"}, [-0.314710, -0.317377, -0.322098, -0.325151]),
    ({"layer": 1}, [-0.723382, -0.753660, -0.735249, -0.644977]),
    (
        QE_KIND | {"layer_transformation": "softmax", "layer_norm": True},
        [-0.487674, -0.457660, -0.516652, -0.549689],
    ),
]


def items() -> list[Item]:
    return [Item(source, output, (reference,)) for source, output, reference in ROWS]


@pytest.mark.parametrize(("hparams", "expected"), OF_THE_PACKAGE)
def test_scores_are_those_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hparams: dict[str, object], expected: list[float]
) -> None:
    monkeypatch.setenv("ERRORSCOPE_COMET", str(tiny.comet(tmp_path, **hparams)))
    metric = QE if "class_identifier" in hparams else COMET
    values = metric.score(items(), no_progress)
    assert [v.value for v in values] == pytest.approx(expected, abs=2e-6)
    assert "was cut" in values[3].reason
    assert not values[0].reason


def test_the_best_of_several_references_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_COMET", str(tiny.comet(tmp_path)))
    references = ("a blue house", "the red dog")
    alone = [COMET.score([Item("der Hund", "a dog", (r,))], no_progress)[0].value or 0.0 for r in references]
    both = COMET.score([Item("der Hund", "a dog", references)], no_progress)[0]
    assert both.value == pytest.approx(max(alone), abs=1e-6)
    assert both.parts["condition"] == alone.index(max(alone))


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    """Of (1, 0.8, 0.1), the support is the first two: τ = (1.8 − 1)/2 = 0.4, so (0.6, 0.4, 0)."""
    assert sparsemax(torch.tensor([1.0, 0.8, 0.1])).tolist() == pytest.approx([0.6, 0.4, 0.0])
    assert sparsemax(torch.tensor([0.8, 5.0, 0.1])).tolist() == [0.0, 1.0, 0.0]


def test_each_kind_of_checkpoint_runs_its_own_metric_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_reference, without = tiny.comet(tmp_path / "da"), tiny.comet(tmp_path / "qe", **QE_KIND)
    monkeypatch.setenv("ERRORSCOPE_COMET", str(with_reference))
    assert registry.load_metric("comet").signature().startswith("comet|v:1|nrefs:best|model:da|rev:")
    with pytest.raises(UserError, match="COMET-QE needs a checkpoint without references"):
        registry.load_metric("comet-qe").signature()
    monkeypatch.setenv("ERRORSCOPE_COMET", str(without))
    assert registry.load_metric("comet-qe").signature().startswith("comet-qe|v:1|model:qe|rev:")
    with pytest.raises(UserError, match="COMET needs a checkpoint with references"):
        registry.load_metric("comet").score(items(), no_progress)


def test_a_pickled_checkpoint_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny.comet(tmp_path)
    (folder / "comet.json").unlink()
    monkeypatch.setenv("ERRORSCOPE_COMET", str(folder))
    with pytest.raises(UserError, match="not converted") as caught:
        registry.load_metric("comet").signature()
    assert "errorscope models comet" in caught.value.hint


@pytest.mark.parametrize(
    "hparams", [{"class_identifier": "unified_metric"}, {"pool": "default"}, {"activations": "Softplus"}]
)
def test_other_kinds_of_comet_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hparams: dict[str, str]
) -> None:
    folder = tiny.comet(tmp_path)
    config = json.loads((folder / "comet.json").read_text())
    (folder / "comet.json").write_text(json.dumps(config | hparams))
    monkeypatch.setenv("ERRORSCOPE_COMET", str(folder))
    with pytest.raises(UserError, match="is not supported") as caught:
        registry.load_metric("comet").signature()
    assert caught.value.got == next(iter(hparams.values()))


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.torch import load_file, save_file

    folder = tiny.comet(tmp_path)
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.model.encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors")
    monkeypatch.setenv("ERRORSCOPE_COMET", str(folder))
    with pytest.raises(UserError, match="lacks weights"):
        COMET.score(items(), no_progress)


ITEM = Item(None, "the cat sat", ("the cat sat on the mat", "a red dog"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ERRORSCOPE_BLEURT", str(tiny.regressor(tmp_path)))
    return tmp_path


@torch.inference_mode()
def by_hand(folder: Path, reference: str, output: str) -> float:
    """<s> reference </s> output </s>, and the one number that comes out."""
    words = tiny.pair_tokenizer()
    first, second = (words(text, add_special_tokens=False)["input_ids"] for text in (reference, output))
    network = RobertaForSequenceClassification.from_pretrained(folder).eval()
    return float(network(torch.tensor([[0, *first, 2, *second, 2]])).logits[0, 0])


def test_the_reference_is_read_first_and_the_best_one_counts(folder: Path) -> None:
    values = [by_hand(folder, reference, ITEM.hypothesis) for reference in ITEM.references]
    assert values[0] != pytest.approx(by_hand(folder, ITEM.hypothesis, ITEM.references[0]), abs=1e-3)
    value = registry.load_metric("bleurt").score([ITEM], no_progress)[0]
    assert value.value == pytest.approx(max(values), abs=1e-5)
    assert value.parts["condition"] == values.index(max(values))


def test_a_checkpoint_that_needs_code_of_its_own_is_refused(folder: Path) -> None:
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"roberta"', '"bleurt"').replace("RobertaFor", "BleurtFor"))
    with pytest.raises(UserError, match="its own model code"):
        registry.load_metric("bleurt").signature()

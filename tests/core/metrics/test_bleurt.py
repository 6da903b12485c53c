"""BLEURT against the output of its regressor, called directly."""

from pathlib import Path

import pytest
import torch
from transformers import RobertaForSequenceClassification

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.progress import no_progress
from tests import tiny_checkpoints as tiny

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
    found = registry.load_metric("bleurt").score([ITEM], no_progress)[0]
    assert found.value == pytest.approx(max(values), abs=1e-5)
    assert found.parts["condition"] == values.index(max(values))


def test_the_signature_names_the_model(folder: Path) -> None:
    assert registry.load_metric("bleurt").signature().startswith(f"bleurt|v:1|nrefs:best|model:{folder.name}|rev:")


def test_a_checkpoint_that_needs_code_of_its_own_is_refused(folder: Path) -> None:
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"roberta"', '"bleurt"').replace("RobertaFor", "BleurtFor"))
    with pytest.raises(UserError, match="its own model code"):
        registry.load_metric("bleurt").signature()

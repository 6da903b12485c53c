"""The bundled NLI model: files, labels and accuracy."""

import gzip
import json
import shutil
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
import torch
from peft import PeftModel
from transformers import BertConfig

from core.errors import UserError
from core.models import checkpoint as checkpoints
from core.models import configs, loading
from core.models.architectures import nli
from core.models.architectures.nli import MeanMaxForSequenceClassification, NliModel
from core.models.checkpoint import NLI_FOLDER, resolve
from core.settings import load_settings
from tests.paths import DATA

FILE = DATA / "training/nli.tsv.gz"
LIKELIEST = ("entailment", "neutral", "contradiction")
EASY = [
    ("The committee approved the budget on Monday.", "The committee approved the budget on Monday.", "entailment"),
    ("He was born in Illinois, but moved to Oklahoma in 1949.", "He was born in Illinois.", "entailment"),
    ("The company has many employees in France.", "The company has numerous employees in France.", "entailment"),
    ("The committee approved the budget on Monday.", "The committee did not approve the budget on Monday.", "contradiction"),
    ("The bridge is 300 metres long.", "The bridge is 700 metres long.", "contradiction"),
    ("Angela Merkel met the president in Paris.", "Angela Merkel met the president in Madrid.", "contradiction"),
    ("The children went to school.", "The children went to school, despite the cold weather.", "neutral"),
    ("The bridge is 300 metres long.", "She wrote a book about the history of music.", "neutral"),
]  # fmt: skip


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> NliModel:
    monkeypatch.delenv("ERRORSCOPE_NLI", raising=False)
    return nli.nli()


def copied(folder: Path, **changes: object) -> Path:
    shutil.copytree(NLI_FOLDER, folder)
    if changes:
        path = folder / "adapter_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


def test_it_plays_where_nobody_else_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings({}).nli == "nli-mini"
    monkeypatch.delenv("ERRORSCOPE_NLI", raising=False)
    checkpoint = configs.checked("nli")
    assert checkpoint.name == "bundled/nli-mini"
    assert checkpoint.bundled
    assert "demonstration" in checkpoint.note


def other_base(folder: Path) -> Path:
    """Return the module of a package with the weights of all-MiniLM-L6-v2 and another configuration."""
    model = folder / "package" / "model"
    model.mkdir(parents=True)
    (model / "model.safetensors").symlink_to(resolve("minilm").path / "model.safetensors")
    (model / "config.json").write_text("{}")
    return folder / "package" / "__init__.py"


def test_the_revision_covers_base_adapter_and_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same = resolve(str(copied(tmp_path / "same"))).revision
    assert same == resolve("nli-mini").revision
    scaled = resolve(str(copied(tmp_path / "scaled", lora_alpha=32))).revision
    folder = copied(tmp_path / "weights")
    path = folder / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    weights = resolve(str(folder)).revision
    package = other_base(tmp_path)
    monkeypatch.setattr(checkpoints, "find_spec", lambda name: ModuleSpec(name, None, origin=str(package)))
    assert len({same, scaled, weights, resolve("nli-mini").revision}) == 4


def test_the_order_of_its_labels_is_read_from_its_configuration() -> None:
    assert configs.labels(resolve("nli-mini")) == (0, 1, 2)
    names = json.loads((NLI_FOLDER / "config.json").read_text())["id2label"]
    assert [names[str(i)] for i in range(3)] == list(LIKELIEST)


@pytest.mark.models
def test_easy_cases_get_their_label(model: NliModel) -> None:
    labels = model.judged([(premise, hypothesis) for premise, hypothesis, _ in EASY]).values.argmax(axis=1)
    assert [LIKELIEST[int(i)] for i in labels] == [label for _, _, label in EASY]


@pytest.mark.models
def test_what_is_left_out_follows_and_what_is_added_does_not(model: NliModel) -> None:
    long = "In 2010, the firm opened a factory in Spain, which closed last year."
    short = "The firm opened a factory in Spain."
    forward, backward = model.judged([(long, short), (short, long)]).values
    assert forward[0] > 0.5 > backward[0]


@pytest.mark.models
def test_merged_it_says_what_the_adapter_says_beside_its_base(model: NliModel) -> None:
    network = MeanMaxForSequenceClassification.from_pretrained(
        resolve("minilm").path, config=BertConfig.from_pretrained(NLI_FOLDER), dtype=torch.float32
    )
    apart = PeftModel.from_pretrained(network, str(NLI_FOLDER)).eval()
    pairs = [(premise, hypothesis) for premise, hypothesis, _ in EASY]
    merged = model.classifier.logits(pairs).values
    words = loading.tokenizer(resolve("minilm"))
    with torch.inference_mode():
        beside = [apart(**words(*pair, return_tensors="pt")).logits[0].numpy() for pair in pairs]
    assert merged == pytest.approx(np.array(beside), abs=1e-3)


def test_logits_use_mean_and_maximum_without_padding() -> None:
    torch.manual_seed(0)
    small = BertConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4)
    network = MeanMaxForSequenceClassification(small).eval()
    ids = torch.tensor([[1, 5, 6, 2]])
    with torch.inference_mode():
        states = network.bert(ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
        both = torch.cat([states.mean(dim=0), states.max(dim=0).values])
        expected = network.classifier(torch.tanh(network.pool(both)))
        filled = torch.tensor([[1, 5, 6, 2, 0, 0]])
        logits = network(input_ids=filled, attention_mask=(filled > 0).long()).logits[0]
    assert logits.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


@pytest.mark.models
def test_an_adapter_of_ones_own_plays_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_NLI", str(copied(tmp_path / "mine")))
    checkpoint = configs.checked("nli")
    assert (checkpoint.name, checkpoint.revision) == ("mine", resolve("nli-mini").revision)
    assert not checkpoint.bundled
    assert nli.nli().judged([EASY[0][:2]]).values[0, 0] > 0.5


@pytest.mark.models
def test_an_adapter_for_another_base_is_turned_down(tmp_path: Path) -> None:
    folder = copied(tmp_path / "other", base_model_name_or_path="someone/else")
    with pytest.raises(UserError, match="made for another base model"):
        nli.with_adapter(resolve(str(folder)), "cpu")


@pytest.mark.models
def test_an_adapter_without_its_last_layer_is_turned_down(tmp_path: Path) -> None:
    folder = copied(tmp_path / "headless", modules_to_save=None, task_type=None)
    with pytest.raises(UserError, match="lacks weights"):
        nli.with_adapter(resolve(str(folder)), "cpu")


@pytest.mark.models
@pytest.mark.skipif(not FILE.exists(), reason="../shared/data/training/nli.tsv.gz is not here")
def test_it_beats_the_majority_label_on_unseen_pairs(model: NliModel) -> None:
    """Every sixth pair of `dev`; the figures of all of them are in the model card."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    dev = [row for row in rows if row[4] == "dev"][::6]
    predicted = model.judged([(premise, hypothesis) for premise, hypothesis, *_ in dev]).values.argmax(axis=1)
    right = [LIKELIEST[answer] == row[2] for answer, row in zip(predicted, dev, strict=True)]
    assert len(dev) == 392
    assert sum(right) / len(right) > 0.68

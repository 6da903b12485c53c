"""Entailment models and regressors: order of labels, and logits that do not depend on the batch."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, BertConfig, BertModel

from core.errors import UserError
from core.models import configs
from core.models.architectures import nli
from core.models.architectures.nli import Classifier, NliModel
from core.models.checkpoint import resolve
from tests import tiny_checkpoints as tiny

PAIRS = [
    ("the cat sat on the mat", "the cat sat"),
    ("a dog", "the red dog ran on a mat"),
    ("the cat sat", "the cat sat on the mat"),
    ("", "a house"),
]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NliModel:
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tiny.nli(tmp_path / "nli")))
    return nli.nli()


def by_hand(folder: Path, premise: str, hypothesis: str) -> list[float]:
    """softmax over the logits of <s> premise </s> hypothesis </s>, the second text and its end being of type 1."""
    words = tiny.pair_tokenizer(types=True)
    first, second = (words(text, add_special_tokens=False)["input_ids"] for text in (premise, hypothesis))
    ids = [0, *first, 2, *second, 2]
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = network(torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits[0]
    odds = logits.double().exp()
    return (odds / odds.sum()).tolist()


def test_probabilities_are_the_softmax_in_the_order_e_n_c(model: NliModel, tmp_path: Path) -> None:
    """The labels of the tiny model are contradiction, entailment, neutral."""
    probabilities = model.judged(PAIRS).values
    assert probabilities.shape == (4, 3)
    for pair, (e, n, c) in zip(PAIRS, probabilities, strict=True):
        assert [c, e, n] == pytest.approx(by_hand(tmp_path / "nli", *pair), abs=1e-6)


def test_batch_mates_and_padding_change_nothing(model: NliModel) -> None:
    together = model.judged(PAIRS).values
    alone = np.concatenate([model.judged([pair]).values for pair in PAIRS])
    assert together == pytest.approx(alone, abs=1e-6)


def test_equal_pairs_are_computed_once(model: NliModel, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    forward = model.classifier.model.forward
    monkeypatch.setattr(
        model.classifier.model, "forward", lambda **batch: (rows.append(len(batch["input_ids"])), forward(**batch))[1]
    )
    probabilities = model.judged([PAIRS[0], PAIRS[1], PAIRS[0], PAIRS[0]]).values
    assert sum(rows) == 2
    assert probabilities[0] == pytest.approx(probabilities[2])


def test_texts_over_the_models_length_are_cut_and_said_to_be(model: NliModel) -> None:
    judged = model.judged([("the cat " * 60, "a dog"), PAIRS[0]])
    assert judged.truncated.tolist() == [True, False]
    assert len(model.classifier.encode("the cat " * 60, "a dog").ids) == model.classifier.limit == 2 * tiny.WINDOW


def test_a_separator_that_stands_in_a_text_is_text(model: NliModel) -> None:
    assert model.classifier.encode("a </s> b", "c").ids.count(2) == 2


def test_no_pairs_give_no_probabilities(model: NliModel) -> None:
    assert model.judged([]).values.shape == (0, 3)


@pytest.mark.parametrize(
    ("names", "order"),
    [
        ({0: "entailment", 1: "neutral", 2: "contradiction"}, (0, 1, 2)),
        ({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, (2, 1, 0)),
        ({0: "Entails", 1: "contradicts", 2: "Neutral"}, (0, 2, 1)),
        ({0: "not_entailment", 1: "entailment"}, (1, None, None)),
    ],
)
def test_the_order_of_labels_is_read_from_the_configuration(
    tmp_path: Path, names: dict[int, str], order: tuple[int | None, ...]
) -> None:
    assert tuple(configs.labels(resolve(str(tiny.nli(tmp_path, names))))) == order


@pytest.mark.parametrize(
    "names",
    [{0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, {0: "entailment", 1: "entailed"}, {0: "yes", 1: "no"}],
)
def test_labels_that_do_not_say_which_is_entailment_are_refused(tmp_path: Path, names: dict[int, str]) -> None:
    with pytest.raises(UserError, match="do not identify entailment") as caught:
        configs.labels(resolve(str(tiny.nli(tmp_path, names))))
    assert names[0] in caught.value.got


def test_a_model_of_two_labels_gives_entailment_and_no_neutral(tmp_path: Path) -> None:
    folder = tiny.nli(tmp_path, {0: "not_entailment", 1: "entailment"})
    checkpoint = resolve(str(folder))
    network = AutoModelForSequenceClassification.from_pretrained(folder)
    model = NliModel(Classifier(network, tiny.pair_tokenizer(types=True)), configs.labels(checkpoint))
    assert model.entailment(PAIRS[:1]).values[0, 0] == pytest.approx(by_hand(folder, *PAIRS[0])[1], abs=1e-6)
    with pytest.raises(UserError, match="does not distinguish neutral from contradiction"):
        model.judged(PAIRS)


def test_a_plain_encoder_is_no_entailment_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = BertModel(BertConfig(vocab_size=300, **tiny.SMALL))
    tiny.saved(encoder, tiny.pair_tokenizer(), tmp_path)
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tmp_path))
    with pytest.raises(UserError, match="cannot be used as an entailment model"):
        nli.nli()


def test_a_head_without_weights_is_never_drawn_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = BertModel(BertConfig(vocab_size=300, id2label=tiny.LABELS, **tiny.SMALL))
    tiny.saved(encoder, tiny.pair_tokenizer(), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"architectures": ["BertForSequenceClassification"]}))
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tmp_path))
    with pytest.raises(UserError, match="lacks weights"):
        nli.nli()


def test_a_classifier_is_no_regressor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_BLEURT", str(tiny.nli(tmp_path)))
    with pytest.raises(UserError, match="3 labels"):
        nli.regressor("bleurt")


def test_positions_of_roberta_count_from_after_the_padding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_BLEURT", str(tiny.regressor(tmp_path)))
    model = nli.regressor("bleurt")
    assert model.limit == 2 * tiny.WINDOW
    assert np.isfinite(model.logits([("the cat " * 60, "a dog")]).values).all()

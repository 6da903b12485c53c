"""Entailment in its directions, against the probabilities of the model."""

from pathlib import Path

import pytest

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.models.architectures import nli
from core.progress import no_progress
from tests import tiny_checkpoints as tiny

ITEM = Item("die Katze", "the cat sat", ("the cat sat on the mat", "a red dog"))


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in tiny.environment().items():
        monkeypatch.setenv(name, value)


def e(premise: str, hypothesis: str) -> float:
    return float(nli.nli().judged([(premise, hypothesis)]).values[0, 0])


def test_each_direction_has_its_own_question() -> None:
    there = [e(r, ITEM.hypothesis) for r in ITEM.references]
    back = [e(ITEM.hypothesis, r) for r in ITEM.references]
    means = [(t + b) / 2 for t, b in zip(there, back, strict=True)]
    expected = {
        "entailment": there,
        "entailment|direction:output-reference": back,
        "entailment|direction:both": means,
        "entailment|direction:source-output": [e("die Katze", ITEM.hypothesis)],
    }
    for name, of_references in expected.items():
        value = registry.load_metric(name).score([ITEM], no_progress)[0]
        assert value.value == pytest.approx(max(of_references), abs=1e-6)
        assert value.parts["condition"] == of_references.index(max(of_references))


def test_what_is_needed_follows_the_direction() -> None:
    assert registry.load_metric("entailment").spec.needs == {"reference", "nli"}
    assert registry.load_metric("entailment|direction:source-output").spec.needs == {"source", "nli"}


def test_the_signature_names_direction_model_and_revision() -> None:
    fields = registry.load_metric("entailment|direction:both").signature().split("|")
    assert fields[:5] == ["entailment", "v:1", "direction:both", "nrefs:best", "model:nli"]
    assert fields[5].startswith("rev:")


def test_a_text_that_was_cut_is_said_to_be() -> None:
    item = Item(None, "a dog", ("the cat sat on the mat " * 30,))
    assert "was cut" in registry.load_metric("entailment").score([item], no_progress)[0].reason


def test_numbered_labels_are_refused_before_anything_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tiny.nli(tmp_path, {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"})))
    with pytest.raises(UserError, match="identify entailment"):
        registry.load_metric("entailment").signature()


def test_it_matches_sentences_in_smart() -> None:
    """SMART's T5-ANLI: the sentence of the reference is the premise, that of the output the hypothesis."""
    metric = registry.load_metric("smart1|matcher:entailment|against:reference")
    value = metric.score([Item(None, "the cat sat", ("a red dog",))], no_progress)[0]
    assert value.value == pytest.approx(e("a red dog", "the cat sat"), abs=1e-6)

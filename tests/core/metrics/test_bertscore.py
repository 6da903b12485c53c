"""BERTScore equals bert-score 0.3.13 on the same encoder, and its arithmetic on states written out by hand."""

import re
from pathlib import Path

import numpy as np
import pytest

from core.data import Dataset, Item, Output, Segment
from core.errors import UserError
from core.metrics import registry
from core.metrics.embedding import bertscore
from core.metrics.embedding.bertscore import WeightedTokens
from core.metrics.embedding.bertscore_layers import layer_of
from core.models.checkpoint import Checkpoint
from core.progress import no_progress
from core.scoring.dataset import for_dataset
from tests.core.metrics.all_outputs import all_outputs
from tests.core.metrics.similarity_cases import CASES, apart
from tests.minilm import need_minilm

ITEMS = [Item(str(i), case.output, (case.reference,)) for i, case in enumerate(CASES)]


@pytest.fixture(autouse=True)
def _minilm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    need_minilm(monkeypatch)
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))


def scored(expression: str, items: list[Item]) -> np.ndarray:
    metric = registry.load(expression)
    values = apart(metric.for_outputs(all_outputs(items)), items)
    return np.array([[v.parts["precision"], v.parts["recall"], v.parts["f"], v.value] for v in values])


# bert_score.score(outputs, references, model_type=FOLDER, num_layers=5, idf=IDF, device="cpu"), bert-score 0.3.13, with
# BertTokenizer.build_inputs_with_special_tokens given back to transformers 5, which the package calls for an empty text.
@pytest.mark.parametrize("idf", ["no", "yes"])
def test_it_equals_the_package_bert_score(idf: str) -> None:
    expected = np.array([case.bertscore_idf if idf == "yes" else case.bertscore for case in CASES])
    found = scored(f"bertscore|idf:{idf}", ITEMS)
    np.testing.assert_allclose(found[:, :3], expected, atol=1e-5)
    np.testing.assert_allclose(found[:, 3], expected[:, 2], atol=1e-5)


# As above with num_layers=0 and 6.
@pytest.mark.parametrize(("layer", "expected"), [(0, (0.8140, 0.9905, 0.8936)), (6, (0.7960, 0.9513, 0.8667))])
def test_another_layer_equals_the_package(layer: int, expected: tuple[float, float, float]) -> None:
    found = scored(f"bertscore|layer:{layer}", [Item(None, "the red dog ran home", ("the dog ran home",))])
    np.testing.assert_allclose(found[0, :3], expected, atol=6e-5)


# Of several references the package gives the best P, R and F, each for itself: 0.8303, 0.9840, 0.9007.
@pytest.mark.parametrize(("measure", "expected"), [("p", 0.8303), ("r", 0.9840), ("f", 0.9007)])
def test_of_several_references_the_best_by_the_measure_counts(measure: str, expected: float) -> None:
    item = Item(None, "the red dog ran home", ("a blue dog ran", "", "the dog ran home", "a red cat"))
    value = registry.load(f"bertscore|measure:{measure}").score([item], no_progress)[0]
    assert value.value == pytest.approx(expected, abs=6e-5)
    assert value.parts["condition"] == 2


def test_greedy_matching_by_hand() -> None:
    # Cosines of output × reference: ((1, 0), (0.6, 0.8), (0, 1)); the third token of the output is special.
    # P = (1·1 + 3·0.8) / 4 = 0.85; R = (2·1 + 1·1) / 3 = 1 (the special token may be matched); F = 1.7 / 1.85.
    output = WeightedTokens(
        np.array([[1, 0], [0.6, 0.8], [0, 1]], dtype=np.float32), np.array([1.0, 3, 0]), False, False
    )
    reference = WeightedTokens(np.eye(2, dtype=np.float32), np.array([2.0, 1]), False, False)
    found = bertscore._Scoring._compared(_plain(), output, reference)
    assert found == pytest.approx([0.85, 1, 1.7 / 1.85])


def _plain() -> bertscore._Scoring:
    from core.models.architectures.encoder import load

    return bertscore._Scoring(load(), 5, None, 2, None)


def test_idf_depends_on_all_outputs_named_in_the_signature() -> None:
    metric = registry.load("bertscore|idf:yes")
    assert metric.fit is not None
    whole, part = metric.for_outputs(all_outputs(ITEMS)), metric.for_outputs(all_outputs(ITEMS)[:5])
    assert whole.signature() != part.signature()
    assert whole.signature() == metric.for_outputs([*all_outputs(ITEMS)[::-1], *all_outputs(ITEMS)[:3]]).signature()
    assert "idf:refs-20-" in whole.signature()
    assert whole.score(ITEMS[:1], no_progress)[0].value != part.score(ITEMS[:1], no_progress)[0].value
    with pytest.raises(TypeError, match="Metric.for_outputs"):
        metric.score(ITEMS, no_progress)


TWICE = [("the dog ran", "a dog ran home"), ("a cat sat", "the cat sat"), ("a cat sat", "the cat sat")]
"""Output and reference of three segments; two have equal texts."""


# As at the top, over these three with idf=True; over the first two alone it gives 0.948562 and 0.945548 for P.
def test_segments_with_equal_texts_count_each_as_in_the_package() -> None:
    first, second = (0.961142, 0.812741, 0.880734), (0.915573, 0.945548, 0.930319)
    found = scored("bertscore|idf:yes", [Item("s", output, (reference,)) for output, reference in TWICE])
    np.testing.assert_allclose(found[:, :3], [first, second, second], atol=1e-5)


def test_idf_counts_segments_once_and_outputs_each_time() -> None:
    segments = tuple(Segment("d", str(n), "s", (reference,)) for n, (_, reference) in enumerate(TWICE))
    outputs = tuple(Output(system, "d", str(n), output) for system in "AB" for n, (output, _) in enumerate(TWICE))
    dataset = Dataset(segments, outputs)
    assert "|idf:refs-3-" in for_dataset(registry.load("bertscore|idf:yes"), dataset).signature()
    signature = for_dataset(registry.load("moverscore"), dataset).signature()
    assert re.search(r"\|idf:own-6-[0-9a-f]{8}\+3-[0-9a-f]{8}\|", signature)


def test_where_nothing_weighs_or_nothing_is_said_a_reason_stands() -> None:
    metric = registry.load("bertscore|idf:yes")
    item = Item("s", "the cat", ("the cat",))
    assert metric.fit is not None
    lone = metric.for_outputs(all_outputs([item])).score([item], no_progress)[0]  # ln(2 / 2) = 0 for every token
    assert (lone.value, lone.status, lone.reason) == (None, "undefined", bertscore.WEIGHTLESS)
    nothing = registry.load("bertscore").score([Item("s", "a", ("", " \n"))], no_progress)[0]
    assert (nothing.value, nothing.status) == (None, "undefined")


def test_a_text_that_is_cut_says_so() -> None:
    values = apart(registry.load("bertscore"), ITEMS)
    assert [bool(v.reason) for v in values] == [len(case.output) > 2000 for case in CASES]


def test_the_signature_is_exact_and_the_layer_is_told() -> None:
    signature = registry.load("bertscore").signature()
    assert signature.startswith(
        "bertscore|v:1|measure:f|layer:5|idf:no|baseline:no|nrefs:best|model:sentence-transformers/"
    )
    assert "dtype" not in signature
    with pytest.raises(UserError, match="from 0 to 6"):
        registry.load("bertscore|layer:7").signature()


# model2layers of bert_score/utils.py, bert-score 0.3.13, where three quarters of the depth would be another layer.
TABLE = [
    ("facebook/bart-large-cnn", 12, 10), ("facebook/bart-large-mnli", 12, 11), ("google-t5/t5-base", 12, 11),
    ("google-t5/t5-large", 24, 23), ("microsoft/deberta-large", 24, 16), ("microsoft/deberta-xlarge", 48, 18),
    ("google/mt5-large", 24, 19), ("microsoft/mdeberta-v3-base", 12, 10), ("google/byt5-base", 18, 17),
    ("albert/albert-xxlarge-v2", 12, 8), ("princeton-nlp/sup-simcse-roberta-large", 24, 16), ("amazon/bort", 4, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "layers", "layer"),
    [
        ("FacebookAI/roberta-large", 24, 17),
        ("bert-base-uncased", 12, 9),
        ("x/another", 12, 9),
        ("x/small", 6, 5),
        *TABLE,
    ],
)
def test_the_default_layer_is_recommended_or_at_three_quarters(
    name: str, layers: int, layer: int, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(f'{{"num_hidden_layers": {layers}}}')
    assert layer_of(Checkpoint(name, tmp_path, "0", ""), None) == layer


def test_rescaling_reads_the_layers_baseline_or_names_its_path(tmp_path: Path) -> None:
    metric = registry.load("bertscore|rescale:yes")
    assert metric.spec.range == (float("-inf"), 1)
    with pytest.raises(UserError, match=r"baselines/all-MiniLM-L6-v2\.tsv"):
        metric.signature()
    file = tmp_path / "baselines" / "all-MiniLM-L6-v2.tsv"
    file.parent.mkdir()
    file.write_text("LAYER,P,R,F\n4,0.9,0.9,0.9\n5,0.2,0.4,0.3\n")
    # bert-score: (score − baseline) / (1 − baseline), for P, R and F each
    plain, found = scored("bertscore", ITEMS[:3]), scored("bertscore|rescale:yes", ITEMS[:3])
    np.testing.assert_allclose(found[:, :3], (plain[:, :3] - [0.2, 0.4, 0.3]) / [0.8, 0.6, 0.7])
    assert "|baseline:" in metric.signature()
    assert "|baseline:no|" not in metric.signature()
    with pytest.raises(UserError, match="no baseline for the layer"):
        registry.load("bertscore|rescale:yes|layer:3").signature()

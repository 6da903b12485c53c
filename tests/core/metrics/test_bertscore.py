"""BERTScore equals bert-score 0.3.13 on the same encoder, and its arithmetic on states written out by hand."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.data import Dataset, Item, Output, Segment
from core.errors import UserError
from core.metrics import registry
from core.metrics.embedding import bertscore
from core.metrics.embedding.bertscore import layer_of
from core.models.architectures.encoder import load_encoder
from core.models.checkpoint import Checkpoint
from core.progress import no_progress
from core.scoring.dataset import for_dataset
from tests.core.metrics.all_outputs import all_outputs
from tests.core.metrics.similarity_cases import CASES, apart
from tests.core.tiny_encoder import use_encoder_of

ITEMS = [Item(str(i), case.output, (case.reference,)) for i, case in enumerate(CASES)]


@pytest.fixture(autouse=True)
def _encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_encoder_of(request, monkeypatch)
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))


def scored(expression: str, items: list[Item]) -> np.ndarray:
    metric = registry.load_metric(expression)
    values = apart(metric.for_outputs(all_outputs(items)), items)
    return np.array([[v.parts["precision"], v.parts["recall"], v.parts["f"], v.value] for v in values])


# bert_score.score(outputs, references, model_type=FOLDER, num_layers=5, idf=IDF, device="cpu"), bert-score 0.3.13, with
# BertTokenizer.build_inputs_with_special_tokens given back to transformers 5, which the package calls for an empty text.
@pytest.mark.models
@pytest.mark.parametrize("idf", ["no", "yes"])
def test_it_equals_the_package_bert_score(idf: str) -> None:
    expected = np.array([case.bertscore_idf if idf == "yes" else case.bertscore for case in CASES])
    values = scored(f"bertscore|idf:{idf}", ITEMS)
    np.testing.assert_allclose(values[:, :3], expected, atol=1e-5)
    np.testing.assert_allclose(values[:, 3], expected[:, 2], atol=1e-5)


# As above with num_layers=0 and 6.
@pytest.mark.models
@pytest.mark.parametrize(("layer", "expected"), [(0, (0.8140, 0.9905, 0.8936)), (6, (0.7960, 0.9513, 0.8667))])
def test_another_layer_equals_the_package(layer: int, expected: tuple[float, float, float]) -> None:
    values = scored(f"bertscore|layer:{layer}", [Item(None, "the red dog ran home", ("the dog ran home",))])
    np.testing.assert_allclose(values[0, :3], expected, atol=6e-5)


# Of several references the package gives the best P, R and F, each for itself: 0.8303, 0.9840, 0.9007.
@pytest.mark.models
def test_the_best_of_several_references_is_that_of_the_package() -> None:
    item = Item(None, "the red dog ran home", ("a blue dog ran", "", "the dog ran home", "a red cat"))
    for measure, expected in (("p", 0.8303), ("r", 0.9840), ("f", 0.9007)):
        value = registry.load_metric(f"bertscore|measure:{measure}").score([item], no_progress)[0]
        assert value.value == pytest.approx(expected, abs=6e-5)
        assert value.parts["condition"] == 2


def test_of_several_references_the_best_by_the_measure_counts() -> None:
    output, references = "the red dog ran home", ("a blue dog ran", "", "the dog ran home at night", "red")
    for i, measure in enumerate("prf"):
        metric = registry.load_metric(f"bertscore|measure:{measure}")
        alone = {k: by_hand(output, references[k])[i] for k in (0, 2, 3)}
        value = metric.score([Item(None, output, references)], no_progress)[0]
        assert value.value == pytest.approx(max(alone.values()), abs=1e-5)
        assert value.parts["condition"] == max(alone, key=alone.__getitem__)


def by_hand(
    output: str, reference: str, layer: int = 5, weight: Callable[[int], float] = lambda token: 1
) -> list[float]:
    """P, R and F: the weighted means of each token's greatest cosine; special tokens weigh 0 and may be matched."""
    model = load_encoder()
    states, weights = list[np.ndarray](), list[np.ndarray]()
    for tokens in model.tokens([output, reference], [layer]):
        state = tokens.states[0].astype(np.float64)
        states.append(state / np.linalg.norm(state, axis=1, keepdims=True))
        weights.append(
            np.array([weight(t) * (not s) for t, s in zip(tokens.read.ids, tokens.read.special, strict=True)])
        )
    cosines = states[0] @ states[1].T
    p, r = (float(cosines.max(axis=1 - k) @ weights[k] / weights[k].sum()) for k in (0, 1))
    return [p, r, 2 * p * r / (p + r)]


SHORT = [
    ("the red dog ran home", "the dog ran home"), ("a cat sat on the mat", "the cat sat"), ("a cat sat", "the cat sat"),
    ("the house 😀", "a blue house, in the city"),
]  # fmt: skip


@pytest.mark.parametrize("layer", [0, 5, 6])
def test_each_token_takes_its_most_similar_one(layer: int) -> None:
    values = scored("bertscore" if layer == 5 else f"bertscore|layer:{layer}", [Item(None, o, (r,)) for o, r in SHORT])
    expected = [by_hand(o, r, layer) for o, r in SHORT]
    np.testing.assert_allclose(values[:, :3], expected, atol=1e-5)
    np.testing.assert_allclose(values[:, 3], np.array(expected)[:, 2], atol=1e-5)


def test_idf_weights_are_those_of_the_references() -> None:
    # ln((N + 1) / (c + 1)): c of N references have the token; the two segments with the same reference count twice
    references = [set(load_encoder().read(reference).ids) for _, reference in SHORT]

    def weight(token: int) -> float:
        return math.log((len(SHORT) + 1) / (sum(token in ids for ids in references) + 1))

    values = scored("bertscore|idf:yes", [Item(None, o, (r,)) for o, r in SHORT])
    np.testing.assert_allclose(values[:, :3], [by_hand(o, r, weight=weight) for o, r in SHORT], atol=1e-5)


def test_idf_depends_on_all_outputs_named_in_the_signature() -> None:
    metric = registry.load_metric("bertscore|idf:yes")
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
@pytest.mark.models
def test_segments_with_equal_texts_count_each_as_in_the_package() -> None:
    first, second = (0.961142, 0.812741, 0.880734), (0.915573, 0.945548, 0.930319)
    values = scored("bertscore|idf:yes", [Item("s", output, (reference,)) for output, reference in TWICE])
    np.testing.assert_allclose(values[:, :3], [first, second, second], atol=1e-5)


def test_idf_counts_segments_once_and_outputs_each_time() -> None:
    segments = tuple(Segment("d", str(n), "s", (reference,)) for n, (_, reference) in enumerate(TWICE))
    outputs = tuple(Output(system, "d", str(n), output) for system in "AB" for n, (output, _) in enumerate(TWICE))
    dataset = Dataset(segments, outputs)
    assert "|idf:refs-3-" in for_dataset(registry.load_metric("bertscore|idf:yes"), dataset).signature()
    signature = for_dataset(registry.load_metric("moverscore"), dataset).signature()
    assert re.search(r"\|idf:own-6-[0-9a-f]{8}\+3-[0-9a-f]{8}\|", signature)


def test_where_nothing_weighs_or_nothing_is_said_a_reason_stands() -> None:
    metric = registry.load_metric("bertscore|idf:yes")
    item = Item("s", "the cat", ("the cat",))
    assert metric.fit is not None
    lone = metric.for_outputs(all_outputs([item])).score([item], no_progress)[0]  # ln(2 / 2) = 0 for every token
    assert (lone.value, lone.status, lone.reason) == (None, "undefined", bertscore.WEIGHTLESS)
    nothing = registry.load_metric("bertscore").score([Item("s", "a", ("", " \n"))], no_progress)[0]
    assert (nothing.value, nothing.status) == (None, "undefined")


def test_a_text_that_is_cut_says_so() -> None:
    items = [Item(None, CASES[0].output, ("The cat " * 99,)), Item(None, *SHORT[0][:1], (SHORT[0][1],))]
    assert [bool(v.reason) for v in registry.load_metric("bertscore").score(items, no_progress)] == [True, False]


def test_an_unknown_layer_is_told() -> None:
    with pytest.raises(UserError, match="from 0 to 6"):
        registry.load_metric("bertscore|layer:7").signature()


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
    metric = registry.load_metric("bertscore|rescale:yes")
    assert metric.spec.range == (float("-inf"), 1)
    with pytest.raises(UserError, match=r"baselines/encoder\.tsv"):
        metric.signature()
    file = tmp_path / "baselines" / "encoder.tsv"
    file.parent.mkdir()
    file.write_text("LAYER,P,R,F\n4,0.9,0.9,0.9\n5,0.2,0.4,0.3\n")
    # bert-score: (score − baseline) / (1 − baseline), for P, R and F each
    plain, rescaled = scored("bertscore", ITEMS[:3]), scored("bertscore|rescale:yes", ITEMS[:3])
    np.testing.assert_allclose(rescaled[:, :3], (plain[:, :3] - [0.2, 0.4, 0.3]) / [0.8, 0.6, 0.7])
    assert "|baseline:" in metric.signature()
    assert "|baseline:no|" not in metric.signature()
    with pytest.raises(UserError, match="no baseline for the layer"):
        registry.load_metric("bertscore|rescale:yes|layer:3").signature()

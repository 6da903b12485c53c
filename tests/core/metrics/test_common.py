"""Properties of every registered metric. A new metric is tested here automatically."""

import math

import pytest

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.metrics.learned import question_metrics
from core.models.kinds import MODEL_KINDS
from core.progress import Cancelled, no_progress
from tests.core.metrics.all_outputs import all_outputs
from tests.fakes import stop_when
from tests.tiny_checkpoints import environment_of

VARIANTS = [
    "chrf|beta:3|word_order:2",
    "bleu|tokenize:char",
    "rouge1|stem:yes",
    "bartscore|prompt:Such as;a cat|side:decoder",
    "bartscore-faithfulness|prompt:Such as",
    "bartscore++|k:3|rounds:2|prompt:Such as",
    "bartscore++-p|edits:delete+substitute|nt:probability",
    "entailment|direction:both",
    "entailment|direction:source-output",
    "nli|formula:e-n-2c|direction:output-reference",
    "nli-src|long:sentences",
    "menli|with:chrf|w:0.5|range:declared",
    "unieval|aspect:fluency|sentences:point",
    "unieval|aspect:dialogue-coherence",
    "unieval|aspect:data-informativeness",
    "smart1|matcher:rougeL|sentences:point",
    "smartX|against:reference|measure:p",
    "bertscore|measure:p|idf:yes",
    "bertscore|measure:r|layer:1",
    "moverscore|idf:no|pool:mean|distance:euclidean",
    "sms|units:both|sentences:point",
    "embedding|against:both",
]
NAMES = sorted(registry.METRICS) + VARIANTS
ITEMS = [
    Item("die Katze", "the cat sat", ("the cat sat on the mat",)),
    Item("der Hund", "a red dog 😀", ("a blue dog ran", "the red dog")),
    Item("", "", ("the house",)),
    Item("بيت", "بيت أزرق", ("بيت أحمر",)),
    Item("x", "the\u2028cat <b>", ("the cat",)),
]


@pytest.fixture(autouse=True)
def _untrained_models(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every role has a tiny player, so that no metric is left out for want of weights."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    for name, value in environment_of(parameters.get("name", "")).items():
        monkeypatch.setenv(name, value)


def ready(name: str) -> Metric:
    """The metric, fitted on the items if its values depend on others."""
    metric = registry.load(name)
    return metric.for_outputs(all_outputs(ITEMS))


@pytest.mark.parametrize("name", NAMES)
def test_one_value_an_item_in_range_or_with_a_reason(name: str) -> None:
    metric = ready(name)
    low, high = metric.spec.range
    values = metric.score(ITEMS, no_progress)
    assert len(values) == len(ITEMS)
    for value in values:
        assert (value.value is None) == (value.status != "ok")
        assert value.value is None or (math.isfinite(value.value) and low <= value.value <= high + 1e-9)
        assert value.status == "ok" or value.reason


@pytest.mark.parametrize("name", NAMES)
def test_order_and_batch_mates_do_not_matter(name: str) -> None:
    metric = ready(name)
    together = [v.value for v in metric.score(ITEMS, no_progress)]
    backwards = [v.value for v in metric.score(ITEMS[::-1], no_progress)][::-1]
    alone = [metric.score([item], no_progress)[0].value for item in ITEMS]
    for one, *others in zip(together, backwards, alone, strict=True):
        assert all(o is one is None or o == pytest.approx(one, abs=1e-4, rel=1e-5) for o in others)


@pytest.mark.parametrize(
    "name",
    [
        "bartscore", "bartscore-r|prompt:Such as;a cat", "bertscore", "bleurt", "comet", "entailment",
        "entailment|direction:both", "nli", "nli-ref-sum|long:sentences", "prism", "sms", "unieval",
        "unieval|aspect:data-informativeness",
    ],
)  # fmt: skip
def test_empty_references_are_ignored_or_undefined_if_all_are(name: str) -> None:
    first, second = "a blue dog ran", "the red dog"
    texts = [(first, second), (" ", first, "", second), ("", " \n")]
    metric = registry.load(name)
    whole, gaps, nothing = metric.score([Item("der Hund", "a red dog", given) for given in texts], no_progress)
    assert gaps.value == pytest.approx(whole.value, abs=1e-5)
    assert gaps.parts["condition"] == {0: 1, 1: 3}[int(whole.parts["condition"])]
    assert (nothing.value, nothing.status, nothing.reason) == (None, "undefined", "all references are empty")
    assert metric.score([Item("der Hund", "a red dog", ("",))], no_progress)[0].status == "undefined"


@pytest.mark.parametrize("name", ["bartscore", "bertscore", "embedding", "entailment", "prism", "sms|units:words"])
def test_a_text_that_was_cut_is_told_in_the_same_words_by_all(name: str) -> None:
    value = registry.load(name).score([Item("die Katze", "a dog", ("the cat sat on the mat " * 200,))], no_progress)[0]
    assert value.reason == question_metrics.TRUNCATED


@pytest.mark.parametrize("name", [n for n in NAMES if registry.load(n).spec.perfect_on_copy])
def test_a_copy_of_the_reference_is_best(name: str) -> None:
    metric = ready(name)
    reference = "the cat sat on the mat"
    outputs = [reference, "the cat sat on a mat", "a dog ran"]
    values = [metric.score([Item("s", o, (reference,))], no_progress)[0].value or 0.0 for o in outputs]
    assert values[0] == pytest.approx(max(values) if metric.spec.higher_is_better else min(values))


@pytest.mark.parametrize("name", NAMES)
def test_the_signature_names_metric_and_version(name: str) -> None:
    signature = registry.load(name).signature()
    fields = dict(part.split(":", 1) for part in signature.split("|")[1:])
    assert fields["v"] == str(registry.load(name).spec.version)
    assert ("rev" in fields) == bool(registry.load(name).spec.needs & MODEL_KINDS.keys())


@pytest.mark.parametrize("name", NAMES)
def test_work_nobody_wants_any_more_stops(name: str) -> None:
    with pytest.raises(Cancelled):
        ready(name).score(ITEMS, stop_when(lambda share: True))


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_is_described(name: str) -> None:
    spec = registry.load(name).spec
    assert spec.name == name
    assert spec.paper
    assert spec.help.endswith(".")


def test_standard_metrics_exist() -> None:
    assert set(registry.STANDARD) <= set(registry.METRICS)


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match="Did you mean chrf"):
        registry.load("crhf")

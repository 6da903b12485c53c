"""What every metric of the registry must do, whatever it measures. A new metric is tested here by being listed there."""

import math

import pytest

from core.data import Item
from core.errors import UserError
from core.metrics import bartscore, bartscore_pp, registry
from core.metrics.base import Cancelled, no_progress
from tests.tiny import tiny_scorer

VARIANTS = [
    "chrf|beta:3|word_order:2",
    "bleu|tokenize:char",
    "rouge1|stem:yes",
    "bartscore|prompt:Such as;a cat|side:decoder",
    "bartscore-faithfulness|prompt:Such as",
    "bartscore++|k:3|rounds:2|prompt:Such as",
    "bartscore++-p|edits:delete+substitute|nt:probability",
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
def _untrained_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bartscore, "scorer", tiny_scorer)
    monkeypatch.setattr(bartscore_pp, "scorer", tiny_scorer)


@pytest.mark.parametrize("name", NAMES)
def test_one_value_an_item_in_range_or_with_a_reason(name: str) -> None:
    metric = registry.load(name)
    low, high = metric.spec.range
    values = metric.score(ITEMS, no_progress)
    assert len(values) == len(ITEMS)
    for value in values:
        assert (value.value is None) == (value.status != "ok")
        assert value.value is None or (math.isfinite(value.value) and low <= value.value <= high + 1e-9)
        assert value.status == "ok" or value.reason


@pytest.mark.parametrize("name", NAMES)
def test_order_and_batch_mates_do_not_matter(name: str) -> None:
    metric = registry.load(name)
    together = [v.value for v in metric.score(ITEMS, no_progress)]
    backwards = [v.value for v in metric.score(ITEMS[::-1], no_progress)][::-1]
    alone = [metric.score([item], no_progress)[0].value for item in ITEMS]
    assert together == pytest.approx(backwards, abs=1e-4)
    assert together == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize("name", [n for n in NAMES if registry.load(n).spec.perfect_on_copy])
def test_a_copy_of_the_reference_is_best(name: str) -> None:
    metric = registry.load(name)
    reference = "the cat sat on the mat"
    outputs = [reference, "the cat sat on a mat", "a dog ran"]
    values = [metric.score([Item("s", o, (reference,))], no_progress)[0].value or 0.0 for o in outputs]
    assert values[0] == pytest.approx(max(values) if metric.spec.higher_is_better else min(values))


@pytest.mark.parametrize("name", NAMES)
def test_the_signature_names_metric_and_version(name: str) -> None:
    signature = registry.load(name).signature()
    fields = dict(part.split(":", 1) for part in signature.split("|")[1:])
    assert fields["v"] == str(registry.load(name).spec.version)
    assert ("rev" in fields) == ("seq2seq" in registry.load(name).spec.needs)


@pytest.mark.parametrize("name", NAMES)
def test_work_nobody_wants_any_more_stops(name: str) -> None:
    with pytest.raises(Cancelled):
        registry.load(name).score(ITEMS, lambda done: False)


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

"""Perplexities, computed from token surprisals."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from core.data import Item
from core.metrics import registry
from core.models.architectures import language_models
from core.progress import no_progress
from tests import tiny_checkpoints as tiny

ITEMS = [Item(None, "the cat sat on the mat", ()), Item(None, "", ()), Item("x", "a red dog", ("y",))]


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in tiny.environment().items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("name", "load"), [("gpt-ppl", language_models.load_causal), ("mlm-ppl", language_models.load_masked)]
)
def test_it_is_the_exponential_of_the_mean_surprise_a_token(name: str, load: Callable[[], Any]) -> None:
    found = registry.load_metric(name).score(ITEMS, no_progress)
    for item, value in zip(ITEMS, found, strict=True):
        (one,) = load().surprise([item.hypothesis])
        if item.hypothesis:
            assert value.value == pytest.approx(math.exp(one.nats / one.tokens), rel=1e-5)
            assert value.parts == {"log_likelihood": pytest.approx(-one.nats, rel=1e-5), "tokens": one.tokens}
        else:
            assert (value.value, value.status) == (None, "undefined")


@pytest.mark.parametrize("name", ["gpt-ppl", "mlm-ppl"])
def test_it_looks_at_the_output_alone_and_lower_is_better(name: str) -> None:
    spec = registry.load_metric(name).spec
    assert not spec.needs & {"source", "reference"}
    assert not spec.higher_is_better


@pytest.mark.parametrize("name", ["gpt-ppl", "mlm-ppl"])
def test_progress_ends_at_the_number_of_items(name: str) -> None:
    told: list[float] = []
    registry.load_metric(name).score(ITEMS, told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0

"""Perplexities, computed from token surprisals."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from core.data import Item
from core.metrics import registry
from core.models.architectures import language_models

ITEMS = [Item(None, "the cat sat on the mat", ()), Item(None, "", ()), Item("x", "a red dog", ("y",))]


pytestmark = pytest.mark.usefixtures("tiny_models")


@pytest.mark.parametrize(
    ("name", "load"), [("gpt-ppl", language_models.load_causal), ("mlm-ppl", language_models.load_masked)]
)
def test_it_is_the_exponential_of_the_mean_surprise_a_token(name: str, load: Callable[[], Any]) -> None:
    metric, shares = registry.load_metric(name), list[float]()
    assert not metric.spec.higher_is_better
    for item, value in zip(ITEMS, metric.score(ITEMS, shares.append), strict=True):
        (one,) = load().surprise([item.hypothesis])
        if item.hypothesis:
            assert value.value == pytest.approx(math.exp(one.nats / one.tokens), rel=1e-5)
            assert value.parts == {"log_likelihood": pytest.approx(-one.nats, rel=1e-5), "tokens": one.tokens}
        else:
            assert (value.value, value.status) == (None, "undefined")
    assert shares == sorted(shares)
    assert shares[-1] == 1.0

"""Suites and texts whose scoring is stopped or fails: what was scored is not scored again, what failed is, when asked for."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Item, Value
from core.errors import UserError
from core.metrics import ranges, registry
from core.metrics.base import Metric
from core.ports.store import Store
from core.progress import Progress
from core.services.robustness import break_metric
from core.services.robustness.break_metric import Reaction
from tests.pages.said import words
from tests.pages.test_robustness import filled, opened


def suite(project: int) -> AppTest:
    at = opened(project, "Adversarial suite")
    at.multiselect(key="suite-names").set_value(["negation"]).run()
    return at


class Watched:
    """chrF and TER, the first broken while `broken`; how many texts each was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broken, self.asked = True, {"chrf": 0, "ter": 0}
        monkeypatch.setattr(registry, "load_metric", lambda name, load=registry.load_metric: self.of(load(name), name))

    def of(self, metric: Metric, name: str) -> Metric:
        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            self.asked[name] += len(items)
            if self.broken and name == "chrf":
                raise UserError("no room")
            return metric.score(items, progress)

        return replace(metric, score=score) if name in self.asked else metric


def test_only_a_metric_that_failed_is_tried_again_when_asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    at = suite(filled(store))
    at.button(key="suite-run").click().run()
    assert not at.exception
    first = dict(watched.asked)
    assert first == {"chrf": 8, "ter": 4}  # all four, then halves, until two texts fail with one message
    assert "TER prefers the good text" in words(at) or "TER never" in words(at)
    assert "left out because they have no score: chrF 2" in words(at)
    at.run()
    assert watched.asked == first  # a rerun tries nothing
    at.button(key="suite-run").click().run()
    assert watched.asked == {"chrf": 16, "ter": 4}
    watched.broken = False
    next(b for b in at.button if b.label == "Retry").click().run()
    assert watched.asked == {"chrf": 20, "ter": 4}
    assert not at.exception
    assert "[" in at.dataframe[0].value["chrF"][0]
    assert "Part of this failed" not in words(at)


def test_a_failed_metric_of_a_typed_text_is_tried_when_asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    at = opened(filled(store))
    first = dict(watched.asked)
    assert first == {"chrf": 4, "ter": 2}  # both texts, then each alone
    assert "0 of 1 metric miss the error" in words(at)
    at.run()
    assert watched.asked == first
    watched.broken = False
    next(b for b in at.button if b.label == "Retry").click().run()
    assert watched.asked == {"chrf": 6, "ter": 2}
    assert "0 of 2 metrics miss the error" in words(at)
    at.text_area(key="robustness-changed").set_value("She bought 20 cars in Berlin.").run()
    assert watched.asked == {"chrf": 7, "ter": 3}  # the good output is scored already


@pytest.mark.extended
def test_a_range_that_was_fitted_since_is_used_on_the_desk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[tuple[float, float]] = []

    def watched(*given: object, real: Callable[..., list[Reaction]] = break_metric.reactions) -> list[Reaction]:
        found = real(*given)
        shares.extend((r.share or 0, r.change or 0) for r in found if r.spec.name == "ter")
        return found

    monkeypatch.setattr(break_metric, "reactions", watched)
    at = opened(filled(store))
    ranges.fit({registry.load_metric("ter").signature(): [0.0, 50.0]})
    at.run()
    assert not at.exception
    assert len(shares) == 2
    assert shares[-1][0] == pytest.approx(shares[-1][1] / 50)
    assert shares[0][0] != pytest.approx(shares[-1][0])

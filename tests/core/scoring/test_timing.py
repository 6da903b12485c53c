"""Estimates from measured times: what counts as size, which texts a sample has, and how good the estimate is."""

from types import SimpleNamespace

import numpy as np
import pytest

from core.data import Item, Value
from core.metrics.base import Metric
from core.ports.jobs import OutputWindow
from core.ports.scores import Timing
from core.scoring import dataset as scoring
from core.scoring.dataset import score_dataset
from core.scoring.timing import (
    MeasuredChunk,
    SpeedInChunk,
    model_of,
    seconds_per_unit,
    size_of,
    sizes_of,
    spread,
    summed,
)
from core.scoring.values import ScoringProgress
from tests.builders import counting_metric, small_dataset
from tests.stores import new_store


def test_size_counts_what_the_metric_compares() -> None:
    item = Item("12345", "123", ("1234", "12"))
    sizes = [size_of(item, counting_metric(needs=frozenset(n)).spec) for n in ((), ("source",), ("reference",))]
    assert sizes == [3 + 1, 3 + 5 + 1, 2 * 3 + 4 + 2 + 1]


def test_sizes_of_lengths_are_those_of_the_texts() -> None:
    items = [Item("12345", "123", ("1234", "12")), Item(None, "1", ()), Item("", "12", ("",)), Item("1", "", ("1",))]
    source = [-1 if i.source is None else len(i.source) for i in items]
    rows = [[len(i.hypothesis) for i in items], source, [sum(map(len, i.references)) for i in items]]
    hypothesis, sources, references = np.array(rows)
    n, ids = np.array([len(i.references) for i in items]), np.arange(4)
    window = OutputWindow(ids, "abcd", ids, hypothesis, sources, references, n, 4, 1, None)
    for needs in ((), ("source",), ("reference",), ("source", "reference")):
        spec = counting_metric(needs=frozenset(needs)).spec
        assert sizes_of(window, spec).tolist() == [size_of(item, spec) for item in items]


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8, 37])
def test_a_sample_covers_all_lengths_from_its_beginning_on(n: int) -> None:
    order = spread(range(n))
    assert sorted(order) == list(range(n))
    if n > 30:
        assert sum(order[:3]) / 3 == pytest.approx(n / 2, abs=1)
        assert min(order[:7]) <= n / 8
        assert max(order[:7]) >= 7 * n // 8


def test_times_of_much_shorter_or_longer_texts_do_not_count() -> None:
    timings = [Timing(10, 1000, 2.0, 100.0), Timing(10, 3000, 4.0, 120.0), Timing(10, 9000, 90.0, 900.0)]
    assert seconds_per_unit(timings, 100.0) == pytest.approx(6 / 4000)
    assert seconds_per_unit(timings, 800.0) == pytest.approx(0.01)
    assert seconds_per_unit(timings, 300.0) is None


def test_small_chunks_do_not_count_beside_large_ones() -> None:
    chunks = [MeasuredChunk(1, 100, 1.0), MeasuredChunk(8, 800, 2.0), MeasuredChunk(16, 1600, 4.0)]
    assert summed(chunks, 99.0) == Timing(24, 2400, 6.0, 99.0)
    assert summed([], 99.0) is None


def test_the_speed_within_a_chunk_counts_sizes_and_begins_with_the_first_outputs() -> None:
    speed = SpeedInChunk([1, 1, 2, 4, 4])
    given = [(0, 0.0), (1, 60.0), (2, 61.0), (3, 66.0), (4, 72.0)]  # the model is loaded for a minute
    assert [speed.seconds(*at) for at in given] == [0.0, 0.0, 0.0, 12 * 6.0 / 3, 12 * 12.0 / 7]


def test_the_model_is_part_of_what_was_timed() -> None:
    assert model_of("nli|v:2|formula:e|model:a/b|rev:12|torch:2") == "model:a/b|rev:12"


class Clock:
    """Time that passes only while metrics score."""

    def __init__(self) -> None:
        self.now = 0.0

    def metric(self, name: str, seconds: float, seen: list[Item] | None = None) -> Metric:
        """Return a metric that takes `seconds` per output. Its name is used in one test only: a process times the first output once."""

        def of(item: Item) -> Value:
            self.now += seconds
            return Value(1.0)

        return counting_metric(name, of, seen=seen)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(scoring, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(scoring, "SAMPLE_SECONDS", 0.2)
    return clock


def test_the_whole_job_is_timed_before_the_rest_is_scored(clock: Clock) -> None:
    store, told = new_store(), list[tuple[float, ScoringProgress]]()
    metrics = [clock.metric("quick", 0.0001), clock.metric("slow", 0.01)]
    score_dataset(
        small_dataset(100), metrics, store.scores, lambda at: told.append((clock.now, at)), timings=store.timings
    )
    first = next((when, at) for when, at in told if at.seconds_left is not None and at.whole and at.metric == "quick")
    assert first[1].seconds_left == pytest.approx(clock.now - first[0], rel=0.1)
    assert {at.metric for _, at in told} == {"Timing quick", "quick", "Timing slow", "slow"}
    assert store.timings.of("slow", "")[0].length == pytest.approx(12, abs=1)


def test_a_known_metric_is_not_timed_again(clock: Clock) -> None:
    store, metric = new_store(), clock.metric("known", 0.001)
    for system, timed in (("a", True), ("b", False)):
        told = list[ScoringProgress]()
        score_dataset(small_dataset(50, [system]), [metric], store.scores, told.append, timings=store.timings)
        assert any(at.metric == "Timing known" for at in told) is timed
        assert told[-1].done == 50


def test_only_timing_scores_a_sample(clock: Clock) -> None:
    store = new_store()
    [result] = score_dataset(
        small_dataset(100), [clock.metric("sampled", 0.02)], store.scores, timings=store.timings, only_time=True
    )
    assert 9 <= result.new <= 60
    assert len(store.timings.of("sampled", "")) == 1


def test_the_samples_of_all_metrics_share_a_limit(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "SAMPLES_MOST", 0.3)
    seen: list[Item] = []
    store = new_store()
    metrics = [clock.metric(f"shared {n}", 0.1, seen) for n in range(3)]
    score_dataset(small_dataset(100), metrics, store.scores, timings=store.timings, only_time=True)
    # each has 0.1 s or what the others left of 0.3 s: one output that loads the model, and a part of two that is timed
    assert [store.timings.of(m.spec.name, "")[0].n for m in metrics] == [2, 2, 2]
    assert len(seen) == 9


def test_a_sample_of_a_quick_metric_has_whole_segments(clock: Clock) -> None:
    seen: list[Item] = []
    store = new_store()
    metric = clock.metric("by segment", 0.005, seen)
    score_dataset(small_dataset(40, "ABCD"), [metric], store.scores, timings=store.timings, only_time=True)
    sources = [item.source for item in seen[15:]]  # after parts of 1, 2, 4 and 8
    assert len(sources) >= 8
    assert len(set(sources)) <= len(sources) / 2

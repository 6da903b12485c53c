"""Estimates from measured times: what counts as size, which texts a sample has, and how good the estimate is."""

import time

import numpy as np
import pytest

from core.data import Item, Value
from core.ports.chunks import OutputWindow
from core.ports.timings import Timing
from core.scoring import dataset as scoring
from core.scoring.dataset import score_dataset
from core.scoring.progress import ScoringProgress
from core.scoring.timing import MeasuredChunk, model_of, pace, size_of, sizes_of, spread, summed
from tests.fakes import counting_metric, memory_store, small_dataset


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
    assert pace(timings, 100.0) == pytest.approx(6 / 4000)
    assert pace(timings, 800.0) == pytest.approx(0.01)
    assert pace(timings, 300.0) is None


def test_small_chunks_do_not_count_beside_large_ones() -> None:
    chunks = [MeasuredChunk(1, 100, 1.0), MeasuredChunk(8, 800, 2.0), MeasuredChunk(16, 1600, 4.0)]
    assert summed(chunks, 99.0) == Timing(24, 2400, 6.0, 99.0)
    assert summed([], 99.0) is None


def test_the_model_is_part_of_what_was_timed() -> None:
    assert model_of("nli|v:2|formula:e|model:a/b|rev:12|torch:2") == "model:a/b|rev:12"


@pytest.fixture
def short_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "SAMPLE_SECONDS", 0.2)
    monkeypatch.setattr(scoring, "_warm", set())


def test_the_whole_job_is_timed_before_the_rest_is_scored(short_samples: None) -> None:
    def slow(item: Item) -> Value:
        time.sleep(0.01)
        return Value(1.0)

    store, told = memory_store(), list[tuple[float, ScoringProgress]]()
    metrics = [counting_metric("quick"), counting_metric("slow", slow)]
    score_dataset(
        small_dataset(100), metrics, store.scores, lambda at: told.append((time.monotonic(), at)), timings=store.timings
    )
    end = time.monotonic()
    first = next((when, at) for when, at in told if at.seconds_left is not None and at.whole and at.metric == "quick")
    assert first[1].seconds_left == pytest.approx(end - first[0], rel=0.3)
    assert {at.metric for _, at in told} == {"Timing quick", "quick", "Timing slow", "slow"}
    assert store.timings.of("slow", "")[0].length == pytest.approx(12, abs=1)


def test_a_known_metric_is_not_timed_again(short_samples: None) -> None:
    store = memory_store()
    for system, timed in (("a", True), ("b", False)):
        told = list[ScoringProgress]()
        score_dataset(
            small_dataset(50, [system]), [counting_metric()], store.scores, told.append, timings=store.timings
        )
        assert any(at.metric == "Timing length" for at in told) is timed
        assert told[-1].done == 50


def test_only_timing_scores_a_sample(short_samples: None) -> None:
    def slow(item: Item) -> Value:
        time.sleep(0.02)
        return Value(1.0)

    store = memory_store()
    [result] = score_dataset(
        small_dataset(100), [counting_metric("slow", slow)], store.scores, timings=store.timings, only_time=True
    )
    assert 9 <= result.new <= 60
    assert len(store.timings.of("slow", "")) == 1


def test_the_samples_of_all_metrics_share_a_limit(short_samples: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "SAMPLES_MOST", 0.3)
    seen: list[Item] = []

    def slow(item: Item) -> Value:
        time.sleep(0.1)
        return Value(1.0)

    store = memory_store()
    metrics = [counting_metric(name, slow, seen=seen) for name in ("slow", "slower", "slowest")]
    score_dataset(small_dataset(100), metrics, store.scores, timings=store.timings, only_time=True)
    # each has 0.1 s or what the others left of 0.3 s: one output that loads the model, and a part of two that is timed
    assert [store.timings.of(m.spec.name, "")[0].n for m in metrics] == [2, 2, 2]
    assert len(seen) == 9


def test_a_sample_of_a_quick_metric_has_whole_segments(short_samples: None) -> None:
    seen: list[Item] = []

    def slow(item: Item) -> Value:
        time.sleep(0.005)
        return Value(1.0)

    data = small_dataset(40, "ABCD")
    score_dataset(
        data,
        [counting_metric(of=slow, seen=seen)],
        memory_store().scores,
        timings=memory_store().timings,
        only_time=True,
    )
    sources = [item.source for item in seen[15:]]  # after parts of 1, 2, 4 and 8
    assert len(sources) >= 8
    assert len(set(sources)) <= len(sources) / 2

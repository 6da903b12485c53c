"""The time of a job before it starts, from times measured earlier."""

import pytest

from core.data import Dataset, Output, Segment, SegmentKey, Value
from core.ports.scores import Timing
from core.services.projects.time_estimates import (
    distinct_outputs,
    in_words,
    open_outputs,
    sample_of,
    start,
    total_seconds,
)
from core.signature import content_key
from tests.builders import counting_metric, small_dataset
from tests.stores import new_store

DATA = Dataset(
    tuple(Segment("d", str(i), "s") for i in range(20)),
    tuple(Output(system, "d", str(i), "x" * 99 if i < 19 else "same") for i in range(20) for system in "AB"),
)


def test_only_open_outputs_take_time_and_equal_ones_count_once() -> None:
    store = new_store()
    texts = small_dataset(50)
    outputs = distinct_outputs(texts)
    metric = counting_metric()
    [before] = open_outputs(store, outputs, [metric])
    assert (len(before.sizes), before.seconds(), before.timed) == (100, None, False)
    size = sum(before.sizes.values())
    store.timings.add("length", "", Timing(10, size // 2, 30.0, size / 100))
    [sample] = open_outputs(store, outputs, [metric], scale=20.0)  # stands for all outputs
    assert (sample.total, sample.left) == (2000, 2000)
    assert sample.seconds() == pytest.approx(20 * 60.0, rel=0.03)
    done = {content_key(*item): Value(1.0) for key, item in texts.items() if key.system == "A"}
    store.scores.put("length", "length|v:1", done, 1.0)
    [after] = open_outputs(store, outputs, [metric])
    assert (len(after.sizes), after.total, after.left) == (50, 100, 50)
    assert after.seconds() == pytest.approx(30.0, rel=0.03)
    assert len(distinct_outputs(DATA)) == 2


def test_the_total_names_what_takes_longest_and_the_time_of_few_measured_outputs_is_rough() -> None:
    store, outputs = new_store(), distinct_outputs(small_dataset(50))
    metrics = [counting_metric(name) for name in ("slow", "quick", "fast", "new")]
    assert in_words(open_outputs(store, outputs, metrics)) == ""
    length = sum(len(item.hypothesis) + 1 for item in outputs.values()) / 100
    for name, seconds in (("slow", 7200.0), ("quick", 600.0), ("fast", 20.0)):
        store.timings.add(name, "", Timing(100, round(100 * length), seconds, length))
    opened = open_outputs(store, outputs, metrics[:3])
    assert total_seconds(opened) == pytest.approx(7820.0, rel=0.01)
    assert in_words(opened) == "about 2 h 10 min (slow 2 h, quick 10 min, 1 other 20 s)"
    for n, rough in ((3, True), (5, False)):  # 3 measured outputs, then 8
        store.timings.add("new", "", Timing(n, round(n * length), 9.0, length))
        [estimate] = open_outputs(store, outputs, metrics[3:])
        assert estimate.rough is rough
    [few] = open_outputs(new_store(), distinct_outputs(DATA), [counting_metric()])  # needs no measured time
    assert (few.timed, len(few.sizes)) == (True, 2)


def test_a_larger_sample_contains_the_smaller_one() -> None:
    keys = [s.key for s in DATA.segments]
    small, large = sample_of(keys, 5), sample_of(keys, 12)
    assert len(small) == 5
    assert set(small) < set(large)
    assert large == [s.key for s in DATA.segments if s.key in set(large)]
    assert sample_of(keys, 50) == keys


def test_what_is_on_the_screen_is_queued_before_everything() -> None:
    store = new_store()
    project = store.projects.create("p").id
    key = SegmentKey("d", "3")
    start(store, project, ["chrf"], (), (key,))
    first, second = reversed(store.jobs.recent(project))
    assert (first.segments, second.segments) == ((key,), ())
    start(store, project, ["bleu"], (key,), (key,))
    assert [job.segments for job in store.jobs.recent(project) if job.metrics == ("bleu",)] == [(key,)]
    chunk = store.chunks.lease("w")
    assert chunk is not None
    assert chunk.job_id == first.id

import logging
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.data import Dataset, Item, Output, Segment, Value
from core.errors import Unavailable, UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.metrics.lexical import rouge, sacre
from core.ports.store import Store
from core.progress import Cancelled, Progress
from core.scoring import dataset as scoring
from core.scoring.dataset import GIVE_UP_AFTER, score_dataset
from core.scoring.values import InMemoryScores, ScoringProgress
from core.signature import content_key
from db.store import open_store
from tests.builders import counting_metric, small_dataset, stop_when
from tests.stores import new_store


class Puts(InMemoryScores):
    """A cache that remembers how large each stored chunk was."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        super().put(metric, signature, values, seconds)
        self.sizes.append(len(values))

    def all(self) -> list[Value]:
        return [value for values in self.by_signature.values() for value in values.values()]


def texts(*outputs: str) -> Dataset:
    """One segment with an output by each of the systems 0, 1, …"""
    return Dataset(
        (Segment("d", "1", "s", ("r",)),), tuple(Output(str(i), "d", "1", text) for i, text in enumerate(outputs))
    )


def stored(cache: Puts, text: str) -> Value:
    return cache.by_signature["length|v:1"][content_key("s", text, ("r",))]


@pytest.fixture
def store() -> Store:
    return new_store()


def test_string_metrics_read_the_references_of_a_segment_once() -> None:
    by_system = Dataset(
        tuple(Segment("d", str(i), None, (f"a b reference {i}",)) for i in range(9)),
        tuple(Output(str(k), "d", str(i), f"{k} b output {i}") for k in range(7) for i in range(9)),
    )
    read: list[str] = []
    writing, tokenized = sacre.writing, rouge._Overlap.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sacre, "writing", lambda texts: read.append(texts[0]) or writing(texts))
        patch.setattr(rouge._Overlap, "read", lambda self, text: read.append(text) or tokenized(self, text))
        for name in ("chrf", "bleu", "ter", "rouge1"):
            score_dataset(by_system, [registry.load_metric(name)], InMemoryScores())
            references = [text for text in read if "reference" in text]
            assert 9 <= len(references) <= 9 + 3, name  # a part may end within a segment
            read.clear()


def test_signatures_of_scripts_are_not_computed_from_all_outputs_again() -> None:
    data, read = small_dataset(300), list[int]()
    plain = counting_metric()

    def sign(items: Sequence[Item]) -> str:
        read.append(len(items))
        return "length|" + "+".join(sorted({"han" if "語" in item.hypothesis else "spaced" for item in items}))

    metric = replace(plain, signature_for=sign)
    last = data.outputs[-1]
    data = Dataset(data.segments, (*data.outputs[:-1], replace(last, text="語")))
    [result] = score_dataset(data, [metric], InMemoryScores(), chunk=4)
    assert result.signature == metric.for_outputs([(k.segment, i) for k, i in data.items()]).signature()
    assert result.signature == "length|han+spaced"
    assert sum(read) < 8 * len(data.outputs)  # before: once per chunk, so that time was quadratic


def test_metrics_with_a_model_keep_the_order_of_the_outputs() -> None:
    data = Dataset(
        tuple(Segment("d", str(i), None, (f"r{i}",)) for i in range(2)),
        tuple(Output(str(k), "d", str(i), f"{k}{i}") for k in range(2) for i in range(2)),
    )
    orders = []
    for needs in (frozenset[Any](), frozenset({"lm"})):
        seen: list[Item] = []
        score_dataset(data, [counting_metric(needs=needs, seen=seen)], InMemoryScores())
        orders.append([item.hypothesis for item in seen])
    assert orders == [["00", "10", "01", "11"], ["00", "01", "10", "11"]]


def test_each_output_is_scored_and_equal_texts_once(store: Store) -> None:
    seen: list[Item] = []
    data = texts("aa", "b", "aa")
    project = store.projects.create("p").id
    store.projects.add(project, data)
    [result] = score_dataset(data, [counting_metric(seen=seen)], store.scores)
    assert (result.metric, result.signature, result.new, result.known, result.failed) == (
        "length",
        "length|v:1",
        2,
        0,
        0,
    )
    assert [item.hypothesis for item in seen] == ["aa", "b"]
    assert [v.value for v in store.scores.column(project, "length|v:1").values()] == [2.0, 1.0, 2.0]


def test_what_is_known_is_not_scored_again(store: Store) -> None:
    seen: list[Item] = []
    score_dataset(small_dataset(3), [counting_metric()], store.scores)
    [result] = score_dataset(small_dataset(4), [counting_metric(seen=seen)], store.scores)
    assert (result.new, result.known) == (2, 6)  # segment 3, by two systems
    assert {item.source for item in seen} == {"source 3"}


def test_chunks_are_stored_as_they_are_done_and_grow_while_quick() -> None:
    cache = Puts()
    score_dataset(small_dataset(20), [counting_metric()], cache, chunk=4)
    assert cache.sizes == [4, 8, 16, 12]  # 40 items


def test_stopping_keeps_chunks_and_a_second_run_does_the_rest() -> None:
    cache = Puts()
    seen: list[Item] = []
    metric = counting_metric(seen=seen)
    with pytest.raises(Cancelled):
        score_dataset(small_dataset(5), [metric], cache, stop_when(lambda at: at.done >= 6), chunk=4)
    assert (len(cache.all()), len(seen)) == (4, 6)  # the second chunk was stopped after two of its items
    [result] = score_dataset(small_dataset(5), [metric], cache, chunk=4)
    assert (result.new, result.known) == (6, 4)
    assert len(cache.all()) == 10


def test_progress_counts_items_over_all_metrics() -> None:
    reports: list[ScoringProgress] = []

    def watch(doing: ScoringProgress) -> None:
        reports.append(doing)

    cache = Puts()
    score_dataset(small_dataset(2), [counting_metric("length")], cache)
    score_dataset(small_dataset(2), [counting_metric("length"), counting_metric("other")], cache, watch)
    assert {doing.total for doing in reports} == {8}  # 4 texts, 2 metrics
    assert [doing.done for doing in reports] == sorted(doing.done for doing in reports)
    assert (reports[0].done, reports[-1].done) == (4, 8)  # the first metric was known
    assert reports[-1].sentence() == "other · 4 of 4 distinct outputs"


def test_the_time_left_is_said_in_words() -> None:
    said = "chrF · 1 of 9 distinct outputs"
    for left, more in ((None, ""), (0.2, " · about 1 s left"), (95, " · about 2 min left")):
        assert ScoringProgress(1, 20, "chrF", 1, 9, left).sentence() == said + more


def test_a_metric_never_gets_items_that_lack_its_needs(store: Store) -> None:
    seen: list[Item] = []
    data = Dataset(
        (Segment("d", "1", None, ("r",)), Segment("d", "2", "", ())),
        (Output("A", "d", "1", "x"), Output("A", "d", "2", "y")),
    )
    project = store.projects.create("p").id
    store.projects.add(project, data)
    for need in ("source", "reference"):
        score_dataset(data, [counting_metric(need, needs=frozenset({need}), seen=seen)], store.scores)
    source, reference = (list(store.scores.column(project, f"{need}|v:1").values()) for need in ("source", "reference"))
    assert [v.status for v in source] == ["needs", "ok"]  # an empty source is a source
    assert [v.status for v in reference] == ["ok", "needs"]
    assert source[0] == Value(None, "needs", "source needs a source, but this segment has none")
    assert [item.hypothesis for item in seen] == ["y", "x"]


def test_a_value_that_is_not_finite_becomes_undefined() -> None:
    cache = Puts()
    values = {
        "nan": Value(math.nan, parts={"p": 1.0, "q": math.inf}),
        "none": Value(None),
        "bad": Value(2.0, "undefined", "why"),
    }
    score_dataset(texts(*values), [counting_metric(of=lambda item: values[item.hypothesis])], cache)
    assert stored(cache, "nan") == Value(None, "undefined", "the metric returned no finite number (nan)", {"p": 1.0})
    assert stored(cache, "none").status == "undefined"
    assert stored(cache, "bad") == Value(None, "undefined", "why")


def failing(on: str, error: Exception, seen: list[Item]) -> Metric:
    def of(item: Item) -> Value:
        if item.hypothesis == on:
            raise error
        return Value(1.0)

    return counting_metric(of=of, seen=seen)


def test_an_unexpected_error_costs_one_text_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    cache = Puts()
    seen: list[Item] = []
    with caplog.at_level(logging.ERROR):
        [result] = score_dataset(texts(*"abcdefgh"), [failing("g", RuntimeError("boom\nmore"), seen)], cache, chunk=2)
    assert (result.new, result.failed) == (7, 1)
    assert (stored(cache, "g").status, stored(cache, "h")) == ("error", Value(1.0))
    assert result.reason == "the metric stopped with an unexpected error (RuntimeError: boom); see worker.log"
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("wrong", [0, 1, 7, 8, 9, 57, 99])
@pytest.mark.parametrize("error", [RuntimeError("boom"), UserError("this text is too long")])
def test_one_text_at_fault_costs_no_other(wrong: int, error: Exception) -> None:
    cache = Puts()
    names = [f"text {i}" for i in range(100)]
    [result] = score_dataset(texts(*names), [failing(names[wrong], error, [])], cache)
    assert (result.new, result.failed) == (99, 1)
    assert {name for name in names if stored(cache, name).status == "error"} == {names[wrong]}
    assert str(error).rstrip(".") in stored(cache, names[wrong]).reason


def test_many_texts_at_fault_cost_no_other() -> None:
    cache = Puts()
    names = [f"text {i}" for i in range(200)]

    def of(item: Item) -> Value:
        if int(item.hypothesis.split()[1]) % 3 == 0:
            raise RuntimeError("boom")
        return Value(1.0)

    [result] = score_dataset(texts(*names), [counting_metric(of=of)], cache)
    assert (result.new, result.failed) == (133, 67)


@pytest.mark.parametrize("detail", [{"a": [{"b": math.nan}]}, {"a": object()}, {"a": {1, 2}}])
def test_a_detail_that_cannot_be_stored_costs_one_text(detail: Mapping[str, object], tmp_path: Path) -> None:
    data = texts(*(f"text {i}" for i in range(20)))
    store = open_store(f"sqlite:///{tmp_path / 'errorscope.db'}")
    project = store.projects.create("p").id
    store.projects.add(project, data)
    of = counting_metric(of=lambda item: Value(1.0, detail=detail if item.hypothesis == "text 5" else {"ok": math.inf}))
    [result] = score_dataset(data, [of], store.scores)
    assert (result.new, result.failed) == (19, 1)
    assert "details that cannot be stored" in result.reason
    assert [v.status for v in store.scores.column(project, "length|v:1").values()].count("error") == 1


def test_errors_are_tried_again_by_the_next_job(store: Store) -> None:
    data = texts("a", "b")
    score_dataset(data, [failing("b", RuntimeError("boom"), [])], store.scores, chunk=1)
    [result] = score_dataset(data, [counting_metric()], store.scores)
    assert (result.new, result.known) == (1, 1)


def test_a_failing_metric_is_abandoned_and_others_continue() -> None:
    cache = Puts()
    calls: list[int] = []

    def broken(items: Sequence[Item], progress: Progress) -> list[Value]:
        calls.append(len(items))
        raise RuntimeError("no such kernel")

    metric = Metric(counting_metric("broken").spec, lambda: "broken", broken)
    results = score_dataset(small_dataset(50), [metric, counting_metric()], cache, chunk=2)
    assert [(r.new, r.failed) for r in results] == [(0, 100), (100, 0)]
    assert len([n for n in calls if n == 1]) == GIVE_UP_AFTER * 2


def test_a_user_error_ends_the_metric_with_its_message() -> None:
    cache = Puts()
    calls: list[int] = []
    error = UserError("the model is not here", where="/models/x", hint="Set ERRORSCOPE_SEQ2SEQ")

    def broken(items: Sequence[Item], progress: Progress) -> list[Value]:
        calls.append(len(items))
        raise error

    metric = Metric(counting_metric().spec, lambda: "length|v:1", broken)
    [result] = score_dataset(texts(*(str(i) for i in range(100))), [metric], cache)
    assert (result.failed, len(calls)) == (100, 5)  # 8, 4, 2, and two single texts
    assert stored(cache, "99") == Value(None, "error", str(error))


def test_a_metric_that_gives_too_few_values_is_at_fault() -> None:
    cache = Puts()
    metric = Metric(counting_metric().spec, lambda: "length|v:1", lambda items, progress: [Value(1.0)])
    [result] = score_dataset(texts("a", "b"), [metric], cache)
    assert result.failed == 2
    assert "1 values for 2 items" in result.reason


def test_scores_that_cannot_be_written_now_are_nobodys_error() -> None:
    class Busy(Puts):
        def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
            if self.sizes:
                raise Unavailable("the database could not be written to")
            super().put(metric, signature, values, seconds)

    cache = Busy()
    with pytest.raises(Unavailable):
        score_dataset(small_dataset(5), [counting_metric()], cache, chunk=4)
    assert [value.status for value in cache.all()] == ["ok"] * 4


def test_an_empty_project_is_scored_at_once() -> None:
    assert score_dataset(Dataset((), ()), [counting_metric()], Puts())[0].new == 0


def test_values_of_a_changed_model_are_not_stored() -> None:
    revisions = iter(["length|rev:1", "length|rev:2"])
    metric = Metric(counting_metric("length").spec, lambda: next(revisions), counting_metric("length").score)
    cache = Puts()
    (result,) = score_dataset(texts("a", "bb"), [metric], cache)
    assert (result.new, result.failed) == (0, 2)
    assert "changed" in result.reason
    assert all(value.status == "error" for value in cache.all())


def test_values_claimed_by_another_worker_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "WAIT_SECONDS", 0.0)
    cache, seen, asked = Puts(), list[Item](), Counter[str]()
    names = [f"text {i}" for i in range(20)]
    theirs = {content_key("s", name, ("r",)) for name in names[3:6]}
    dead = {content_key("s", name, ("r",)) for name in names[10:12]}

    def claim(signature: str, keys: Collection[str]) -> set[str]:
        asked.update(keys)
        for key in theirs & set(keys):
            if asked[key] == 3:
                cache.put("length", "length|v:1", {key: Value(7.0)}, 0.0)  # the other worker stores its value
        return {key for key in keys if key not in theirs and (key not in dead or asked[key] > 3)}

    [result] = score_dataset(texts(*names), [counting_metric(seen=seen)], cache, claim=claim)
    assert (result.new, result.known, result.failed) == (17, 3, 0)
    assert Counter(item.hypothesis for item in seen) == Counter(n for n in names if n not in names[3:6])
    assert stored(cache, names[4]) == Value(7.0)


def test_waiting_ends_as_soon_as_everything_is_stored_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, waits = Puts(), list[float]()
    names = [f"text {i}" for i in range(400)]

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            theirs = {content_key("s", name, ("r",)): Value(7.0) for name in names}
            cache.put("length", "length|v:1", theirs, 0.0)

    monkeypatch.setattr(scoring.time, "sleep", wait)
    [result] = score_dataset(texts(*names), [counting_metric()], cache, claim=lambda signature, keys: set())
    assert (result.new, result.known) == (0, 400)
    assert len(waits) == 2


def test_abandoning_a_metric_claims_no_further_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 20,000 texts a look through a list for each of them took 24 s."""
    looked = 0

    class Keys(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal looked
            looked += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    def fail(item: Item) -> Value:
        raise UserError("no weights")

    monkeypatch.setattr(scoring, "content_key", lambda *item: Keys(content_key(*item)))
    names = [f"text {i}" for i in range(500)]
    [result] = score_dataset(texts(*names), [counting_metric(of=fail)], InMemoryScores())
    assert result.failed == 500
    assert looked < 20 * len(names)

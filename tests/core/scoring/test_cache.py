"""All score caches answer alike: in memory, in a file, and in the database."""

from dataclasses import replace
from pathlib import Path

from core.data import Value
from core.robustness.stress.score_log import opened
from core.scoring.dataset import score_dataset
from core.scoring.values import InMemoryScores, ScoreCache
from tests.builders import counting_metric, small_dataset
from tests.stores import new_store


def test_all_caches_store_values_and_retry_errors(tmp_path: Path) -> None:
    values = {
        "a": Value(0.1 + 0.2, parts={"precision": 1 / 3}),
        "b": Value(None, "undefined", "no words"),
        "c": Value(None, "needs", "a reference"),
    }
    with opened(tmp_path / "log") as log:
        caches: list[ScoreCache] = [InMemoryScores(), log, new_store().scores]
        for cache in caches:
            assert cache.known("m|v:1", ["a"]) == set()
            cache.put("m", "m|v:1", {**values, "d": Value(None, "error", "broke")}, 0.5)
            assert cache.known("m|v:1", "abcde") == {"a", "b", "c"}
            assert cache.values("m|v:1", "abcde") == {**values, "d": Value(None, "error", "broke")}
            assert cache.values("m|v:2", "a") == {}
            cache.put("m", "m|v:1", {"d": Value(4.0)}, 0.5)
            assert cache.known("m|v:1", "d") == {"d"}
            assert cache.values("m|v:1", "cd") == {"c": values["c"], "d": Value(4.0)}


def test_what_is_stored_of_a_value_is_chosen_by_the_caller() -> None:
    cache = InMemoryScores()
    metric = counting_metric(of=lambda item: Value(float(item.hypothesis.startswith("A")), detail={"trace": 1}))
    [result] = score_dataset(
        small_dataset(3), [metric], cache, keep=lambda key, value: replace(value, detail=None) if value.value else None
    )
    [stored] = cache.by_signature.values()
    assert list(stored.values()) == [Value(1.0)] * 3
    assert (result.new, result.failed) == (6, 0)

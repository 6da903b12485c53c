from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from core.data import OutputKey, SegmentKey, Value
from core.metrics import registry
from core.models.configs import configured_model
from core.ports.store import Store
from core.signature import content_key
from db.columns import copy_rows
from db.engine import writing
from db.failures import Conflict
from db.scores.repository import machine
from db.tables import scores
from tests.builders import small_dataset
from tests.core.metrics.expressions import baselines
from tests.core.metrics.test_names import usable
from tests.db.raw import rows, scalar
from tests.postgres import on_sqlite
from tests.processes import at_once
from tests.stores import project_with
from tests.tiny_checkpoints import environment_of

KEY = content_key("source 0", "A output 0", ("reference 0",))


def test_a_value_that_is_no_number_is_refused_and_nothing_stored(store: Store, engine: Engine) -> None:
    for value in [
        Value(float("nan")),
        Value(float("-inf")),
        Value(None),
        Value(1.0, "error", "why"),
        Value(1.0, parts={"dist_imp": float("nan")}),
        Value(1.0, detail={"steps": [float("nan")]}),
    ]:
        with pytest.raises(ValueError, match=r"finite|status|NaN"):
            store.scores.put("m", "s", {"good": Value(1.0), "bad": value}, 0.1)
        assert scalar(engine, "SELECT count(*) FROM scores") == 0


def test_a_missing_value_is_null_with_a_status_and_a_reason(store: Store, engine: Engine) -> None:
    store.scores.put("m", "s", {KEY: Value(None, "needs", "no reference")}, 0.1)
    assert rows(engine, "SELECT value, status, reason FROM scores") == [(None, "needs", "no reference")]


def test_every_value_leads_to_the_run_that_made_it(store: Store, engine: Engine) -> None:
    store.scores.put("m", "s", {"a": Value(1.0), "b": Value(2.0)}, 1.5)
    store.scores.put("m", "s", {"b": Value(3.0), "c": Value(3.0)}, 0.5)
    stored = rows(
        engine,
        "SELECT content_key, scores.value, n, seconds FROM scores JOIN runs ON run = runs.id ORDER BY content_key",
    )
    assert stored == [("a", 1.0, 2, 1.5), ("b", 2.0, 2, 1.5), ("c", 3.0, 1, 0.5)]
    assert {"python", "processor", "torch", "sacrebleu"} <= machine().keys()


def test_a_signature_belongs_to_one_metric(store: Store) -> None:
    store.scores.put("m", "s", {"a": Value(1.0)}, 0.1)
    with pytest.raises(ValueError, match="belongs to 'm'"):
        store.scores.put("other", "s", {"b": Value(1.0)}, 0.1)


def test_two_workers_may_store_the_same_values_at_once(store: Store, engine: Engine) -> None:
    values = {f"{i:064}": Value(float(i)) for i in range(200)}
    at_once(*[lambda: store.scores.put("m", "s", values, 0.1)] * 4)
    assert scalar(engine, "SELECT count(*) FROM scores") == 200


def test_values_come_back_bit_by_bit(store: Store) -> None:
    numbers = [1 / 3, 0.0, 5e-324, 1.7976931348623157e308, 100.0, 1e-7, 0.1 + 0.2]
    values = {f"{i}": Value(n, parts={"p": n}) for i, n in enumerate(numbers)}
    values |= {
        f"r{i}": Value(None, "error", why) for i, why in enumerate(["a\tb\nc", "\\N", "\\.", "\r", "ü 😀 'x' \"y\""])
    }
    store.scores.put("m", "s", values, 0.1)
    stored = store.scores.values("s", list(values))
    assert {key: repr(value) for key, value in stored.items()} == {key: repr(value) for key, value in values.items()}


def test_copied_rows_that_are_there_already_are_a_conflict(store: Store, engine: Engine) -> None:
    store.scores.put("m", "s", {"a": Value(1.0)}, 0.1)
    with engine.connect() as connection:
        row = dict(connection.execute(select(scores)).mappings().one())
    with pytest.raises(Conflict), writing(engine) as connection:
        copy_rows(connection, scores, [row | {"content_key": "b"}, row])
    assert store.scores.known("s", ["a", "b"]) == {"a"}


def test_signatures_count_outputs_and_know_the_newest(store: Store) -> None:
    project = project_with(store)
    values = {content_key(*item): Value(1.0) for _, item in small_dataset().items()}
    before = datetime.now(UTC)
    store.scores.put("m", "long signature " * 100, values, 0.1)
    failed, lacking = list(values)[:2]
    store.scores.put("n", "s2", {failed: Value(None, "error", "why"), lacking: Value(None, "needs", "why")}, 0.1)
    store.scores.put("o", "s3", {failed: Value(None, "error", "why")}, 0.1)
    first, second = store.scores.signatures(project)  # what failed is still to be scored
    assert (first.metric, first.signature, first.n) == ("m", "long signature " * 100, 6)
    assert (second.metric, second.n) == ("n", 1)
    assert before <= first.newest <= second.newest <= datetime.now(UTC)


def test_a_large_trace_comes_back_whole(store: Store) -> None:
    project = project_with(store)
    detail = {"steps": [{"text": "Ein langer Satz – 😀 " * 50, "before": -1.25, "after": -1 / 3}] * 50}
    store.scores.put("m", "s", {KEY: Value(-1 / 3, detail=detail)}, 0.1)
    assert store.scores.detail(project, "s", SegmentKey("doc", "0"))["A"].detail == detail
    assert store.scores.column(project, "s")[OutputKey("A", "doc", "0")].detail is None


@pytest.mark.extended
@on_sqlite
def test_scores_are_stored_under_every_name_as_it_was_asked_for(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, asked = small_dataset(1, ["A"]), list[str]()
    project = project_with(store, data)
    digest_of_text = content_key(*data.items()[0][1])
    for name in sorted(registry.METRICS):
        with monkeypatch.context() as patched:
            for variable, value in (environment_of(name) | {"ERRORSCOPE_HOME": str(tmp_path)}).items():
                patched.setenv(variable, value)
            baselines(tmp_path, configured_model("encoder").name)
            expressions = [one for one in usable(name) if one.count("|") <= 1]
            expressions += ["bertscore|layer:5"] if name == "bertscore" else []
            for one in expressions:
                metric = registry.load_metric(one).for_outputs([(key.segment, item) for key, item in data.items()])
                store.scores.put(metric.spec.name, metric.signature(), {digest_of_text: Value(1.0)}, 0.1)
            asked += expressions
    assert sorted(by.metric for by in store.scores.signatures(project)) == sorted(asked)

"""String metrics in several processes: the same values."""

import os

import pytest

from core.data import Item
from core.metrics import registry
from core.processes.pool import cores, processes
from core.progress import Cancelled, no_progress
from core.scoring import pool
from core.scoring.pool import pooled
from tests.builders import counting_metric, stop_when

ITEMS = [Item(None, f"the {i} cat sat on the mat", ("a cat sat on a mat", f"{i} mats")) for i in range(100)]


def test_pooled_values_and_signature_are_the_metrics_own() -> None:
    plain = registry.chosen(["chrf|beta:3", "rouge2"])
    with pooled(plain, 2) as away:
        for own, other in zip(plain, away, strict=True):
            assert other.score is not own.score
            assert other.signature() == own.signature()
            assert other.score(ITEMS, no_progress) == own.score(ITEMS, no_progress)
        with pytest.raises(Cancelled):
            away[0].score(ITEMS, stop_when(lambda share: True))


def test_values_are_the_same_while_the_processes_start() -> None:
    plain = registry.load_metric("chrf")
    expected, shares = plain.score(ITEMS, no_progress), list[float]()
    with pooled([plain], 2, after=1e-9) as (away,):
        assert away.score(ITEMS, shares.append) == expected
        assert away.score(ITEMS, shares.append) == expected
    assert (shares[0], max(shares)) == (0.0, 0.99)  # the last output is not done before there are values
    with pooled([plain], 2) as (away,):
        assert away.score([], no_progress) == []


def test_metrics_with_models_or_from_elsewhere_stay_here() -> None:
    mixed = [registry.load_metric("chrf"), registry.load_metric("bartscore"), counting_metric()]
    with pooled(mixed, 2) as ready:
        assert [a is b for a, b in zip(mixed, ready, strict=True)] == [False, True, True]
    with pooled(mixed, 1) as ready:
        assert ready == mixed


def test_outputs_of_a_segment_stay_in_one_part() -> None:
    items = [Item(None, f"{segment} {k}", (f"r{segment}",)) for segment in range(6) for k in range(20)]
    items += [Item(None, str(k), ("other",)) for k in range(300)]
    assert list(map(len, pool._parts(items))) == [40, 40, 40, 128, 128, 44]
    assert [item for part in pool._parts(items) for item in part] == items
    assert pool._parts([]) == []


def test_the_number_of_processes_is_asked_for_or_that_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ERRORSCOPE_WORKERS", raising=False)
    assert (processes(), processes(7)) == (cores(), 7)
    monkeypatch.setenv("ERRORSCOPE_WORKERS", "3")
    assert (processes(), processes(7)) == (3, 7)


def test_no_more_processes_than_this_one_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)

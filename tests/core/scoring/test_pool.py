"""String metrics in several processes: the same values, and nobody left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import pytest

from core.data import Item
from core.metrics import registry
from core.progress import Cancelled, no_progress
from core.scoring import pool
from core.scoring.pool import cores, pooled
from tests.builders import counting_metric, stop_when
from tests.paths import ROOT

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


def test_metrics_with_models_or_from_elsewhere_stay_here() -> None:
    mixed = [registry.load("chrf"), registry.load("bartscore"), counting_metric()]
    with pooled(mixed, 2) as ready:
        assert [a is b for a, b in zip(mixed, ready, strict=True)] == [False, True, True]
    with pooled(mixed, 1) as ready:
        assert ready == mixed


@pytest.mark.extended
def test_after_a_process_died_the_rest_is_scored_here() -> None:
    plain = registry.load("chrf")
    with pooled([plain], 2) as (away,):
        assert away.score(ITEMS[:4], no_progress) == plain.score(ITEMS[:4], no_progress)
        for child in multiprocessing.active_children():
            child.kill()
            child.join()
        assert away.score(ITEMS, no_progress) == plain.score(ITEMS, no_progress)


@pytest.mark.parametrize(
    ("error", "taken"),
    [
        (OSError("handle is closed"), 2),
        pytest.param(ValueError("I/O on closed file"), 0, marks=pytest.mark.extended),
        pytest.param(BrokenProcessPool("x"), 0, marks=pytest.mark.extended),
        pytest.param(BrokenProcessPool("x"), 2, marks=pytest.mark.extended),
    ],
)
def test_a_pool_that_takes_no_more_work_is_done_without(
    monkeypatch: pytest.MonkeyPatch, error: Exception, taken: int
) -> None:
    plain = registry.load("chrf")
    with pooled([plain], 2) as (away,):
        submit, calls = ProcessPoolExecutor.submit, count()

        def dying(self: ProcessPoolExecutor, *given: Any) -> Any:
            if next(calls) >= taken:
                raise error
            return submit(self, *given)

        monkeypatch.setattr(ProcessPoolExecutor, "submit", dying)
        assert away.score(ITEMS, no_progress) == plain.score(ITEMS, no_progress)


@pytest.mark.extended
def test_no_process_is_started_after_the_pool_was_made() -> None:
    # one started while the pool ends for another's death is waited for without end
    before = set(multiprocessing.active_children())
    with pooled([registry.load("chrf")], 3) as (away,):
        started = set(multiprocessing.active_children()) - before
        assert len(started) == 3
        away.score(ITEMS, no_progress)
        assert set(multiprocessing.active_children()) - before == started


@pytest.mark.extended
def test_processes_do_not_run_the_main_module_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script, main = tmp_path / "app.py", ModuleType("__main__")
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    main.__file__ = str(script)
    monkeypatch.setitem(sys.modules, "__main__", main)  # as Streamlit does on every run of a page
    with pooled([registry.load("chrf")], 2) as (away,):
        away.score(ITEMS, no_progress)
    assert not (tmp_path / "ran").exists()


def test_processes_start_only_for_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, started = registry.load("chrf"), list[ThreadPoolExecutor]()
    held = Event()

    def spawned(workers: int, initializer: object) -> ThreadPoolExecutor:
        started.append(ThreadPoolExecutor(1, initializer=held.wait))
        return started[-1]

    monkeypatch.setattr(pool, "spawned", spawned)
    expected = plain.score(ITEMS, no_progress)
    with pooled([plain], 2, after=1000) as (away,):
        assert away.score(ITEMS, no_progress) == expected
    assert not started
    with pooled([plain], 2, after=1e-9) as (away,):
        shares: list[float] = []
        assert away.score(ITEMS, shares.append) == expected  # here, while the process starts
        assert (shares[0], shares == sorted(shares), len(started)) == (0.0, True, 1)
        held.set()
        wait([started[0].submit(int)])
        submitted: list[object] = []
        monkeypatch.setattr(
            pool, "_score", lambda name, items: submitted.append(name) or plain.score(items, no_progress)
        )
        assert away.score(ITEMS, no_progress) == expected
        assert len(submitted) == len(pool._parts(ITEMS)) > 1


def test_outputs_of_a_segment_stay_in_one_part() -> None:
    items = [Item(None, f"{segment} {k}", (f"r{segment}",)) for segment in range(6) for k in range(20)]
    items += [Item(None, str(k), ("other",)) for k in range(300)]
    assert list(map(len, pool._parts(items))) == [40, 40, 40, 128, 128, 44]
    assert [item for part in pool._parts(items) for item in part] == items
    assert pool._parts([]) == []


def test_the_number_of_processes_is_asked_for_or_that_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ERRORSCOPE_WORKERS", raising=False)
    assert (pool.processes(), pool.processes(7)) == (cores(), 7)
    monkeypatch.setenv("ERRORSCOPE_WORKERS", "3")
    assert (pool.processes(), pool.processes(7)) == (3, 7)


def test_an_error_of_the_metric_itself_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    with pooled([registry.load("chrf")], 2) as (away,):
        failed: Future[Any] = Future()
        failed.set_exception(OSError("no such tokenizer file"))
        monkeypatch.setattr(ProcessPoolExecutor, "submit", lambda self, *given: failed)
        with pytest.raises(OSError, match="tokenizer"):
            away.score(ITEMS, no_progress)


def test_no_more_processes_than_this_one_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.extended
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
def test_no_process_outlives_a_parent_that_was_killed() -> None:
    code = (
        "import multiprocessing as m, time\n"
        "from core.data import Item\nfrom core.metrics import registry\nfrom core.scoring.pool import pooled\n"
        "if __name__ == '__main__':\n"
        " with pooled([registry.load('chrf')], 2) as (metric,):\n"
        "  metric.score([Item(None, f'text {i}', ('text',)) for i in range(500)], lambda share: None)\n"
        "  print(*(c.pid for c in m.active_children()), flush=True)\n"
        "  time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(pid) for pid in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)
    assert children
    deadline = time.monotonic() + 60
    while not all(map(gone, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(gone, children)), os.listdir("/proc")

"""Processes that call functions: what passes to and fro, in which order, and how each end ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from core.errors import ImportProblems, Problem, UserError
from core.metrics.ranges import NoRange
from core.processes import host
from core.processes.child import ProcessEnded
from core.processes.pool import Pool, PreparedArgument
from core.progress import Cancelled, Progress, no_progress
from tests.paths import ROOT

WAIT = 120.0
"""Seconds after which a test gives up; what passes does not wait for it."""


def wait_until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def fresh() -> Iterator[Pool]:
    """Return a process of this test only: it looks at its beginning or its end."""
    started = host.new_model_process()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def models() -> Iterator[Pool]:
    """Return one process for all tests that leave it as it is."""
    started = host.new_model_process()
    yield started
    started.stop()


def pids(pool: Pool) -> list[int]:
    """Return the ids of the running processes."""
    return [child.pid for child in pool._children if not child.ended]


def process_id() -> int:
    return os.getpid()


def counted(n: int, progress: Progress) -> int:
    for k in range(n):
        progress(k / n)
        time.sleep(2 * 0.05)
    return n


def endless(mark: Path, progress: Progress) -> None:
    """Report progress until cancelled, and leave a file when it is."""
    try:
        while True:
            progress(0.5)
            time.sleep(0.01)
    except Cancelled:
        mark.touch()
        raise


def silent(seconds: float, progress: Progress) -> str:
    time.sleep(seconds)
    return "done"


def failing(error: Exception) -> None:
    raise error


class OtherPackageError(Exception):
    pass


def failing_elsewhere() -> None:
    raise OtherPackageError("out of memory")


def unsendable() -> object:
    return threading.Lock()


def meeting(mine: Path, other: Path) -> bool:
    """Return when the other call is there too."""
    mine.touch()
    end = time.monotonic() + WAIT
    while not other.exists() and time.monotonic() < end:
        time.sleep(0.01)
    return other.exists()


def test_work_is_done_in_another_process(fresh: Pool) -> None:
    assert pids(fresh) == []
    assert [fresh.run(process_id)] == pids(fresh) != [os.getpid()]
    assert [fresh.run(process_id)] == pids(fresh)


def test_progress_is_reported_in_the_thread_that_asks(models: Pool) -> None:
    shares, threads = list[float](), set[int]()

    def progress(share: float) -> None:
        shares.append(share)
        threads.add(threading.get_ident())

    assert models.run(counted, 4, progress=progress) == 4
    assert {0.0, 0.25, 0.5, 0.75} <= set(shares)
    assert shares == sorted(shares)
    assert threads == {threading.get_ident()}


class ScriptStopped(BaseException):
    """Like the exceptions by which Streamlit ends a script."""


@pytest.mark.parametrize("kind", [Cancelled, ScriptStopped])
def test_what_progress_raises_cancels_the_work(models: Pool, tmp_path: Path, kind: type[BaseException]) -> None:
    stopped = kind()

    def progress(share: float) -> None:
        if share == 0.5:
            raise stopped

    with pytest.raises(kind) as raised:
        models.run(endless, tmp_path / "cancelled", progress=progress)
    assert raised.value is stopped
    wait_until((tmp_path / "cancelled").exists)


def test_a_caller_can_stop_while_nothing_is_reported(fresh: Pool) -> None:
    fresh.run(process_id)
    reported = list[float]()

    def progress(share: float) -> None:
        reported.append(share)
        if len(reported) == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        fresh.run(silent, WAIT, progress=progress)
    assert reported == [0.0, 0.0]


ERRORS = [
    UserError("no room", where="x.csv", got="1", expected="2", hint="Do this"),
    NoRange("chrf", "chrF"),
    ImportProblems([Problem("x.csv", 1, "a", "b", "c", "d")]),
    ProcessEnded("SIGKILL"),
    ValueError("not this"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_errors_keep_type_and_message(models: Pool, error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        models.run(failing, error)
    received, sent = ({k: v for k, v in vars(e).items() if k != "__notes__"} for e in (raised.value, error))
    assert (str(raised.value), received) == (str(error), sent)


def test_errors_of_other_packages_are_told_by_name(models: Pool) -> None:
    with pytest.raises(RuntimeError, match="^OtherPackageError: out of memory") as raised:
        models.run(failing_elsewhere)
    assert "failing_elsewhere" in raised.value.__notes__[0]


def test_a_result_that_cannot_be_sent_is_an_error(models: Pool) -> None:
    with pytest.raises(TypeError, match="pickle"):
        models.run(unsendable)
    assert [models.run(process_id)] == pids(models)


def test_two_calls_run_at_the_same_time(models: Pool, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(models.run, meeting, *paths) for paths in ((a, b), (b, a))]
        assert [one.result() for one in calls] == [True, True]


def test_a_killed_process_is_one_error_per_call_and_the_next_call_starts_another(fresh: Pool, tmp_path: Path) -> None:
    pid = fresh.run(process_id)
    with ThreadPoolExecutor(2) as pool:
        a, b = tmp_path / "a", tmp_path / "b"
        calls = [pool.submit(fresh.run, meeting, mine, tmp_path / "never") for mine in (a, b)]
        wait_until(lambda: a.exists() and b.exists())
        psutil.Process(pid).kill()
        for one in calls:
            with pytest.raises(ProcessEnded, match="got SIGKILL"):
                one.result()
    assert fresh.run(process_id) != pid


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of Linux")
def test_if_memory_is_short_the_process_for_models_is_killed_first(models: Pool) -> None:
    adjusted = Path("/proc/self/oom_score_adj")
    assert int(models.run(adjusted.read_text)) > int(adjusted.read_text())


def test_the_process_ends_when_nobody_calls_and_starts_again(tmp_path: Path) -> None:
    models = host.new_model_process(idle=0.2)
    pid = models.run(process_id)
    wait_until(lambda: not pids(models) and not psutil.pid_exists(pid))
    assert models.run(silent, 1.0, progress=lambda share: None) == "done"  # no end during a call
    models.stop()


def uneven(k: int, progress: Progress) -> int:
    """Take longest for the first calls."""
    for part in range(10):
        progress(part / 10)
        time.sleep(0.005 if k < 2 else 0)
    return k


def test_results_come_in_order_and_progress_grows() -> None:
    shares = list[float]()
    with Pool(2) as pool:
        sizes = [k + 1 for k in range(20)]
        assert list(pool.map(uneven, [(k,) for k in range(20)], sizes=sizes, progress=shares.append)) == [*range(20)]
        assert len(pids(pool)) == 2
        assert shares == sorted(shares)
        assert pool.spent == 0.0
        assert list(pool.map(uneven, [])) == []
    assert not pids(pool)


def killing(k: int, pid: int, mark: Path, progress: Progress) -> int:
    """End this process once, in the middle of the work."""
    if k == 7 and os.getpid() != pid and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return k


def test_after_a_process_died_the_rest_is_computed_here(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    calls = [(k, os.getpid(), tmp_path / "mark") for k in range(20)]
    with Pool(2) as pool:
        assert list(pool.map(killing, calls)) == [*range(20)]
        assert list(pool.map(killing, calls)) == [*range(20)]
        wait_until(lambda: not pids(pool))
    assert [record.message for record in caplog.records] == [
        "A process died or could not be started (SIGKILL): continuing in this process"
    ]


def test_cancelling_returns_at_once_and_stops_the_processes(tmp_path: Path) -> None:
    with Pool(2) as pool:
        calls = [(tmp_path / str(k),) for k in range(20)]
        began = list[float]()

        def progress(share: float) -> None:
            if share > 0.04:  # two of them are half done
                began.append(time.monotonic())
                raise Cancelled

        with pytest.raises(Cancelled):
            list(pool.map(endless, calls, progress=progress))
        assert time.monotonic() - began[0] < 1
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        assert list(pool.map(uneven, [(5,)])) == [5]
        assert len(list(tmp_path.iterdir())) == 2  # the others were not begun


def test_errors_of_a_call_are_raised_and_what_is_prepared_is_the_first_argument() -> None:
    with Pool(2) as pool:
        with pytest.raises(ValueError, match="not this"):
            list(pool.map(failed, [(ValueError("not this"),)]))
        sums = list(pool.map(added, [(k,) for k in range(9)], on=PreparedArgument("key", "text", length)))
        assert [n for n, _ in sums] == [4 + k for k in range(9)]
        assert os.getpid() not in {pid for _, pid in sums}


def failed(error: Exception, progress: Progress) -> None:
    raise error


def identified(progress: Progress) -> int:
    return os.getpid()


def test_processes_start_only_after_some_time_of_work_here() -> None:
    with Pool(2) as pool:
        assert set(pool.map(identified, [()] * 5, after=1000.0)) == {os.getpid()}
        assert not pids(pool)
        ids = list(pool.map(identified, [()] * 5, after=1e-9))
        assert ids[0] == os.getpid()  # the first call has not taken this time before
        wait_until(lambda: pool.free(identified, 1e-9) is not None)
        assert set(pool.map(identified, [()] * 5, after=1e-9)) <= set(pids(pool))


def test_no_process_starts_after_the_pool_was_stopped() -> None:
    pools = [Pool(2) for _ in range(3)]
    with ThreadPoolExecutor(6) as threads:
        for pool in pools:
            mapped = threads.submit(lambda pool=pool: list(pool.map(identified, [()] * 3)))  # type: ignore[misc]
            threads.submit(pool.stop).result()
            assert len(mapped.result()) == 3
    assert [pids(pool) for pool in pools] == [[], [], []]
    with pytest.raises(ProcessEnded, match="the program is ending"):
        pools[0].run(process_id)


def test_where_no_process_can_be_started_everything_is_computed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with Pool(2) as pool:
        assert set(pool.map(identified, [()] * 5)) == {os.getpid()}


PARENT = """
import sys, time
from core.processes.host import new_model_process
from tests.core.processes.test_pool import process_id, silent
models = new_model_process()
print(models.run(process_id), flush=True)
models.run(silent, 1000.0, progress=lambda share: None)
"""


def test_the_process_ends_with_the_program_that_started_it() -> None:
    program = subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    with program, program.stdout:
        pid = int(program.stdout.readline())
        assert psutil.pid_exists(pid)
        program.kill()
    wait_until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def length(text: str) -> tuple[int, int]:
    return len(text), os.getpid()


def added(prepared: tuple[int, int], n: int, progress: Progress) -> tuple[int, int]:
    progress(1.0)
    return prepared[0] + n, prepared[1]


class Text(str):
    """A text that counts how often it is sent."""

    sent = 0

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        Text.sent += 1
        return str, (str(self),)


def test_a_large_value_is_sent_once(models: Pool) -> None:
    prepared, before = PreparedArgument("key", Text("text"), length), Text.sent
    host.use(models)
    try:
        for n in (1, 2):
            assert host.run(added, n, progress=no_progress, on=prepared) == (4 + n, pids(models)[0])
    finally:
        host.use(None)
    assert Text.sent == before + 1


def slowly_prepared(paths: tuple[Path, Path]) -> tuple[int, int]:
    begun, finish = paths
    begun.touch()
    wait_until(finish.exists)
    return 0, os.getpid()


def test_what_is_prepared_is_used_while_something_else_is_prepared(models: Pool, tmp_path: Path) -> None:
    paths, ready = (tmp_path / "begun", tmp_path / "finish"), PreparedArgument("quick", "text", length)
    host.use(models)
    try:
        host.run(added, 1, progress=no_progress, on=ready)
        with ThreadPoolExecutor(2) as pool:
            slow = pool.submit(
                host.run, added, 1, progress=no_progress, on=PreparedArgument("slow", paths, slowly_prepared)
            )
            wait_until(paths[0].exists)
            quick = pool.submit(host.run, added, 2, progress=no_progress, on=ready)
            try:
                assert quick.result(20) == (6, pids(models)[0])
                assert not slow.done()
            finally:
                paths[1].touch()
            assert slow.result() == (1, pids(models)[0])
    finally:
        host.use(None)


def test_without_a_model_process_work_is_done_here() -> None:
    assert not host.has_model_process()
    assert host.run(process_id) == os.getpid()
    assert host.run(added, 1, progress=no_progress, on=PreparedArgument("here", "text", length)) == (5, os.getpid())

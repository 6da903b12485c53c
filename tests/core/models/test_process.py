"""The process for models: what passes to and fro, and how each of the two ends."""

from __future__ import annotations

import os
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
from core.models import process
from core.models.process import ModelProcess, ModelProcessEnded
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
def fresh() -> Iterator[ModelProcess]:
    """Return a process of this test only: it looks at its beginning or its end."""
    started = ModelProcess()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def models() -> Iterator[ModelProcess]:
    """Return one process for all tests that leave it as it is."""
    started = ModelProcess()
    yield started
    started.stop()


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


def test_work_is_done_in_another_process(fresh: ModelProcess) -> None:
    assert fresh.pid is None
    assert fresh.run(process_id) == fresh.pid != os.getpid()
    assert fresh.run(process_id) == fresh.pid


def test_progress_is_reported_in_the_thread_that_asks(models: ModelProcess) -> None:
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
def test_what_progress_raises_cancels_the_work(models: ModelProcess, tmp_path: Path, kind: type[BaseException]) -> None:
    stopped = kind()

    def progress(share: float) -> None:
        if share == 0.5:
            raise stopped

    with pytest.raises(kind) as raised:
        models.run(endless, tmp_path / "cancelled", progress=progress)
    assert raised.value is stopped
    wait_until((tmp_path / "cancelled").exists)


def test_a_caller_can_stop_while_nothing_is_reported(fresh: ModelProcess) -> None:
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
    ModelProcessEnded("SIGKILL"),
    ValueError("not this"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_errors_keep_type_and_message(models: ModelProcess, error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        models.run(failing, error)
    told, given = ({k: v for k, v in vars(e).items() if k != "__notes__"} for e in (raised.value, error))
    assert (str(raised.value), told) == (str(error), given)


def test_errors_of_other_packages_are_told_by_name(models: ModelProcess) -> None:
    with pytest.raises(RuntimeError, match="^OtherPackageError: out of memory") as raised:
        models.run(failing_elsewhere)
    assert "failing_elsewhere" in raised.value.__notes__[0]


def test_a_result_that_cannot_be_sent_is_an_error(models: ModelProcess) -> None:
    with pytest.raises(TypeError, match="pickle"):
        models.run(unsendable)
    assert models.run(process_id) == models.pid


def test_two_calls_run_at_the_same_time(models: ModelProcess, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(models.run, meeting, *paths) for paths in ((a, b), (b, a))]
        assert [one.result() for one in found] == [True, True]


def test_a_killed_process_is_one_error_per_call_and_the_next_call_starts_another(
    fresh: ModelProcess, tmp_path: Path
) -> None:
    pid = fresh.run(process_id)
    with ThreadPoolExecutor(2) as pool:
        a, b = tmp_path / "a", tmp_path / "b"
        found = [pool.submit(fresh.run, meeting, mine, tmp_path / "never") for mine in (a, b)]
        wait_until(lambda: a.exists() and b.exists())
        psutil.Process(pid).kill()
        for one in found:
            with pytest.raises(ModelProcessEnded, match="got SIGKILL"):
                one.result()
    assert fresh.run(process_id) != pid


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of Linux")
def test_if_memory_is_short_the_process_for_models_is_killed_first(models: ModelProcess) -> None:
    adjusted = Path("/proc/self/oom_score_adj")
    assert int(models.run(adjusted.read_text)) > int(adjusted.read_text())


def test_the_process_ends_when_nobody_calls_and_starts_again(tmp_path: Path) -> None:
    models = ModelProcess(idle=0.2)
    pid = models.run(process_id)
    wait_until(lambda: models.pid is None and not psutil.pid_exists(pid))
    assert models.run(silent, 1.0, progress=lambda share: None) == "done"  # no end during a call
    models.stop()


PARENT = """
import sys, time
from core.models.process import ModelProcess
from tests.core.models.test_process import process_id, silent
models = ModelProcess()
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


def test_a_large_value_is_sent_once(models: ModelProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = list[object]()
    run = models.run
    monkeypatch.setattr(
        models, "run", lambda work, *given, **more: (sent.append(given[1]), run(work, *given, **more))[1]
    )
    process.use(models)
    try:
        for n in (1, 2):
            found = process.run_on("key", "text", length, added, n, progress=lambda share: None)
            assert found == (4 + n, models.pid)
    finally:
        process.use(None)
    assert sent == [None, ("text",), None]


def slowly_prepared(paths: tuple[Path, Path]) -> tuple[int, int]:
    begun, finish = paths
    begun.touch()
    wait_until(finish.exists)
    return 0, os.getpid()


def test_what_is_prepared_is_used_while_something_else_is_prepared(models: ModelProcess, tmp_path: Path) -> None:
    paths = tmp_path / "begun", tmp_path / "finish"
    process.use(models)
    try:
        process.run_on("quick", "text", length, added, 1, progress=no_progress)
        with ThreadPoolExecutor(2) as pool:
            slow = pool.submit(process.run_on, "slow", paths, slowly_prepared, added, 1, progress=no_progress)
            wait_until(paths[0].exists)
            quick = pool.submit(process.run_on, "quick", "text", length, added, 2, progress=no_progress)
            try:
                assert quick.result(20) == (6, models.pid)
                assert not slow.done()
            finally:
                paths[1].touch()
            assert slow.result() == (1, models.pid)
    finally:
        process.use(None)


def test_without_a_model_process_work_is_done_here() -> None:
    assert not process.is_elsewhere()
    assert process.run(process_id) == os.getpid()
    assert process.run_on("here", "text", length, added, 1, progress=lambda share: None) == (5, os.getpid())

"""Parallel forward passes."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest
import torch

from core.models import loading, parallel
from core.models.loading import Budget
from core.progress import Cancelled, Progress, no_progress

CPU = torch.device("cpu")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "passes", lambda device: 2)


@pytest.mark.usefixtures("two")
def test_rows_keep_their_order_with_progress_in_the_caller() -> None:
    sizes, shares, inside = [(7 * i) % 90 + 1 for i in range(200)], list[tuple[float, bool]](), set[str]()
    caller = threading.current_thread()

    def work(group: list[int]) -> list[int]:
        inside.add(threading.current_thread().name)
        assert torch.is_inference_mode_enabled()
        return [i * i for i in group]

    def progress(share: float) -> None:
        shares.append((share, threading.current_thread() is caller))

    assert loading.in_pieces(sizes, Budget(512), work, progress) == [i * i for i in range(200)]
    assert [share for share, _ in shares] == sorted(share for share, _ in shares)
    assert shares[-1] == (1.0, True)
    assert all(mine for _, mine in shares)
    assert caller.name not in inside


@pytest.mark.usefixtures("two")
def test_small_work_is_shared_out_and_the_budget_is_kept() -> None:
    assert [len(p) for p in Budget(1024).pieces([50] * 8, 2)] == [4, 4]
    assert [len(p) for p in Budget(1024).pieces([50] * 8)] == [8]
    assert all(sum([60] * len(p)) <= 256 for p in Budget(512).pieces([60] * 50, 2))
    assert [len(p) for p in Budget(512).pieces([10] * 4, 2)] == [4]


@pytest.mark.usefixtures("two")
def test_an_error_and_a_stop_end_the_work() -> None:
    seen: list[int] = []

    def fails(group: list[int]) -> list[int]:
        seen.extend(group)
        if 3 in group:
            raise ValueError("the third row")
        return group

    with pytest.raises(ValueError, match="the third row"):
        loading.in_pieces([300] * 400, Budget(600), fails)
    assert len(seen) < 40

    def stop(share: float) -> None:
        raise Cancelled

    seen.clear()
    with pytest.raises(Cancelled):
        loading.in_pieces([300] * 400, Budget(600), lambda group: fails([i + 4 for i in group]), stop)
    count = len(seen)
    time.sleep(0.05)
    assert len(seen) == count < 40


@pytest.mark.usefixtures("two")
def test_memory_that_runs_out_halves_the_passes() -> None:
    def work(group: list[int]) -> list[int]:
        if len(group) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return group

    budget = Budget(4000)
    assert loading.in_pieces([400] * 20, budget, work) == list(range(20))
    assert budget.tokens < 4000


def test_workers_share_cores_and_leave_other_threads_unchanged() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert set(parallel.each(range(8), lambda _: (torch.get_num_threads(), parallel.passes(CPU)), CPU)) == {(1, 1)}
        later: list[int] = []
        thread = Thread(target=lambda: later.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert (torch.get_num_threads(), later, parallel.passes(CPU)) == (2, [2], 2)
    finally:
        torch.set_num_threads(before)


def test_no_worker_sets_the_number_of_threads_later(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[int] = []
    monkeypatch.setattr(parallel, "passes", lambda device: 3)
    monkeypatch.setattr(torch, "set_num_threads", set_to.append)
    assert list(parallel.each(range(1), lambda item: item, CPU)) == [0]
    assert len(set_to) == 6  # each worker sets its own, and restores that of threads started later


@pytest.mark.usefixtures("two")
def test_parts_run_side_by_side_until_one_fails_or_nobody_wants_them() -> None:
    both, stopped = threading.Barrier(2, timeout=60), list[int]()

    def work(part: range, progress: Progress) -> int:
        both.wait()
        if part[0] == 1:
            raise ValueError("the second part")
        try:
            while True:
                progress(0.5)
                time.sleep(0.001)
        except Cancelled:
            stopped.append(part[0])
            raise

    with pytest.raises(ValueError, match="the second part"):
        parallel.side_by_side([range(1), range(1, 3)], work, CPU, no_progress)
    assert stopped == [0]

    shares: list[float] = []

    def stop(share: float) -> None:
        shares.append(share)
        if share == 0.5:
            raise Cancelled

    def long(part: range, progress: Progress) -> int:
        both.wait()
        while True:
            progress(0.5)
            time.sleep(0.001)

    with pytest.raises(Cancelled):
        parallel.side_by_side([range(1), range(1, 3)], long, CPU, stop)
    assert shares[-1] == 0.5
    assert parallel.side_by_side([range(1), range(1, 3)], lambda part, _: len(part), CPU, no_progress) == [1, 2]


@pytest.mark.usefixtures("two")
def test_parts_that_do_not_report_do_not_seem_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "REPORT_SECONDS", 0.01)
    reports: list[float] = []

    def work(part: range, progress: Progress) -> None:
        progress(0.25)
        time.sleep(0.5)

    parallel.side_by_side([range(1), range(1, 2)], work, CPU, reports.append)
    assert 1 <= len(reports) <= 2


@pytest.mark.usefixtures("two")
def test_other_passes_do_not_wait_for_parts() -> None:
    released = threading.Event()

    def work(part: range, progress: Progress) -> bool:
        return released.wait(60)

    with ThreadPoolExecutor(1) as caller:
        parts = caller.submit(parallel.side_by_side, [range(1), range(1, 2)], work, CPU, no_progress)
        assert sorted(parallel.each([1, 2], lambda n: n, CPU)) == [1, 2]
        released.set()
        assert parts.result() == [True, True]

"""Writes of several threads share transactions, and each thread gets the answer to its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from db.labels.group_commit import LARGEST, GroupCommit, _Entry


def test_values_that_arrive_during_a_write_are_written_together() -> None:
    calls: list[list[int]] = []
    first, go_on = Event(), Event()

    def write(values: Sequence[int]) -> list[Exception | None]:
        calls.append(list(values))
        if len(calls) == 1:
            first.set()
            go_on.wait(30)
        return [None] * len(values)

    group, n = GroupCommit(write), LARGEST + 5
    with ThreadPoolExecutor(n + 1) as threads:
        threads.submit(group.add, 0)
        assert first.wait(30)
        waiting = [threads.submit(group.add, k) for k in range(1, n + 1)]
        while len(group._waiting) < n:  # nothing public says that a thread has arrived
            time.sleep(0.001)
        go_on.set()
        for done in waiting:
            done.result(30)
    assert [len(call) for call in calls] == [1, LARGEST, 5]
    assert sorted(calls[1] + calls[2]) == list(range(1, n + 1))


def test_each_thread_gets_the_error_of_its_own_value() -> None:
    def write(values: Sequence[int]) -> list[Exception | None]:
        return [ValueError(str(n)) if n % 2 else None for n in values]

    group, together = GroupCommit(write), Barrier(16)

    def add(n: int) -> str:
        together.wait(30)
        try:
            group.add(n)
            return "written"
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(add, range(16))) == [str(n) if n % 2 else "written" for n in range(16)]


def test_a_write_that_fails_fails_for_all_its_values_and_the_next_works() -> None:
    broken = [True]

    def write(values: Sequence[int]) -> list[Exception | None]:
        if broken.pop():
            broken.append(False)
            raise OSError("full")
        broken.append(False)
        return [None] * len(values)

    group = GroupCommit(write)
    with pytest.raises(OSError, match="full"):
        group.add(1)
    group.add(2)


@pytest.mark.extended
@pytest.mark.parametrize(("stopped", "error"), [(True, KeyboardInterrupt), (False, RuntimeError)])
def test_a_write_that_is_stopped_or_answers_too_little_leaves_nobody_waiting(
    stopped: bool, error: type[BaseException]
) -> None:
    first, go_on = Event(), Event()

    def write(values: Sequence[int]) -> list[Exception | None]:
        if values != [0]:
            return [None] * len(values)
        first.set()
        go_on.wait(30)
        if stopped:
            raise KeyboardInterrupt
        return []

    group = GroupCommit(write)
    with ThreadPoolExecutor(2) as threads:
        interrupted = threads.submit(group.add, 0)
        assert first.wait(30)
        after = threads.submit(group.add, 1)
        go_on.set()
        with pytest.raises(error):
            interrupted.result(30)
        after.result(30)


@pytest.mark.extended
def test_values_that_share_an_interrupted_write_get_an_error() -> None:
    def write(values: Sequence[int]) -> list[Exception | None]:
        raise KeyboardInterrupt

    group, other = GroupCommit(write), _Entry(1)
    group._waiting.append(other)
    with pytest.raises(KeyboardInterrupt):
        group.add(2)
    assert other.done
    assert isinstance(other.error, RuntimeError)


@pytest.mark.extended
def test_large_values_do_not_share_a_transaction() -> None:
    calls: list[list[int]] = []

    def write(values: Sequence[int]) -> list[Exception | None]:
        calls.append(list(values))
        return [None] * len(values)

    group = GroupCommit(write, lambda value: value)
    group._waiting += [_Entry(n) for n in (LARGEST - 1, 1, 1, 2 * LARGEST)]
    group.add(3)
    assert calls == [[LARGEST - 1, 1], [1], [2 * LARGEST], [3]]

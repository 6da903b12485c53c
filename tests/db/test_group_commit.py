"""Writes of several threads share transactions, and each thread gets the answer to its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from db.group_commit import LARGEST, GroupCommit


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

"""Which results are kept; freed columns go back to the system; rows of tables are kept without a search for cycles."""

from __future__ import annotations

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from core.memory import RecentResults, collect_garbage_rarely
from tests.paths import ROOT

FREED = """
import sys, numpy as np, psutil
from core.memory import return_freed_memory
if sys.argv[1] == "on":
    return_freed_memory()
np.ones(2_500_000)  # freed at once: by default, glibc keeps blocks of up to this size from now on
before = psutil.Process().memory_info().rss
columns, kept = [], []
for _ in range(20):
    columns.append(np.ones(1_000_000))
    kept.append(bytearray(100_000))
columns.clear()
print((psutil.Process().memory_info().rss - before) >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_freed_columns_are_returned() -> None:
    grown = {}
    for name in ("on", "off"):
        said = subprocess.run([sys.executable, "-c", FREED, name], cwd=ROOT, capture_output=True, text=True, check=True)
        grown[name] = int(said.stdout)
    assert grown["on"] < 30 < 100 < grown["off"]  # 20 columns of 8 MB were freed


def test_rows_of_a_table_are_rarely_searched_for_cycles() -> None:
    before, searched = gc.get_threshold(), list[str]()
    gc.callbacks.append(lambda phase, _: searched.append(phase))
    try:
        collect_garbage_rarely()
        rows = [(str(i), None) for i in range(100_000)]
    finally:
        gc.callbacks.pop()
        gc.set_threshold(*before)
    assert len(rows) == 100_000
    assert searched.count("start") <= 5 + 1


def test_the_newest_results_are_kept() -> None:
    kept = RecentResults[int](2)
    for k in range(3):
        assert kept.computed(k, lambda k=k: k) == k  # type: ignore[misc]
    assert (kept.get(0), kept.get(1)) == ((), (1,))
    assert kept.computed(3, lambda: 3) == 3
    assert (kept.get(1), kept.get(2), kept.get(3)) == ((1,), (), (3,))  # 1 was used after 2
    kept.clear()
    assert kept.get(3) == ()


def test_threads_share_a_computation_and_other_keys_do_not_wait() -> None:
    kept, begun, finish, computed = RecentResults[int](2), Event(), Event(), list[str]()

    def compute(fails: bool) -> int:
        computed.append("once")
        begun.set()
        assert finish.wait(60)
        if fails:
            raise ValueError("no result")
        return 1

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(kept.computed, "slow", lambda: compute(True))
        assert begun.wait(60)
        second = threads.submit(kept.computed, "slow", lambda: compute(False))
        assert kept.computed("other", lambda: 2) == 2
        assert (kept.get("other"), kept.get("slow")) == ((2,), ())
        finish.set()
        assert (str(first.exception()), second.result()) == ("no result", 1)  # the one that waited computes itself
    assert kept.computed("slow", lambda: compute(False)) == 1
    assert len(computed) == 2

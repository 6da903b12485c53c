"""Blocks of the size of a column of scores go back to the system when they are freed, and rows of tables are kept without a search for cycles."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from core.memory import collect_garbage_rarely
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

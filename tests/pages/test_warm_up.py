"""What a server loads in the background after its start."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import streamlit as st

from core.models import process
from db.store import open_store
from pages._ui.projects import large_exports
from pages._ui.shared import warm_up
from tests.fakes import small_dataset
from tests.paths import ROOT

LOADED = """
import gc, sys
from pages._ui.shared import warm_up
warm_up.load_modules()
missing = {"altair", "pandas", "scipy.stats", "pages._ui.robustness.combine"} - sys.modules.keys()
print(missing or "", "torch" if "torch" in sys.modules else "", "" if gc.get_freeze_count() > 100_000 else "not frozen")
"""


@pytest.fixture
def frozen() -> Iterator[None]:
    gc.freeze()
    yield
    gc.unfreeze()


def test_the_modules_of_all_pages_are_loaded_without_torch(tmp_path: Path) -> None:
    environ = {"PATH": "", "PYTHONPATH": str(ROOT), "ERRORSCOPE_HOME": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == []


FIRST_PAGE = """
import sys
import app
import pages._ui.campaigns.my_campaigns, pages._ui.projects.importing, pages._ui.projects.project_list, pages._ui.projects.upload
print({"scipy.optimize", "scipy.stats", "pandas", "altair"} & sys.modules.keys() or "")
"""


def test_the_first_page_of_a_server_waits_for_no_module_that_it_does_not_need(tmp_path: Path) -> None:
    environ = {"PATH": "", "PYTHONPATH": str(ROOT), "ERRORSCOPE_HOME": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", FIRST_PAGE], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == []


def test_the_server_starts_while_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    started, done, ended = threading.Event(), threading.Event(), list[str]()

    def load() -> None:
        started.set()
        done.wait(60)

    monkeypatch.setattr(warm_up, "DELAY", 0.0)
    monkeypatch.setattr(warm_up, "load_modules", load)
    monkeypatch.setattr(st, "get_option", lambda _: True)
    monkeypatch.setattr(large_exports, "cancel_all", lambda: ended.append("exports"))

    async def run() -> None:
        async with warm_up.prepared(None):
            assert started.wait(60)
            assert not done.is_set()
            assert process.is_elsewhere() == (os.name == "posix")
            done.set()
        assert not process.is_elsewhere()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, run()).result()
    assert ended == ["exports"]


@pytest.mark.usefixtures("frozen")
def test_an_import_leaves_modules_out_of_collections(tmp_path: Path) -> None:
    before = gc.get_freeze_count()
    store = open_store(f"sqlite:///{tmp_path / 'errorscope.db'}")
    store.projects.add(store.projects.create("p").id, small_dataset(2000))
    assert gc.get_freeze_count() >= before // 2

"""What a server loads in the background after its start."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import streamlit as st

from core.processes import host
from pages._ui.projects import exports
from pages._ui.shared import server
from tests.paths import ROOT

LOADED = """
import sys
import app
import pages._ui.campaigns.my_campaigns, pages._ui.projects.importing, pages._ui.projects.project_list, pages._ui.projects.upload
print("first page:", *{"scipy.optimize", "scipy.stats", "pandas", "altair", "vl_convert", "torch"} & sys.modules.keys())
from pages._ui.shared import server
server.load_modules()
print("missing:", *{"altair", "vl_convert", "pandas", "scipy.stats", "pages._ui.robustness.combine"} - sys.modules.keys())
print("models:", *{"torch"} & sys.modules.keys())
"""


@pytest.mark.extended
def test_pages_wait_for_no_library_they_do_not_need(tmp_path: Path) -> None:
    """The first page of a server loads no library of charts, tables or models; later the others are there before a visitor."""
    environ = {"PATH": "", "PYTHONPATH": str(ROOT), "ERRORSCOPE_HOME": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert said.stdout.split("\n")[:3] == ["first page:", "missing:", "models:"]


def test_the_server_starts_while_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    started, done, ended = threading.Event(), threading.Event(), list[str]()

    def load() -> None:
        started.set()
        done.wait(60)

    monkeypatch.setattr(server, "DELAY", 0.0)
    monkeypatch.setattr(server, "load_modules", load)
    monkeypatch.setattr(st, "get_option", lambda _: True)
    monkeypatch.setattr(exports, "cancel_all", lambda: ended.append("exports"))

    async def run() -> None:
        async with server.prepared(None):
            assert started.wait(60)
            assert not done.is_set()
            assert host.has_model_process() == (os.name == "posix")
            done.set()
        assert not host.has_model_process()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, run()).result()
    assert ended == ["exports"]

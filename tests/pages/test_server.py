"""What the server does besides pages: it opens the browser, sends headers, redirects addresses, and loads modules in the background."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

import app
from core.processes import host
from pages._ui.projects import exports
from pages._ui.shared import server
from pages._ui.shared.server import SecurityHeaders, content_security_policy
from tests.paths import ROOT


def finish(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end in a thread of its own: browser tests may have left an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


def test_the_browser_opens_unless_headless(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(server, "open_browser", asked.append)
    monkeypatch.setattr(server, "SECONDS", 0.0)

    async def run() -> None:
        async with server.opens_browser(None):
            later = asyncio.Event()
            asyncio.get_running_loop().call_later(0.001, later.set)  # after what was scheduled at the start
            await later.wait()

    for headless in (True, False):
        options = {"server.headless": headless, "server.address": "127.0.0.1", "server.port": 8599}
        monkeypatch.setattr(server.st, "get_option", options.get)
        finish(run())
        assert asked == [] if headless else asked == ["http://127.0.0.1:8599"]


def test_headers_are_strict_and_projects_is_the_default_page(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": [(b"content-security-policy", b"none")]})

    async def keep(message: Any) -> None:
        sent.append(message)

    for kind in ("http", "websocket"):
        finish(SecurityHeaders(inner)({"type": kind}, None, keep))  # type: ignore[arg-type]
    ours, theirs = (dict(message["headers"]) for message in sent)
    assert ours[b"content-security-policy"].decode() == content_security_policy()
    assert theirs[b"content-security-policy"] == b"none"

    rules = dict(rule.split(" ", 1) for rule in content_security_policy().split("; "))
    assert not any("http" in allowed or "*" in allowed for allowed in rules.values())
    assert "unsafe" not in rules["script-src"].replace("'wasm-unsafe-eval'", "")
    sent.clear()
    for path in ("/t/" + "x" * 43, "/errorscope/t/x", "/tasks", "/tasks/7", "/", "/login"):
        finish(SecurityHeaders(inner)({"type": "http", "path": path}, None, keep))  # type: ignore[arg-type]
    policies = [dict(message["headers"])[b"content-security-policy"].decode() for message in sent]
    assert ["unsafe" in policy for policy in policies] == [False] * 4 + [True] * 2
    assert rules["frame-ancestors"] == rules["object-src"] == "'none'"
    assert "'sha256-" in rules["script-src"]

    for base, address, target in (
        ("", "/projects", "http://testserver/"),
        ("", "/projects?project=2&lambda=inf", "http://testserver/?project=2&lambda=inf"),
        ("/tools/", "/tools/projects?project=2", "http://testserver/tools/?project=2"),
    ):
        monkeypatch.setattr(app.st, "get_option", {"server.baseUrlPath": base}.get)
        answer = TestClient(Starlette(routes=app.routes())).get(address, follow_redirects=False)
        assert answer.status_code == 307, address
        assert urljoin(f"http://testserver{address}", answer.headers["location"]) == target


LOADED = """
import sys
import app
import pages._ui.campaigns.campaign_data, pages._ui.projects.importing, pages._ui.projects.project_list, pages._ui.projects.upload
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

    finish(run())
    assert ended == ["exports"]

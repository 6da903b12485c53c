"""The browser opens when the app starts, once and only where there is a display; headers, and addresses beside Streamlit's."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urljoin

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import app
from pages._ui.shared import server
from pages._ui.shared.server import SecurityHeaders, content_security_policy


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

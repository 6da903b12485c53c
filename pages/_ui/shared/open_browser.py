"""Open the browser when the app starts. Streamlit does this for scripts only, not for an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from streamlit.cli_util import open_browser

SECONDS = 0.5
"""Delay after start-up, when the server accepts requests."""


@asynccontextmanager
async def opens_browser(app: Any) -> AsyncIterator[None]:
    """Open the page once the server runs, unless Streamlit is headless (or there is no display)."""
    if not st.get_option("server.headless"):
        asyncio.get_running_loop().call_later(SECONDS, open_browser, address())
    yield


def address() -> str:
    """Return the address at which this server is reached from this machine."""
    host = st.get_option("server.address")
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    name = "localhost" if host in (None, "", "0.0.0.0", "::") else host
    return f"{scheme}://{name}:{st.get_option('server.port')}/{base}".rstrip("/")

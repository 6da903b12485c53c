"""What the server does besides pages: security headers, opening the browser, and loading modules in advance."""

from __future__ import annotations

import asyncio
import base64
import gc
import hashlib
import inspect
import os
import pkgutil
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import streamlit
import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.cli_util import open_browser

from core.errors import UserError
from core.judges import probe
from core.processes import host
from pages import _ui
from pages._ui.shared import wiring

_OF_ANNOTATORS = re.compile(r"/(t/[^/]+|tasks|tasks/\d+)/?$")
_PUBLIC = re.compile(r"/r/[^/]+/?$")
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def content_security_policy(*, of_streamlit: bool = True) -> str:
    """Return the policy of Streamlit's pages, or of the annotators' pages, which have no inline styles.

    Streamlit's page has one inline script, which is allowed by its hash.
    """
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    inline = " ".join(f"'sha256-{_sha256(script)}'" for script in _INLINE.findall(page))
    rules = {
        "default-src": "'self'",
        # Streamlit compiles WebAssembly, interprets the expressions of charts, and loads the scripts of components from blobs.
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {inline}".rstrip() if of_streamlit else "'self'",
        "style-src": "'self' 'unsafe-inline'" if of_streamlit else "'self'",
        "img-src": "'self' data: blob:",
        "media-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {allowed}" for name, allowed in rules.items())


OF_PUBLIC_PAGES = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The policy of public pages of results (`api.public`): text, styles and drawings that are in the page, and nothing that runs."""


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


class SecurityHeaders:
    """ASGI middleware that adds the headers to every HTTP response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        others = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
        self.headers = {"Content-Security-Policy": content_security_policy()} | others
        self.of_public_pages = {"Content-Security-Policy": OF_PUBLIC_PAGES} | others
        self.of_annotators = {"Content-Security-Policy": content_security_policy(of_streamlit=False)} | others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        headers = self.of_annotators if _OF_ANNOTATORS.search(path) else self.headers
        headers = self.of_public_pages if _PUBLIC.search(path) else headers

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


SECONDS = 0.5
"""Delay after start-up, when the server accepts requests."""


@asynccontextmanager
async def opens_browser(app: Any) -> AsyncIterator[None]:
    """Open the page once the server runs, unless Streamlit is headless (or there is no display)."""
    if not st.get_option("server.headless"):
        asyncio.get_running_loop().call_later(SECONDS, open_browser, server_address())
    yield


def server_address() -> str:
    """Return the address at which this server is reached from this machine."""
    host = st.get_option("server.address")
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    name = "localhost" if host in (None, "", "0.0.0.0", "::") else host
    return f"{scheme}://{name}:{st.get_option('server.port')}{wiring.base_path()}"


DELAY = 5.0
"""Seconds from the start of the server. The page that `make run` opens comes first: it would wait for Python's lock."""

REMOVE_SECONDS = 600.0


def load_modules() -> None:
    """Import what the pages are made of. None of it loads torch: models are loaded when a metric needs one."""
    for module in pkgutil.walk_packages(_ui.__path__, f"{_ui.__name__}."):
        import_module(module.name)
    _load_what_is_used_later()
    inspect.stack()  # Streamlit asks for it at the first element: Python looks at the files of all modules, and keeps them
    # Streamlit collects garbage after every run of a page, before the page is sent. Modules are never garbage, and looking at them
    # takes 0.13 s, in which no thread runs.
    gc.collect()
    gc.freeze()


def _load_what_is_used_later() -> None:
    """Load what the first table, chart, picture of a chart, list of metrics and change of a text would load."""
    import altair as alt
    import pandas as pd
    import pyarrow as pa
    from PIL import Image

    from core.metrics import readiness
    from core.reports.picture import picture
    from core.services.robustness.break_metric import perturbed

    readiness.of_all()  # reads the weights of the bundled models, for their signatures
    perturbed("Anna Smith quickly adopted it again in Paris in 2019.")
    frame = pd.DataFrame({"x": [0.0]})
    frame.style.format("{}")
    pa.Table.from_pandas(frame)
    picture(alt.Chart(frame).mark_point().encode(x="x"), "x", "x", "png")
    Image.preinit()


def _cancel_exports() -> None:
    """Cancel the preparation of files: Python waits for their threads."""
    from pages._ui.projects import exports

    exports.cancel_all()


async def _remove_old_drafts() -> None:
    """Delete drafts and uploaded files that nobody has used for a day, at the start and every ten minutes."""
    from pages._ui.shared import drafts

    while True:
        with suppress(UserError):  # an invalid setting, which the pages show
            await asyncio.to_thread(drafts.folder().remove_old)
        await asyncio.sleep(REMOVE_SECONDS)


@asynccontextmanager
async def prepared(app: Any) -> AsyncIterator[None]:
    """Load the modules in the background and open the browser, while the server runs. Models are run in a process of their own."""
    warm_up = threading.Timer(DELAY, load_modules)
    warm_up.daemon = True
    warm_up.start()
    models = host.new_model_process() if os.name == "posix" else None
    host.use(models)
    probe.wait_at_most(1.0)
    removal = asyncio.create_task(_remove_old_drafts())
    async with opens_browser(app):
        yield
    removal.cancel()
    warm_up.cancel()
    host.use(None)
    if models is not None:
        models.stop()
    _cancel_exports()

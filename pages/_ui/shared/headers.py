"""Security headers: the browser loads nothing from other hosts, and no other site can show the app in a frame."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

"""Who may reach what: ASGI middleware around all pages, routes and websockets.

The names in `Host` and `Origin` are checked separately. A foreign name that points to this machine (DNS rebinding) sends both
with the same name, so that comparing them is not enough.
"""

from __future__ import annotations

import ipaddress
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import auth, health
from api.auth import message
from api.endpoint import identity_of, record_refusal, unguarded
from api.task.catalogue import begun
from core.errors import UserError
from core.ports.people import Identity
from core.services.people.accounts import accounts_required
from core.settings import load_access

THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN = ("/login", "/login/provider", "/logout", "/healthz", "/readyz", "/metrics", "/_stcore/health")
OPEN_BELOW = ("/t/", "/r/", "/tasks", "/api/", "/assets/")
"""Routes that check the sender themselves, or that anybody may read."""
STATUS = ("/healthz", "/readyz", "/_stcore/health")
"""Routes that say nothing about anybody, and are answered from everywhere."""
UPLOADS = "/_stcore/upload_file/"
_OF_PROXIES = ("forwarded", "via", "x-real-ip")
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class Refusal(NamedTuple):
    """Why a request is not answered. `kind` is login if logging in would help, annotator if the person has a page of their own."""

    status: int
    text: str
    kind: Literal["name", "login", "role", "annotator"]


class AccessControl:
    """ASGI middleware that refuses foreign names, and pages to those who must not see them."""

    def __init__(self, app: ASGIApp, base: str = "") -> None:
        self.app, self.base = app, base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        connection.state.who = None  # routes put their sender here, for the record of refusals
        try:
            refusal = (
                self._refused_name(connection)
                or await self._refused_without_accounts(connection)
                or await self._refused_sender(connection)
            )
        except UserError as error:  # storage cannot be read, so nobody is known
            refusal = Refusal(503, f"{begun(error.what)}. {error.hint}", "name")
        if refusal is None:
            await self.app(scope, receive, self._recording(connection, send))
            return
        if refusal.kind != "login":
            await run_in_threadpool(record_refusal, connection, refusal.status)
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": ""})  # before it is accepted: HTTP 403
        else:
            await self._answer(refusal, connection)(scope, receive, send)

    def _path(self, connection: HTTPConnection) -> str:
        return str(connection.scope["path"]).removeprefix(self.base)

    def _recording(self, connection: HTTPConnection, send: Send) -> Send:
        """Return `send`, which records refusals of our own routes."""
        path = self._path(connection)
        if connection.scope["type"] != "http" or not (path in OPEN or path.startswith(OPEN_BELOW)):
            return send

        async def recording(message: Message) -> None:
            if message["type"] == "http.response.start":
                await run_in_threadpool(record_refusal, connection, message["status"])
            await send(message)

        return recording

    def _refused_name(self, connection: HTTPConnection) -> Refusal | None:
        """Return why the names are refused. Prometheus reads each process under its address; no foreign page has its token."""
        return None if self._reads_metrics(connection) else refused_name(connection)

    def _reads_metrics(self, connection: HTTPConnection) -> bool:
        path = self._path(connection)
        return connection.scope["type"] == "http" and path == "/metrics" and health.has_token(connection)

    async def _refused_without_accounts(self, connection: HTTPConnection) -> Refusal | None:
        """Return why a request from elsewhere is refused on a server without accounts, where everybody is the manager."""
        path = self._path(connection)
        if on_this_machine(connection) or path in STATUS or self._reads_metrics(connection):
            return None
        if await run_in_threadpool(lambda: accounts_required(unguarded().people, load_access())):
            return None
        return Refusal(
            403,
            "This server has no accounts, so only its own machine can use it, and no proxy (see docs/access.md).",
            "name",
        )

    async def _refused_sender(self, connection: HTTPConnection) -> Refusal | None:
        path = self._path(connection)
        if path in OPEN or path.startswith(OPEN_BELOW) or (path in auth.PATHS and auth.providers()):
            return None
        who = await run_in_threadpool(identity_of, connection)
        if who is None:
            return Refusal(401, "Log in to open this.", "login")
        return _refused_page(who) or _refused_upload(who, connection)

    def _answer(self, refusal: Refusal, connection: HTTPConnection) -> Response:
        """Return a redirect or a page if a person waits for a page, else the sentence as JSON or text."""
        headers, scope = {"Cache-Control": "no-store"}, connection.scope
        accepted = connection.headers.get("accept", "")
        opens_page = scope["method"] in ("GET", "HEAD") and "text/html" in accepted
        if refusal.kind == "login" and opens_page:
            query = scope["query_string"].decode("latin-1")
            address = f"{scope['path']}{'?' if query else ''}{query}"
            return RedirectResponse(f"{self.base}/login?{urlencode({'next': address})}", 303, headers)
        if refusal.kind == "annotator" and opens_page:
            return RedirectResponse(f"{self.base}/tasks", 303, headers)
        if refusal.kind == "role" and opens_page:
            return message(refusal.status, "No access", refusal.text, self.base, logout=True)
        if "application/json" in accepted:
            return JSONResponse({"error": refusal.text}, refusal.status, headers)
        return PlainTextResponse(refusal.text, refusal.status, headers)


def _refused_page(who: Identity) -> Refusal | None:
    if who.link is not None:
        return Refusal(403, "Your link opens your annotation page only. Use the complete link.", "role")
    if not who.sees_pages and "annotator" in who.roles.values():
        return Refusal(403, "Your account annotates only.", "annotator")
    if not who.sees_pages:
        return Refusal(403, "Your account has no role that opens this page. Ask a manager.", "role")
    return None


def _refused_upload(who: Identity, connection: HTTPConnection) -> Refusal | None:
    """Return why a file is refused: those who can import nothing need not fill the memory of the server."""
    writes = connection.scope["type"] == "http" and connection.scope["method"] not in ("GET", "HEAD", "OPTIONS")
    if who.manages or not writes or UPLOADS not in str(connection.scope["path"]):
        return None
    return Refusal(403, "Only managers upload files.", "role")


def refused_name(connection: HTTPConnection) -> Refusal | None:
    """Return why the names in `Host` and `Origin` are refused, or None if they are those of this server."""
    hosts, origins = connection.headers.getlist("host"), connection.headers.getlist("origin")
    allowed = THIS_MACHINE | {name.strip("[]") for name in load_access().hosts}
    host = _parsed(f"//{hosts[0]}") if len(hosts) == 1 else None
    if host is None or host.path or host.query or host.fragment:
        return Refusal(400, "The request does not name one host.", "name")
    if _name(host) not in allowed:
        return Refusal(421, "This server does not answer under this name (see docs/access.md).", "name")
    if not origins:
        return None
    origin = _parsed(origins[0]) if len(origins) == 1 else None
    if origin is None or origin.scheme not in _PORTS or _name(origin) not in allowed:
        return Refusal(403, "Requests from other sites are refused.", "name")
    reads = connection.scope["type"] == "http" and connection.scope["method"] in ("GET", "HEAD", "OPTIONS")
    port = origin.port or _PORTS[origin.scheme]
    same = (_name(origin), port) == (_name(host), host.port or _PORTS[origin.scheme])
    if not reads and not same:  # another program on this machine, or another allowed name
        return Refusal(403, "Requests from other sites are refused.", "name")
    return None


def _parsed(address: str) -> SplitResult | None:
    """Return the parts of an address; None if it is not valid or has a user."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises ValueError for an invalid port
    except ValueError:
        return None
    return None if parts.hostname is None or "@" in parts.netloc or not address.isprintable() else parts


def _name(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".")


def on_this_machine(connection: HTTPConnection) -> bool:
    """Return whether the sender is on this machine and no proxy, through which others may send.

    Proxies are known by their headers, or by HTTP/1.0, which nginx uses by default and browsers do not.
    """
    proxied = any(name in _OF_PROXIES or name.startswith("x-forwarded-") for name in connection.headers)
    if proxied or connection.scope.get("http_version") == "1.0" or connection.client is None:
        return False
    try:
        address = ipaddress.ip_address(connection.client.host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def is_local_address(address: str | None) -> bool:
    """Return whether a server that listens on this address is reached from this machine only. None means all addresses."""
    return address in THIS_MACHINE or (address or "").startswith("127.")

"""What all routes share: who sends a request and the storage for them, limits, bodies of bounded size, and answers to errors.

The storage is that of the pages too. Refused requests are in the audit record, in which managers see attempts.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import json
import logging
import re
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from api.task import catalogue
from core.data import storable
from core.errors import NotAllowed, Unavailable, UserError
from core.ports.people import LOCAL, Identity
from core.ports.store import Store
from core.services.people import links, sessions
from core.services.people.accounts import accounts_required
from core.services.people.guard import guarded
from core.services.people.sessions import CSRF_HEADER, SESSION_COOKIE, is_csrf_token
from core.settings import load_access, load_settings
from db.store import shared_store

LARGEST_BODY = 4_000_000
BODY_SECONDS = 20.0
MOST_VALUES = 150_000
"""In a body. To read as many takes about 0.1 s, in which Python answers nobody else."""
RECORDED = frozenset({400, 401, 403, 404, 408, 413, 415, 421, 422, 429})
TOO_MANY = "Too many requests at once. The page tries again in a few seconds"
_NETWORK_BITS = 64  # an IPv6 customer has at least this many leading bits
_TOKEN = re.compile(r"(?<=/[tr]/)[^/?]+")
LINK_ENDED = "Your link is no longer valid. Ask the person who sent it for a new one"
LOGIN_ENDED = "You are no longer logged in. Reload the page and log in"
M = TypeVar("M", bound=BaseModel)
Handler = Callable[[Request], Awaitable[Response]]
log = logging.getLogger("errorscope")


def unguarded() -> Store:
    """Return storage for what the server does itself: it finds out who sends a request, records refusals, sends public pages, and reports its state.

    The first call migrates the tables. Raises `UserError` if the database cannot be used.
    """
    return shared_store(load_settings().database)


def store(who: Identity, *, tasks: bool = False) -> Store:
    """Return storage as the sender of a request may use it; with `tasks`, also for what this person annotates."""
    return guarded(unguarded(), lambda: who, tasks=tasks)


@functools.cache
def secret(database: str) -> bytes:
    """Return the secret of the servers of this database, from which tokens are made."""
    return shared_store(database).people.secret()


class RequestRefused(Exception):  # noqa: N818  (an answer, not a fault)
    """A request that is not carried out: the status of the answer, and a sentence that says why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class RateLimit:
    """A token bucket per key: `at_once` requests at any moment, and `per_second` in the long run."""

    def __init__(
        self, per_second: float, at_once: int, keys: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second, self._at_once, self._keys, self._clock = per_second, at_once, keys, clock
        self._buckets: OrderedDict[Any, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, key: Any) -> None:
        """Count a request. Raises `RequestRefused` if there were too many."""
        if not self.allows(key):
            raise RequestRefused(429, TOO_MANY)

    def allows(self, key: Any) -> bool:
        """Count a request; return False if there were too many."""
        with self._lock:
            now = self._clock()
            left, then = self._buckets.pop(key, (float(self._at_once), now))
            left = min(float(self._at_once), left + (now - then) * self._per_second)
            self._buckets[key] = (max(0.0, left - 1), now)
            if len(self._buckets) > self._keys:
                self._buckets.popitem(last=False)
        return left >= 1


class AtOnce:
    """A limit of requests that are being answered at the same time, per key."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._running: Counter[Any] = Counter()

    @contextmanager
    def one(self, key: Any) -> Iterator[None]:
        """Count a request during the block. Raises `RequestRefused` if too many are being answered."""
        with self._lock:
            if self._running[key] >= self._most:
                raise RequestRefused(429, TOO_MANY)
            self._running[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[key] -= 1
                if not self._running[key]:
                    del self._running[key]


REQUESTS = RateLimit(per_second=20.0, at_once=100)
"""Requests of a person to all routes."""
REFUSALS = RateLimit(per_second=0.2, at_once=60)
"""Refusals that are recorded per network: nobody can fill the disk with them."""


def record_refusal(connection: HTTPConnection, status: int) -> None:
    """Record a refused request: who sent it, the path without tokens, and the status. Writes to storage."""
    if status not in RECORDED or not REFUSALS.allows(network(connection)):
        return
    path = storable(_TOKEN.sub("…", str(connection.scope["path"])))[:100]
    who: Identity | None = connection.state.who
    name = who.who if who is not None else "unknown"
    with suppress(UserError):  # the answer matters more than its record
        unguarded().audit.record(name, "request refused", path=path, status=status, address=address(connection))


def address(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client else ""


def network(connection: HTTPConnection) -> str:
    """Return the address of the sender, for limits; of IPv6 the network, because one person has many addresses."""
    host = address(connection)
    try:
        ip = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, _NETWORK_BITS), strict=False))


def identity_of(connection: HTTPConnection) -> Identity | None:
    """Return who sends a request or opens a websocket; None if the person must log in.

    A personal link comes as `Authorization: Bearer TOKEN`, a login session as a cookie. Without accounts everybody is the
    local manager. Reads storage, so call it in a thread. Raises `UserError` if storage cannot be read.
    """
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        try:
            return identity_of_token(token.strip())
        except Unavailable:  # the link may be valid
            raise
        except UserError:
            return None
    if session_token := connection.cookies.get(SESSION_COOKIE):
        who = sessions.resolve(unguarded().people, session_token)
        if who is not None:
            return who
    return None if accounts_required(unguarded().people, load_access()) else LOCAL


def identity_of_token(token: str) -> Identity:
    """Return the holder of a personal link. Raises `UserError` if it is unknown, revoked or expired."""
    return links.resolve(unguarded().people, token)


def identify(request: Request) -> Identity:
    """Return the identity of the sender. Raises `RequestRefused` (401) if there is none."""
    who = identity_of(request)
    if who is None:
        raise RequestRefused(401, LINK_ENDED if "authorization" in request.headers else LOGIN_ENDED)
    request.state.who = who
    return who


def key_of(who: Identity, request: Request) -> Any:
    """Return what limits of requests are counted for: the person, or without accounts the address."""
    if who.link is not None:
        return ("link", who.link.id)
    if who.account is not None:
        return ("account", who.account.id)
    return ("address", network(request))


def check_csrf(who: Identity, request: Request) -> None:
    """Raise `RequestRefused` (403) unless the page that sends this is ours. A link's token in the header shows it already."""
    if who.link is not None:
        return
    session = request.cookies.get(SESSION_COOKIE, "")
    if not is_csrf_token(secret(load_settings().database), session, request.headers.get(CSRF_HEADER, "")):
        raise RequestRefused(403, "This page is out of date. Reload it; your changes are kept in this browser")


async def sender(request: Request) -> Identity:
    """Return who sends a request, and count it. Raises `RequestRefused` if nobody does (401), or this person sent too many (429)."""
    who = await run_in_threadpool(identify, request)
    REQUESTS.take(key_of(who, request))
    return who


async def received(request: Request, model: type[M]) -> tuple[Identity, M]:
    """Return who sends a request from a page of ours, and its body. Raises `RequestRefused`."""
    who = await sender(request)
    check_csrf(who, request)
    return who, await body(request, model)


def endpoint(handler: Handler) -> Handler:
    """Answer errors of a route with {"error": sentence} in the language of the request: a fault of the program with a number that is in the log."""

    @functools.wraps(handler)
    async def answering(request: Request) -> Response:
        said = catalogue.of_request(request)
        try:
            return await handler(request)
        except RequestRefused as refused:
            return failed(refused.status, said(refused.sentence))
        except Unavailable as error:
            return failed(503, catalogue.unavailable(request, error))
        except NotAllowed as error:
            return failed(403, error.sentence(said))
        except UserError as error:
            return failed(422, error.sentence(said))
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            number = secrets.token_hex(4)
            log.error("error %s", number, exc_info=error)
            return failed(500, said(f"This is a fault of the program, number {number}. Try again"))

    return answering


def failed(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status, {"Cache-Control": "no-store"})


async def body(request: Request, model: type[M]) -> M:
    """Return the JSON body of a request. Raises `RequestRefused` if it is too large, too slow, or of another form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused(415, "Send JSON with the content type application/json")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            raw = await read(request, LARGEST_BODY)
    except TimeoutError as error:
        raise RequestRefused(408, "The request took too long to arrive") from error
    if _most_values(raw) > MOST_VALUES:
        raise RequestRefused(413, f"The request has more than {MOST_VALUES:,} values")
    try:
        return model.model_validate(json.loads(raw))
    except (ValueError, RecursionError) as error:
        first_error = (
            error.errors(include_url=False, include_input=False)[0] if isinstance(error, ValidationError) else None
        )
        place = ".".join(str(part) for part in first_error["loc"]) if first_error else "body"
        raise RequestRefused(422, f"{place}: {first_error['msg'] if first_error else 'this is not JSON'}") from error


async def read(request: Request, most: int) -> bytes:
    """Return the bytes of a body. Raises `RequestRefused` if there are more than `most`."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most:
            raise RequestRefused(413, f"The request is larger than {most:,} bytes")
    return bytes(raw)


def _most_values(raw: bytes) -> int:
    """Return an upper bound of the number of values in JSON. What stands within texts is left out before a body is refused."""
    marks = _marks(raw)
    if marks <= MOST_VALUES:
        return marks
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * MOST_VALUES:  # a value has at most four, with its name
        return marks
    return _marks(b"".join(bare.split(b'"')[::2]))


def _marks(raw: bytes) -> int:
    """Return how many marks there are that come before a value."""
    return sum(map(raw.count, (b",", b"[", b"{")))

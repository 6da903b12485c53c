"""Refused requests: limits on how often one person asks, and the audit record, in which managers see attempts."""

from __future__ import annotations

import ipaddress
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from starlette.requests import HTTPConnection

from api.storage import unguarded
from core.data import storable
from core.errors import UserError
from core.ports.people import Identity

RECORDED = frozenset({400, 401, 403, 404, 408, 413, 415, 421, 422, 429})
TOO_MANY = "Too many requests at once. The page tries again in a few seconds"
LONGEST = 100
_NETWORK_BITS = 64  # an IPv6 customer has at least this many leading bits
PER_SECOND, AT_ONCE = 20.0, 100
_TOKEN = re.compile(r"(?<=/[tr]/)[^/?]+")


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


LIMIT = RateLimit(per_second=0.2, at_once=60)
"""Refusals that are recorded per network: nobody can fill the disk with them."""


def record(connection: HTTPConnection, status: int) -> None:
    """Record a refused request: who sent it, the path without tokens, and the status. Writes to storage."""
    if status not in RECORDED or not LIMIT.allows(network(connection)):
        return
    path = storable(_TOKEN.sub("…", str(connection.scope["path"])))[:LONGEST]
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

"""Slow down the guessing of passwords: after some failed logins, each next attempt waits twice as long."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

FORGET_SECONDS = 3600.0
_Key = tuple[str, str, str]
_MOST = 20_000
"""Names and addresses that are remembered; the oldest are forgotten first."""


class AttemptLimit(NamedTuple):
    """`free` attempts without waiting, then 1, 2, 4, … seconds, at most `longest`."""

    free: int
    longest: float


PER_PAIR, PER_ADDRESS, PER_NAME = AttemptLimit(5, 60.0), AttemptLimit(20, 300.0), AttemptLimit(100, 60.0)


class _Failures(NamedTuple):
    n: int
    until: float
    last: float


class LoginThrottle:
    """Failed logins per name and address, per address, and per name from all addresses, in the memory of this process.

    An attempt counts as failed from its start, so that many at the same time gain nothing. An address allows more attempts, because
    people may share one. Somebody who guesses from one address does not keep the owner of the name out at another one. A browser that
    has logged in under the name before has only its own failures, so that nobody else can keep it out.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        per_pair: AttemptLimit = PER_PAIR,
        per_address: AttemptLimit = PER_ADDRESS,
        per_name: AttemptLimit = PER_NAME,
    ) -> None:
        self._clock = clock
        self._limits = {"pair": per_pair, "browser": per_pair, "address": per_address, "name": per_name}
        self._failures: OrderedDict[_Key, _Failures] = OrderedDict()
        self._lock = Lock()

    def begin(self, name: str, address: str, browser: str = "") -> float:
        """Count an attempt and return 0, or return the seconds to wait before the next one.

        `browser` identifies a browser that has logged in under this name before.
        """
        keys = self._keys(name, address, browser)
        with self._lock:
            now = self._clock()
            wait = max(self._failures[key].until - now if key in self._failures else 0.0 for key in keys)
            if wait > 0:
                return wait
            for key in keys:
                self._count(key, now)
            while len(self._failures) > _MOST:
                self._failures.popitem(last=False)
            return 0.0

    def succeeded(self, name: str, address: str, browser: str = "") -> None:
        """Forget the failures of this name here, and only this attempt of the address: an attacker may have an account too."""
        with self._lock:
            for key in self._keys(name, address, browser):
                if key[0] in ("pair", "browser"):
                    self._failures.pop(key, None)
                elif failures := self._failures.get(key):
                    self._failures[key] = failures._replace(n=failures.n - 1, until=0.0)

    def _count(self, key: _Key, now: float) -> None:
        before = self._failures.pop(key, _Failures(0, 0.0, now))
        n = 1 if now - before.last > FORGET_SECONDS else before.n + 1
        limit = self._limits[key[0]]
        # The exponent is bounded: 2**n of a patient attacker would become too large for a float.
        wait = 0.0 if n < limit.free else min(limit.longest, 2.0 ** min(n - limit.free, 30))
        self._failures[key] = _Failures(n, now + wait, now)

    @staticmethod
    def _keys(name: str, address: str, browser: str) -> tuple[_Key, ...]:
        known = name.casefold()[:200]
        if browser:
            return (("browser", browser, known),)
        return ("pair", address, known), ("address", address, ""), ("name", "", known)

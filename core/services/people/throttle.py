"""Slow down the guessing of passwords: after some failed logins, each next attempt waits twice as long."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

FORGET_SECONDS = 3600.0
_MOST = 20_000
"""Names and addresses that are remembered; the oldest are forgotten first."""


class AttemptLimit(NamedTuple):
    """`free` attempts without waiting, then 1, 2, 4, … seconds, at most `longest`."""

    free: int
    longest: float


PER_NAME, PER_ADDRESS = AttemptLimit(5, 60.0), AttemptLimit(20, 300.0)


class _Failures(NamedTuple):
    n: int
    until: float
    last: float


class LoginThrottle:
    """Failed logins per name and per address, in the memory of this process.

    An attempt counts as failed from its start, so that many at the same time gain nothing. The address allows more attempts,
    because people may share one, and the wait per name is short, because others can cause it.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        per_name: AttemptLimit = PER_NAME,
        per_address: AttemptLimit = PER_ADDRESS,
    ) -> None:
        self._clock = clock
        self._limits = {"name": per_name, "address": per_address}
        self._failures: OrderedDict[tuple[str, str], _Failures] = OrderedDict()
        self._lock = Lock()

    def begin(self, name: str, address: str) -> float:
        """Count an attempt and return 0, or return the seconds to wait before the next one."""
        keys = self._keys(name, address)
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

    def succeeded(self, name: str, address: str) -> None:
        """Forget the failures of this name, and only this attempt of the address: an attacker may have an account too."""
        of_name, of_address = self._keys(name, address)
        with self._lock:
            self._failures.pop(of_name, None)
            if failures := self._failures.get(of_address):
                self._failures[of_address] = failures._replace(n=failures.n - 1, until=0.0)

    def _count(self, key: tuple[str, str], now: float) -> None:
        before = self._failures.pop(key, _Failures(0, 0.0, now))
        n = 1 if now - before.last > FORGET_SECONDS else before.n + 1
        limit = self._limits[key[0]]
        # The exponent is bounded: 2**n of a patient attacker would become too large for a float.
        wait = 0.0 if n < limit.free else min(limit.longest, 2.0 ** min(n - limit.free, 30))
        self._failures[key] = _Failures(n, now + wait, now)

    @staticmethod
    def _keys(name: str, address: str) -> tuple[tuple[str, str], tuple[str, str]]:
        return ("name", name.casefold()[:200]), ("address", address)

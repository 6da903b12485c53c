"""Loaders that keep what they loaded, and that one thread enters at a time.

transformers builds a model inside switches that hold for the whole process: two threads that load at once spoil each other's
models. A page that is drawn anew goes on beside the run it gave up, so that this does happen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from threading import RLock
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_LOADING = RLock()


class Kept(Generic[P, T]):
    """A loader with its last `most` results; equal arguments load once, in however many threads."""

    def __init__(self, load: Callable[P, T], most: int) -> None:
        self._cached = lru_cache(maxsize=most)(load)
        update_wrapper(self, load)

    def __call__(self, *given: P.args, **named: P.kwargs) -> T:
        with _LOADING:
            return self._cached(*given, **named)  # type: ignore[arg-type]

    def cache_clear(self) -> None:
        """Forget what was loaded."""
        self._cached.cache_clear()


def kept(most: int) -> Callable[[Callable[P, T]], Kept[P, T]]:
    """Make a loader of hashable arguments one that keeps `most` results and loads one at a time."""
    return lambda load: Kept(load, most)

"""Cache loaded models, and load one at a time.

transformers changes global state while it loads, so parallel loads corrupt each other. They do occur: when a Streamlit page
reruns, its previous run may still be active.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from threading import RLock
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_LOADING = RLock()


class CachedLoader(Generic[P, T]):
    """A loader that caches its last `most` results; threads with equal arguments share one load."""

    def __init__(self, load: Callable[P, T], most: int) -> None:
        self._cached = lru_cache(maxsize=most)(load)
        update_wrapper(self, load)

    def __call__(self, *given: P.args, **named: P.kwargs) -> T:
        with _LOADING:
            return self._cached(*given, **named)  # type: ignore[arg-type]

    def cache_clear(self) -> None:
        """Empty the cache."""
        self._cached.cache_clear()


def cached_loader(most: int) -> Callable[[Callable[P, T]], CachedLoader[P, T]]:
    """Return a decorator that makes a loader cache `most` results and load one at a time; arguments must be hashable."""
    return lambda load: CachedLoader(load, most)

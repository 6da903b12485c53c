"""Cache loaded models, and load one at a time.

transformers changes global state while it loads, so parallel loads corrupt each other. They do occur: when a Streamlit page
reruns, its previous run may still be active.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import update_wrapper
from threading import Lock, RLock
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_LOADING = RLock()


class CachedLoader(Generic[P, T]):
    """A loader that caches its last `most` results; threads with equal arguments share one load.

    What is in the cache is returned while something else is loading.
    """

    def __init__(self, load: Callable[P, T], most: int) -> None:
        self._load, self._most, self._lock = load, most, Lock()
        self._cached: OrderedDict[Hashable, T] = OrderedDict()
        update_wrapper(self, load)

    def __call__(self, *given: P.args, **named: P.kwargs) -> T:
        key = (given, tuple(sorted(named.items())))
        for value in self._found(key):
            return value
        with _LOADING:
            for value in self._found(key):  # loaded meanwhile
                return value
            loaded = self._load(*given, **named)
            with self._lock:
                self._cached[key] = loaded
                while len(self._cached) > self._most:
                    self._cached.popitem(last=False)
            return loaded

    def _found(self, key: Hashable) -> list[T]:
        with self._lock:
            if key not in self._cached:
                return []
            self._cached.move_to_end(key)
            return [self._cached[key]]

    def cache_clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._cached.clear()


def cached_loader(most: int) -> Callable[[Callable[P, T]], CachedLoader[P, T]]:
    """Return a decorator that makes a loader cache `most` results and load one at a time; arguments must be hashable."""
    return lambda load: CachedLoader(load, most)

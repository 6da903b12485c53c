"""Cache loaded models, and load one at a time.

transformers changes global state while it loads, so parallel loads corrupt each other. They do occur: when a Streamlit page
reruns, its previous run may still be active.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Generic, ParamSpec, TypeVar

from core.memory import RecentResults

P = ParamSpec("P")
T = TypeVar("T")
_LOADING = RLock()


class CachedLoader(Generic[P, T]):
    """A loader that caches its last `most` results; threads with equal arguments share one load.

    What is in the cache is returned while something else is loading.
    """

    def __init__(self, load: Callable[P, T], most: int) -> None:
        self._load, self._loaded = load, RecentResults[T](most)
        self.cache_clear = self._loaded.clear
        update_wrapper(self, load)

    def __call__(self, *args: P.args, **named: P.kwargs) -> T:
        key = (args, tuple(sorted(named.items())))
        for loaded in self._loaded.get(key):
            return loaded
        with _LOADING:
            return self._loaded.computed(key, lambda: self._load(*args, **named))


def cached_loader(most: int) -> Callable[[Callable[P, T]], CachedLoader[P, T]]:
    """Return a decorator that makes a loader cache `most` results and load one at a time; arguments must be hashable."""
    return lambda load: CachedLoader(load, most)

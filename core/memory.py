"""Which results are kept in memory, and when memory is freed and returned to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

_ARENAS, _MAPPED = -8, -3
"""M_ARENA_MAX and M_MMAP_THRESHOLD of malloc.h."""


def return_freed_memory() -> None:
    """Let glibc return large blocks to the system as soon as they are freed. Elsewhere nothing is changed.

    By default it keeps blocks of up to 32 MB, in a pool per thread. Columns of scores have that size, and each page is drawn in a
    thread of its own: a server with a project of 1,000,000 outputs took 130 MB more.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            library = ctypes.CDLL(None)
            library.mallopt(_ARENAS, 2)
            library.mallopt(_MAPPED, 1 << 20)


def collect_garbage_rarely() -> None:
    """Let Python search for reference cycles after 20,000 new objects instead of 700.

    Rows of tables and candidate edits are many small objects without cycles. The search took a sixth of the processor time of an import,
    and about a tenth of the time of a refinement on a GPU.
    """
    gc.set_threshold(20_000, 20, 20)


@dataclass
class _Freezing:
    """The blocks of `short_collections` that run now, and whether objects were frozen before the first of them."""

    running: int = 0
    were_frozen: bool = False


_LOCK, _STATE = Lock(), _Freezing()


@contextmanager
def short_collections() -> Iterator[None]:
    """Keep the objects that exist now out of garbage collections during the block.

    A collection that looks at all texts of a large import stops every thread for 0.3 s. Several threads may use this at once: the
    objects stay out until the last block ends. If objects were frozen before, as a server freezes its modules, all are frozen again.
    """
    with _LOCK:
        if not _STATE.running:
            _STATE.were_frozen = gc.get_freeze_count() > 0
        _STATE.running += 1
        gc.freeze()
    try:
        yield
    finally:
        with _LOCK:
            _STATE.running -= 1
            if not _STATE.running:
                gc.unfreeze()
                if _STATE.were_frozen:
                    gc.collect()
                    gc.freeze()


class RecentResults(Generic[T]):
    """The last `most` results by key. Threads that ask for the same key share one computation, and other keys do not wait for it."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._slots: OrderedDict[Hashable, _Slot[T]] = OrderedDict()

    def get(self, key: Hashable) -> tuple[T, ...]:
        """Return a tuple with the result; an empty one if there is none, or if it is being computed."""
        with self._lock:
            if key not in self._slots:
                return ()
            self._slots.move_to_end(key)
            return self._slots[key].result

    def computed(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result, computed if there is none. What `compute` raises is raised, and the next thread that waits computes."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
        with slot.computing:
            if not slot.result:
                try:
                    slot.result = (compute(),)
                finally:
                    self._keep(key, slot)
            return slot.result[0]

    def clear(self) -> None:
        with self._lock:
            self._slots.clear()

    def _keep(self, key: Hashable, slot: _Slot[T]) -> None:
        """Keep a slot that has a result, remove one that has none, and remove the oldest results beyond `most`."""
        with self._lock:
            if slot.result:
                self._slots[key] = slot
                self._slots.move_to_end(key)
            elif self._slots.get(key) is slot:
                del self._slots[key]
            excess = max(0, len(self._slots) - self._most)  # only these are looked at: there may be thousands
            for oldest in [key for key, slot in islice(self._slots.items(), excess) if slot.result]:
                del self._slots[oldest]


class _Slot(Generic[T]):
    """The place of one result: empty until it has been computed."""

    def __init__(self) -> None:
        self.computing = Lock()
        self.result: tuple[T, ...] = ()

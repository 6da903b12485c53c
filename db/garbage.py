"""Keep garbage collections short while large imports are written."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock


@dataclass
class _State:
    """The blocks of `short_collections` that run now, and whether objects were frozen before the first of them."""

    running: int = 0
    were_frozen: bool = False


_LOCK, _STATE = Lock(), _State()


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

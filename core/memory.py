"""When memory is freed and returned to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

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

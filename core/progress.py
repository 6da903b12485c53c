"""Report the progress of long computations and cancel them, with one kind of callback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

T = TypeVar("T")

Progress = Callable[[float], None]
"""Called with the share of the work that is done, in [0, 1]; may raise `Cancelled` to stop the work."""


class Cancelled(Exception):  # noqa: N818  (an outcome, not an error)
    """Raised by a callback when the result of the work is no longer wanted.

    `finished` has values by item that are complete, where the work is scoring that is expensive to repeat.
    """

    finished: Mapping[Any, Any] = MappingProxyType({})


def no_progress(share: float) -> None:
    """Ignore the progress; the default of callers that neither show it nor cancel."""


def part(progress: Progress, k: int, n: int) -> Progress:
    """Return the callback for the k-th (from 0) of n equal parts of the work."""
    return lambda share: progress((k + share) / n)


def report_parts(parts: Iterable[T], size: Callable[[T], int], total: int, progress: Progress) -> Iterator[T]:
    """Yield the parts, and report before each the share of `total` in the parts before it. `progress` may raise `Cancelled`."""
    done = 0
    for some in parts:
        progress(min(1.0, done / total) if total else 0.0)
        yield some
        done += size(some)
    progress(1.0)

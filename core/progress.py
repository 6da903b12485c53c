"""Report the progress of long computations and cancel them, with one kind of callback."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float], None]
"""Called with the share of the work that is done, in [0, 1]; may raise `Cancelled` to stop the work."""


class Cancelled(Exception):  # noqa: N818  (an outcome, not an error)
    """Raised by a callback when the result of the work is no longer wanted."""


def no_progress(share: float) -> None:
    """Ignore the progress; the default of callers that neither show it nor cancel."""


def part(progress: Progress, k: int, n: int) -> Progress:
    """Return the callback for the k-th (from 0) of n equal parts of the work."""
    return lambda share: progress((k + share) / n)

"""Run model code in a separate process that exits when idle, if this program has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from core.processes.pool import Pool, PreparedArgument
from core.progress import Progress

T = TypeVar("T")
IDLE_SECONDS = 300.0
"""The process ends after this time without a call."""
CALLS = 16
"""Calls computed at the same time; others wait."""

_used: Pool | None = None


def new_model_process(idle: float = IDLE_SECONDS) -> Pool:
    """Return a pool of one process for models, which the first call starts."""
    return Pool(1, calls=CALLS, idle=idle)


def use(process: Pool | None) -> None:
    """Let `run` call functions in this model process; None: in the process that asks."""
    global _used
    _used = process


def has_model_process() -> bool:
    """Return whether `run` calls functions in another process."""
    return _used is not None


def run(
    work: Callable[..., T], *arguments: Any, progress: Progress | None = None, on: PreparedArgument[Any, Any] | None = None
) -> T:  # fmt: skip
    """Return `work(*arguments)`, or with a callback `work(*arguments, progress)`, computed in the model process if this program has one.

    `work` is a function of a module. With `on`, what it prepares is the first argument. See `Pool.run`.
    """
    if _used is not None:
        return _used.run(work, *arguments, progress=progress, on=on)
    if on is not None:
        work, arguments = on.call(work, arguments, send=True)
    return work(*arguments) if progress is None else work(*arguments, progress)

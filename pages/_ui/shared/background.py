"""Work in threads of the server: it continues when the page is left, reports its progress, and can be cancelled."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from core.errors import UserError
from core.progress import Cancelled
from pages._ui.shared import errors

T = TypeVar("T")


class BackgroundWork(Generic[T]):
    """Work that waits or runs. `share` is the part that is done, in [0, 1], or None while it waits; `result` is its future result."""

    def __init__(self) -> None:
        self.share: float | None = None
        self.cancelled = False
        self.result: Future[T] = Future()
        self._error_number = ""

    def progress(self, share: float) -> None:
        """Record the progress. Raises `Cancelled` after `cancel`."""
        if self.cancelled:
            raise Cancelled
        self.share = share

    def cancel(self) -> None:
        """Let the work end at its next report. Work that still waits is not begun."""
        self.cancelled = True
        self.result.cancel()

    def run(self, work: Callable[[], T]) -> None:
        """Do the work in this thread, unless it was cancelled."""
        if not self.result.set_running_or_notify_cancel():
            return
        try:
            self.result.set_result(work())
        except BaseException as error:
            traceback.clear_frames(error.__traceback__)  # else the future keeps files and transactions open
            self.result.set_exception(error)

    def error(self) -> BaseException | None:
        """Return why there is no result, or None if there is one. Waits until it is known."""
        return Cancelled() if self.result.cancelled() else self.result.exception()

    def draw_error(self, cancelled: Callable[[], object]) -> None:
        """Draw why there is no result; `cancelled` says that the work was cancelled. A fault is logged once."""
        error = self.error()
        if isinstance(error, Cancelled):
            cancelled()
        elif isinstance(error, UserError):
            errors.show(error)
        elif isinstance(error, Exception):
            self._error_number = self._error_number or errors.logged(error)
            errors.apologise(self._error_number)
        elif error is not None:
            raise error

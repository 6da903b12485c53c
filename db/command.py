"""What the command-line programs over a database share: errors of one line, and progress on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from core.errors import ImportProblems, UserError

UNCHANGED = "cancelled; nothing was changed"


class Percent:
    """Progress as one line on a terminal, at most ten times per second."""

    def __init__(self) -> None:
        self._last, self._shown = 0.0, sys.stderr.isatty()

    def __call__(self, share: float) -> None:
        if self._shown and (time.monotonic() - self._last > 0.1 or share >= 1):
            self._last = time.monotonic()
            print(f"\r{share:4.0%}", end="", file=sys.stderr, flush=True)

    def say(self, line: str) -> None:
        self.end()
        print(line, file=sys.stderr)

    def end(self) -> None:
        if self._last:
            print("\r     \r", end="", file=sys.stderr, flush=True)


def exit_status(run: Callable[[Percent], str], *, cancelled: str = "cancelled") -> int:
    """Print what `run` returns, and return the exit status: 2 for errors of the user, each of which is one line, and after Ctrl-C."""
    progress = Percent()
    try:
        said = run(progress)
    except ImportProblems as error:
        errors = [problem.sentence() for problem in error.problems]
    except (UserError, OSError) as error:
        errors = [str(error)]
    except (KeyboardInterrupt, EOFError):
        errors = [cancelled]
    else:
        progress.end()
        print(said)
        return 0
    for line in errors:
        progress.say(f"error: {line}".replace("\n", " "))
    return 2

"""Options that several commands share, and their progress on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from core.data import Dataset
from core.errors import UserError
from core.formats.given_roles import ROLES, GivenRoles
from core.formats.parsing.numbers import parse_lambda, parse_number
from core.metrics import registry
from core.metrics.base import Metric
from core.progress import Progress

if TYPE_CHECKING:
    from core.scoring.values import ScoringProgress


FIRST, EVERY = 2.0, 10.0
"""Seconds until the first line, and between two lines, if stderr is not a terminal."""
SHOWN_NOTES = 10


class StatusLine:
    """Print a status ("BLEU · 12 of 160") or a message, which ends in a line feed and is always printed.

    A thread repeats the last status with the elapsed time, so that long steps show that the program is running. `quiet` hides
    every status.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.quiet = False
        self._stream = stream
        self._status = self._command = ""
        self._started = self._last = 0.0
        self._lock = Lock()
        self._ended = Event()

    def __call__(self, line: str) -> None:
        with self._lock:
            if line.endswith("\n"):
                self._clear()
                print(line, end="", file=self._out, flush=True)
            else:
                self._status = line
                self._show()

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        """Show the progress of a command during the `with` block."""
        self._ended = Event()
        self._command, self._status = command, ""
        self._started = time.monotonic()
        self._last = self._started + FIRST - EVERY
        thread = Thread(target=self._repeat, args=(self._ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.done()
            thread.join()
            self._started = 0.0

    def done(self) -> None:
        """Remove the status from the terminal and stop repeating it, so that other output starts on an empty line."""
        with self._lock:
            self._ended.set()
            self._clear()

    @property
    def _out(self) -> TextIO:
        return self._stream or sys.stderr

    def _repeat(self, ended: Event) -> None:
        while not ended.wait(FIRST / 4):
            with self._lock:
                if not ended.is_set() and time.monotonic() - self._last >= EVERY:
                    self._show(repeated=True)

    def _show(self, *, repeated: bool = False) -> None:
        now = time.monotonic()
        terminal = self._out.isatty()
        if self.quiet or (not terminal and (not self._started or now - self._last < EVERY)):
            return
        elapsed = f"{duration(now - self._started)} elapsed" if self._started and (repeated or not terminal) else ""
        text = " · ".join(part for part in (self._status or self._command, elapsed) if part)
        self._last = now
        if terminal:
            print(f"\r\x1b[K{text}", end="", file=self._out, flush=True)
        else:
            print(text, file=self._out, flush=True)

    def _clear(self) -> None:
        if self._out.isatty():
            print("\r\x1b[K", end="", file=self._out, flush=True)


status = StatusLine()
"""The status of the command that runs in this process."""


def show_scoring(at: ScoringProgress) -> None:
    """Show the progress of scoring."""
    status(at.sentence())


def print_note(*lines: str) -> None:
    """Print lines on stderr without disturbing the progress line."""
    for line in lines:
        status(f"{line}\n")


def print_notes(notes: Sequence[str]) -> None:
    """Print the first notes on stderr, and the number of the others."""
    print_note(*(f"note: {note}" for note in notes[:SHOWN_NOTES]))
    if len(notes) > SHOWN_NOTES:
        print_note(f"note: {len(notes) - SHOWN_NOTES} more notes like these")


def print_result(text: str) -> None:
    """Remove the progress line, then print a result on stdout."""
    status.done()
    print(text.removesuffix("\n"))


def counted(what: str, total: int) -> Progress:
    """Return a callback that shows "what · 12 of 160 · about 2 min left"."""
    started = time.monotonic()

    def report(share: float) -> None:
        done = round(share * total)
        left = (time.monotonic() - started) / done * (total - done) if done else 0.0
        ending = f" · about {duration(left)} left" if 0 < done < total else ""
        status(f"{what} · {done:,} of {total:,}{ending}")

    return report


def percent(what: str) -> Progress:
    """Return a callback that shows "what · 12%"."""
    return lambda share: status(f"{what} · {share:.0%}")


def duration(seconds: float) -> str:
    """Return a duration in seconds, or in whole minutes from two minutes on."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


LARGEST_SEED = 2**32 - 1
MANY = 1_000_000

Files = Annotated[list[Path], typer.Argument(help="CSV, TSV or JSONL files (also .gz), or line-aligned text files")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help=f"role of a column or a text file, where the guess is wrong; {', '.join(ROLES)}. Repeatable",
    ),
]
HUMAN = (
    "file with human scores: a CSV with system, doc_id, segment_id and score; outputs with scores; or labels or scores that can be "
    "imported on Projects (docs/formats.md), repeatable"
)
Human = Annotated[list[Path], typer.Option(help=HUMAN)]
HumanScore = Annotated[
    str | None,
    typer.Option("--human-score", help="name of the human score to use if the file has several; mqm for labels"),
]
SchemeName = Literal["google", "marot", "flat"]
MqmScheme = Annotated[
    SchemeName,
    typer.Option("--scheme", case_sensitive=False, help="weights of severities and categories"),
]
HumanScheme = Annotated[
    SchemeName | None,
    typer.Option(
        "--scheme", case_sensitive=False,
        help="weights of severities and categories for the MQM scores of labels (default: google)",
    ),
]  # fmt: skip
Out = Annotated[Path, typer.Option(help="file to write")]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        help="number of processes for work without models (default: ERRORSCOPE_WORKERS, or one per available processor)",
    ),
]
Metrics = Annotated[str, typer.Option(help="metric names, separated by commas")]


def read_texts(files: Sequence[Path], column: Sequence[str] | GivenRoles | None) -> Dataset:
    """Read the outputs in files, with the roles given by `--column`, and print how they were read. Raises `UserError`.

    Roles that also belong to other files are given as `GivenRoles`, whose names are checked when all files are read.
    """
    roles = column if isinstance(column, GivenRoles) else GivenRoles(column or ())
    from core.services.projects.importing import load  # with numpy, which the list of commands does not need

    loaded = load(files, roles)
    if roles is not column:
        roles.check()
    print_note(*loaded.as_read)
    return loaded.dataset


def split(names: str) -> list[str]:
    """Return the names in a list separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def chosen(metrics: str) -> list[Metric]:
    """Return the metrics in a list separated by commas. Raises `UserError` for an unknown one, and if there is none."""
    names = split(metrics)
    if not names:
        raise UserError("no metric given", where="--metrics", expected="one or more of " + ", ".join(registry.METRICS))
    loaded = registry.chosen(names)
    for metric in loaded:
        if metric.judge is not None and not metric.judge.is_local:
            print_note(f"note: {metric.spec.name} sends the texts to {metric.judge.host}")
    return loaded


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    """Return how the value of an option is read that is one of these names."""
    known = list(names)

    def parsed(text: str) -> str:
        if text not in known:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(known)}")
        return text

    return parsed


def check_ending(out: Path, *endings: str) -> None:
    """Raise `UserError` unless the file has one of the endings."""
    if out.suffix not in endings:
        raise UserError("cannot write this type of file", where=str(out), expected=" or ".join(endings))


def parsed_lambda(text: str | float) -> float:
    """Return the λ of an option: a number from 0, or `inf`."""
    value = parse_lambda(str(text))
    if value is None:
        raise typer.BadParameter(f"{str(text)[:40]!r} is not a number from 0 to 10¹⁵, or inf")
    return value


def decimal(text: str | float) -> float:
    """Return the number of an option."""
    value = parse_number(str(text))
    if value is None:
        raise typer.BadParameter(f"{str(text)[:40]!r} is not a number")
    return value

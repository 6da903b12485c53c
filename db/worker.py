"""Scoring workers as processes: they compute the chunks of jobs. Any number of them may run, on any machine that reaches the database.

    python -m db.worker [PID] [--once]

The server and the command `workers` start them so, with their own number as PID. SIGTERM, SIGINT or the end of that process return the chunks to the queue; after a crash their leases expire and other workers
take over. A worker that hangs returns its chunks and exits, so that whoever started it starts another one.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Event, Thread

from core.errors import UserError
from core.memory import collect_garbage_rarely
from core.metrics import registry
from core.metrics.base import Metric
from core.scoring.lease import WorkerIntervals
from core.scoring.worker import ScoringWorker
from core.settings import load_settings, offline, share_cores
from db.sqlite_file import private_file, private_folder
from db.store import open_store

log = logging.getLogger("errorscope.worker")

Load = Callable[[str], Metric]

LOG_BYTES, LOG_FILES = 1_000_000, 3
RESTART_SECONDS = 10.0
END_SECONDS = 60.0
"""What a worker that is told to end has for the model call that has begun."""
HUNG = 3
"""Exit status of a worker that hung."""
LARGEST = 256  # workers of one machine


def run_workers(
    database: str | None = None,
    workers: int | None = None,
    parent: int | None = None,
    *,
    once: bool = False,
    load: Load = registry.load_metric,
    intervals: WorkerIntervals | None = None,
    end_seconds: float = END_SECONDS,
) -> None:
    """Compute jobs until SIGTERM, SIGINT or the end of the process `parent`, or with `once` until no job is left.

    The database and the number of processes are those of the settings unless given, `load` returns a metric by name, and the
    default `intervals` is that of the settings. Raises `UserError` and `OSError` before anything is computed.
    """
    collect_garbage_rarely()
    stop = stop_event(parent)
    chosen = load_settings()
    workers = chosen.workers or 1 if workers is None else workers
    if not 1 <= workers <= LARGEST:
        raise UserError("this number of workers is not possible", got=str(workers), expected=f"1 to {LARGEST}")
    log_to(chosen.home)
    url = database or chosen.database
    store = open_store(url)
    if workers == 1:
        intervals = intervals or WorkerIntervals(stall=60.0 * chosen.stall)
        worker = ScoringWorker(store, load, stop, intervals, on_stall=lambda: os._exit(HUNG))
        with ending_in_time(worker, end_seconds):
            worker.work(once=once)
    else:
        _keep_running(workers, url, stop, once=once)


def main(arguments: Sequence[str]) -> int:
    """Run as a process of a server or of several workers. Return the exit status, 2 for invalid settings."""
    parents, once = [int(argument) for argument in arguments if argument.isdigit()], "--once" in arguments
    offline()
    share_cores()
    if parents and hasattr(os, "nice"):
        os.nice(5)  # pages on the same machine have priority
    try:
        run_workers(parent=parents[0] if parents else None, once=once)
    except (UserError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _keep_running(workers: int, url: str, stop: Event, *, once: bool) -> None:
    """Run worker processes and replace those that die, until `stop` is set, or with `once` until all have ended by themselves."""
    gpus, cores = _gpus(), max(1, (os.cpu_count() or 1) // workers)
    running = dict[int, subprocess.Popen[bytes]]()

    def started(number: int) -> subprocess.Popen[bytes]:
        shared = {"OMP_NUM_THREADS": str(cores)} | ({"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]} if gpus else {})
        command = [sys.executable, "-m", "db.worker", str(os.getpid()), *(["--once"] if once else [])]
        return subprocess.Popen(command, env=os.environ | {"ERRORSCOPE_DB": url, "ERRORSCOPE_WORKERS": "1"} | shared)

    while not stop.is_set():
        for number in range(workers):
            process = running.get(number)
            if process is None or (process.poll() not in (None, 0)) or (process.poll() == 0 and not once):
                running[number] = started(number)
        if once and all(process.poll() == 0 for process in running.values()):
            return
        stop.wait(0.5 if once else RESTART_SECONDS)
    for process in running.values():
        if process.poll() is None:
            process.terminate()
    end = time.monotonic() + 1.5 * END_SECONDS
    for process in running.values():
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:  # not even its signals are handled
            process.kill()


@contextmanager
def ending_in_time(worker: ScoringWorker, seconds: float = END_SECONDS) -> Iterator[None]:
    """Exit the process if the body is not left `seconds` after the worker is told to end, because it hangs."""
    ended = Event()

    def watch() -> None:
        worker.stop.wait()
        if not ended.wait(seconds):
            log.error("%s: did not end within %d s; its chunks return to the queue", worker.name, seconds)
            worker.keeper.give_back()
            os._exit(HUNG)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        worker.stop.set()
        watcher.join()  # it holds the worker, and with it the database open


def _gpus() -> list[str]:
    """Return the numbers of the GPUs that workers share, without loading torch."""
    if load_settings().device == "cpu":
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name for name in visible.split(",") if name.strip()]
    return [path.name.removeprefix("nvidia") for path in sorted(Path("/dev").glob("nvidia[0-9]*"))]


def log_to(home: Path) -> None:
    """Write the log to `home`/worker.log, with a few old files kept, and to the terminal, if there is one."""
    private_folder(home)
    handlers: list[logging.Handler] = [
        _PrivateLog(home / "worker.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    ]
    for old in home.glob("worker.log.*"):
        private_file(old)
    if sys.stderr.isatty():
        handlers.append(logging.StreamHandler())
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(process)d %(levelname)s %(message)s", handlers=handlers
    )


class _PrivateLog(RotatingFileHandler):
    """A log file that only its owner may read, also after rotation."""

    def _open(self) -> TextIOWrapper:
        opened = super()._open()
        private_file(Path(self.baseFilename))
        return opened


def stop_event(parent: int | None) -> Event:
    """Return what SIGTERM, SIGINT or the end of the process `parent` sets."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if parent:
        Thread(target=_watch_parent, args=(parent, stop), daemon=True).start()
    return stop


def _watch_parent(pid: int, stop: Event) -> None:
    is_ours = os.getppid() == pid
    while not stop.wait(1.0):
        if (is_ours and os.getppid() != pid) or not _exists(pid):
            log.info("process %d is gone", pid)
            stop.set()


def _exists(pid: int) -> bool:
    if os.name == "nt":  # signal 0 would interrupt the process there; the server that started us ends us itself
        return True
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

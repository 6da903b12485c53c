"""The scoring worker: it leases jobs and computes their scores. Any number of workers may run.

    python -m db.worker [--database URL] [--parent PID] [--once]

A separate thread sends heartbeats, because loading a model may take longer than a lease. SIGTERM, SIGINT or the end of the
`--parent` process return the job to the queue; after a crash the lease expires and another worker takes over. Stored scores are
reused.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from core.errors import Unavailable, UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.ports.jobs import Job, JobState
from core.ports.store import Store
from core.progress import Cancelled
from core.scoring.dataset import Memory, ScoringProgress, ScoringResult, score_dataset
from core.settings import load as settings
from core.settings import offline, share_cores
from db.jobs import ATTEMPTS
from db.private import private_file, private_folder
from db.store import open_store

log = logging.getLogger("errorscope.worker")

Load = Callable[[str], Metric]

LOG_BYTES, LOG_FILES = 1_000_000, 3
LOOK_SECONDS = 2.0
"""Between looks for short jobs during a job for all outputs."""


class Pace(NamedTuple):
    """Seconds that a lease lasts without a heartbeat, between heartbeats, and between looks for jobs."""

    lease: float = 60.0
    beat: float = 1.0
    poll: float = 0.5


def main(arguments: Sequence[str] | None = None, load: Load = registry.load) -> int:
    """Run the command. `load` returns a metric by name."""
    parser = argparse.ArgumentParser(prog="python -m db.worker", description="Run queued scoring jobs.")
    parser.add_argument("--database", help="SQLAlchemy URL; default: ERRORSCOPE_DB, or the file in ERRORSCOPE_HOME")
    parser.add_argument("--parent", type=int, metavar="PID", help="exit when this process ends")
    parser.add_argument("--once", action="store_true", help="exit when no job is queued")
    given = parser.parse_args(arguments)
    offline()
    share_cores()
    chosen = settings()
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        log_to(chosen.home)
        store = open_store(given.database or chosen.database)
    except (UserError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    if given.parent:
        if hasattr(os, "nice"):
            os.nice(5)  # pages on the same machine have priority
        Thread(target=_watch_parent, args=(given.parent, stop), daemon=True).start()
    work(store, load, stop, once=given.once)
    return 0


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


def work(store: Store, load: Load, stop: Event, *, once: bool = False, pace: Pace | None = None) -> None:
    """Lease and run jobs until `stop` is set, or with `once` until none is left.

    A job whose scores cannot be stored returns to the queue; after `ATTEMPTS` times without progress it fails.
    """
    pace = pace or Pace()
    furthest, refusals = dict[int, int](), Counter[int]()
    worker = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
    log.info("%s started", worker)
    while not stop.is_set():
        try:
            job = store.jobs.lease(worker, pace.lease)
        except Exception as error:
            if isinstance(error, Unavailable):
                log.warning("the queue could not be read: %s", error)
            else:
                log.exception("the queue could not be read")
            stop.wait(10 * pace.poll)
            continue
        if job is not None:
            if job.done > furthest.get(job.id, -1):
                furthest[job.id], refusals[job.id] = job.done, 0
            if not run(store, job, worker, load, stop, pace, last=refusals[job.id] + 1 >= ATTEMPTS):
                refusals[job.id] += 1
                stop.wait(10 * pace.poll)
        elif once:
            break
        else:
            stop.wait(pace.poll)
    log.info("%s ended", worker)


class Lease:
    """Keep the lease of a job with heartbeats from a thread; `lost` is set if the job is cancelled or taken over."""

    def __init__(self, store: Store, job: Job, worker: str, seconds: float) -> None:
        self._store, self._job, self._worker, self._seconds = store, job, worker, seconds
        self._at: tuple[int, int, str] = (job.done, job.total, "starting")
        self._ended = Event()
        self.lost = Event()
        self._thread = Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def report(self, at: ScoringProgress) -> None:
        self._at = (at.done, at.total, at.sentence())

    def beat(self) -> None:
        try:
            if not self._store.jobs.beat(self._job.id, self._worker, *self._at):
                self.lost.set()
        except Exception:  # the database may be busy for a while; a lease lasts many heartbeats
            log.exception("job %d: no heartbeat", self._job.id)

    def _keep(self) -> None:
        while not self.lost.is_set():
            self.beat()
            if self._ended.wait(self._seconds):
                return


def run(store: Store, job: Job, worker: str, load: Load, stop: Event, pace: Pace, *, last: bool = False) -> bool:
    """Run a leased job until it ends, is cancelled or lost, or `stop` is set; never raises.

    Return False if the database could not be written; the job is queued again unless this was its `last` attempt.
    """
    writable = True
    log.info("job %d: project %d, %s", job.id, job.project_id, ", ".join(job.metrics))
    state: JobState = "failed"
    message = "the job stopped on an unexpected error; see worker.log"
    with Lease(store, job, worker, pace.beat) as lease:
        try:
            state, message = _score(store, job, worker, load, stop, lease, pace.lease)
        except Cancelled:
            state, message = "queued", "waiting to go on"
        except Unavailable as error:
            log.warning("job %d: %s", job.id, error)
            state, message, writable = "failed" if last else "queued", str(error), False
        except UserError as error:
            message = str(error)
        except Exception:
            log.exception("job %d failed", job.id)
    if lease.lost.is_set():
        log.info("job %d: cancelled, or with another worker now", job.id)
        return writable
    try:
        if state == "done":
            lease.beat()
        store.jobs.finish(job.id, worker, state, message)
    except Exception:
        log.exception("job %d could not be finished", job.id)
    log.info("job %d: %s %s", job.id, state, message)
    return writable


def _score(
    store: Store, job: Job, worker: str, load: Load, stop: Event, lease: Lease, seconds: float
) -> tuple[JobState, str]:
    metrics, unusable = _loaded(job.metrics, load)
    looked = time.monotonic()

    def on_scoring(at: ScoringProgress) -> None:
        nonlocal looked
        lease.report(at)
        if stop.is_set() or lease.lost.is_set():
            raise Cancelled
        if not job.short and time.monotonic() - looked > LOOK_SECONDS:
            looked = time.monotonic()
            if store.jobs.short_waits():  # this job returns to the queue, behind the short one
                raise Cancelled

    def claim(signature: str, keys: Collection[str]) -> set[str]:
        return store.jobs.claim(job.id, worker, signature, keys, seconds)

    while True:
        dataset = store.projects.dataset(job.project_id)
        if job.timing:  # the samples are not stored: half a score is worse than none
            score_dataset(dataset, metrics, Memory(), on_scoring, timings=store.timings, only_time=True)
            return ("failed" if unusable else "done"), "; ".join(unusable)
        results = score_dataset(
            dataset, metrics, store.scores, on_scoring, claim=claim, segments=job.segments, timings=store.timings
        )
        if store.projects.dataset(job.project_id) == dataset:  # else something was imported meanwhile: score that too
            break
    complaints = [*unusable, *(_complaint(result) for result in results if result.failed)]
    nothing = any(result.failed and not result.new + result.known for result in results)
    return ("failed" if unusable or nothing else "done"), "; ".join(complaints)


def _complaint(result: ScoringResult) -> str:
    return (
        f"{result.metric}: {result.failed} of {result.failed + result.new + result.known} not scored: {result.reason}"
    )


def _loaded(names: Sequence[str], load: Load) -> tuple[list[Metric], list[str]]:
    metrics, unusable = [], []
    for name in names:
        try:
            metric = load(name)
            metric.signature()
            metrics.append(metric)
        except UserError as error:
            unusable.append(f"{name}: {error}")
        except Exception as error:
            log.exception("%s cannot be loaded", name)
            unusable.append(f"{name}: cannot be loaded ({type(error).__name__}); see worker.log")
    return metrics, unusable


if __name__ == "__main__":
    sys.exit(main())

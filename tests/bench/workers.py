"""Scoring with 1, 2 and 4 workers: `python -m tests.bench.workers [--outputs N] [--database sqlite postgresql] [--ray] [--kill SECONDS]`.

Scores the same N outputs with chrF, BLEU and ROUGE-1 for each number of workers, each time in a new database, so that no score is reused:
an SQLite file, and one on the server of ERRORSCOPE_TEST_POSTGRES if it is set. Times count from the moment when the job is queued and all
workers wait for it, to its end. All values are compared with those of the first run. `--kill` kills a random worker (SIGKILL) every so
many seconds on average, and starts another. Times are random: at equal intervals, the lease of 60 s of a killed worker's chunk would always end
just before a kill, until the chunk has killed four workers and the job fails.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import func, select

from core.columns import ABSENT
from core.data import Dataset, Output, Segment
from core.ports.jobs import Job
from core.ports.store import Store
from db.engine import connect, reading
from db.store import open_store
from db.tables import scores
from tests.paths import ROOT
from tests.postgres import SERVER, postgres_database

METRICS = ("chrf", "bleu", "rouge1")
SYSTEMS = 20
WORDS = (
    "the committee discussed this proposal again on friday and adopted it with few changes after long talks about money "
    "water and roads in every village near two rivers which had flooded fields twice since spring"
).split()


class WorkerRun(NamedTuple):
    """Seconds of a job with some workers, their processor time in seconds, the largest memory of one in MB, how many were killed, the
    seconds until all columns of scores were read for the first time, the values that are missing or stored more than once, and a digest of all values."""

    workers: int
    seconds: float
    processor: float
    megabytes: int
    killed: int
    reading: float
    again: int
    digest: str


def dataset(outputs: int, name: str) -> Dataset:
    """Texts of 5 to 40 words with one reference per segment; all of them differ between two names."""

    def words(seed: int) -> str:
        n = 5 + seed * 7919 % 36
        return " ".join(WORDS[(seed * 31 + i * (1 + seed % 7)) % len(WORDS)] for i in range(n))

    keys = [str(i) for i in range(max(1, outputs // SYSTEMS))]
    return Dataset(
        tuple(Segment("d", key, None, (f"{name} {key} {words(int(key))}",)) for key in keys),
        tuple(
            Output(f"s{s}", "d", key, f"{name} {key} {s} {words(int(key) + s)}") for key in keys for s in range(SYSTEMS)
        ),
    )


@contextmanager
def on_ray(actors: int, url: str, home: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run a number of actors on a cluster of two simulated nodes with two CPUs each."""
    environment = os.environ | {"ERRORSCOPE_HOME": home, "ERRORSCOPE_DB": url, "RAY_USAGE_STATS_ENABLED": "0"}
    nodes = subprocess.Popen(
        [sys.executable, "-m", "tests.db.workers.ray_cluster"], cwd=ROOT, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert nodes.stdout is not None
        address = next(line.split()[1] for line in nodes.stdout if line.startswith("cluster "))
        command = [sys.executable, "-m", "cli", "workers", "ray", "--address", address]
        driver = subprocess.Popen([*command, "--min", str(actors), "--max", str(actors)], cwd=ROOT, env=environment)
        try:
            yield [driver]
        finally:
            driver.terminate()
            driver.wait()
    finally:
        nodes.communicate("")


@contextmanager
def running(workers: int, url: str, home: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    started = [_worker(url, home) for _ in range(workers)]
    try:
        yield started
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def _worker(url: str, home: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"ERRORSCOPE_HOME": home, "ERRORSCOPE_DB": url, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "cli", "workers", "--workers", "1"], cwd=ROOT, env=environment)


class Killer:
    """Kills one of the processes every so many seconds on average (never if 0) and starts another in its place."""

    def __init__(
        self, processes: list[subprocess.Popen[bytes]], seconds: float, again: Callable[[], subprocess.Popen[bytes]]
    ) -> None:
        self.processes = processes
        self.seconds = seconds
        self.again = again
        self.killed = 0
        self.random = random.Random(1)
        self.next = self._next()

    def __call__(self) -> None:
        if self.seconds and time.perf_counter() >= self.next:
            i = self.random.randrange(len(self.processes))
            self.processes[i].kill()
            self.processes[i].wait()
            self.processes[i] = self.again()
            self.killed += 1
            self.next = self._next()

    def _next(self) -> float:
        return time.perf_counter() + self.seconds * self.random.uniform(0.5, 1.5)


def memory(pid: int) -> int:
    """Return the largest memory of a process so far in MB; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as status:
            used = status.read().rpartition(")")[2].split()[11:13]
            return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def measure(url: str, workers: int, outputs: int, *, ray: bool = False, kill: float = 0.0) -> WorkerRun:
    store = open_store(url)
    project = store.projects.create("bench").id
    store.projects.add(project, dataset(outputs, "b"))
    warm = store.projects.create("warm").id
    store.projects.add(warm, dataset(40, "w"))
    start = on_ray if ray else running
    with tempfile.TemporaryDirectory(prefix="errorscope-workers-") as home, start(workers, url, home) as processes:
        _finished(store, store.jobs.enqueue(warm, METRICS))  # at least one worker is up
        time.sleep(2.0 * workers)  # and the others
        killer = Killer(processes, kill, lambda: _worker(url, home))
        before, began = sum(processor_seconds(p.pid) for p in processes), time.perf_counter()
        job = _finished(store, store.jobs.enqueue(project, METRICS), killer)
        seconds = time.perf_counter() - began
        processor = sum(processor_seconds(p.pid) for p in processes) - before
        megabytes = max(memory(process.pid) for process in processes)
    if job.state != "done":
        raise SystemExit(f"the job {job.state}: {job.message}")
    began = time.perf_counter()
    for by in store.scores.signatures(project):
        store.scores.column(project, by.signature)
    read = time.perf_counter() - began
    again, digest = checked(store, url, project, warm)
    return WorkerRun(workers, seconds, processor, megabytes, killer.killed, read, again, digest)


def checked(store: Store, url: str, *projects: int) -> tuple[int, str]:
    """Return how many values are missing or stored more than once, and a digest of all values of the first project."""
    wrong, digest = 0, hashlib.sha256()
    scored = {by.metric: by.signature for by in store.scores.signatures(projects[0])}
    for metric in METRICS:
        column = store.scores.column(projects[0], scored[metric])
        present = store.projects.index(projects[0]).present
        wrong += int((present & (column.states == ABSENT)).sum())
        digest.update(column.numbers.tobytes() + column.states.tobytes())
        for name in sorted(column.parts):
            digest.update(column.parts[name].tobytes())
    engine = connect(url)
    with reading(engine) as connection:
        stored = connection.execute(select(func.count()).select_from(scores)).scalar_one()
    engine.dispose()
    expected = sum(store.projects.index(p).n_outputs for p in projects) * len(METRICS)
    return wrong + abs(stored - expected), digest.hexdigest()[:12]


def _finished(store: Store, job: Job, meanwhile: Callable[[], None] = lambda: None) -> Job:
    while job.state in ("queued", "running"):
        time.sleep(0.1)
        meanwhile()
        job = store.jobs.get(job.id)
    return job


@contextmanager
def new_database(kind: str) -> Iterator[str]:
    if kind == "postgresql":
        with postgres_database() as url:
            yield url
        return
    with tempfile.TemporaryDirectory(prefix="errorscope-bench-") as folder:
        yield f"sqlite:///{folder}/errorscope.db"


def report(kind: str, args: argparse.Namespace) -> None:
    print(f"{kind}: {args.outputs:,} outputs, {', '.join(METRICS)}, {os.cpu_count()} cores", flush=True)
    best, first = dict[int, float](), ""
    for _ in range(args.rounds):  # interleaved, because the machine may have other work
        for workers in args.workers:
            with new_database(kind) as url:
                run = measure(url, workers, args.outputs, ray=args.ray, kill=args.kill)
            best[workers] = min(run.seconds, best.get(workers, run.seconds))
            first = first or run.digest
            rate = args.outputs * len(METRICS) / run.seconds
            ratio = best[args.workers[0]] / run.seconds
            print(
                f"  {workers} workers: {run.seconds:7.1f} s, {rate:7,.0f} scores/s, {ratio:.2f} × {args.workers[0]} worker, "
                f"{run.processor:.1f} s of processors, {run.megabytes} MB per worker, {run.killed} killed, read in {run.reading:.1f} s, "
                f"missing or doubled: {run.again}, values {run.digest} {'as in' if run.digest == first else 'OTHER THAN IN'} the first run",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=int, default=20_000)
    parser.add_argument(
        "--database", nargs="+", choices=["sqlite", "postgresql"], default=["sqlite", *["postgresql"] * bool(SERVER)]
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ray", action="store_true", help="--workers counts actors on two simulated Ray nodes")
    parser.add_argument(
        "--kill", type=float, default=0.0, metavar="SECONDS", help="kill a worker every so often, on average"
    )
    args = parser.parse_args()
    if args.ray and args.kill:
        parser.error("--kill kills ordinary workers; tests/db/workers/test_ray.py kills a Ray node")
    for kind in args.database:
        report(kind, args)


if __name__ == "__main__":
    main()

"""Scoring with 1, 2 and 4 workers: `python -m tests.bench.workers [--outputs N] [--database URL] [--ray]`.

Scores N outputs with chrF, BLEU and ROUGE-1 in a new project for each number of workers, with texts that no other run has, so that no score is
reused. Without `--database`, a new SQLite file, and a database on the server of ERRORSCOPE_TEST_POSTGRES if it is set. Times
count from the moment when the job is queued and all workers wait for it, to its end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from core.data import Dataset, Output, Segment
from core.ports.jobs import Job
from core.ports.store import Store
from db.store import open_store
from tests.paths import ROOT
from tests.postgres import SERVER, postgres_database

METRICS = ("chrf", "bleu", "rouge1")
SYSTEMS = 20
WORDS = (
    "the committee discussed this proposal again on friday and adopted it with few changes after long talks about money "
    "water and roads in every village near two rivers which had flooded fields twice since spring"
).split()


class WorkerRun(NamedTuple):
    """Seconds of a job with some workers, their processor time in seconds, the largest memory of one in MB, and the values that are
    missing or stored more than once."""

    workers: int
    seconds: float
    processor: float
    megabytes: int
    again: int


def dataset(outputs: int, salt: str) -> Dataset:
    """Texts of 5 to 40 words with one reference per segment; all of them differ between two values of `salt`."""

    def words(seed: int) -> str:
        n = 5 + seed * 7919 % 36
        return " ".join(WORDS[(seed * 31 + i * (1 + seed % 7)) % len(WORDS)] for i in range(n))

    keys = [str(i) for i in range(max(1, outputs // SYSTEMS))]
    return Dataset(
        tuple(Segment("d", key, None, (f"{salt} {key} {words(int(key))}",)) for key in keys),
        tuple(
            Output(f"s{s}", "d", key, f"{salt} {key} {s} {words(int(key) + s)}") for key in keys for s in range(SYSTEMS)
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
        command = [sys.executable, "-m", "db.ray_workers", "--address", address]
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
    environment = os.environ | {"ERRORSCOPE_HOME": home, "ERRORSCOPE_DB": url, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "db.worker", "--workers", "1"]
    started = [subprocess.Popen(command, cwd=ROOT, env=environment) for _ in range(workers)]
    try:
        yield started
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


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


def measure(store: Store, url: str, workers: int, outputs: int, *, ray: bool = False) -> WorkerRun:
    start = on_ray if ray else running
    project = store.projects.create(f"bench {workers} {time.time_ns()}").id
    store.projects.add(project, dataset(outputs, f"{workers}-{time.time_ns()}"))
    warm = store.projects.create(f"warm {workers} {time.time_ns()}").id
    store.projects.add(warm, dataset(40, f"warm-{workers}-{time.time_ns()}"))
    with tempfile.TemporaryDirectory(prefix="errorscope-workers-") as home, start(workers, url, home) as processes:
        _finished(store, store.jobs.enqueue(warm, METRICS))  # at least one worker is up
        time.sleep(2.0 * workers)  # and the others
        before, began = sum(processor_seconds(p.pid) for p in processes), time.perf_counter()
        job = _finished(store, store.jobs.enqueue(project, METRICS))
        seconds = time.perf_counter() - began
        processor = sum(processor_seconds(p.pid) for p in processes) - before
        megabytes = max(memory(process.pid) for process in processes)
    if job.state != "done":
        raise SystemExit(f"the job {job.state}: {job.message}")
    counted = {by.metric: by.n for by in store.scores.signatures(project)}
    again = sum(abs(n - len(store.projects.index(project).outline) * SYSTEMS) for n in counted.values())
    store.projects.delete(project)
    store.projects.delete(warm)
    return WorkerRun(workers, seconds, processor, megabytes, again)


def _finished(store: Store, job: Job) -> Job:
    while job.state in ("queued", "running"):
        time.sleep(0.1)
        job = store.jobs.get(job.id)
    return job


def report(url: str, counts: list[int], outputs: int, rounds: int, *, ray: bool = False) -> None:
    store = open_store(url)
    name = url.partition(":")[0]
    print(f"{name}: {outputs:,} outputs, {', '.join(METRICS)}, {os.cpu_count()} cores", flush=True)
    best = dict[int, float]()
    for _ in range(rounds):  # interleaved, because the machine may have other work
        for workers in counts:
            run = measure(store, url, workers, outputs, ray=ray)
            best[workers] = min(run.seconds, best.get(workers, run.seconds))
            rate = outputs * len(METRICS) / run.seconds
            ratio = best[counts[0]] / run.seconds
            print(
                f"  {workers} workers: {run.seconds:7.1f} s, {rate:7,.0f} scores/s, {ratio:.2f} × {counts[0]} worker, "
                f"{run.processor:.1f} s of processors, {run.megabytes} MB per worker, missing or doubled: {run.again}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=int, default=20_000)
    parser.add_argument("--database", help="an SQLAlchemy URL")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ray", action="store_true", help="--workers counts actors on two simulated Ray nodes")
    args = parser.parse_args()
    if args.ray:
        with tempfile.TemporaryDirectory(prefix="errorscope-bench-") as folder:
            report(
                args.database or f"sqlite:///{folder}/errorscope.db", args.workers, args.outputs, args.rounds, ray=True
            )
        return
    if args.database:
        report(args.database, args.workers, args.outputs, args.rounds)
        return
    with tempfile.TemporaryDirectory(prefix="errorscope-bench-") as folder:
        report(f"sqlite:///{folder}/errorscope.db", args.workers, args.outputs, args.rounds)
    if SERVER:
        with postgres_database() as url:
            report(url, args.workers, args.outputs, args.rounds)


if __name__ == "__main__":
    main()

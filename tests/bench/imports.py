"""Time that saves of labels wait while a large project is imported and deleted: `python -m tests.bench.imports`.

Another thread, or another process, records a label every 50 ms in a second project. Its longest wait is what an annotator
notices of an import. The times of the import itself are printed too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from core.data import Dataset, Output, Segment, SegmentKey
from core.errors import Unavailable
from core.ports.labels import Action
from core.ports.store import Store
from core.services.projects.adding import ImportTarget
from db.store import open_store
from tests.builders import small_dataset
from tests.paths import ROOT
from tests.stores import add_dataset

EVERY = 0.05  # seconds between two saves


def dataset(segments: int, systems: int) -> Dataset:
    """A dataset with texts of about 120 characters and one reference per segment."""
    words = ("the committee discussed this proposal again on Friday and adopted it " * 3)[:100]
    keys = [(f"document {i // 50}", str(i)) for i in range(segments)]
    return Dataset(
        tuple(Segment(doc, seg, f"Source {seg}: {words}", (f"Reference {seg}: {words}",)) for doc, seg in keys),
        tuple(
            Output(f"system {s}", doc, seg, f"Output {s}/{seg}: {words}") for doc, seg in keys for s in range(systems)
        ),
    )


def save(store: Store, project: int, number: int) -> float:
    """Record a label; return the seconds that it took, with those of refused attempts."""
    action = Action(f"{time.time_ns()}", "verdict", "A", {"value": "no_error" if number % 2 else None})
    began = time.perf_counter()
    while True:
        with suppress(Unavailable):
            store.labels.append(project, "ann", SegmentKey("doc", str(number % 100)), [action])
            return time.perf_counter() - began


@contextmanager
def saving_thread(store: Store, url: str, project: int) -> Iterator[list[float]]:
    seconds, over = list[float](), threading.Event()

    def work() -> None:
        while not over.wait(EVERY):
            seconds.append(save(store, project, len(seconds)))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield seconds
    finally:
        over.set()
        thread.join()


@contextmanager
def saving_process(store: Store, url: str, project: int) -> Iterator[list[float]]:
    seconds: list[float] = []
    command = [sys.executable, "-m", "tests.bench.imports", "--save-to", str(project), "--database", url]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()  # the first save
        try:
            yield seconds
        finally:
            process.stdin.close()
            seconds += map(float, process.stdout.read().split())


SAVES = {"process": saving_process, "thread": saving_thread}


def save_until_closed(url: str, project: int) -> None:
    """Save until the standard input is closed; print the seconds of each save."""
    store, over = open_store(url), threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    number = 0
    while not over.wait(EVERY):
        print(f"{save(store, project, number):.6f}", flush=True)
        number += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default="", help="an SQLAlchemy URL; a new SQLite file if it is not given")
    parser.add_argument("--segments", type=int, default=25_000)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--saves", nargs="+", choices=(*SAVES, "none"), default=["none", *SAVES])
    parser.add_argument("--save-to", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.save_to is not None:
        save_until_closed(args.database, args.save_to)
        return
    with tempfile.TemporaryDirectory(prefix="errorscope-imports-") as home:
        url = args.database or f"sqlite:///{home}/errorscope.db"
        _measure(url, dataset(args.segments, args.systems), dataset(args.segments, args.systems + 1), args.saves)


def _measure(url: str, texts: Dataset, with_one_more: Dataset, saves: list[str]) -> None:
    store = open_store(url)
    labelled = store.projects.create(f"labelled {time.time_ns()}").id
    store.projects.add(labelled, small_dataset(100))
    print(f"{url.partition(':')[0]}, {len(texts.outputs):,} outputs", flush=True)
    for name in saves:
        saving = SAVES.get(name)
        target = ImportTarget(f"large {time.time_ns()}")
        steps: dict[str, Callable[[], object]] = {
            "import": lambda target=target: add_dataset(store, target, texts),
            "one more system": lambda target=target: add_dataset(store, _there(store, target.name), with_one_more),
            "deletion": lambda target=target: store.projects.delete(_there(store, target.name).project_id or 0),
        }
        for step, work in steps.items():
            began, waits = time.perf_counter(), list[float]()
            if saving is None:
                work()
                took = time.perf_counter() - began
            else:
                with saving(store, url, labelled) as waits:
                    began = time.perf_counter()
                    work()
                    took = time.perf_counter() - began
            _report(f"saves: {name}", step, took, waits)


def _there(store: Store, name: str) -> ImportTarget:
    return ImportTarget(name, next(p.id for p in store.projects.list() if p.name == name))


def _report(name: str, step: str, took: float, waits: list[float]) -> None:
    line = f"{name:15} {step:16} {took:6.1f} s"
    if waits:
        ms = np.percentile(waits, [50, 95, 100]) * 1000
        line += f", {len(waits):4} saves: p50 {ms[0]:.0f}, p95 {ms[1]:.0f}, largest {ms[2]:.0f} ms"
    print(line, flush=True)


if __name__ == "__main__":
    main()

"""Databases with a job, and processes that compute it."""

from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from core.ports.jobs import Job
from core.ports.scores import Timing
from core.ports.store import Store
from tests.builders import small_dataset
from tests.db.workers import slow_worker
from tests.db.workers.helpers import N, Start, lines_of
from tests.processes import started
from tests.stores import project_with


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """SQLite, except for tests of several workers: each starts processes, which takes seconds."""
    return getattr(request, "param", "sqlite")


@pytest.fixture
def begun(tmp_path: Path) -> Callable[[], list[str]]:
    """The items that any worker has begun, in order."""
    file = tmp_path / "begun.txt"
    return lambda: [line.partition(" ")[2] for line in lines_of(file)]


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """The file that lets a worker go on which holds at an item."""
    return tmp_path / "go"


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    running: list[BaseProcess] = []

    def run(
        *,
        once: bool = False,
        parent: int | None = None,
        seconds: float = 0.0,
        holds_at: int = 0,
        stall: float = 600.0,
        end: float = 60.0,
    ) -> BaseProcess:
        extra = {
            "ERRORSCOPE_HOME": str(tmp_path / "home"),
            "SLOW_LOG": str(tmp_path / "begun.txt"),
            "SLOW_SECONDS": str(seconds),
            "SLOW_GO": str(tmp_path / "go"),
            "SLOW_HOLDS_AT": str(holds_at),
            "SLOW_STALL": str(stall),
            "SLOW_END": str(end),
        }
        running.append(started(slow_worker.run, extra, url, parent, once))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.join()


@pytest.fixture
def large_job(store: Store) -> Job:
    """A job for 200 outputs that take 3 s each, as its timing says: it has 20 chunks, so workers lease ahead."""
    project = project_with(store, small_dataset(100))
    store.timings.add("slow", "", Timing(100, 1200, 300.0, 12.0))
    return store.jobs.enqueue(project, ["slow"])


@pytest.fixture
def job(store: Store) -> Job:
    project = project_with(store, small_dataset(N // 2))
    store.timings.add("slow", "", Timing(100, 1200, 1.0, 12.0))  # a known speed, so that no sample is taken
    return store.jobs.enqueue(project, ["slow"])

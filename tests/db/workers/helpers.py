"""What the tests of workers share."""

import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event

from sqlalchemy import Engine

from core.ports.store import Store
from core.scoring.lease import WorkerIntervals
from core.scoring.worker import ScoringWorker

N = 40
"""Outputs of the project."""
Start = Callable[..., BaseProcess]


def until(true: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def expire(engine: Engine) -> None:
    """Pretend that all heartbeats stopped a minute ago, instead of waiting for the leases to run out."""
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE chunks SET heartbeat = '2020-01-01 00:00:00.000000' WHERE state = 'running'")


def work(
    store: Store, load: object, stop: Event | None = None, *, once: bool = True, pace: WorkerIntervals | None = None
) -> None:
    ScoringWorker(store, load, stop or Event(), pace).work(once=once)  # type: ignore[arg-type]

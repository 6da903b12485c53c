"""The worker with a metric that takes its time, for a process of its own.

SLOW_SECONDS is the time an item takes; SLOW_LOG a file that gets one line, process and hypothesis, for every item begun. At item number SLOW_HOLDS_AT (0: at none) the
worker waits until there is a file SLOW_GO. SLOW_STALL and SLOW_END are the seconds after which a worker hangs, and after which one that was told to end is killed.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import Metric
from core.scoring.lease import WorkerIntervals
from db.worker import run_workers
from tests.builders import counting_metric


def load(name: str) -> Metric:
    if name == "missing":
        raise UserError("its model is not here", hint="Fetch it")

    def of(item: Item) -> Value:
        log = Path(os.environ["SLOW_LOG"])
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {item.hypothesis}\n")
        time.sleep(float(os.environ["SLOW_SECONDS"]))
        if len(log.read_text(encoding="utf-8").splitlines()) == int(os.environ["SLOW_HOLDS_AT"]):
            while not Path(os.environ["SLOW_GO"]).exists():
                time.sleep(0.01)
        if name == "deadly":
            os._exit(1)
        return Value(float(len(item.hypothesis)))

    return counting_metric(name, of)


def run(environment: Mapping[str, str], database: str, parent: int | None, once: bool) -> None:
    """Be a worker with these variables of the environment."""
    os.environ.update(environment)
    pace = WorkerIntervals(stall=float(os.environ["SLOW_STALL"]))
    end_seconds = float(os.environ["SLOW_END"])
    run_workers(database, parent=parent, once=once, load=load, intervals=pace, end_seconds=end_seconds)

"""What runs on the nodes of a Ray cluster: a scoring worker in an actor. It keeps the models that it has loaded."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from threading import Event, Thread, Timer

from core.memory import collect_garbage_rarely
from core.scoring.lease import Pace
from core.scoring.planner import Load
from core.scoring.worker import ScoringWorker
from core.settings import load as settings
from core.settings import offline, share_cores
from db.store import open_store
from db.worker import HUNG, ending_in_time, log_to

log = logging.getLogger("errorscope.worker")
LAST_SECONDS = 10.0
"""What an actor whose node is lost has to return its chunks."""


class RayScorer:
    """A worker in an actor. Its calls run in threads, so that it answers while it computes.

    `environment` has the settings of models, which are those of the command that started the actor.
    """

    def __init__(self, url: str, name: str, environment: Mapping[str, str], load: Load) -> None:
        os.environ.update(environment)
        offline()
        share_cores()
        collect_garbage_rarely()
        chosen = settings()
        log_to(chosen.home)
        pace = Pace(stall=60.0 * chosen.stall)
        self._worker = ScoringWorker(open_store(url), load, Event(), pace, lambda: os._exit(HUNG), name)
        Thread(target=self._watch, args=(os.getppid(),), daemon=True).start()

    def work(self) -> None:
        """Compute chunks until `end` is called."""
        with ending_in_time(self._worker):
            self._worker.work()

    def idle(self) -> float:
        """Return the seconds since the last chunk, 0 while one is computed."""
        since = self._worker.idle_since
        return 0.0 if since is None else time.monotonic() - since

    def end(self) -> None:
        self._worker.stop.set()

    def _watch(self, parent: int) -> None:
        """Exit when the node is lost: Ray does not end actors whose raylet was killed."""
        while os.getppid() == parent:
            time.sleep(1.0)
        log.error("%s: the Ray node of process %d is gone", self._worker.name, parent)
        Timer(LAST_SECONDS, os._exit, (HUNG,)).start()
        self._worker.keeper.give_back()
        os._exit(HUNG)

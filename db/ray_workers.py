"""Scoring workers as actors of a Ray cluster, for the command `workers ray`.

The actors lease chunks as all workers do. This program follows the number of chunks with the number of actors, and replaces those that are
lost. Ray is an optional requirement (requirements-ray.txt).
"""

from __future__ import annotations

import logging
import os
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any, NamedTuple

from core.errors import UserError
from core.memory import collect_garbage_rarely
from core.metrics import registry
from core.ports.store import Store
from core.scoring.lease import WorkerIntervals
from core.scoring.planner import Load
from core.scoring.worker import ScoringWorker
from core.settings import Settings, load_settings, offline, share_cores
from db.engine import sqlite_file
from db.store import open_store
from db.worker import END_SECONDS, HUNG, LARGEST, RESTART_SECONDS, ending_in_time, log_to, stop_event

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
        chosen = load_settings()
        log_to(chosen.home)
        intervals = WorkerIntervals(stall=60.0 * chosen.stall)
        self._worker = ScoringWorker(open_store(url), load, Event(), intervals, lambda: os._exit(HUNG), name)
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


ROOT = Path(__file__).resolve().parents[1]
POLL_SECONDS = 1.0
IDLE_SECONDS = 60.0
"""Without a chunk, before an actor that is not needed ends."""
LOST = "a Ray actor or its node was lost; see worker.log"


def run_ray_workers(
    address: str = "auto",
    smallest: int = 1,
    largest: int = 8,
    cpus: float = 1.0,
    gpus: float = 0.0,
    folder: str = str(ROOT),
    parent: int | None = None,
    *,
    once: bool = False,
    load: Load = registry.load_metric,
) -> None:
    """Compute jobs with `smallest` to `largest` actors until SIGTERM, SIGINT or the end of the process `parent`, or until no job is left.

    `cpus` and `gpus` are per actor, `folder` is that of Errorscope on the nodes, and `load` returns a metric by name. Raises
    `UserError` and `OSError` before anything is computed.
    """
    if not 0 <= smallest <= largest <= LARGEST or largest < 1:
        bounds = f"--min {smallest} --max {largest}"
        raise UserError("these numbers of actors are not possible", got=bounds, expected=f"0 to {LARGEST}")
    if cpus < 0 or gpus < 0:
        raise UserError("CPUs and GPUs per actor must not be negative", got=f"{cpus} and {gpus}")
    chosen = load_settings()
    log_to(chosen.home)
    url = _usable(chosen.database, address)
    store = open_store(url)
    ray = _connected(address, folder)
    stop = stop_event(parent)  # after Ray has set its own handlers
    try:
        options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        options |= {"max_concurrency": 3, "max_restarts": 0}
        if sqlite_file(url) is not None:
            options["resources"] = {f"node:{_own_address(ray)}": 0.001}
            print("SQLite: all actors run on this machine. Use PostgreSQL for several.", file=sys.stderr, flush=True)
        made, environment = ray.remote(RayScorer).options(**options), _models()
        pool = ActorPool(ray, store, lambda name: made.remote(url, name, environment, load), smallest, largest)
        pool.run(stop, once=once)
    finally:
        ray.shutdown()


def _usable(url: str, address: str) -> str:
    """Return the URL for actors. Raises `UserError` for SQLite that they cannot reach."""
    file = sqlite_file(url)
    if file is None:
        return url
    if address.startswith("ray://"):
        hint = "Set ERRORSCOPE_DB to a PostgreSQL database"
        raise UserError("actors cannot open an SQLite database through ray://", hint=hint)
    return f"sqlite:///{file.path.resolve()}"  # a node may run in another folder


def _connected(address: str, folder: str) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # no report to its makers
    try:
        import ray
    except ImportError as error:
        hint = "Run: pip install -r requirements-ray.txt"
        raise UserError("the package ray, which `workers ray` needs, is not installed", hint=hint) from error
    options: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
    environment = {"env_vars": {"PYTHONPATH": folder}}
    try:
        ray.init(address, runtime_env=environment, log_to_driver=False, logging_level=logging.WARNING, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        hint = "Start one with `ray start --head`, or use --address local"
        raise UserError("no Ray cluster can be reached", where=address, got=type(error).__name__, hint=hint) from error
    return ray


def _own_address(ray: Any) -> str:
    mine = ray.get_runtime_context().get_node_id()
    return next(str(node["NodeManagerAddress"]) for node in ray.nodes() if node["NodeID"] == mine)


def _models() -> dict[str, str]:
    """Return the settings of models, which all workers share, and none that is secret or of this machine."""
    texts = {field.name for field in fields(Settings) if isinstance(field.default, str)} - {"worker", "device"}
    names = {f"ERRORSCOPE_{name.upper()}" for name in {*texts, "stall", "prompts"}}
    return {name: os.environ[name] for name in sorted(names) if name in os.environ}


class _Actor(NamedTuple):
    name: str
    handle: Any


class ActorPool:
    """Actors that work. `start` starts one by name; their number follows the chunks between `smallest` and `largest`."""

    def __init__(self, ray: Any, store: Store, start: Callable[[str], Any], smallest: int, largest: int) -> None:
        self._ray, self._store, self._start = ray, store, start
        self._smallest, self._largest = smallest, largest
        self._running = dict[Any, _Actor]()
        self._wait_until = 0.0

    def run(self, stop: Event, *, once: bool = False) -> None:
        """Keep actors at work until `stop` is set, or with `once` until no job is unfinished."""
        while not stop.is_set():
            began = time.monotonic()
            try:
                if once and self._store.chunks.is_finished():
                    break
                self._collect()
                self._adjust(min(self._largest, max(self._smallest, self._store.chunks.unfinished())))
            except UserError as error:
                log.warning("the queue could not be read: %s", error)
            stop.wait(max(0.0, POLL_SECONDS - (time.monotonic() - began)))
        self._end()

    def _collect(self) -> None:
        """Forget actors that ended, and return the chunks of lost ones to the queue."""
        refs = list(self._running)
        ended = self._ray.wait(refs, num_returns=len(refs), timeout=0)[0] if refs else []
        for ref in ended:
            actor = self._running.pop(ref)
            try:
                self._ray.get(ref)
            except self._ray.exceptions.RayError as error:
                log.warning("%s is lost: %s", actor.name, type(error).__name__)
                died = isinstance(error, self._ray.exceptions.RayActorError)
                if not died or error.actor_init_failed:  # it would fail again at once
                    self._wait_until = time.monotonic() + RESTART_SECONDS
                self._store.chunks.release_all(actor.name, LOST)
            self._ray.kill(actor.handle)

    def _adjust(self, n_actors: int) -> None:
        while len(self._running) < n_actors and time.monotonic() >= self._wait_until:
            name = f"ray:{uuid.uuid4().hex[:12]}"
            handle = self._start(name)
            self._running[handle.work.remote()] = _Actor(name, handle)
            log.info("%s is started", name)
        spare = len(self._running) - n_actors
        if spare <= 0:
            return
        asked = {actor.handle.idle.remote(): actor for actor in self._running.values()}
        for ref in self._ray.wait(list(asked), num_returns=len(asked), timeout=POLL_SECONDS)[0]:
            try:
                idle = self._ray.get(ref)
            except self._ray.exceptions.RayError:
                continue
            if idle > IDLE_SECONDS and spare > 0:
                asked[ref].handle.end.remote()
                spare -= 1

    def _end(self) -> None:
        """End all actors. Those that take too long are killed, and their chunks return to the queue."""
        for actor in self._running.values():
            actor.handle.end.remote()
        refs = list(self._running)
        if refs:
            self._ray.wait(refs, num_returns=len(refs), timeout=END_SECONDS)
        for actor in self._running.values():
            self._ray.kill(actor.handle)
            self._store.chunks.release_all(actor.name, "")
        self._running.clear()

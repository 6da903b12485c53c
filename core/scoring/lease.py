"""Heartbeats of the chunks that a worker has, from a thread, because loading a model may take longer than a lease.

The thread that computes reports each step. If it reports none for long, it hangs, and its chunks go back to the queue.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import NamedTuple

from core.formatting import format_duration
from core.ports.jobs import Chunk, Chunks

log = logging.getLogger("errorscope.worker")


class WorkerIntervals(NamedTuple):
    """Seconds that a lease lasts without a heartbeat, between heartbeats, between looks whether a job is cancelled, between looks
    for chunks, and that a worker keeps its chunks without progress (`stall`)."""

    lease: float = 60.0
    beat: float = 1.0
    look: float = 0.25
    poll: float = 0.5
    stall: float = 1800.0


class HeldChunk:
    """A leased chunk with its progress. `lost` is set if its job is cancelled or another worker has it, `begun` while it is computed."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.progress: tuple[int, int, str, float] = (0, 0, "", 0.0)
        self.lost = Event()
        self.begun = False


class LeaseKeeper:
    """Keep the leases of a worker while it makes progress. `on_stall` is called after it made none for `WorkerIntervals.stall` seconds."""

    def __init__(
        self, chunks: Chunks, worker: str, pace: WorkerIntervals, on_stall: Callable[[], None] = lambda: None
    ) -> None:
        self._chunks, self._worker, self._pace, self._on_stall = chunks, worker, pace, on_stall
        self._held = dict[int, HeldChunk]()
        self._steps = 0
        self._lock, self._ended = Lock(), Event()
        self._thread = Thread(target=self._keep, daemon=True)

    def __enter__(self) -> LeaseKeeper:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def keep(self, chunk: Chunk) -> HeldChunk:
        held = HeldChunk(chunk)
        with self._lock:
            self._held[chunk.id] = held
        return held

    def drop(self, held: HeldChunk) -> None:
        with self._lock:
            self._held.pop(held.chunk.id, None)

    def step(self) -> None:
        """Report that the thread that computes makes progress."""
        self._steps += 1

    def give_back(self, reason: str = "") -> None:
        """Return all chunks to the queue. With a `reason`, an error, the job of the one that is computed fails after a few times."""
        for held in self._kept():
            held.lost.set()
            try:
                self._chunks.release(held.chunk, self._worker, reason if held.begun else "")
            except Exception:  # its lease runs out
                log.exception("chunk %d could not be released", held.chunk.id)

    def _kept(self) -> list[HeldChunk]:
        with self._lock:
            return [one for one in self._held.values() if not one.lost.is_set()]

    def _keep(self) -> None:
        beaten = seen = time.monotonic()
        steps, still = self._steps, 0.0
        while not self._ended.wait(min(self._pace.look, self._pace.beat)):
            now = time.monotonic()
            due = now - beaten >= self._pace.beat
            beaten = now if due else beaten
            passed, seen = min(now - seen, 2 * self._pace.beat), now  # while the machine sleeps, nothing can progress
            still = 0.0 if steps != self._steps or not self._held else still + passed
            steps = self._steps
            if still >= self._pace.stall:
                still = 0.0
                self._stall()
            for one in self._kept():
                self._look(one, due)

    def _stall(self) -> None:
        why = f"a worker made no progress for {format_duration(self._pace.stall)}"
        log.error("%s: %s; its chunks go to other workers", self._worker, why)
        self.give_back(f"{why}; see worker.log")
        self._on_stall()

    def _look(self, held: HeldChunk, due: bool) -> None:
        number, worker = held.chunk.id, self._worker
        try:
            mine = self._chunks.beat(number, worker, *held.progress) if due else self._chunks.holds(number, worker)
        except Exception:  # the database may be busy for a while; a lease lasts many heartbeats
            log.exception("chunk %d: no heartbeat", number)
            return
        if not mine:
            held.lost.set()

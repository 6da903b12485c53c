"""Heartbeats of the chunks that a worker has, from a thread, because loading a model may take longer than a lease."""

from __future__ import annotations

import logging
import time
from threading import Event, Lock, Thread
from typing import NamedTuple

from core.ports.chunks import Chunk, Chunks

log = logging.getLogger("errorscope.worker")


class Pace(NamedTuple):
    """Seconds that a lease lasts without a heartbeat, between heartbeats, between looks whether a job is cancelled, and between looks
    for chunks."""

    lease: float = 60.0
    beat: float = 1.0
    look: float = 0.25
    poll: float = 0.5


class HeldChunk:
    """A leased chunk with its progress. `lost` is set if its job is cancelled or another worker has it."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.progress: tuple[int, int, str] = (0, 0, "")
        self.lost = Event()


class LeaseKeeper:
    """Keep the leases of a worker."""

    def __init__(self, chunks: Chunks, worker: str, pace: Pace) -> None:
        self._chunks, self._worker, self._pace = chunks, worker, pace
        self._held = dict[int, HeldChunk]()
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

    def _keep(self) -> None:
        beaten = time.monotonic()
        while not self._ended.wait(min(self._pace.look, self._pace.beat)):
            due = time.monotonic() - beaten >= self._pace.beat
            beaten = time.monotonic() if due else beaten
            with self._lock:
                held = [one for one in self._held.values() if not one.lost.is_set()]
            for one in held:
                self._look(one, due)

    def _look(self, held: HeldChunk, due: bool) -> None:
        number, worker = held.chunk.id, self._worker
        try:
            mine = self._chunks.beat(number, worker, *held.progress) if due else self._chunks.holds(number, worker)
        except Exception:  # the database may be busy for a while; a lease lasts many heartbeats
            log.exception("chunk %d: no heartbeat", number)
            return
        if not mine:
            held.lost.set()

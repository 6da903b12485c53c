"""What `/metrics` reports: saved actions, how long saving takes, and requests that wait. It contains no names and no texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()
SAVED = Counter("errorscope_saved_actions", "Actions of annotators that are on disk", registry=REGISTRY)
SECONDS = Histogram(
    "errorscope_save_seconds", "Time from a request with actions to its answer", registry=REGISTRY,
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5),
)  # fmt: skip
WAITING = Gauge("errorscope_waiting_saves", "Requests with actions that are not answered yet", registry=REGISTRY)
SESSIONS = Gauge("errorscope_sessions", "Browser tabs connected to the pages", registry=REGISTRY)
QUEUE = Gauge("errorscope_scoring_jobs", "Scoring jobs that wait or run", registry=REGISTRY)


def saved(actions: int, seconds: float) -> None:
    SAVED.inc(actions)
    SECONDS.observe(seconds)


@contextmanager
def waiting() -> Iterator[None]:
    with WAITING.track_inprogress():
        yield


def text() -> bytes:
    """Return all measures in the text format of Prometheus."""
    return generate_latest(REGISTRY)

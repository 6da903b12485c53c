"""`/healthz` (the process runs), `/readyz` (the database can be used), and `/metrics` in the text format of Prometheus."""

from __future__ import annotations

import hmac
import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response

from api.endpoint import RequestRefused, endpoint, identify, unguarded

REGISTRY = CollectorRegistry()
SAVED = Counter("errorscope_saved_actions", "Actions of annotators that are on disk", registry=REGISTRY)
SECONDS = Histogram(
    "errorscope_save_seconds", "Time from a request with actions to its answer", registry=REGISTRY,
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5),
)  # fmt: skip
WAITING = Gauge("errorscope_waiting_saves", "Requests with actions that are not answered yet", registry=REGISTRY)
QUEUE = Gauge("errorscope_scoring_jobs", "Scoring jobs that wait or run", registry=REGISTRY)


def saved(actions: int, seconds: float) -> None:
    SAVED.inc(actions)
    SECONDS.observe(seconds)


TOKEN = "ERRORSCOPE_METRICS_TOKEN"


async def healthz(request: Request) -> Response:
    return PlainTextResponse("ok")


@endpoint
async def readyz(request: Request) -> Response:
    await run_in_threadpool(lambda: unguarded().chunks.is_finished())
    return PlainTextResponse("ready")


@endpoint
async def metrics(request: Request) -> Response:
    """Answer managers, and whoever has the token of the environment variable."""
    if not has_token(request):
        if not (await run_in_threadpool(identify, request)).manager:
            raise RequestRefused(403, f"Only managers, or the token in {TOKEN}, may read the measures")
    QUEUE.set(len(await run_in_threadpool(lambda: unguarded().jobs.unfinished())))
    return Response(generate_latest(REGISTRY), media_type="text/plain; version=0.0.4; charset=utf-8")


def has_token(connection: HTTPConnection) -> bool:
    """Return whether the sender has the token of the environment variable, which nobody has if it is not set."""
    token = os.environ.get(TOKEN, "")
    sent_token = connection.headers.get("authorization", "").removeprefix("Bearer ")
    return bool(token) and hmac.compare_digest(token.encode(), sent_token.encode("utf-8", "replace"))

"""`/healthz` (the process runs), `/readyz` (the database can be used), and `/metrics` in the text format of Prometheus."""

from __future__ import annotations

import hmac
import os

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response

from api import measures, people
from api.endpoint import endpoint
from api.refusals import RequestRefused
from api.storage import unguarded

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
        if not (await run_in_threadpool(people.identify, request)).manager:
            raise RequestRefused(403, f"Only managers, or the token in {TOKEN}, may read the measures")
    await run_in_threadpool(_gather)
    return Response(measures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def has_token(connection: HTTPConnection) -> bool:
    """Return whether the sender has the token of the environment variable, which nobody has if it is not set."""
    token = os.environ.get(TOKEN, "")
    given = connection.headers.get("authorization", "").removeprefix("Bearer ")
    return bool(token) and hmac.compare_digest(token.encode(), given.encode("utf-8", "replace"))


def _gather() -> None:
    measures.QUEUE.set(len(unguarded().jobs.unfinished()))

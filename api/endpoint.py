"""What all routes share: bodies of bounded size, and answers to errors."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from api.refusals import RequestRefused
from api.task import catalogue
from core.errors import NotAllowed, Unavailable, UserError

LARGEST_BODY = 4_000_000
BODY_SECONDS = 20.0
MOST_VALUES = 150_000
"""In a body. To read as many takes about 0.1 s, in which Python answers nobody else."""
M = TypeVar("M", bound=BaseModel)
Handler = Callable[[Request], Awaitable[Response]]
log = logging.getLogger("errorscope")


def endpoint(handler: Handler) -> Handler:
    """Answer errors of a route with {"error": sentence} in the language of the request: a fault of the program with a number that is in the log."""

    @functools.wraps(handler)
    async def answering(request: Request) -> Response:
        said = catalogue.of_request(request)
        try:
            return await handler(request)
        except RequestRefused as refused:
            return failed(refused.status, said(refused.sentence))
        except Unavailable as error:
            return failed(503, catalogue.unavailable(request, error))
        except NotAllowed as error:
            return failed(403, error.sentence(said))
        except UserError as error:
            return failed(422, error.sentence(said))
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            number = secrets.token_hex(4)
            log.error("error %s", number, exc_info=error)
            return failed(500, said(f"This is a fault of the program, number {number}. Try again"))

    return answering


def failed(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status, {"Cache-Control": "no-store"})


async def body(request: Request, model: type[M]) -> M:
    """Return the JSON body of a request. Raises `RequestRefused` if it is too large, too slow, or of another form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused(415, "Send JSON with the content type application/json")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            raw = await _read(request)
    except TimeoutError as error:
        raise RequestRefused(408, "The request took too long to arrive") from error
    if _most_values(raw) > MOST_VALUES:
        raise RequestRefused(413, f"The request has more than {MOST_VALUES:,} values")
    try:
        return model.model_validate(json.loads(raw))
    except (ValueError, RecursionError) as error:
        first_error = (
            error.errors(include_url=False, include_input=False)[0] if isinstance(error, ValidationError) else None
        )
        place = ".".join(str(part) for part in first_error["loc"]) if first_error else "body"
        raise RequestRefused(422, f"{place}: {first_error['msg'] if first_error else 'this is not JSON'}") from error


async def _read(request: Request) -> bytes:
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > LARGEST_BODY:
            raise RequestRefused(413, f"The request is larger than {LARGEST_BODY:,} bytes")
    return bytes(raw)


def _most_values(raw: bytes) -> int:
    """Return an upper bound of the number of values in JSON. What stands within texts is left out before a body is refused."""
    marks = _marks(raw)
    if marks <= MOST_VALUES:
        return marks
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * MOST_VALUES:  # a value has at most four, with its name
        return marks
    return _marks(b"".join(bare.split(b'"')[::2]))


def _marks(raw: bytes) -> int:
    """Return how many marks there are that come before a value."""
    return sum(map(raw.count, (b",", b"[", b"{")))

"""The public page of a result, which everybody with the link may read."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api.auth import message, not_now
from api.endpoint import RateLimit, network, unguarded
from core.errors import UserError
from core.services.people.sessions import token_hash

HEADERS = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"}
GUESSES = RateLimit(per_second=1.0, at_once=60)
"""Links without a page per network: nobody can try tokens quickly."""


async def of_token(request: Request) -> Response:
    """Answer unknown and revoked links alike."""
    hashed = token_hash(request.path_params["token"])
    try:
        page = await run_in_threadpool(unguarded().shared.page, hashed) if hashed else None
    except UserError as error:
        return _hidden(not_now(error))
    if page is not None:
        return HTMLResponse(page, headers=HEADERS)
    if not GUESSES.allows(network(request)):
        text = "Too many wrong links came from your network. Try again in a minute."
        return _hidden(message(429, "Not possible now", text))
    text = "The link is incomplete, or this result is no longer shared. Ask the person who sent the link."
    return _hidden(message(404, "There is no page here", text))


def _hidden(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response

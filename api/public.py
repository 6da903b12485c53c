"""`GET /r/<token>`: the public page of a result, for everybody who has the link. It is sent as it was stored, sets no cookie and changes nothing."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api.auth import message
from api.refusals import RateLimit, network
from api.storage import unguarded
from core.errors import UserError
from core.services.people.tokens import token_hash

HEADERS = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"}
GUESSES = RateLimit(per_second=1.0, at_once=60)
"""Links without a page per network: nobody can try tokens quickly."""


async def of_token(request: Request) -> Response:
    """Answer unknown and revoked links alike."""
    hashed = token_hash(request.path_params["token"])
    try:
        page = await run_in_threadpool(unguarded().shared.page, hashed) if hashed else None
    except UserError as error:  # without its place, a path on the server
        return _said(503, "Not possible now", f"{error.what[:1].upper()}{error.what[1:]}. Try again in a moment.")
    if page is not None:
        return HTMLResponse(page, headers=HEADERS)
    if not GUESSES.allows(network(request)):
        return _said(429, "Not possible now", "Too many wrong links came from your network. Try again in a minute.")
    text = "The link is incomplete, or this result is no longer shared. Ask the person who sent the link."
    return _said(404, "There is no page here", text)


def _said(status: int, title: str, text: str) -> Response:
    response = message(status, title, text)
    response.headers.update(HEADERS)
    return response

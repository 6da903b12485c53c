"""Requests without an account: the public page of a result, and a participant who leaves a campaign."""

from __future__ import annotations

from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from api import people
from api.actions import LIMIT
from api.auth import message
from api.endpoint import body, endpoint
from api.refusals import RateLimit, RequestRefused, network
from api.storage import store, unguarded
from core.errors import UserError
from core.services.campaigns import work
from core.services.people.sessions import token_hash

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


class LeaveChoice(BaseModel):
    """Whether the participant leaves. Submitted units count in both cases."""

    project: int | None = Field(None, description="The evaluation; a personal link belongs to one anyway.")
    left: bool = Field(description="True to leave, false to receive units again.")


@endpoint
async def leave(request: Request) -> Response:
    who = await run_in_threadpool(people.identify, request)
    LIMIT.take(people.key_of(who, request))
    people.check_csrf(who, request)
    sent = await body(request, LeaveChoice)

    def change() -> str:
        mine, texts = store(who, tasks=True), who.link.project_id if who.link else sent.project
        campaign = mine.campaigns.of_texts(texts) if texts is not None and who.takes_part(texts) else None
        if campaign is None or who.rater is None:
            raise RequestRefused(404, "You do not take part in this evaluation")
        return work.leave(mine, campaign, who.rater, sent.left).code

    return JSONResponse({"code": await run_in_threadpool(change)}, headers={"Cache-Control": "no-store"})

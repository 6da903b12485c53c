"""`POST /api/leave`: a participant leaves a campaign, or comes back."""

from __future__ import annotations

from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from api import people
from api.actions import LIMIT
from api.endpoint import body, endpoint
from api.refusals import RequestRefused
from api.storage import store
from core.services.campaigns import working


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
        return working.leave(mine, campaign, who.rater, sent.left).code

    return JSONResponse({"code": await run_in_threadpool(change)}, headers={"Cache-Control": "no-store"})

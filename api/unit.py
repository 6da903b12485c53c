"""`POST /api/unit`: open a segment for an annotator, and return the data of the editor for it.

It is no GET, because opening changes things: the person joins a campaign, units are given out, and the order of outputs is drawn.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from api import people
from api.actions import LIMIT
from api.endpoint import body, endpoint
from api.refusals import RequestRefused
from api.storage import secret, store
from core.data import SegmentKey
from core.ports.campaigns import Campaign
from core.ports.people import Identity
from core.ports.store import Store
from core.services.campaigns import work
from core.services.labels import editor
from core.services.labels.editor import LARGEST_NUMBER
from core.services.people.sessions import outbox_name
from core.settings import load_settings


class UnitChoice(BaseModel):
    """The segment to open, or the one a step away from it; without `doc` and `segment` the first one that is not submitted."""

    project: int | None = Field(
        None, ge=0, le=LARGEST_NUMBER, description="The project; a personal link belongs to one anyway."
    )
    doc: str | None = None
    segment: str | None = None
    step: editor.Step = "here"


@endpoint
async def unit(request: Request) -> Response:
    who = await run_in_threadpool(people.identify, request)
    LIMIT.take(people.key_of(who, request))
    people.check_csrf(who, request)
    asked = await body(request, UnitChoice)
    segment = None if asked.doc is None or asked.segment is None else SegmentKey(asked.doc, asked.segment)
    project = who.link.project_id if who.link else asked.project
    if project is None:
        raise RequestRefused(422, "project: expected a number")
    data = await run_in_threadpool(opened, who, project, segment, asked.step)
    return JSONResponse(data, headers={"Cache-Control": "no-store"})


def campaign_of(mine: Store, who: Identity, project_id: int) -> Campaign | None:
    """Return the campaign with these texts, None in other projects. Changes nothing.

    Raises `RequestRefused` for who does not label there under a name that the server knows, and `UserError` before a campaign starts.
    """
    if who.rater is None or not who.annotates(project_id):
        raise RequestRefused(403, "You do not label in this project")
    campaign = mine.campaigns.of_texts(project_id)
    if campaign is not None:
        if not who.takes_part(project_id):
            raise RequestRefused(403, "You do not take part in this evaluation. Ask a manager to add you")
        work.require_started(campaign)
    return campaign


def opened(who: Identity, project_id: int, segment: SegmentKey | None, step: editor.Step) -> dict[str, Any]:
    """Open a segment and return the data of the editor, with the name of the person's outbox. Refuses as `campaign_of` does."""
    mine = store(who, tasks=True)
    campaign = campaign_of(mine, who, project_id)
    if campaign is not None:
        data = work.unit_page(mine, campaign, who.rater or "", segment, step)
    else:
        asked = editor.outline(mine, project_id, who.link.batch if who.link else None)
        data = editor.unit(mine, project_id, who.rater or "", asked, segment, step)
    return data | {"outbox": outbox_name(secret(load_settings().database), who)}

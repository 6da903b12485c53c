"""`GET /api/unit`: the data of the editor for one segment, as the annotator's page shows it."""

from __future__ import annotations

from typing import Any, cast, get_args

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from api import people
from api.actions import LIMIT
from api.endpoint import endpoint
from api.refusals import RequestRefused
from api.storage import secret, store
from core.data import SegmentKey
from core.services.campaigns import working
from core.services.labels import units
from core.services.people.identity import Identity, outbox_name
from core.settings import load as settings


@endpoint
async def unit(request: Request) -> Response:
    who = await run_in_threadpool(people.identify, request)
    LIMIT.take(people.key_of(who, request))
    asked = request.query_params
    step = asked.get("step", "here")
    if step not in get_args(units.Step):
        raise RequestRefused(422, f"step: expected one of {', '.join(get_args(units.Step))}")
    here = SegmentKey(asked["doc"], asked["segment"]) if {"doc", "segment"} <= asked.keys() else None
    project = who.link.project_id if who.link else number(asked.get("project", ""))
    data = await run_in_threadpool(read, who, project, here, cast(units.Step, step))
    return JSONResponse(data, headers={"Cache-Control": "no-store"})


def number(text: str) -> int:
    """Return the project id in a query parameter. Raises `RequestRefused` if it is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise RequestRefused(422, "project: expected a number")
    return int(text)


def read(who: Identity, project_id: int, here: SegmentKey | None, step: units.Step) -> dict[str, Any]:
    """Return the data for somebody who labels in this project under a name that the server knows."""
    if who.rater is None or not (who.may_label(project_id) or who.takes_part(project_id)):
        raise RequestRefused(403, "You do not label in this project")
    if campaign := store().campaigns.of_texts(project_id):
        if not who.takes_part(project_id):
            raise RequestRefused(403, "You do not take part in this evaluation. Ask a manager to add you")
        data = working.page(store(), campaign, who.rater, here, step)
    else:
        data = units.unit(store(), project_id, who.rater, people.outline(who, project_id), here, step)
    return data | {"outbox": outbox_name(secret(settings().database), who)}

"""`GET /api/projects/{project}/exports/{name}`: outputs, labels and scores as files, for scripts and other programs."""

from __future__ import annotations

from collections.abc import Iterator
from io import SEEK_END
from typing import IO

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api import people
from api.actions import LIMIT
from api.endpoint import endpoint
from api.refusals import RequestRefused
from api.storage import store
from core.errors import unknown
from core.services.export.export import Export
from core.services.export.files import EXPORTS
from core.services.labels.exchange import LARGEST_NUMBER
from core.services.people.identity import Identity

PIECE = 1 << 18
"""Bytes that are sent at once."""


@endpoint
async def export(request: Request) -> Response:
    who = await run_in_threadpool(people.identify, request)
    LIMIT.take(people.key_of(who, request))
    asked = request.path_params["project"]
    made = await run_in_threadpool(make, who, int(asked), request.path_params["name"])
    headers = {
        "Content-Disposition": f'attachment; filename="project-{asked}.{made.ending}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    size = await run_in_threadpool(made.file.seek, 0, SEEK_END)
    headers["Content-Length"] = str(size)
    return StreamingResponse(_pieces(made.file), headers=headers, media_type=made.mime)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file from its beginning, and close it."""
    with file:
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece


def make(who: Identity, project_id: int, name: str) -> Export:
    """Return the file. Raises `RequestRefused` for projects that this person must not see in full."""
    if project_id > LARGEST_NUMBER or who.role(project_id) in (None, "annotator"):
        raise RequestRefused(403, "You may not export this project")
    if name not in EXPORTS:
        raise unknown("export", name, EXPORTS)
    made = EXPORTS[name].make(store(), project_id)
    store().audit.record(who.who, "exported", project_id, file=name)
    return made

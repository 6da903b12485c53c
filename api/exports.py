"""`GET /api/projects/{project}/exports/{name}`: outputs, labels and scores as files, for scripts and other programs.

A file is complete before its first byte is sent, so that errors and its length are known. A server makes `prepared.AT_ONCE` files at a
time, in its own threads. Waiting requests hold no thread, so saving labels is not delayed. If the client disconnects, its export is
cancelled. The page *Projects* prepares the files of large projects itself and sends the browser here with `?prepared=TOKEN`.
"""

from __future__ import annotations

import asyncio
from threading import Event

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from api.endpoint import RequestRefused, endpoint, sender, store
from core.errors import unknown
from core.ports.people import Identity
from core.progress import Cancelled, Progress, no_progress
from core.services.export.export import Export
from core.services.export.files import EXPORT_THREADS, EXPORTS, PREPARED, PreparedFile
from core.services.labels.editor import LARGEST_NUMBER

CHECK_SECONDS = 0.25
"""Seconds between two checks whether the client is still connected."""


@endpoint
async def export(request: Request) -> Response:
    who = await sender(request)
    asked, name = int(request.path_params["project"]), request.path_params["name"]
    if asked > LARGEST_NUMBER:
        raise RequestRefused(403, "There is no such project")
    token = request.query_params.get("prepared", "")
    file = await run_in_threadpool(prepared, who, asked, name, token) if token else None
    if file is None:
        file = PreparedFile(await _while_connected(request, who, asked, name))
    headers = {
        "Content-Disposition": f'attachment; filename="project-{asked}.{file.made.ending}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Content-Length": str(file.size),
    }
    return StreamingResponse(file.pieces(), headers=headers, media_type=file.made.mime)


async def _while_connected(request: Request, who: Identity, project_id: int, name: str) -> Export:
    """Return the file when it is its turn and it is made. Raises `ClientDisconnect` if the client does not wait for it."""
    gone = Event()

    def progress(share: float) -> None:
        if gone.is_set():
            raise Cancelled

    making = asyncio.get_running_loop().run_in_executor(EXPORT_THREADS, make, who, project_id, name, progress)
    try:
        while not making.done():
            await asyncio.wait([making], timeout=CHECK_SECONDS)
            if not making.done() and await request.is_disconnected():
                raise ClientDisconnect
        return making.result()
    finally:
        gone.set()
        making.cancel()  # removes a request that is still waiting; a file that is being made ends at its next part


def prepared(who: Identity, project_id: int, name: str, token: str) -> PreparedFile | None:
    """Return the file that a page has prepared, or None if it is no longer kept. Raises as `make` does."""
    mine = store(who)
    mine.projects.get(project_id)
    if file := PREPARED.find(project_id, name, token):
        mine.audit.record(who.who, "exported", project_id, file=name)
    return file


def make(who: Identity, project_id: int, name: str, progress: Progress = no_progress) -> Export:
    """Return the file. Raises `NotAllowed` for projects that this person must not see in full."""
    mine = store(who)
    if name not in EXPORTS:
        mine.projects.get(project_id)
        raise unknown("export", name, EXPORTS)
    made = EXPORTS[name].make(mine, project_id, progress)
    mine.audit.record(who.who, "exported", project_id, file=name)
    return made

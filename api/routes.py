"""All routes of Errorscope beside the pages of Streamlit."""

from __future__ import annotations

from starlette.routing import Route

from api import actions, auth, documentation, exports, health, leave, openapi, public, unit
from api.openapi import Described
from api.task import assets, page

_TEXT = {"type": "string"}
FOR_PROGRAMS = (
    Described(
        "POST", "/api/actions", actions.actions, "Save labels; the answer says which actions are on disk",
        body=actions.LabelBatches, answer=actions.ActionsSaved,
    ),
    Described(
        "POST", "/api/unit", unit.unit, "Open a segment, or the one a step away from it; the answer is the data of the editor", body=unit.UnitChoice,
    ),
    Described(
        "POST", "/api/leave", leave.leave, "Receive no more units of a campaign, or receive some again", body=leave.LeaveChoice,
    ),
    Described(
        "GET", "/api/projects/{project}/exports/{name}", exports.export, "Labels or scores of a project as a file",
        {"project": ("path", {"type": "integer", "minimum": 0}), "name": ("path", _TEXT)}, answer="application/octet-stream",
    ),
)  # fmt: skip


def routes(base: str = "") -> list[Route]:
    """Return the routes under the base path of the server, "" or "/errorscope"."""
    found = (
        *((r.method, r.path.replace("{project}", "{project:int}"), r.handler) for r in FOR_PROGRAMS),
        ("GET", "/t/{token}", page.of_link),
        ("GET", "/r/{token}", public.of_token),
        ("GET", "/tasks", page.tasks),
        ("GET", "/tasks/{project:int}", page.of_account),
        ("GET", "/assets/{name:path}", assets.asset),
        ("GET", "/documentation/{path:path}", documentation.document),
        ("GET", "/healthz", health.healthz),
        ("GET", "/readyz", health.readyz),
        ("GET", "/metrics", health.metrics),
    )
    described = openapi.route(FOR_PROGRAMS, base)
    own = [Route(f"{base}{path}", handler, methods=[method]) for method, path, handler in found]
    return [*auth.routes(base), *own, described]

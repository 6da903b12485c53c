"""All routes beside the pages of Streamlit, their OpenAPI description, and the documentation readable in the app.

Addresses are the paths of the files in the repository below /documentation/, so that the links between the files work as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markupsafe import Markup
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from api import actions, auth, exports, health, public
from api.auth import message, templates
from api.task import page

ROOT = Path(__file__).parents[1]
START = "docs/README.md"
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table"])
_NO_ANCHOR = re.compile(r"[^\w\- ]")


async def document(request: Request) -> Response:
    """`GET /documentation/<path>`: a file in Markdown as HTML, or an image; a folder answers with the list of its files."""
    path = request.path_params["path"]
    base = request.url.path.removesuffix(f"/documentation/{path}")
    if not path:
        return RedirectResponse(f"{base}/documentation/{START}", 303)
    if (file := files().get(path)) is not None and file.suffix == ".png":
        return FileResponse(file)
    inside = [name for name in files() if Path(name).parent == Path(path)]
    if file is not None:
        title, body = _title(path), document_html(file.read_text(encoding="utf-8"))
    elif inside:
        folder = Path(path).name
        title = folder.capitalize()
        body = document_html(
            "\n".join([f"# {title}", *(f"- [{_title(name)}]({folder}/{Path(name).name})" for name in inside)])
        )
    else:
        return message(404, "No such page", "The documentation of this version has no such page.", base)
    text = templates().get_template("documentation.html").render(
        title=title, body=body, base=base, start=START, style=page.DOCUMENTATION.name
    )  # fmt: skip
    return HTMLResponse(text)


@cache
def files() -> dict[str, Path]:
    """Return the readable files by their path in the repository."""
    patterns = (
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/**/*.md",
        "docs/images/*.png",
        "core/models/*/README.md",
    )
    readable = [file for pattern in patterns for file in sorted(ROOT.glob(pattern))]
    return {file.relative_to(ROOT).as_posix(): file for file in readable}


def document_html(text: str) -> Markup:
    """Return a file in Markdown as HTML. Headings have the anchors that GitHub makes."""
    tokens = _PARSER.parse(text)
    for heading, inline in zip(tokens, tokens[1:], strict=False):
        if heading.type == "heading_open":
            heading.attrSet("id", _NO_ANCHOR.sub("", inline.content.lower()).replace(" ", "-"))
    return Markup(_PARSER.renderer.render(tokens, _PARSER.options, {}))


def _title(path: str) -> str:
    return files()[path].read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


REFERENCE = "#/components/schemas/{model}"


class Described(NamedTuple):
    """A route for programs: what it does, its parameters (name: where, schema), body and answer."""

    method: str
    path: str
    handler: Any
    summary: str
    parameters: Mapping[str, tuple[str, Mapping[str, Any]]] = {}
    body: type[BaseModel] | None = None
    answer: type[BaseModel] | str = "application/json"


class ErrorAnswer(BaseModel):
    """Why a request was not carried out, in one sentence."""

    error: str


def description(described: Iterable[Described]) -> dict[str, Any]:
    """Return the OpenAPI document of these routes."""
    listed = list(described)
    models = [m for route in listed for m in (route.body, route.answer) if isinstance(m, type)] + [ErrorAnswer]
    _, schemas = models_json_schema([(m, "serialization") for m in models], ref_template=REFERENCE)
    paths: dict[str, Any] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Errorscope", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "link": {"type": "http", "scheme": "bearer", "description": "The token of a personal link"},
                "session": {"type": "apiKey", "in": "cookie", "name": "errorscope_session"},
            },
        },
        "security": [{"link": []}, {"session": []}],
    }


def _operation(route: Described) -> dict[str, Any]:
    content = (
        {"application/json": {"schema": _reference(route.answer)}}
        if isinstance(route.answer, type)
        else {route.answer: {}}
    )
    refused = {"description": "Not carried out", "content": {"application/json": {"schema": _reference(ErrorAnswer)}}}
    operation: dict[str, Any] = {
        "summary": route.summary,
        "parameters": [
            {"name": name, "in": where, "required": where == "path", "schema": schema}
            for name, (where, schema) in route.parameters.items()
        ],
        "responses": {"200": {"description": "Done", "content": content}, "default": refused},
    }
    if route.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(route.body)}},
        }
    return operation


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=model.__name__)}


def route(described: Iterable[Described], base: str) -> Route:
    """Return the route at which programs find the description."""
    document = description(described)

    async def answer(request: Request) -> Response:
        return JSONResponse(document)

    return Route(f"{base}/api/openapi.json", answer, methods=["GET"])


_TEXT = {"type": "string"}
FOR_PROGRAMS = (
    Described(
        "POST", "/api/actions", actions.actions, "Save labels; the answer says which actions are on disk",
        body=actions.LabelBatches, answer=actions.ActionsSaved,
    ),
    Described(
        "POST", "/api/unit", actions.unit, "Open a segment, or the one a step away from it; the answer is the data of the editor", body=actions.UnitChoice,
    ),
    Described(
        "POST", "/api/leave", actions.leave, "Receive no more units of a campaign, or receive some again", body=actions.LeaveChoice,
    ),
    Described(
        "GET", "/api/projects/{project}/exports/{name}", exports.export, "Labels or scores of a project as a file",
        {"project": ("path", {"type": "integer", "minimum": 0}), "name": ("path", _TEXT)}, answer="application/octet-stream",
    ),
)  # fmt: skip


def routes(base: str = "") -> list[Route]:
    """Return the routes under the base path of the server, "" or "/errorscope"."""
    rows = (
        *((r.method, r.path.replace("{project}", "{project:int}"), r.handler) for r in FOR_PROGRAMS),
        ("GET", "/t/{token}", page.of_link),
        ("GET", "/r/{token}", public.of_token),
        ("GET", "/tasks", page.tasks),
        ("GET", "/tasks/{project:int}", page.of_account),
        ("GET", "/assets/{name:path}", page.asset),
        ("GET", "/documentation/{path:path}", document),
        ("GET", "/healthz", health.healthz),
        ("GET", "/readyz", health.readyz),
        ("GET", "/metrics", health.metrics),
    )
    described = route(FOR_PROGRAMS, base)
    own = [Route(f"{base}{path}", handler, methods=[method]) for method, path, handler in rows]
    return [*auth.routes(base), *own, described]

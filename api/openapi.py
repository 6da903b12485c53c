"""The description of the routes for programs (OpenAPI 3.1), made from the table of routes and the models of bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

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
    found = list(described)
    models = [m for route in found for m in (route.body, route.answer) if isinstance(m, type)] + [ErrorAnswer]
    _, schemas = models_json_schema([(m, "serialization") for m in models], ref_template=REFERENCE)
    paths: dict[str, Any] = {}
    for route in found:
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

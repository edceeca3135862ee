"""The HTTP interface as one table: the server, its description and the reference derive from it."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from bylaw.frozen import frozen
from bylaw.serve.operations import OPENING, OPERATIONS, InputField
from bylaw.values import Json
from bylaw.version import __version__

TokenAccess: TypeAlias = Literal["none", "agent", "person", "anyone"]
"""The token that a route needs: none, whoever opened the run, a person's, or any."""


@frozen
class GateRoute:
    """One route."""

    method: str
    path: str
    name: str
    """The name of the operation or of the function that answers."""
    about: str
    access: TokenAccess
    fields: tuple[InputField, ...] = ()
    answers: str = "JSON"
    media: str = "application/json"


_OPERATIONS: Final = [
    GateRoute(
        "POST" if each.changes else "GET",
        f"/v1/runs/{{run}}{'' if each.name == 'state' else f'/{each.name}'}",
        each.name,
        each.about,
        each.who,
        each.fields,
        each.answers,
    )
    for each in OPERATIONS.values()
]

ROUTES: Final = (
    GateRoute(
        "POST", "/v1/runs", "open", "Opens a run.", "agent", OPENING, "the state of the new run"
    ),
    *_OPERATIONS,
    GateRoute(
        "GET",
        "/v1/runs/{run}/answer/{decision}",
        "answer",
        "Waits until a person has approved or denied a call, for at most `wait` seconds.",
        "anyone",
        answers='`{"answer": "approved"}`, `"denied"` or null',
    ),
    GateRoute("GET", "/v1/runs", "list", "Lists runs, open ones first.", "person"),
    GateRoute(
        "GET",
        "/v1/changes",
        "changes",
        "The runs, and every change of one, as server-sent events.",
        "person",
        answers="one event for each run",
        media="text/event-stream",
    ),
    GateRoute(
        "GET",
        "/health",
        "health",
        "Can the gate decide now? 503 if its store cannot be used.",
        "none",
    ),
    GateRoute(
        "GET",
        "/metrics",
        "metrics",
        "Counts of what the gate does, for Prometheus.",
        "none",
        answers="text",
        media="text/plain",
    ),
    GateRoute("GET", "/openapi.json", "openapi", "This interface, as OpenAPI 3.1.", "none"),
    GateRoute("GET", "/", "page", "The page to watch.", "none", answers="HTML", media="text/html"),
)
"""Every route."""

STATUS: Final = {
    "E402": 400,
    "E413": 409,
    "E414": 422,
    "E416": 422,
    "E417": 409,
    "E418": 409,
    "E422": 422,
    "E450": 503,
    "E452": 409,
    "E453": 409,
    "E454": 404,
    "E455": 403,
    "E456": 409,
    "E457": 500,
    "E459": 401,
    "E460": 413,
    "E461": 400,
}
"""The status with which each diagnostic is answered."""

_SCHEMAS: Final[dict[str, dict[str, Json]]] = {
    "a string": {"type": "string"},
    "an object": {"type": "object"},
    "a list": {"type": "array"},
    "anything": {},
}


def description() -> dict[str, Any]:
    """The interface as an OpenAPI document."""
    paths: dict[str, dict[str, Json]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _described(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bylaw gate", "version": __version__},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Errors": _ERRORS},
        },
    }


_ERRORS: Final[dict[str, Json]] = {
    "type": "object",
    "required": ["errors"],
    "properties": {
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "help": {"type": "string"},
                },
            },
        }
    },
}


def _described(route: GateRoute) -> dict[str, Json]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]
    if route.name == "answer":
        parameters.append({"name": "wait", "in": "query", "schema": {"type": "number"}})
    told: dict[str, Json] = {
        "operationId": route.name,
        "summary": route.about,
        "responses": {
            "200": {"description": route.answers, "content": {route.media: {}}},
            "default": {
                "description": "Nothing was allowed.",
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/Errors"}}
                },
            },
        },
    }
    if route.access != "none":
        told["security"] = [{"token": []}]
    if route.method == "POST":
        parameters.append({"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}})
        properties = {field.name: _schema(field) for field in route.fields}
        required = [field.name for field in route.fields if field.required]
        body = {"type": "object", "properties": properties, "additionalProperties": False}
        body |= {"required": required} if required else {}
        told["requestBody"] = {
            "required": bool(required),
            "content": {"application/json": {"schema": body}},
        }
    if parameters:
        told["parameters"] = parameters
    return told


def _schema(field: InputField) -> dict[str, Json]:
    choices = {"enum": list(field.choices)} if field.choices else {}
    return {**_SCHEMAS[field.kind], **choices, "description": field.about}

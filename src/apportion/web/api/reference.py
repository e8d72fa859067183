"""The description of the API: OpenAPI for machines, a page for people, made here from the same source. No CDN."""

from __future__ import annotations

import json
import shlex
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import Response

from apportion.web.api.describe import INTRODUCTION, TAGS, describe
from apportion.web.guard.problems import KINDS
from apportion.web.guard.users import MaybeUser
from apportion.web.shared import json_response

router = APIRouter(include_in_schema=False)

METHODS = ("get", "post", "put", "patch", "delete")


class Parameter(NamedTuple):
    """One parameter of a route, in words."""

    name: str
    where: str
    allowed: str
    text: str
    needed: bool


class Route(NamedTuple):
    """One route as the page shows it."""

    anchor: str
    method: str
    path: str
    summary: str
    text: str
    parameters: tuple[Parameter, ...]
    fields: tuple[Parameter, ...]
    command: str
    responses: tuple[tuple[str, str], ...]
    example: str


@router.get("/api/v1/openapi.json")
async def openapi(request: Request) -> Response:
    """The OpenAPI description."""
    return json_response(describe(request.app), headers={"Cache-Control": "public, max-age=300"})


@router.get("/api/reference")
def reference(request: Request, user: MaybeUser) -> Response:
    """The API reference."""
    from apportion.web.pages.shared import page

    groups = routes_by_tag(describe(request.app))
    lead, *points = (line for line in INTRODUCTION.replace("\n  ", " ").splitlines() if line)
    listed = [line.removeprefix("* ").replace("**", "").partition(": ") for line in points]
    return page(request, "reference.html", user, section="api", groups=groups, kinds=KINDS, lead=lead, points=listed)


def routes_by_tag(found: dict[str, Any]) -> list[tuple[dict[str, str], list[Route]]]:
    """The routes of a description, by tag, in the order of the tags."""
    by_tag: dict[str, list[Route]] = {tag["name"]: [] for tag in TAGS}
    for path, operations in found["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                by_tag[operation["tags"][0]].append(_route(found, path, method, operation))
    return [(tag, by_tag[tag["name"]]) for tag in TAGS if by_tag[tag["name"]]]


def _route(found: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Route:
    parameters = operation.get("parameters", [])
    body_type, body, fields = _body(found, operation)
    good = next(status for status in operation["responses"] if status.startswith("2"))
    content = operation["responses"][good].get("content", {})
    example = next((kind["example"] for kind in content.values() if "example" in kind), "")
    return Route(
        anchor=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        text=operation.get("description", ""),
        parameters=tuple(_parameter(parameter) for parameter in parameters),
        fields=fields,
        command=_command(path, method, parameters, body_type, body),
        responses=tuple((status, response["description"]) for status, response in operation["responses"].items()),
        example=_text(example),
    )


def _parameter(parameter: dict[str, Any]) -> Parameter:
    needed = bool(parameter.get("required"))
    return Parameter(
        parameter["name"], parameter["in"], _allowed(parameter["schema"]), parameter.get("description", ""), needed
    )


def _body(found: dict[str, Any], operation: dict[str, Any]) -> tuple[str, Any, tuple[Parameter, ...]]:
    """The media type of a request, an example of it, and the fields where it is JSON."""
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return "", None, ()
    media_type, described = next(iter(content.items()))
    schema = described.get("schema", {})
    references = [part.get("$ref", "") for part in (schema, *schema.get("anyOf", ()))]
    name = next((reference.rpartition("/")[2] for reference in references if reference), None)
    if name is None:
        return media_type, described.get("example"), ()
    model = found["components"]["schemas"][name]
    fields = [
        Parameter(field, "body", _allowed(part), part.get("description", ""), field in model.get("required", ()))
        for field, part in model["properties"].items()
    ]
    shown = {
        field: part["examples"][0]
        for field, part in model["properties"].items()
        if part.get("examples") and part["examples"][0] not in (None, False)
    }
    return media_type, shown, tuple(fields)


def _allowed(schema: dict[str, Any]) -> str:
    """What a value may be, in a few words."""
    kinds = [schema] + list(schema.get("anyOf", ()))
    names = [str(kind["type"]) for kind in kinds if "type" in kind]
    words = " or ".join(name for name in names if name != "null") or "value"
    if "enum" in schema:
        words = "one of " + ", ".join(map(str, schema["enum"]))
    bounds = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {kind[name]:g}" for kind in kinds for name, sign in bounds.items() if name in kind]
    if limits:
        words += f", {', '.join(limits)}"
    if "default" in schema:
        words += f"; {json.dumps(schema['default'])} by default"
    return words


def _command(path: str, method: str, parameters: list[dict[str, Any]], body_type: str, body: Any) -> str:
    """The request as a command to try."""
    for parameter in parameters:
        if parameter["in"] == "path":
            example = next(iter(parameter.get("examples", {"": {"value": "…"}}).values()))["value"]
            path = path.replace("{" + parameter["name"] + "}", str(example))
    words = ["curl"] + ([] if method == "get" else ["-X", method.upper()]) + [f"http://127.0.0.1:8000{path}"]
    if body is not None:
        content = body if isinstance(body, str) else json.dumps(body)
        file = {"text/csv": "@history.csv", "application/json": "@ads.json"}
        given = file[body_type] if isinstance(body, str) or "events" in body else content
        words += ["-H", f"Content-Type: {body_type}", "--data-binary" if given.startswith("@") else "-d", given]
    return " ".join(word if word.startswith("http") else shlex.quote(word) for word in words)


def _text(example: Any) -> str:
    return example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)

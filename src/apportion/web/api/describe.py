"""The OpenAPI description: what all routes have in common is written once, here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, FastAPI, Header, Path, Query
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from apportion._version import __version__
from apportion.web.api import examples
from apportion.web.api.operations import OPERATION_IDS
from apportion.web.api.responses import Problem
from apportion.web.guard.problems import MEDIA_TYPE

PREFIX = "/api/v1"

Function = TypeVar("Function", bound=Callable[..., Any])
Responses = dict[int | str, dict[str, Any]]

INTRODUCTION = """\
Campaigns over HTTP: everything the command line does with them.

* **Who may**: on loopback, while no token exists, everyone on the machine. Otherwise send
  `Authorization: Bearer apt_…`; make a token with `apportion token create`. What it may do is
  said by its scope, for every campaign, and by its rights on single ones: read, record (and split), manage.
* **Twice is once**: a write with an `Idempotency-Key` is done once, however often it is sent, and answers the same.
* **Nothing new**: reads carry an `ETag`; sent back as `If-None-Match` it answers 304 while nothing has changed.
* **Refusals**: problem details (RFC 9457); `detail` is the sentence that the command line prints.
* **Values**: numbers that are not known are null, moments are ISO 8601 in UTC, names in addresses percent-encoded.
"""

TAGS = [
    {"name": "campaigns", "description": "Begin, list and read campaigns."},
    {"name": "plans", "description": "What may come: plans and forecasts, and how earlier forecasts did."},
    {"name": "splits", "description": "Ask for a split, record its outcomes, correct them."},
    {"name": "arms", "description": "Add, pause, bound and remove arms. Nothing that was learned is lost."},
    {"name": "history", "description": "What happened, and the beliefs over time."},
    {"name": "files", "description": "Campaigns and histories as files."},
    {"name": "service", "description": "The service itself."},
]

# The largest whole number that every reader of JSON keeps, and that databases take.
LARGEST_WHOLE = 2**53

Name = Annotated[str, Path(description="The campaign's name.", openapi_examples={"ads": {"value": "ads"}})]
Ticket = Annotated[int, Path(description="Which split.", openapi_examples={"first": {"value": 1}})]
ArmPath = Annotated[str, Path(description="The arm's name.", openapi_examples={"search": {"value": "search"}})]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A name for this write: sent again with it, it is done once.",
        openapi_examples={"key": {"value": "2026-11-monday"}},
    ),
]
Limit = Annotated[int, Query(description="At most so many.", ge=1, le=1000, openapi_examples={"few": {"value": 20}})]


def after(of: str) -> Any:
    """The parameter of a paginated read."""
    return Query(
        description=f"Begin after this {of}.", ge=0, le=LARGEST_WHOLE, openapi_examples={"start": {"value": 0}}
    )


# FastAPI leaves out what is None, also within examples: they wait here, and a mark stands for each.
_EXAMPLES: dict[str, Any] = {}


def example_response(example: Any, description: str, status: int = 200) -> Responses:
    """The description of a response when all is well."""
    mark = f"example {len(_EXAMPLES)}"
    _EXAMPLES[mark] = example
    return {status: {"description": description, "content": {"application/json": {"example": mark}}}}


def route(
    add: Callable[..., Callable[[Function], Function]], path: str, summary: str, model: type[BaseModel],
    description: str = "Done.", status: int = 200, *, tagged: bool = False, body: Any = None, example: Any = None,
) -> Callable[[Function], Function]:  # fmt: skip
    """A route, `add`ed with what it says of its response when all is well.

    The example is that of the model's name, unless another is given; `tagged`: a read with an ETag; `body`: what it
    takes.
    """
    taken = {"requestBody": {"required": True, "content": body}} if body else {}
    shown = example or getattr(examples, re.sub(r"(?<=.)(?=[A-Z])", "_", model.__name__).upper())
    return add(
        path, summary=summary, response_model=model, status_code=status,
        responses=example_response(shown, description, status), openapi_extra={"x-tagged": tagged, **taken},
    )  # fmt: skip


def read(
    router: APIRouter, path: str, summary: str, model: type[BaseModel], description: str
) -> Callable[[Function], Function]:
    """A read with an ETag."""
    return route(router.get, path, summary, model, description, tagged=True)


def refusal(description: str, kind: str, status: int, detail: str, error: str | None = None) -> dict[str, Any]:
    """The description of a refusal, with an example."""
    example = {"type": f"/api/reference#{kind}", "title": description, "status": status, "detail": detail}
    if error is not None:
        example["error"] = error
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    return {"description": description, "content": {MEDIA_TYPE: content}}


UNAUTHORISED = refusal(
    "A token is needed.", "unauthorised", 401, "A token is needed: send it as `Authorization: Bearer apt_…`."
)
FORBIDDEN = refusal(
    "This is not allowed.",
    "forbidden",
    403,
    "Token 'board' may only read here: this needs the right to record campaign 'ads'.",
)
UNKNOWN = refusal(
    "Something named in the request is not known.", "unknown-name", 404,
    "Campaign 'adds' is not known; there are: ads.", "UnknownName",
)  # fmt: skip
CONFLICT = refusal(
    "The request contradicts what is recorded; nothing was changed.", "conflict", 409,
    "Campaign 'ads' is there already; choose another name.", "Conflict",
)  # fmt: skip
TOO_LARGE = refusal("The request is too large.", "too-large", 413, "A request must have at most 1 MB.")
INVALID = refusal(
    "A value is outside of what is allowed; nothing was changed.", "invalid-value", 422,
    "`b` must be a number in [0, 1]; got 1.3.", "InvalidValue",
)  # fmt: skip
OTHERWISE = refusal(
    "Anything else that went wrong.", "unavailable", 503,
    "The database was busy for 60 seconds: another program holds it; try again. Nothing was changed.",
    "StoreUnavailable",
)  # fmt: skip

_TAG_HEADER = {"description": "Changes when the campaign does.", "schema": {"type": "string"}, "example": 'W/"12"'}
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag that you have: 304 while nothing has changed.",
    "schema": {"type": "string"},
    "example": 'W/"12"',
}


def describe(app: FastAPI) -> dict[str, Any]:
    """The whole description, made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _description(app)
    return app.openapi_schema


def _description(app: FastAPI) -> dict[str, Any]:
    routes = [route for route in app.routes if getattr(route, "include_in_schema", True)]
    found = get_openapi(
        title="apportion", version=__version__, summary="Split a renewable budget, and learn from what comes back.",
        description=INTRODUCTION, routes=routes, tags=TAGS, license_info={"name": "MIT", "identifier": "MIT"},
    )  # fmt: skip
    components = found.setdefault("components", {})
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components.setdefault("schemas", {}).update(schema.pop("$defs", {}), Problem=schema)
    for unused in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(unused, None)
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "A token of `apportion token create`."}
    }
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            operation["operationId"] = OPERATION_IDS[method, path.removeprefix(PREFIX)]
            _complete(method, operation)
    return found


def _complete(method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    for response in responses.values():
        for content in response.get("content", {}).values():
            example = content.get("example")
            content.update(
                {"example": _EXAMPLES[example]} if isinstance(example, str) and example in _EXAMPLES else {}
            )
    parameters = operation.get("parameters", [])
    body = operation.get("requestBody")
    if not operation.pop("x-open", False):
        operation["security"] = [{"token": []}, {}]
        responses.setdefault("401", UNAUTHORISED)
    if method != "get":
        responses.setdefault("403", FORBIDDEN)
        responses.setdefault("409", CONFLICT)
    if any(parameter["in"] == "path" for parameter in parameters) or body is not None:
        responses.setdefault("404", UNKNOWN)
    if parameters or body is not None:
        responses["422"] = INVALID
    if body is not None:
        responses.setdefault("413", TOO_LARGE)
    responses["default"] = OTHERWISE
    if operation.pop("x-tagged", False):
        operation.setdefault("parameters", []).append(_IF_NONE_MATCH)
        responses["200"].setdefault("headers", {})["ETag"] = _TAG_HEADER
        responses["304"] = {"description": "Nothing has changed since.", "headers": {"ETag": _TAG_HEADER}}

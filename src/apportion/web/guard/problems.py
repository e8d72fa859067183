"""What goes wrong, in one shape: RFC 9457 problem details with the sentence that the command line prints.

`type` is an address on the API reference page, `error` the name of the exception class: a client can raise it again.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match

from apportion._common import validation
from apportion.campaigns.storage.address import database_url, display_url
from apportion.errors import (
    ApportionError,
    ChangedSince,
    Conflict,
    IncompatibleState,
    Infeasible,
    InvalidValue,
    StoreUnavailable,
    UncertainWrite,
    Unconfirmed,
    UnknownName,
)
from apportion.web.guard.users import Refused, SignInNeeded

MEDIA_TYPE = "application/problem+json"

# As many faults of a request are listed.
MOST_FAULTS = 20

log = logging.getLogger("apportion.web")


class Kind(NamedTuple):
    """One kind of problem: its name in `type`, the status, and what it means."""

    name: str
    status: int
    title: str
    error: str | None = None
    """The exception class of the library."""


KINDS = (
    Kind("invalid-value", 422, "A value is outside of what is allowed; nothing was changed", "InvalidValue"),
    Kind("infeasible", 422, "No split satisfies the bounds; nothing was changed", "Infeasible"),
    Kind("unknown-name", 404, "There is no campaign, ticket, arm or policy of that name", "UnknownName"),
    Kind("conflict", 409, "The request contradicts what is already recorded; nothing was changed", "Conflict"),
    Kind("changed", 412, "The campaign is not as `If-Match` says; nothing was changed", "ChangedSince"),
    Kind("unconfirmed", 409, "It looks like a slip: confirm it, and it is done; nothing was changed", "Unconfirmed"),
    Kind("incompatible-state", 500, "What is stored is damaged, or of another release", "IncompatibleState"),
    Kind("uncertain", 503, "The database went away: it may or may not have been done", "UncertainWrite"),
    Kind("unavailable", 503, "The database cannot be used now; nothing was changed", "StoreUnavailable"),
    Kind("bad-request", 400, "The request cannot be read"),
    Kind("unauthorised", 401, "A token is needed"),
    Kind("forbidden", 403, "This is not allowed"),
    Kind("not-found", 404, "There is nothing at this address"),
    Kind("method-not-allowed", 405, "The method is not allowed at this address"),
    Kind("timeout", 408, "The rest of the request did not come in time"),
    Kind("too-large", 413, "The request is too large"),
    Kind("unsupported-media-type", 415, "The body is of a type that is not read here"),
    Kind("too-many", 429, "Too many such requests at once"),
    Kind("internal-error", 500, "Something went wrong in the service"),
)
_BY_NAME = {kind.name: kind for kind in KINDS}
_BY_STATUS = {kind.status: kind for kind in reversed(KINDS) if kind.error is None}
_BY_ERROR: tuple[tuple[type[ApportionError], str], ...] = (
    (UncertainWrite, "uncertain"),
    (StoreUnavailable, "unavailable"),
    (Infeasible, "infeasible"),
    (UnknownName, "unknown-name"),
    (Unconfirmed, "unconfirmed"),
    (ChangedSince, "changed"),
    (Conflict, "conflict"),
    (IncompatibleState, "incompatible-state"),
    (InvalidValue, "invalid-value"),
)


def problem(
    kind: str | int,
    detail: str,
    *,
    status: int | None = None,
    errors: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An answer that says what went wrong; `kind` is the name of one, or a status."""
    own = _BY_NAME[kind] if isinstance(kind, str) else _BY_STATUS.get(kind, Kind("about:blank", kind, "HTTP error"))
    content: dict[str, Any] = {
        "type": own.name if own.name == "about:blank" else f"/api/reference#{own.name}",
        "title": own.title,
        "status": own.status if status is None else status,
        "detail": detail,
    }
    if own.error is not None:
        content["error"] = own.error
    if errors:
        content["errors"] = list(errors)
    return Response(json.dumps(content), content["status"], dict(headers or {}), media_type=MEDIA_TYPE)


def of_error(request: Request, error: ApportionError) -> Response:
    """The problem of an error that the library raised on purpose."""
    name = next((kind for cls, kind in _BY_ERROR if isinstance(error, cls)), "invalid-value")
    sentence = public_sentence(request, error)
    if sentence != str(error):
        log.error("%s", error)
    headers = {"Retry-After": "1"} if isinstance(error, StoreUnavailable) else None
    return _respond(request, problem(name, sentence, headers=headers), sentence)


def public_sentence(request: Request, error: ApportionError) -> str:
    """What is said of an error to whoever asks: where the database is, is for the log."""
    if isinstance(error, StoreUnavailable):
        return error.public
    return str(error).replace(f" {display_url(database_url(request.app.state.db))}", "")


def internal(request: Request, error: BaseException) -> Response:
    """The problem of an error that nobody foresaw: what it was is in the log, under a number, and nowhere else."""
    number = secrets.token_hex(4)
    log.error("error %s at %s %s", number, request.method, request.url.path, exc_info=error)
    sentence = f"Something went wrong in the service; its log has more under {number}."
    return _respond(request, problem("internal-error", sentence), sentence)


# Handlers


def install(app: FastAPI) -> None:
    """Let the app answer with problems only."""
    app.add_exception_handler(ApportionError, _on_error)
    app.add_exception_handler(Refused, _on_refused)
    app.add_exception_handler(SignInNeeded, _on_sign_in)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_error(request: Request, error: Any) -> Response:
    return of_error(request, error)


async def _on_refused(request: Request, error: Any) -> Response:
    headers = {401: {"WWW-Authenticate": 'Bearer realm="apportion"'}, 429: {"Retry-After": str(error.wait)}}.get(
        error.status
    )
    return _respond(request, problem(error.status, error.sentence, headers=headers), error.sentence)


async def _on_sign_in(request: Request, error: Any) -> Response:
    del request
    return RedirectResponse(error.location, 303)


async def _on_http(request: Request, error: Any) -> Response:
    status, sentence = error.status_code, str(error.detail)
    if status == 404 and sentence == "Not Found":
        path = validation.shown(request.url.path)
        sentence = f"There is nothing at {path}; the API is described at /api/reference."
    elif status == 405:
        allowed = ", ".join(_allowed_methods(request))
        sentence = f"Method {request.method} is not allowed here; allowed: {allowed}."
        error.headers = {"Allow": allowed}
    elif status == 400 and "parsing the body" in sentence:
        sentence = "The body cannot be read as JSON."
    return _respond(request, problem(status, sentence, headers=error.headers), sentence)


def _allowed_methods(request: Request) -> list[str]:
    """The methods of all routes at an address; the router itself knows only of the first."""
    return [
        method
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in request.app.router.routes
        )
    ]


async def _on_validation(request: Request, error: Any) -> Response:
    faults = list(error.errors())
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    whole_body = any(tuple(fault["loc"]) == ("body",) for fault in faults)
    if whole_body and request.url.path.startswith("/api/") and not media_type.endswith("json"):
        given = f"got {media_type[:60]}" if media_type else "none was given"
        sentence = f"The body must be JSON, sent with `Content-Type: application/json`; {given}."
        return _respond(request, problem("unsupported-media-type", sentence), sentence)
    if faults[0]["type"] == "json_invalid":
        why = str(faults[0].get("ctx", {}).get("error", "")).rstrip(".")
        sentence = f"The body is not JSON: {why} at character {faults[0]['loc'][-1]}."
        return _respond(request, problem("bad-request", sentence), sentence)
    errors = [{"pointer": pointer_of(fault), "detail": sentence_of(fault)} for fault in faults[:MOST_FAULTS]]
    sentence = errors[0]["detail"]
    return _respond(request, problem("invalid-value", sentence, errors=errors), sentence)


# For people: the same sentence as a page


def _respond(request: Request, response: Response, sentence: str) -> Response:
    """The problem, or a page that says the same where a person looks at it."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return response
    from apportion.web.pages.shared import error_page

    page = error_page(request, response.status_code, sentence)
    for name in ("allow", "retry-after", "www-authenticate"):
        if name in response.headers:
            page.headers[name] = response.headers[name]
    return page


# Sentences for what the library never sees, because pydantic finds it first: values of the wrong type

_OF_ARM = {"outcomes": "outcome", "amounts": "amount", "minimum": "minimum share", "maximum": "maximum share",
           "pinned": "pinned share"}  # fmt: skip
_ALLOWED = {
    "float": "a number",
    "int": "a whole number",
    "finite_number": "a number, finite",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "dict": "an object with names and values",
    "model": "an object with names and values",
}


def sentence_of(fault: Mapping[str, Any]) -> str:
    """Which thing, what is allowed, what was given: a fault that pydantic found, as the library says it.

    >>> sentence_of({"type": "float_type", "loc": ("body", "budget"), "input": "much"})
    "`budget` must be a number; got 'much'."
    """
    kind, context = str(fault["type"]), fault.get("ctx", {})
    parts = [str(part) for part in fault["loc"][1:]]
    name = ".".join(parts) or "body"
    if len(parts) >= 2 and parts[0] in _OF_ARM:
        name = f"{_OF_ARM[parts[0]]} of '{parts[1]}'"
    if kind == "missing":
        return f"`{name}` must be given."
    if kind == "extra_forbidden":
        return f"`{name}` is not known here; leave it out."
    if "expected" in context:
        allowed = f"one of {str(context['expected']).replace(' or ', ', ')}"
    elif "ge" in context:
        allowed = f"a number of at least {context['ge']}"
    elif "le" in context:
        allowed = f"a number of at most {context['le']}"
    elif kind in ("string_too_short", "string_too_long"):
        allowed = f"text of {context.get('min_length', 0)} to {context.get('max_length', 'more')} characters"
    else:
        allowed = next((words for mark, words in _ALLOWED.items() if kind.startswith(mark)), "of another kind")
    return str(validation.refuse(name, allowed, fault.get("input")))


def pointer_of(fault: Mapping[str, Any]) -> str:
    """Where the fault is: a JSON pointer into the body, or the name of a parameter."""
    where, *rest = fault["loc"]
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in rest]
    return "/" + "/".join(parts) if where == "body" else f"{where}: {'/'.join(map(str, rest))}"

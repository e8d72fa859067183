"""Around every request: which Host, from where, how large, what may a browser do with the answer. Plain ASGI."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apportion.web.guard import problems
from apportion.web.guard.credentials import Credentials
from apportion.web.guard.origin import Source, source_of

MEGABYTE = 1_000_000
LARGEST_REQUEST = MEGABYTE
LARGEST_FILE = 20 * MEGABYTE
BODY_SECONDS = 20.0  # how long the next piece of a body may take

# Methods that change nothing.
_SAFE = ("GET", "HEAD", "OPTIONS")

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not `no-referrer`: with it a browser sends `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_NO_STORE = (b"cache-control", b"no-store")
_HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")


class GuardMiddleware:
    """Refuses what must not come in, puts the security headers on every answer, and turns surprises into a 500."""

    def __init__(self, app: ASGIApp, credentials: Credentials) -> None:
        self._app = app
        self._credentials = credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        scope.setdefault("state", {})
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _add_headers(scope, message)
            await send(message)

        request = Request(scope)
        answer = self._refusal(request, headers)
        if answer is None:
            try:
                await self._app(scope, _limited(receive, _limit(scope["path"], headers)), guarded)
                return
            except Exception as error:
                answer = problems.internal(request, error)
                if started:  # half an answer is out: the connection must not look whole
                    raise
        await answer(scope, receive, guarded)

    def _refusal(self, request: Request, headers: dict[bytes, str]) -> Response | None:
        host = headers.get(b"host", "")
        if not self._credentials.answers(host):
            return problems.problem(400, f"The host {host[:100]!r} is not answered here.")
        if request.method not in _SAFE and source_of(request) is Source.OTHER_SITE:
            return problems.problem(403, "The request comes from a page of another site.")
        length = headers.get(b"content-length", "0")
        limit = _limit(request.scope["path"], headers)
        if not length.isascii() or not length.isdigit() or int(length[:20]) > limit:
            return problems.problem(413, _too_large(limit), headers={"Connection": "close"})
        return None


def _add_headers(scope: Scope, message: Message) -> None:
    given = list(message.get("headers", ()))
    names = {name for name, _ in given}
    given += [pair for pair in _HEADERS if pair[0] not in names]
    if b"cache-control" not in names:
        given.append(_NO_STORE)
    if scope.get("scheme") == "https":
        given.append(_HTTPS_ONLY)
    message["headers"] = given


def _limit(path: str, headers: dict[bytes, str]) -> int:
    """How many bytes a request may have: files may be larger than forms and JSON."""
    media_type = headers.get(b"content-type", "").lower()
    file = media_type.startswith(("text/csv", "multipart/form-data")) or path == "/api/v1/restore"
    return LARGEST_FILE if file else LARGEST_REQUEST


def _too_large(limit: int) -> str:
    return f"A request must have at most {limit // MEGABYTE} MB."


def _limited(receive: Receive, limit: int) -> Receive:
    """Count what really comes in: a stream says no length, and a length may lie. A body that stops is given up."""
    taken, whole = 0, False

    async def counted() -> Message:
        nonlocal taken, whole
        if whole:  # whoever asks now waits for the caller to go away
            return await receive()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                message = await receive()
        except TimeoutError:
            sentence = f"The rest of the request did not come within {BODY_SECONDS:.0f} s."
            raise HTTPException(408, sentence, {"Connection": "close"}) from None
        if message["type"] == "http.request":
            whole = not message.get("more_body", False)
            taken += len(message.get("body", b""))
            if taken > limit:
                raise HTTPException(413, _too_large(limit), {"Connection": "close"})
        return message

    return counted

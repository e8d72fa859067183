"""Around every request: it is counted and logged, as a line of JSON; event streams end when the server is to stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import secrets
import signal
import threading
import time
from datetime import UTC, datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apportion.campaigns.actor import LONGEST_REQUEST, act_as
from apportion.web.observability.metrics import Metrics

_PLAIN_ID = re.compile(r"[A-Za-z0-9._:=+/-]+")

REQUESTS = logging.getLogger("apportion.requests")

# Other methods are counted as "other": a label must not be free text of whoever asks.
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class RequestObserver:
    """The outermost middleware.

    A server waits for open requests before it stops, and an event stream never ends by itself: so the signal that
    stops the server also ends the streams, each with a proper last chunk.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._streams: set[asyncio.Task[Any]] = set()
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the life of the app."""
        if scope["type"] == "http":
            await self._request(scope, receive, send)
            return
        if scope["type"] == "lifespan":
            self._listen_to_signals()
        await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        identity = request_id(scope)
        scope.setdefault("state", {})["request_id"] = identity
        act_as("service", identity)
        status, streaming, task = 0, False, asyncio.current_task()

        async def observed(message: Message) -> None:
            nonlocal status, streaming
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", identity.encode())]
                if _is_stream(message) and task is not None:
                    streaming = True
                    self._add_stream(task)
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except asyncio.CancelledError:
            if not (streaming and self._stopping and task is not None):
                raise
            task.uncancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if streaming and task is not None:
                self._remove_stream(task)
            seconds = time.perf_counter() - began
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._metrics.count(route_of(scope), method, status or 500, None if streaming else seconds)
            if REQUESTS.isEnabledFor(logging.INFO):
                fields = {
                    "method": scope["method"],
                    "path": scope["path"],  # without its query, which may hold secrets
                    "status": status or 500,
                    "ms": round(1000 * seconds, 1),
                    "visitor": _user_name(scope),
                    "client": (scope.get("client") or (None,))[0],
                    "request": identity,
                }
                REQUESTS.info("request", extra={"fields": fields})

    def _add_stream(self, task: asyncio.Task[Any]) -> None:
        self._streams.add(task)
        self._metrics.open_streams.set(len(self._streams))
        if self._stopping:
            task.cancel()

    def _remove_stream(self, task: asyncio.Task[Any]) -> None:
        self._streams.discard(task)
        self._metrics.open_streams.set(len(self._streams))

    def stop(self) -> None:
        """End every stream that is open, and those that are yet to come."""
        self._stopping = True
        for task in tuple(self._streams):
            task.cancel()

    def _listen_to_signals(self) -> None:
        """Hear the signals that the server hears, and pass them on; the server restores the handlers before it."""
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)
            if not callable(before):
                continue

            def handle(received: int, frame: Any, before: Any = before) -> None:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self.stop)
                before(received, frame)

            signal.signal(number, handle)


def request_id(scope: Scope) -> str:
    """The id of a request: the one that a proxy gave it, where it is short and plain, or a new one."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"").decode("latin-1")
    if 1 <= len(given) <= LONGEST_REQUEST and _PLAIN_ID.fullmatch(given):
        return given
    return secrets.token_hex(8)


def _user_name(scope: Scope) -> str | None:
    """The name of the user, where the guard found one."""
    caller = scope.get("state", {}).get("caller")
    return getattr(getattr(caller, "user", None), "name", None)


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message.get("headers", ())
    )


def route_of(scope: Scope) -> str:
    """The pattern of the route that answered, so that names of campaigns do not become labels."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    return "unmatched" if scope.get("endpoint") is None else (scope.get("root_path") or "/") + "/…"


# The log of the service, on the error stream


class JsonLines(logging.Formatter):
    """One line of JSON: time, level, event, and the fields that the caller gave as `extra={"fields": …}`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line.update(getattr(record, "fields", {}))
        line["worker"] = record.process
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


def log_settings(level: str) -> dict[str, Any]:
    """The configuration of `logging` for the loggers of the service and its server."""
    own = {"handlers": ["lines"], "level": level.upper(), "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": JsonLines}},
        "handlers": {"lines": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "loggers": dict.fromkeys(("apportion", "uvicorn", "uvicorn.error"), own),
    }

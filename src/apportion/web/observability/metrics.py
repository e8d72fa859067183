"""What the service does, in figures: `/healthz`, and `/metrics` in Prometheus' text format; and the request log.

One middleware around everything counts each request by route, method and status, measures how long it took, knows
the event streams that are open, and writes one line to the log. With several workers each keeps its own figures and
writes them to a folder they share, twice a second; whoever is asked adds them up. So the totals are those of the
whole service, at most half a second old for the other workers, and do not fall when a worker dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import threading
import time
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion._version import __version__
from apportion.errors import ApportionError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

REQUESTS = logging.getLogger("apportion.requests")

# Upper ends of the latency buckets, in seconds; the last one has none.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
SHARED_EVERY = 0.5


class Figures:
    """The figures of one worker; of all of them with `share`. Counters only grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = {}
        self._latency: dict[tuple[str, str], list[float]] = {}
        self.streams = 0
        self._folder: Path | None = None
        self._shared_at = 0.0
        self._later: threading.Timer | None = None

    def share(self, folder: str | os.PathLike[str]) -> None:
        """Keep a copy of the figures in a folder that the workers share, and add up what lies there."""
        self._folder = Path(folder)

    def count(self, route: str, method: str, status: int, seconds: float | None) -> None:
        """One more request; `seconds` is None where the time says nothing, for streams."""
        with self._lock:
            key = (route, method, status)
            self._requests[key] = self._requests.get(key, 0) + 1
            if seconds is not None:
                row = self._latency.setdefault((route, method), [0.0] * (len(BUCKETS) + 2))
                row[bisect_left(BUCKETS, seconds)] += 1
                row[-1] += seconds
        if self._folder is not None:
            if time.monotonic() - self._shared_at > SHARED_EVERY:
                self.publish()
            elif self._later is None:  # the last of a burst must be told too, though nobody asks any more
                self._later = threading.Timer(SHARED_EVERY, self.publish)
                self._later.daemon = True
                self._later.start()

    def publish(self) -> None:
        """Write the figures for the other workers; a worker that cannot write is not stopped by that."""
        if self._folder is None:
            return
        self._shared_at, self._later = time.monotonic(), None
        target = self._folder / f"{os.getpid()}.json"
        draft = target.with_suffix(f".{threading.get_ident()}.part")
        with contextlib.suppress(OSError):
            draft.write_text(json.dumps(self._plain()))
            os.replace(draft, target)

    def _plain(self) -> dict[str, Any]:
        with self._lock:
            return {
                "streams": self.streams,
                "requests": [[*key, value] for key, value in self._requests.items()],
                "latency": [[*key, list(row)] for key, row in self._latency.items()],
            }

    def _all(self) -> list[tuple[bool, dict[str, Any]]]:
        """The figures of each worker there was, and whether it still lives."""
        found = [(True, self._plain())]
        for path in () if self._folder is None else self._folder.glob("*.json"):
            with contextlib.suppress(OSError, ValueError):
                process = int(path.stem)
                if process != os.getpid():
                    found.append((_lives(process), json.loads(path.read_text())))
        return found

    def text(self, campaigns: int) -> str:
        """Everything in Prometheus' text format, version 0.0.4."""
        workers = self._all()
        requests: dict[tuple[str, str, int], int] = {}
        latency: dict[tuple[str, str], list[float]] = {}
        for _, plain in workers:
            for route, method, status, value in plain["requests"]:
                key = (route, method, status)
                requests[key] = requests.get(key, 0) + value
            for route, method, row in plain["latency"]:
                old = latency.get((route, method), [0.0] * len(row))
                latency[route, method] = [one + other for one, other in zip(old, row)]
        lines = _head("requests_total", "counter", "Requests answered, by route, method and status.")
        for (route, method, status), value in sorted(requests.items()):
            lines.append(f"apportion_requests_total{_labels(route=route, method=method, status=status)} {value}")
        lines += _head("request_seconds", "histogram", "How long requests took, streams left out.")
        for (route, method), row in sorted(latency.items()):
            total = 0.0
            for bound, value in zip((*map(str, BUCKETS), "+Inf"), row):
                total += value
                labels = _labels(route=route, method=method, le=bound)
                lines.append(f"apportion_request_seconds_bucket{labels} {total:.0f}")
            labels = _labels(route=route, method=method)
            lines.append(f"apportion_request_seconds_sum{labels} {row[-1]:.6f}")
            lines.append(f"apportion_request_seconds_count{labels} {total:.0f}")
        streams = sum(plain["streams"] for lives, plain in workers if lives)
        for name, value, said in (
            ("open_streams", streams, "Event streams that are open now."),
            ("workers", sum(lives for lives, _ in workers), "Workers that answer."),
            ("campaigns", campaigns, "Campaigns in the database."),
        ):
            lines += [*_head(name, "gauge", said), f"apportion_{name} {value}"]
        lines += _head("build_info", "gauge", "The release that runs.")
        lines.append(f"apportion_build_info{_labels(version=__version__)} 1")
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, said: str) -> list[str]:
    return [f"# HELP apportion_{name} {said}", f"# TYPE apportion_{name} {kind}"]


def _labels(**given: object) -> str:
    """{a="…"}, escaped as the format wants it."""
    marks = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{str(value).translate(marks)}"' for name, value in given.items()) + "}"


def _lives(process: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 is not a question
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class Watch:
    """The outermost middleware: figures, the log, and an end to event streams when the server is told to stop.

    A server waits for open requests before it stops, and an event stream never ends by itself: so the signal that
    stops the server also ends the streams, each with a proper last chunk.
    """

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self.app = app
        self.figures = figures
        self._streams: set[asyncio.Task[Any]] = set()
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the life of the app."""
        if scope["type"] == "lifespan":
            self._listen_to_signals()
            self.figures.publish()
            try:
                await self.app(scope, receive, send)
            finally:
                self.figures.publish()
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        status, streaming, task = 0, False, asyncio.current_task()

        async def sending(message: Message) -> None:
            nonlocal status, streaming
            if message["type"] == "http.response.start":
                status = message["status"]
                if _is_stream(message) and task is not None:
                    streaming = True
                    self._opened(task)
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except asyncio.CancelledError:
            if not (streaming and self._stopping and task is not None):
                raise
            task.uncancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if streaming and task is not None:
                self._closed(task)
            seconds = time.perf_counter() - began
            route, method = route_of(scope), scope["method"]
            self.figures.count(
                route, method if method in METHODS else "other", status or 500, None if streaming else seconds
            )
            if REQUESTS.isEnabledFor(logging.INFO):
                # The path without its query, which may hold what is nobody's business.
                REQUESTS.info(
                    "request",
                    extra={
                        "said": {
                            "method": method,
                            "path": scope["path"],
                            "status": status or 500,
                            "ms": round(1000 * seconds, 1),
                            "visitor": _visitor(scope),
                        }
                    },
                )

    def _opened(self, task: asyncio.Task[Any]) -> None:
        self._streams.add(task)
        self.figures.streams = len(self._streams)
        self.figures.publish()
        if self._stopping:
            task.cancel()

    def _closed(self, task: asyncio.Task[Any]) -> None:
        self._streams.discard(task)
        self.figures.streams = len(self._streams)
        self.figures.publish()

    def stop(self) -> None:
        """End every stream that is open, and those that are yet to come."""
        self._stopping = True
        for task in tuple(self._streams):
            task.cancel()

    def _listen_to_signals(self) -> None:
        """Hear the signals that the server hears, and pass them on; the server puts back what was there before it."""
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)
            if not callable(before):
                continue

            def heard(got: int, frame: Any, before: Any = before) -> None:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self.stop)
                before(got, frame)

            signal.signal(number, heard)


def _visitor(scope: Scope) -> str | None:
    """The name of who asked, where the guard found one."""
    caller = scope.get("state", {}).get("caller")
    return getattr(getattr(caller, "visitor", None), "name", None)


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message.get("headers", ())
    )


def route_of(scope: Scope) -> str:
    """The pattern of the route that answered, so that names of campaigns do not become labels."""
    found = getattr(scope.get("route"), "path", None)
    if isinstance(found, str):
        return found
    return "unmatched" if scope.get("endpoint") is None else (scope.get("root_path") or "/") + "/…"


def install(app: FastAPI) -> None:
    """Add the figures, the request log, `/healthz` and `/metrics`; `app.state.db` says which database."""
    from fastapi import Depends, Response
    from fastapi.responses import JSONResponse, PlainTextResponse

    from apportion.campaigns.storage.store import open_store
    from apportion.web.guard.security import reader

    figures = app.state.figures = Figures()
    app.add_middleware(Watch, figures=figures)

    @app.get("/healthz", include_in_schema=False)
    def health() -> Response:
        """Whether the service can do its work: the database answers. For load balancers; needs no token."""
        try:
            with open_store(app.state.db).reading() as session:
                session.last(0)
        except ApportionError:  # what is wrong is in the log, and not for everyone to read
            logging.getLogger("apportion").exception("the database does not answer")
            return JSONResponse({"status": "database unavailable"}, status_code=503)
        return JSONResponse({"status": "ok", "version": __version__})

    @app.get("/metrics", include_in_schema=False, dependencies=[Depends(reader)])
    def metrics() -> Response:
        """The figures for Prometheus."""
        with open_store(app.state.db).reading() as session:
            text = figures.text(len(session.campaigns()))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

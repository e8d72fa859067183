"""Server-sent events: those of an experiment as the response to its request, and changes of campaigns.

Whoever watches a campaign hears that it changed, whoever wrote: a worker, a command, a script. The database is asked
for the version twice a second, once per campaign and process, however many watch, and not at all while nobody does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from apportion.errors import ApportionError
from apportion.web.shared import plain

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

LOOK_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0
ALLOWED_SECONDS = 1.0  # so often a stream looks whether its reader may still read

# How long a browser waits before it connects again.
RETRY_MILLISECONDS = 2000


def encode_event(name: str, data: Any) -> str:
    """One event as it goes over the wire.

    >>> encode_event("point", {"b": 0.5, "error": float("nan")})
    'event: point\\ndata: {"b":0.5,"error":null}\\n\\n'
    """
    return f"event: {name}\ndata: {json.dumps(plain(data), allow_nan=False, separators=(',', ':'))}\n\n"


class EventResponse(StreamingResponse):
    """Events as they come. `at_end` is called however it ends: all sent, the caller gone, the server stopped."""

    def __init__(self, events: AsyncIterator[tuple[str, Any]], at_end: Callable[[], None] | None = None) -> None:
        async def lines() -> AsyncIterator[str]:
            async for name, data in events:
                yield encode_event(name, data)

        super().__init__(lines(), headers=HEADERS, media_type="text/event-stream")
        self._at_end = at_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._at_end is not None:
                self._at_end()


class _Topic:
    """One thing that is watched, in one event loop."""

    def __init__(self, look: Callable[[], Any]) -> None:
        self.look = look
        self.version: Any = None
        self.followers: set[asyncio.Event] = set()
        self.task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Look again and again; wake the followers when the version is another."""
        while True:
            with contextlib.suppress(ApportionError):  # a database that is busy now may answer the next time
                version = await run_in_threadpool(self.look)
                if version != self.version:
                    self.version = version
                    for follower in self.followers:
                        follower.set()
            await asyncio.sleep(LOOK_SECONDS)


class Changes:
    """Who wants to know of what; one per app, at `app.state.changes`."""

    def __init__(self) -> None:
        self._topics: dict[tuple[int, str], _Topic] = {}

    @property
    def watched(self) -> int:
        """How many things are looked at now."""
        return len(self._topics)

    async def follow(
        self,
        name: str,
        look: Callable[[], Any],
        since: str | None = None,
        allowed: Callable[[], Awaitable[bool]] | None = None,
    ) -> AsyncIterator[bytes]:
        """Server-sent events: `version` at the beginning, then `change` each time, comments as heartbeats.

        Where `since` is not the version of now, the first event is a `change`: nothing is missed on the way from a
        page to its stream, or from one connection to the next. It ends once `allowed` says no.
        """
        key = (id(asyncio.get_running_loop()), name)
        topic = self._topics.get(key)
        if topic is None:
            topic = self._topics[key] = _Topic(look)
        changed = asyncio.Event()
        topic.followers.add(changed)
        try:
            if topic.version is None:  # it looks itself: a follower whose first look is under way may go away
                first = await run_in_threadpool(look)
                topic.version = first if topic.version is None else topic.version
            if topic.task is None:
                topic.task = asyncio.create_task(topic.run())
            sent = topic.version
            missed = since is not None and since != str(sent)
            yield f"retry: {RETRY_MILLISECONDS}\n".encode() + _event("change" if missed else "version", sent)
            quiet = 0.0
            while True:
                try:
                    await asyncio.wait_for(changed.wait(), ALLOWED_SECONDS)
                except TimeoutError:
                    quiet += ALLOWED_SECONDS
                if allowed is not None and not await allowed():
                    return
                if quiet >= HEARTBEAT_SECONDS:
                    quiet = 0.0
                    yield b": still here\n\n"
                changed.clear()
                if topic.version != sent:
                    sent = topic.version
                    yield _event("change", sent)
        finally:
            topic.followers.discard(changed)
            if not topic.followers:
                self._topics.pop(key, None)
                if topic.task is not None:
                    topic.task.cancel()


def _event(name: str, version: Any) -> bytes:
    """One event, numbered by the version: a browser that connects again says which one it saw last."""
    return f"id: {version}\n{encode_event(name, {'version': version})}".encode()

"""Server-sent events as the response to a request: one connection carries progress, result and cancel."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from apportion.web.shared import plain

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


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

"""Telling those who look at a campaign that it changed, whoever wrote: another worker, the command line, a script.

The database is asked for the version twice a second, once per campaign and process, however many look on, and not at
all while nobody does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

from apportion.errors import ApportionError
from apportion.web.streams import told

LOOK_EVERY = 0.5
HEARTBEAT_EVERY = 15.0

# How long a browser waits before it connects again, in milliseconds.
RETRY = 2000


class _Topic:
    """One thing that is watched, in one event loop."""

    def __init__(self, look: Callable[[], Any]) -> None:
        self.look = look
        self.version: Any = None
        self.followers: set[asyncio.Event] = set()
        self.task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Look again and again; tell the followers when what is seen is not what was."""
        while True:
            with contextlib.suppress(ApportionError):  # a database that is busy now may answer the next time
                seen = await run_in_threadpool(self.look)
                if seen != self.version:
                    self.version = seen
                    for follower in self.followers:
                        follower.set()
            await asyncio.sleep(LOOK_EVERY)


class Changes:
    """Who wants to know of what; one per app, at `app.state.changes`."""

    def __init__(self) -> None:
        self._topics: dict[tuple[int, str], _Topic] = {}

    @property
    def watched(self) -> int:
        """How many things are looked at now."""
        return len(self._topics)

    async def follow(self, name: str, look: Callable[[], Any], since: str | None = None) -> AsyncIterator[bytes]:
        """Server-sent events: `version` at the beginning, then `change` each time, comments as heartbeats.

        Where `since` is not the version of now, the first event is a `change`: nothing is missed on the way from a
        page to its stream, or from one connection to the next.
        """
        key = (id(asyncio.get_running_loop()), name)
        topic = self._topics.get(key)
        if topic is None:
            topic = self._topics[key] = _Topic(look)
        bell = asyncio.Event()
        topic.followers.add(bell)
        try:
            if topic.version is None:  # it looks itself: a follower whose first look is under way may go away
                first = await run_in_threadpool(look)
                topic.version = first if topic.version is None else topic.version
            if topic.task is None:
                topic.task = asyncio.create_task(topic.run())
            seen = topic.version
            missed = since is not None and since != str(seen)
            yield f"retry: {RETRY}\n".encode() + _event("change" if missed else "version", seen)
            while True:
                try:
                    await asyncio.wait_for(bell.wait(), HEARTBEAT_EVERY)
                except TimeoutError:
                    yield b": still here\n\n"
                bell.clear()
                if topic.version != seen:
                    seen = topic.version
                    yield _event("change", seen)
        finally:
            topic.followers.discard(bell)
            if not topic.followers:
                self._topics.pop(key, None)
                if topic.task is not None:
                    topic.task.cancel()


def _event(name: str, version: Any) -> bytes:
    """One event, numbered by the version: a browser that connects again says which one it saw last."""
    return f"id: {version}\n{told(name, {'version': version})}".encode()

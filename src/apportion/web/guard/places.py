"""A place among the writes: those that wait for the database wait here, and leave threads to those who read.

A write holds a thread of the worker until it is on disk. Where the database is locked for a while, by a copy or by
another program, writes pile up; without a limit they would take every thread, and nobody could read either. So many
write at a time, fewer in one campaign; the others wait without a thread, for a while, and are told to come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import Depends, Request

from apportion.errors import StoreUnavailable

WRITES_AT_ONCE = 16  # of the 40 threads of a worker
WRITES_PER_CAMPAIGN = 8
WRITE_WAIT_SECONDS = 30.0


class BusyWriting(StoreUnavailable):
    """Too many writes wait for the database."""

    public = "Other writes are under way: come back in a moment. Nothing was changed."


class _Queue:
    """Those who write to one campaign, or wait for it."""

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(WRITES_PER_CAMPAIGN)
        self.count = 0


class WritePlaces:
    """The writes of one worker, by event loop at `app.state.write_places`."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(WRITES_AT_ONCE)
        self._campaigns: dict[str, _Queue] = {}

    async def acquire(self, campaign: str) -> None:
        """Wait for a place; `BusyWriting` where none came free in time."""
        queue = self._campaigns.setdefault(campaign, _Queue())
        queue.count += 1
        try:
            async with asyncio.timeout(WRITE_WAIT_SECONDS):
                await queue.places.acquire()
                try:
                    await self._all.acquire()
                except BaseException:
                    queue.places.release()
                    raise
        except BaseException as error:
            self._leave(campaign, queue)
            if isinstance(error, TimeoutError):
                raise BusyWriting(BusyWriting.public) from None
            raise

    def release(self, campaign: str) -> None:
        """It is done."""
        queue = self._campaigns[campaign]
        self._all.release()
        queue.places.release()
        self._leave(campaign, queue)

    def _leave(self, campaign: str, queue: _Queue) -> None:
        queue.count -= 1
        if queue.count == 0:
            del self._campaigns[campaign]


async def write_place(request: Request) -> AsyncIterator[None]:
    """A place among the writes, for as long as the request takes."""
    by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, WritePlaces] = request.app.state.write_places
    places = by_loop.setdefault(asyncio.get_running_loop(), WritePlaces())
    campaign = str(request.path_params.get("name", ""))
    await places.acquire(campaign)
    try:
        yield
    finally:
        places.release(campaign)


WritePlace = Annotated[None, Depends(write_place)]

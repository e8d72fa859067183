"""What one caller may ask of the service at once: heavy reads wait in line, and never keep a write or a page waiting.

A heavy read repeats all events of a campaign, or simulates. So many of them run at a time in a worker, fewer of one
caller; the others wait, for a while, and are then told to come back. To refuse is work too: whoever has too many
under way gets the refusal after a moment, so that asking again at once, and again, keeps nobody else from an answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import Depends, Request

from apportion.web.guard.users import Reader, Refused

HEAVY_AT_ONCE = 2  # in a worker
HEAVY_PER_CALLER = 1
HEAVY_WAITING = 8  # of one caller, or they are refused
HEAVY_WAIT_SECONDS = 30.0
REFUSAL_SECONDS = 1.0  # how long a refusal is held back


class HeavyReads:
    """The heavy reads of one worker, by event loop at `app.state.heavy_reads`."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(HEAVY_AT_ONCE)
        self._callers: dict[str, asyncio.Semaphore] = {}
        self._count: Counter[str] = Counter()

    async def acquire(self, caller: str) -> None:
        """Wait for a place; `Refused` (429) where there are too many already, or none came free in time."""
        if self._count[caller] >= HEAVY_PER_CALLER + HEAVY_WAITING:
            await asyncio.sleep(REFUSAL_SECONDS)
            raise Refused(429, f"At most {HEAVY_PER_CALLER + HEAVY_WAITING} such requests can be under way at once.")
        self._count[caller] += 1
        own = self._callers.setdefault(caller, asyncio.Semaphore(HEAVY_PER_CALLER))
        try:
            async with asyncio.timeout(HEAVY_WAIT_SECONDS):
                await own.acquire()
                try:
                    await self._all.acquire()
                except BaseException:
                    own.release()
                    raise
        except BaseException as error:
            self._leave(caller)
            if isinstance(error, TimeoutError):
                raise Refused(429, "Other requests of this kind are under way: come back in a moment.") from None
            raise

    def release(self, caller: str) -> None:
        """It is done."""
        self._all.release()
        self._callers[caller].release()
        self._leave(caller)

    def _leave(self, caller: str) -> None:
        self._count[caller] -= 1
        if self._count[caller] <= 0:
            del self._count[caller]
            self._callers.pop(caller, None)


async def heavy_read(request: Request, user: Reader) -> AsyncIterator[None]:
    """A place among the heavy reads, for as long as the request takes."""
    async with _place(request, user.name):
        yield


async def chart_read(request: Request, user: Reader) -> AsyncIterator[None]:
    """The same for the charts of pages, in a line of their own: a long export of the same caller is not ahead."""
    async with _place(request, f"{user.name} chart"):
        yield


@asynccontextmanager
async def _place(request: Request, caller: str) -> AsyncIterator[None]:
    by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, HeavyReads] = request.app.state.heavy_reads
    limits = by_loop.setdefault(asyncio.get_running_loop(), HeavyReads())
    await limits.acquire(caller)
    try:
        yield
    finally:
        limits.release(caller)


Heavy = Annotated[None, Depends(heavy_read)]
HeavyChart = Annotated[None, Depends(chart_read)]

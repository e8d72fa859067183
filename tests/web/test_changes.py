"""Followers of a campaign: none depends on another, whenever it comes or goes."""

import asyncio
import contextlib
import threading

import pytest

import apportion as ap
from apportion.web.streams import Changes

PATIENCE = 60.0


class Database:
    """A version that is looked at in threads; a look can be held up, or fail."""

    def __init__(self):
        self.version, self.error = 7, None
        self.begun, self.go_on = threading.Semaphore(0), threading.Event()
        self.go_on.set()

    def look(self):
        self.begun.release()
        assert self.go_on.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return self.version

    async def looked_at(self):
        """Waits until a look has begun."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=PATIENCE)


async def first_event(stream):
    return await asyncio.wait_for(anext(stream), PATIENCE)


async def ended(task):
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE)


def test_a_first_follower_that_leaves_during_its_look_leaves_nothing_behind():
    async def scene():
        changes, database = Changes(), Database()
        database.go_on.clear()
        first = asyncio.create_task(first_event(changes.follow("c", database.look)))
        await database.looked_at()
        first.cancel()
        database.go_on.set()
        await ended(first)
        assert changes.watched == 0
        stream = changes.follow("c", database.look)
        assert b'event: version\ndata: {"version":7}' in await first_event(stream)
        database.version = 8
        assert b'event: change\ndata: {"version":8}' in await first_event(stream)
        await stream.aclose()
        assert changes.watched == 0

    asyncio.run(scene())


def test_a_follower_that_waits_is_told_though_the_first_one_left():
    async def scene():
        changes, database = Changes(), Database()
        database.go_on.clear()
        first = asyncio.create_task(first_event(changes.follow("c", database.look)))
        await database.looked_at()
        stream = changes.follow("c", database.look)
        second = asyncio.create_task(first_event(stream))
        await database.looked_at()
        first.cancel()
        database.go_on.set()
        await ended(first)
        assert b'data: {"version":7}' in await second
        assert changes.watched == 1
        database.version = 8
        assert b'data: {"version":8}' in await first_event(stream)
        await stream.aclose()
        assert changes.watched == 0

    asyncio.run(scene())


def test_a_look_that_fails_is_no_matter_for_those_who_come_later():
    async def scene():
        changes, database = Changes(), Database()
        database.error = ap.StoreUnavailable("The database cannot be used.")
        with pytest.raises(ap.StoreUnavailable):
            await first_event(changes.follow("c", database.look))
        assert changes.watched == 0
        database.error = None
        stream = changes.follow("c", database.look)
        assert b'data: {"version":7}' in await first_event(stream)
        await stream.aclose()

    asyncio.run(scene())

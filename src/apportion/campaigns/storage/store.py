"""The contract of a store of campaigns, kept by SQLite and PostgreSQL through SQLAlchemy.

- Events are only ever added, numbered from 1 in each campaign, without gaps.
- `writing` gives one writer at a time the campaign; what it added is on disk when the block ends, or nothing is.
- `reading` never waits for a writer and never makes one wait.
- A key marks an event at most once in a campaign.

`apportion.testing.STORE_CHECKS` is the suite that a store must pass.
"""

import collections
import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from apportion._common.recent import Recent
from apportion.campaigns.storage.address import database_url, explained_errors, require_exists, unavailable
from apportion.campaigns.storage.database import close_engine, engine_for, retire_engine
from apportion.campaigns.storage.fair_lock import FairLock, Waiter
from apportion.campaigns.storage.group_commit import MAX_WRITES_PER_COMMIT, GroupedSession, WriteGroup
from apportion.campaigns.storage.schema import campaigns
from apportion.campaigns.storage.session import Session
from apportion.errors import UncertainWrite

COMMIT_CHECK_SECONDS = 0.05
"""A writer whose commit is left to the next one looks so often whether that one is still there."""

LOOK_UP_ATTEMPTS, LOOK_UP_SECONDS = 5, 0.2
"""A write whose commit got no answer is looked up so often, with so many seconds between."""

MOST_SHARED = 1000
"""So many campaigns of a database are held in memory."""

LANES = 64
"""In so many lines writers of one process queue for a PostgreSQL server, by campaign; for a file in one."""

_LOCK_CAMPAIGN = sa.select(campaigns.c.id).where(campaigns.c.id == sa.bindparam("campaign")).with_for_update()


class Lane:
    """A queue of writers, and the group of writes that is open in it."""

    def __init__(self) -> None:
        self.lock = FairLock()
        self.group: WriteGroup | None = None

    def finish(self, group: WriteGroup, error: BaseException | None = None) -> None:
        """Commit the group, or roll it back where something failed."""
        if not group.done.is_set():
            group.finish(error)
        self.group = None

    def commit_pending(self) -> None:
        """Commit the open group."""
        waiter = Waiter()
        with waiter.lock:
            try:
                self.lock.wait(waiter)
                if self.group is not None:
                    self.finish(self.group)
            finally:
                waiter.leave()


class Store:
    """A database of campaigns, for all threads of this process."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.lanes = tuple(Lane() for _ in range(1 if self.is_file else LANES))
        self.shared: Recent[int, Any] = Recent(MOST_SHARED)
        """What the threads of this process share of campaigns, by campaign; whoever needs another reads it again."""

    @property
    def is_file(self) -> bool:
        """Whether it is SQLite: one writer at a time, whatever the campaign."""
        return self.url.get_backend_name() == "sqlite"

    def _lane(self, campaign: int | None) -> Lane:
        """Where the writers of a campaign queue; `Conflict` where this thread is in the middle of another write."""
        own = threading.get_ident()
        for lane in self.lanes:
            lane.lock.require_other_thread(own)
        return self.lanes[(campaign or 0) % len(self.lanes)]

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one moment of each campaign."""
        with explained_errors(self.url):
            connection = engine_for(self.url).connect()
            with connection:
                yield Session(connection)

    @contextmanager
    def writing(self, campaign: int | None = None) -> Iterator[GroupedSession]:
        """A session that has a campaign to itself; kept at the end, or nothing is where the block fails.

        Threads of this process that wait for their turn share one commit with the one before: a write goes on only
        when its commit is on disk, but the disk is asked once for all of them.
        """
        lane = self._lane(campaign)
        with explained_errors(self.url):
            waiter = Waiter()
            with waiter.lock:
                try:
                    lane.lock.wait(waiter)
                    group = self._join(lane, campaign)
                    session = self._begin(group)
                    yield session
                    group.writes += 1
                    group.current = None
                    if campaign is None or not lane.lock.waiting or group.writes >= MAX_WRITES_PER_COMMIT:
                        lane.finish(group)
                except BaseException as error:
                    if lane.lock.holder is waiter:
                        self._end_failed(lane, error)
                    raise
                finally:
                    waiter.leave()
            while not group.done.wait(COMMIT_CHECK_SECONDS):  # the next writer commits; if it is gone, we do
                lane.commit_pending()
            if group.error is not None:  # an exception of its own for each thread
                if group.uncertain and session.wrote and self._was_kept(session, group.error):
                    return
                raise unavailable(self.url, group.error) from group.error

    def _was_kept(self, session: GroupedSession, lost: BaseException) -> bool:
        """Whether a write whose commit got no answer is on disk; `UncertainWrite` where nobody can say."""
        if session.last_written is None:
            raise unavailable(self.url, lost, UncertainWrite) from lost
        campaign, number, digest = session.last_written
        for attempt in range(LOOK_UP_ATTEMPTS):
            if attempt:
                time.sleep(LOOK_UP_SECONDS)
            try:
                with engine_for(self.url).connect() as connection:
                    if not self.is_file:  # waits for a commit that is still under way
                        connection.execute(_LOCK_CAMPAIGN, {"campaign": campaign})
                    return Session(connection).digest(campaign, number) == digest
            except (SQLAlchemyError, sqlite3.Error, OSError):
                continue
        raise unavailable(self.url, lost, UncertainWrite) from lost

    def _join(self, lane: Lane, campaign: int | None) -> WriteGroup:
        """The group that is open, or a new one; those who make a campaign, or have another lock, go alone."""
        group = lane.group
        if group is not None and group.current is not None:  # its write was interrupted, and its end as well
            lane.finish(group, KeyboardInterrupt())
            group = None
        if group is not None and (campaign is None or not (self.is_file or group.campaign == campaign)):
            lane.finish(group)
            group = None
        if group is None:
            connection = engine_for(self.url).connect()
            try:
                connection = connection.execution_options(apportion_writing=True)
                connection.begin()
                if campaign is not None and not self.is_file:
                    connection.execute(_LOCK_CAMPAIGN, {"campaign": campaign})
                group = lane.group = WriteGroup(connection, campaign)
            except BaseException:
                connection.close()
                raise
        return group

    def _begin(self, group: WriteGroup) -> GroupedSession:
        """A write in a group. Should it fail, those before it are kept."""
        session = GroupedSession(group)
        if group.writes:
            group.connection.exec_driver_sql("SAVEPOINT current_write")
        group.current = session
        return session

    def _end_failed(self, lane: Lane, error: BaseException) -> None:
        """After a write that failed: what it half wrote is taken back, and a refusal leaves the others alone."""
        group = lane.group
        if group is None:
            return
        if group.done.is_set():  # it was interrupted just after its commit
            lane.group = None
            return
        broken = isinstance(error, (SQLAlchemyError, sqlite3.Error)) or group.connection.invalidated
        if (broken or (group.current is not None and group.current.wrote)) and not group.rollback_current():
            lane.finish(group, error)
            return
        group.current = None
        if group.writes == 0 or not lane.lock.waiting:
            lane.finish(group)

    def close(self) -> None:
        """Close the connections of this process."""
        close_engine(self.url)
        self.shared.clear()


STORES_KEPT = 16
"""So many databases stay open in a process; others are closed once no campaign of them is in use."""

_stores: weakref.WeakValueDictionary[URL, Store] = weakref.WeakValueDictionary()
_recent: collections.deque[Store] = collections.deque(maxlen=STORES_KEPT)
_stores_lock = threading.Lock()


def open_store(db: str | os.PathLike[str] | None = None, *, create: bool = True) -> Store:
    """The store at a URL or file, one per process; a new file gets its tables, unless `create` is False."""
    url = database_url(db)
    if not create:
        require_exists(url)
    engine_for(url)
    with _stores_lock:
        store = _stores.get(url)
        if store is None:
            store = _stores[url] = Store(url)
            weakref.finalize(store, retire_engine, url).atexit = False
        if not _recent or _recent[-1] is not store:
            with contextlib.suppress(ValueError):
                _recent.remove(store)
            _recent.append(store)
        return store


# A fork copies the memory of SQLite, too: in the child, a write that another thread had begun would hold the file's
# lock for ever. So no write of a file is under way while this process forks.
_held_for_fork: list[Waiter] = []


def _before_fork() -> None:
    for store in tuple(_stores.values()):
        if not store.is_file or store.lanes[0].lock.holder.thread == threading.get_ident():
            continue
        lane, waiter = store.lanes[0], Waiter()
        waiter.lock.acquire()
        lane.lock.wait(waiter)
        _held_for_fork.append(waiter)
        if lane.group is not None:
            lane.finish(lane.group)


def _after_fork_in_parent() -> None:
    while _held_for_fork:
        waiter = _held_for_fork.pop()
        waiter.leave()
        waiter.lock.release()


def _after_fork() -> None:
    global _stores_lock
    _stores_lock = threading.Lock()
    _held_for_fork.clear()
    for store in _stores.values():
        store.lanes = tuple(Lane() for _ in store.lanes)
        store.shared = Recent(MOST_SHARED)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork)

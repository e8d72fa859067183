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

_LOCK_CAMPAIGN = sa.select(campaigns.c.id).where(campaigns.c.id == sa.bindparam("campaign")).with_for_update()


class Store:
    """A database of campaigns, for all threads of this process."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self._write_lock = FairLock()
        self._group: WriteGroup | None = None
        self.shared: dict[int, Any] = {}  # what the campaigns of this process share, by campaign

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
        with explained_errors(self.url):
            waiter = Waiter()
            with waiter.lock:
                try:
                    self._write_lock.wait(waiter)
                    group = self._join(campaign)
                    session = self._begin(group)
                    yield session
                    group.writes += 1
                    group.current = None
                    if campaign is None or not self._write_lock.waiting or group.writes >= MAX_WRITES_PER_COMMIT:
                        self._finish(group)
                except BaseException as error:
                    if self._write_lock.holder is waiter:
                        self._end_failed(error)
                    raise
                finally:
                    waiter.leave()
            while not group.done.wait(COMMIT_CHECK_SECONDS):  # the next writer commits; if it is gone, we do
                self._commit_pending()
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
                    if self.url.get_backend_name() != "sqlite":  # waits for a commit that is still under way
                        connection.execute(_LOCK_CAMPAIGN, {"campaign": campaign})
                    return Session(connection).digest(campaign, number) == digest
            except (SQLAlchemyError, sqlite3.Error, OSError):
                continue
        raise unavailable(self.url, lost, UncertainWrite) from lost

    def _join(self, campaign: int | None) -> WriteGroup:
        """The group that is open, or a new one; those who make a campaign, or have another lock, go alone."""
        group = self._group
        file = self.url.get_backend_name() == "sqlite"
        if group is not None and group.current is not None:  # its write was interrupted, and its end as well
            self._finish(group, KeyboardInterrupt())
            group = None
        if group is not None and (campaign is None or not (file or group.campaign == campaign)):
            self._finish(group)
            group = None
        if group is None:
            connection = engine_for(self.url).connect()
            try:
                connection = connection.execution_options(apportion_writing=True)
                connection.begin()
                if campaign is not None and not file:
                    connection.execute(_LOCK_CAMPAIGN, {"campaign": campaign})
                group = self._group = WriteGroup(connection, campaign)
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

    def _end_failed(self, error: BaseException) -> None:
        """After a write that failed: what it half wrote is taken back, and a refusal leaves the others alone."""
        group = self._group
        if group is None:
            return
        if group.done.is_set():  # it was interrupted just after its commit
            self._group = None
            return
        broken = isinstance(error, (SQLAlchemyError, sqlite3.Error)) or group.connection.invalidated
        if (broken or (group.current is not None and group.current.wrote)) and not group.rollback_current():
            self._finish(group, error)
            return
        group.current = None
        if group.writes == 0 or not self._write_lock.waiting:
            self._finish(group)

    def _finish(self, group: WriteGroup, error: BaseException | None = None) -> None:
        if not group.done.is_set():
            group.finish(error)
        self._group = None

    def _commit_pending(self) -> None:
        """Commit the open group."""
        waiter = Waiter()
        with waiter.lock:
            try:
                self._write_lock.wait(waiter)
                if self._group is not None:
                    self._finish(self._group)
            finally:
                waiter.leave()

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
_held_for_fork: list[tuple[Store, Waiter]] = []


def _before_fork() -> None:
    for store in tuple(_stores.values()):
        lock = store._write_lock
        if store.url.get_backend_name() != "sqlite" or lock.holder.thread == threading.get_ident():
            continue
        waiter = Waiter()
        waiter.lock.acquire()
        lock.wait(waiter)
        _held_for_fork.append((store, waiter))
        if store._group is not None:
            store._finish(store._group)


def _after_fork_in_parent() -> None:
    while _held_for_fork:
        _, waiter = _held_for_fork.pop()
        waiter.leave()
        waiter.lock.release()


def _after_fork() -> None:
    global _stores_lock
    _stores_lock = threading.Lock()
    _held_for_fork.clear()
    for store in _stores.values():
        store._write_lock, store._group = FairLock(), None
        store.shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork)

"""The contract of a store of campaigns, kept by SQLite and PostgreSQL through SQLAlchemy.

- Events are only ever added, numbered from 1 in each campaign, without gaps.
- `writing` gives one writer at a time the campaign; what it added is on disk when the block ends, or nothing is.
- `reading` never waits for a writer and never makes one wait.
- A key marks an event at most once in a campaign.

`apportion.testing.STORE_CHECKS` is the suite that a store must pass.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from apportion.campaigns.events import Event, intact, written
from apportion.campaigns.storage.database import (
    StoreUnavailable,
    address,
    engine_for,
    forget_engine,
    in_words,
    sentence,
)
from apportion.campaigns.storage.fair_lock import Place, Sign, Turn
from apportion.campaigns.storage.schema import campaigns, events, snapshots
from apportion.errors import Conflict, UnknownName

# A snapshot is written when the event number passes a multiple of this; of older ones the last in each stretch of
# so many events is kept, so that the state at any past moment is near one.
SNAPSHOT_EVERY = 64
SNAPSHOT_KEPT = 1024

# At most so many writes share a commit.
LARGEST_GROUP = 64

_COLUMNS = (events.c.number, events.c.at, events.c.kind, events.c.ticket, events.c.payload, events.c.key)
_LAST = sa.select(sa.func.max(events.c.number)).where(events.c.campaign == sa.bindparam("campaign"))
_NEWEST = sa.select(
    _LAST.scalar_subquery(),
    sa.select(events.c.at)
    .where(events.c.campaign == sa.bindparam("campaign"), events.c.number == sa.bindparam("number"))
    .scalar_subquery(),
)
_AFTER = (
    sa.select(*_COLUMNS)
    .where(events.c.campaign == sa.bindparam("campaign"), events.c.number > sa.bindparam("after"))
    .order_by(events.c.number)
)
_BY_KEY = sa.select(*_COLUMNS).where(
    events.c.campaign == sa.bindparam("campaign"), events.c.key == sa.bindparam("key")
)
_LOCK = sa.select(campaigns.c.id).where(campaigns.c.id == sa.bindparam("campaign")).with_for_update()
_ADD = sa.insert(events)


class Row(NamedTuple):
    """A campaign in a list."""

    id: int
    name: str
    created: str


class _Group:
    """Writes of several threads that share one commit: each is told of its own only when all are on disk."""

    def __init__(self, connection: Connection, campaign: int | None) -> None:
        self.connection = connection
        self.campaign = campaign
        self.size = 0
        """How many writes are in it, whole."""
        self.session: Session | None = None
        """The write that is under way."""
        self.done = Sign()
        self.error: BaseException | None = None
        self.undo: list[Callable[[], None]] = []

    def finish(self, error: BaseException | None = None) -> None:
        """Commit, or roll everything back where something failed; then let the members go."""
        try:
            try:
                if error is None:
                    self.connection.commit()
                else:
                    self.connection.rollback()
            except (SQLAlchemyError, sqlite3.Error, OSError) as failure:
                error = error or failure
            except BaseException as failure:
                error = error or self._interrupted(failure)
                hidden = failure.__context__  # SQLAlchemy may put an assertion of its own over Ctrl-C
                raise (failure if hidden is None or isinstance(hidden, Exception) else hidden) from None
            finally:
                with suppress(SQLAlchemyError):
                    self.connection.close()
        finally:
            self.error = error
            if error is not None:
                self.forget()
            self.done.set()

    def _interrupted(self, failure: BaseException) -> BaseException | None:
        """Ctrl-C in the thread that commits is no reason to fail the others; a file can be asked to commit again."""
        if self.connection.dialect.name != "sqlite":
            return failure
        try:
            driver: Any = self.connection.connection.driver_connection
            driver.commit()  # does nothing where it was done already
        except Exception as error:
            return error
        return None

    def take_back(self) -> bool:
        """Undo the write that is under way, and leave those before it; False where the database cannot."""
        if self.session is None or self.size == 0:
            return False
        try:
            self.connection.exec_driver_sql("ROLLBACK TO SAVEPOINT own")
        except (SQLAlchemyError, sqlite3.Error):
            return False
        self.forget()
        return True

    def forget(self) -> None:
        """What is in memory may not be kept: it is read again."""
        for undo in self.undo:
            undo()


class Session:
    """One transaction."""

    def __init__(self, connection: Connection, group: _Group | None = None) -> None:
        self._connection = connection
        self.group = group
        self.wrote = False

    @property
    def pending(self) -> Sign | None:
        """Set once what this session wrote is on disk, or was taken back."""
        return None if self.group is None else self.group.done

    def on_failure(self, undo: Callable[[], None]) -> None:
        """What to do in memory if the commit fails."""
        if self.group is not None:
            self.group.undo.append(undo)

    # Reading

    def last(self, campaign: int) -> int:
        """The number of the last event; 0 before any."""
        return self._connection.execute(_LAST, {"campaign": campaign}).scalar() or 0

    def newest(self, campaign: int, number: int) -> tuple[int, str | None]:
        """The number of the last event, and the moment of the one of that number; None where there is none."""
        last, at = self._connection.execute(_NEWEST, {"campaign": campaign, "number": number}).one()
        return last or 0, at

    def events(
        self, campaign: int, after: int = 0, *, upto: int | None = None, limit: int | None = None
    ) -> Iterator[Event]:
        """Events in order, those after a number."""
        wanted = _AFTER
        if upto is not None:
            wanted = wanted.where(events.c.number <= upto)
        if limit is not None:
            wanted = wanted.limit(limit)
        rows = self._connection.execute(wanted, {"campaign": campaign, "after": after})
        return map(_event, rows.yield_per(500))

    def of_ticket(self, campaign: int, ticket: int, upto: int | None = None) -> list[Event]:
        """The events of one ticket, in order."""
        wanted = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.ticket == ticket)
        if upto is not None:
            wanted = wanted.where(events.c.number <= upto)
        return [_event(row) for row in self._connection.execute(wanted.order_by(events.c.number))]

    def of_tickets(self, campaign: int, first: int, last: int) -> list[Event]:
        """The events of a range of tickets, ticket by ticket, each in order."""
        wanted = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.ticket.between(first, last))
        # As the index has them: in the order of numbers alone, all events of the campaign would be read.
        return [_event(row) for row in self._connection.execute(wanted.order_by(events.c.ticket, events.c.number))]

    def of_kind(self, campaign: int, *kinds: str) -> list[Event]:
        """The events of some kinds, in order."""
        wanted = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.kind.in_(kinds))
        return [_event(row) for row in self._connection.execute(wanted.order_by(events.c.number))]

    def by_key(self, campaign: int, key: str) -> Event | None:
        """The event that carries a key; its payload has what was `asked` for, too."""
        row = self._connection.execute(_BY_KEY, {"campaign": campaign, "key": key}).first()
        return None if row is None else _event(row, asked=True)

    def snapshot(self, campaign: int, upto: int | None = None) -> tuple[int, str] | None:
        """The newest saved state, with the number of the last event in it."""
        wanted = sa.select(snapshots.c.number, snapshots.c.state).where(snapshots.c.campaign == campaign)
        if upto is not None:
            wanted = wanted.where(snapshots.c.number <= upto)
        row = self._connection.execute(wanted.order_by(snapshots.c.number.desc()).limit(1)).first()
        return None if row is None else (row.number, row.state)

    def snapshots(self, campaign: int, upto: int) -> dict[int, str]:
        """All saved states up to an event, by number."""
        wanted = sa.select(snapshots.c.number, snapshots.c.state).where(
            snapshots.c.campaign == campaign, snapshots.c.number <= upto
        )
        return {row.number: row.state for row in self._connection.execute(wanted)}

    def campaigns(self) -> list[Row]:
        """All campaigns by name."""
        found = self._connection.execute(sa.select(campaigns).order_by(campaigns.c.name))
        return sorted((Row(row.id, row.name, row.created) for row in found), key=lambda row: row.name)

    def find(self, name: str) -> int:
        """A campaign's id; `UnknownName` with the names there are."""
        wanted = sa.select(campaigns.c.id).where(campaigns.c.name == name)
        found = self._connection.execute(wanted).scalar()
        if found is None:
            known = [row.name for row in self.campaigns()]
            shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "") if known else "none yet"
            raise UnknownName(f"Campaign '{name}' is not known; there are: {shown}.")
        return int(found)

    # Writing

    def add_campaign(self, name: str, created: str) -> int:
        """A new campaign's id; `Conflict` where the name is taken."""
        self.wrote = True
        try:
            done = self._connection.execute(sa.insert(campaigns).values(name=name, created=created))
        except IntegrityError as error:
            raise Conflict(f"Campaign '{name}' is there already; choose another name.") from error
        (key,) = done.inserted_primary_key or (0,)
        return int(key)

    def append(self, campaign: int, new: Sequence[Event]) -> None:
        """Add events; `Conflict` where a number or a key is taken."""
        rows = [
            {"campaign": campaign, "number": event.number, "at": event.at, "kind": event.kind,
             "ticket": event.ticket, "key": event.key, "payload": written(event.payload)}
            for event in new
        ]  # fmt: skip
        self.wrote = True
        try:
            self._connection.execute(_ADD, rows if len(rows) > 1 else rows[0])
        except IntegrityError as error:
            raise Conflict("The campaign has moved on, or the key was used before; nothing was changed.") from error

    def save(self, campaign: int, number: int, state: str) -> None:
        """Keep a snapshot, and forget those that it makes needless."""
        self.wrote = True
        mine = snapshots.c.campaign == campaign
        passed = snapshots.c.number.between(number - number % SNAPSHOT_KEPT, number)
        self._connection.execute(sa.delete(snapshots).where(mine, passed))
        self._connection.execute(sa.insert(snapshots).values(campaign=campaign, number=number, state=state))

    def drop_snapshots(self, campaign: int) -> None:
        """Forget all snapshots: they are rebuilt from the events."""
        self.wrote = True
        self._connection.execute(sa.delete(snapshots).where(snapshots.c.campaign == campaign))


class Store:
    """A database of campaigns, for all threads of this process."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self._turn = Turn()
        self._group: _Group | None = None
        self.shared: dict[int, Any] = {}
        """What the campaigns of this process share, by campaign."""

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one moment of each campaign."""
        with in_words(self.url):
            connection = engine_for(self.url).connect()
            with connection:
                yield Session(connection)

    @contextmanager
    def writing(self, campaign: int | None = None) -> Iterator[Session]:
        """A session that has a campaign to itself; kept at the end, or nothing is where the block fails.

        Threads of this process that wait for their turn share one commit with the one before: a write goes on only
        when its commit is on disk, but the disk is asked once for all of them.
        """
        with in_words(self.url):
            place = Place()
            with place.lock:
                try:
                    self._turn.wait(place)
                    group = self._join(campaign)
                    yield self._begin(group)
                    group.size += 1
                    group.session = None
                    if campaign is None or not self._turn.waiting or group.size >= LARGEST_GROUP:
                        self._finish(group)
                except BaseException as error:
                    if self._turn.holder is place:
                        self._leave(error)
                    raise
                finally:
                    place.thread = 0
            while not group.done.wait(0.05):  # the one who came after will commit; if not, we do
                self._settle()
            if group.error is not None:  # an exception of its own for each thread
                raise StoreUnavailable(sentence(self.url, group.error)) from group.error

    def _join(self, campaign: int | None) -> _Group:
        """The group that is open, or a new one; those who make a campaign, or have another lock, go alone."""
        group = self._group
        file = self.url.get_backend_name() == "sqlite"
        if group is not None and group.session is not None:  # its write was interrupted, and its end as well
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
                    connection.execute(_LOCK, {"campaign": campaign})
                group = self._group = _Group(connection, campaign)
            except BaseException:
                connection.close()
                raise
        return group

    def _begin(self, group: _Group) -> Session:
        """A write in a group. Should it fail, those before it are kept."""
        session = Session(group.connection, group)
        if group.size:
            group.connection.exec_driver_sql("SAVEPOINT own")
        group.session = session
        return session

    def _leave(self, error: BaseException) -> None:
        """After a write that failed: what it half wrote is taken back, and a refusal leaves the others alone."""
        group = self._group
        if group is None:
            return
        if group.done.is_set():  # it was interrupted just after its commit
            self._group = None
            return
        broken = isinstance(error, (SQLAlchemyError, sqlite3.Error)) or group.connection.invalidated
        if (broken or (group.session is not None and group.session.wrote)) and not group.take_back():
            self._finish(group, error)
            return
        group.session = None
        if group.size == 0 or not self._turn.waiting:
            self._finish(group)

    def _finish(self, group: _Group, error: BaseException | None = None) -> None:
        if not group.done.is_set():
            group.finish(error)
        self._group = None

    def _settle(self) -> None:
        """Commit what waits for it."""
        place = Place()
        with place.lock:
            try:
                self._turn.wait(place)
                if self._group is not None:
                    self._finish(self._group)
            finally:
                place.thread = 0

    def close(self) -> None:
        """Close the connections of this process."""
        forget_engine(self.url)
        self.shared.clear()


_stores: dict[URL, Store] = {}
_lock = threading.Lock()


def open_store(db: str | os.PathLike[str] | None = None) -> Store:
    """The store at a URL or file, one per process; a new file gets its tables."""
    url = address(db)
    engine_for(url)
    with _lock:
        return _stores.setdefault(url, Store(url))


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for store in _stores.values():
        store._turn, store._group = Turn(), None
        store.shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _event(row: Any, asked: bool = False) -> Event:
    number, at, kind, ticket, payload, key = row
    with intact(number):
        content = json.loads(payload)
        if not isinstance(content, dict):
            raise ValueError("it is no table of names and values")
    if not asked:  # of use to compare keys only, and no part of what happened
        content.pop("asked", None)
    return Event(number, at, kind, ticket, content, key)

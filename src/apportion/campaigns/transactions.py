"""The state of a campaign at hand: read as of now, changed by one at a time, kept before anyone is told."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, TypeVar

from apportion._common import validation
from apportion.allocation.split import Split
from apportion.campaigns.events import Event, intact, now
from apportion.campaigns.state import Ledger
from apportion.campaigns.storage.fair_lock import Latch
from apportion.campaigns.storage.group_commit import GroupedSession
from apportion.campaigns.storage.session import SNAPSHOT_EVERY, Session
from apportion.campaigns.storage.store import Store
from apportion.errors import ApportionError, Conflict, IncompatibleState
from apportion.policies import Policy

T = TypeVar("T")

# So many seconds a reader waits for the state in memory; then it reads the database, as another process would.
MOMENT = 0.05


class _Shared:
    """What the threads of a process share of one campaign: its state, and the lock on it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.ledger: Ledger | None = None
        self.pending: Latch | None = None

    def forget(self) -> None:
        """Read the state from the database again, the next time it is needed."""
        self.ledger = None

    @property
    def settled(self) -> bool:
        """Whether all that the state holds is on disk."""
        return self.pending is None or self.pending.is_set()


class _Book:
    """A write in progress: the state, and the events that will be kept together."""

    def __init__(self, session: GroupedSession, ledger: Ledger, shared: _Shared) -> None:
        self.session = session
        self.ledger = ledger
        self.events: list[Event] = []
        self.shared = shared
        self.stale = False
        """Whether the state may hold more than the events tell."""
        self.asked: dict[str, str] = {}
        """What is asked for under a key, by key."""

    def note(self, kind: str, payload: dict[str, Any], ticket: int | None = None, key: str | None = None) -> Event:
        """Add an event that was already done on the state."""
        if key in self.asked:
            payload = {**payload, "asked": self.asked[key]}
        event = Event(self.ledger.number + 1, now(), kind, ticket, payload, key)
        self.ledger.number, self.ledger.at = event.number, event.at
        self.events.append(event)
        return event


class Desk:
    """One campaign of a store: its state is shared by all threads of the process, and follows the database."""

    def __init__(self, store: Store, identity: int, name: str) -> None:
        self._store = store
        self._id = identity
        self.name = name
        self._local = threading.local()

    @property
    def _shared(self) -> _Shared:
        found: _Shared = self._store.shared.setdefault(self._id, _Shared())
        return found

    def _read(self, look: Callable[[Ledger, Session], T]) -> T:
        book: _Book | None = getattr(self._local, "book", None)
        if book is not None:
            self._mend(book)
            return look(book.ledger, book.session)
        shared = self._shared
        if shared.pending is not None:
            shared.pending.wait(MOMENT)
        with self._store.reading() as session:
            if shared.lock.acquire(timeout=MOMENT):
                try:
                    if shared.settled:
                        return look(self._catch_up(session, shared), session)
                finally:
                    shared.lock.release()
            return look(self._at(session, None), session)  # nobody sees what may yet fail

    @contextmanager
    def _writing(self) -> Iterator[_Book]:
        """The campaign to oneself. Nothing that fails leaves a trace, in the database or in memory."""
        inner: _Book | None = getattr(self._local, "book", None)
        if inner is not None:
            self._mend(inner)
            before = len(inner.events)
            try:
                yield inner
            except BaseException as error:
                if len(inner.events) > before or not isinstance(error, ApportionError):
                    inner.stale = True  # whoever catches this goes on as if it had not begun
                    del inner.events[before:]
                raise
            return
        shared = self._shared
        with self._store.writing(self._id) as session, shared.lock:
            book = _Book(session, self._catch_up(session, shared), shared)
            shared.ledger = None  # until the write is whole: Ctrl-C may come between a change and its event
            try:
                self._local.book = book
                yield book
                self._keep(book)
            except ApportionError:
                if not book.events and not book.stale:
                    shared.ledger = book.ledger  # a refusal changes nothing
                raise
            finally:
                self._local.book = None
            shared.ledger = book.ledger

    def _mend(self, book: _Book) -> None:
        """The state anew, from what is kept and the events of the write, where a verb in it was interrupted."""
        if book.stale:
            ledger = self._at(book.session, None)
            kept = ledger.history
            ledger.history = lambda ticket, upto: [
                *(kept(ticket, upto) if kept else ()),
                *(event for event in book.events if event.ticket == ticket and event.number <= upto),
            ]
            for event in book.events:
                ledger.apply(event)
            book.ledger, book.stale = ledger, False

    def _keep(self, book: _Book) -> None:
        self._mend(book)
        if not book.events:
            return
        book.session.on_failure(book.shared.forget)
        book.shared.pending = book.session.committed
        book.session.append(self._id, book.events)
        number = book.ledger.number
        if number // SNAPSHOT_EVERY != (number - len(book.events)) // SNAPSHOT_EVERY:
            book.session.save(self._id, number, book.ledger.text())

    def _catch_up(self, session: Session, shared: _Shared) -> Ledger:
        """The state as of the last event: from memory or a snapshot, and the events since."""
        ledger, shared.ledger = shared.ledger, None  # until it is whole again
        last = 0
        if ledger is not None:
            last, at = session.newest(self._id, ledger.number)
            if at is None or ledger.at not in (at, None):
                ledger = None  # the database went back: another copy was put in its place
            else:
                ledger.at = at
        if ledger is None:
            ledger = self._at(session, None)
        else:
            ledger.history = lambda ticket, upto: session.of_ticket(self._id, ticket, upto)
            if last != ledger.number:
                for event in session.events(self._id, ledger.number):
                    ledger.apply(event)
        shared.ledger = ledger
        return ledger

    def _at(self, session: Session, number: int | None) -> Ledger:
        """A fresh copy of the state after that many events; as of now by default."""
        saved = session.snapshot(self._id, number)
        if saved is not None:
            ledger = Ledger.from_text(saved[1], saved[0])
        else:
            first = next(session.events(self._id, 0, limit=1), None)
            if first is None:
                raise IncompatibleState(f"Campaign '{self.name}' has no events: its database is damaged.")
            ledger = Ledger.begin(first)
        ledger.history = lambda ticket, upto: session.of_ticket(self._id, ticket, upto)
        for event in session.events(self._id, ledger.number, upto=number):
            ledger.apply(event)
        return ledger

    def _known(
        self, session: Session, key: str | None, kind: str, ticket: int | None = None, **asked: Any
    ) -> Event | None:
        """The event that was done under a key before; `Conflict` where it was something else.

        What is asked for here is kept with the event that is noted under the key.
        """
        if write_key(key) is None:
            return None
        name, mark = str(key), request_mark(kind, ticket, asked)
        event = session.by_key(self._id, name)
        if event is not None:
            known = event.payload.pop("asked", None)
            if event.kind != kind or (asked and known != mark and (known or not _same(event, ticket, asked))):
                raise Conflict(f"The key '{key}' was used before for something else.")
        book: _Book | None = getattr(self._local, "book", None)
        if book is not None and asked:
            book.asked[name] = mark
        return event

    def _retold(self, session: Session, event: Event) -> Split:
        before = self._at(session, event.number - 1)
        with intact(event.number):
            return before.allocator.retold(event.ticket or 0, event.payload)


def request_mark(kind: str, ticket: int | None, asked: dict[str, Any]) -> str:
    """A short text for what is asked for: alike for the same request, and for no other."""
    text = json.dumps(_plain((kind, ticket, asked)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _same(event: Event, ticket: int | None, asked: dict[str, Any]) -> bool:
    """Whether an event of an older release, which did not keep what was asked for, can be what is asked for."""
    given = {name: value for name, value in asked.items() if value is not None and name in event.payload}
    return (ticket is None or event.ticket == ticket) and all(
        _plain(value) == _plain(event.payload[name]) for name, value in given.items()
    )


def _plain(value: Any) -> Any:
    """What JSON can hold, whatever type the same thing comes in; what cannot be is refused later, by its verb."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Real):
        try:
            return float(value)
        except OverflowError:
            return repr(value)
    if isinstance(value, Policy):
        return _plain(value.to_dict())
    if hasattr(value, "items"):
        return {str(name): _plain(content) for name, content in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(content) for content in value]
    return repr(value)


def write_key(key: Any) -> str | None:
    """The key of a write, checked, or None."""
    if key is None or (isinstance(key, str) and 1 <= len(key) <= 200 and key.isprintable()):
        return key
    raise validation.refuse("key", "printable text of at most 200 characters", key)

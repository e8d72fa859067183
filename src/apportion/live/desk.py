"""The state of a campaign at hand: read as of now, changed by one at a time, kept before anyone is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from apportion import checks
from apportion.errors import Conflict, IncompatibleState
from apportion.live.events import Event, now
from apportion.live.ledger import Ledger
from apportion.live.store import SNAPSHOT_EVERY, Session, Store
from apportion.split import Split

T = TypeVar("T")


class _Shared:
    """What the threads of a process share of one campaign: its state, and the lock on it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.ledger: Ledger | None = None
        self.pending: threading.Event | None = None

    def forget(self) -> None:
        """Read the state from the database again, the next time it is needed."""
        self.ledger = None

    @property
    def settled(self) -> bool:
        """Whether all that the state holds is on disk."""
        return self.pending is None or self.pending.is_set()


class _Book:
    """A write in progress: the state, and the events that will be kept together."""

    def __init__(self, session: Session, ledger: Ledger, shared: _Shared) -> None:
        self.session = session
        self.ledger = ledger
        self.events: list[Event] = []
        self.shared = shared

    def note(self, kind: str, payload: dict[str, Any], ticket: int | None = None, key: str | None = None) -> Event:
        """Add an event that was already done on the state."""
        self.ledger.number += 1
        event = Event(self.ledger.number, now(), kind, ticket, payload, key)
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
            return look(book.ledger, book.session)
        shared = self._shared
        if shared.pending is not None:
            shared.pending.wait(1.0)
        with self._store.reading() as session:
            with shared.lock:
                if shared.settled:
                    return look(self._catch_up(session, shared), session)
            return look(self._at(session, None), session)  # nobody sees what may yet fail

    @contextmanager
    def _writing(self) -> Iterator[_Book]:
        """The campaign to oneself. Nothing that fails leaves a trace, in the database or in memory."""
        inner: _Book | None = getattr(self._local, "book", None)
        if inner is not None:
            yield inner
            return
        shared = self._shared
        with self._store.writing(self._id) as session, shared.lock:
            book = _Book(session, self._catch_up(session, shared), shared)
            self._local.book = book
            try:
                yield book
                self._keep(book)
            except BaseException:
                if book.events:
                    shared.forget()
                raise
            finally:
                self._local.book = None

    def _keep(self, book: _Book) -> None:
        if not book.events:
            return
        book.session.on_failure(book.shared.forget)
        book.shared.pending = book.session.pending
        book.session.append(self._id, book.events)
        number = book.ledger.number
        if number // SNAPSHOT_EVERY != (number - len(book.events)) // SNAPSHOT_EVERY:
            book.session.save(self._id, number, book.ledger.text())

    def _catch_up(self, session: Session, shared: _Shared) -> Ledger:
        """The state as of the last event: from memory or a snapshot, and the events since."""
        ledger = shared.ledger
        if ledger is None:
            ledger = self._at(session, None)
        else:
            ledger.history = lambda ticket, upto: session.of_ticket(self._id, ticket, upto)
            shared.ledger = None  # until it is whole again
            if session.last(self._id) != ledger.number:
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

    def _known(self, session: Session, key: str | None, kind: str) -> Event | None:
        """The event that was done under a key before; `Conflict` where it was something else."""
        if write_key(key) is None:
            return None
        event = session.by_key(self._id, str(key))
        if event is not None and event.kind != kind:
            raise Conflict(f"The key '{key}' was used before for something else.")
        return event

    def _retold(self, session: Session, event: Event) -> Split:
        before = self._at(session, event.number - 1)
        return before.allocator.retold(event.ticket or 0, event.payload)


def write_key(key: Any) -> str | None:
    """The key of a write, checked, or None."""
    if key is None or (isinstance(key, str) and 1 <= len(key) <= 200 and key.isprintable()):
        return key
    raise checks.refuse("key", "printable text of at most 200 characters", key)

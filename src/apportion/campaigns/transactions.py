"""Reading and writing one campaign: its state follows the database, and is changed by one writer at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

from apportion._common import validation
from apportion.allocation.saved_state import OutdatedState
from apportion.allocation.split import Split
from apportion.campaigns.events import Event, intact, new_event
from apportion.campaigns.plausible import SeenOutcomes, first_ticket_seen
from apportion.campaigns.state import CampaignState
from apportion.campaigns.storage.fair_lock import Latch
from apportion.campaigns.storage.group_commit import GroupedSession
from apportion.campaigns.storage.session import SNAPSHOT_EVERY, Head, Session, event_rows
from apportion.campaigns.storage.store import Store
from apportion.campaigns.totals import Totals
from apportion.campaigns.undo import unspent_tickets
from apportion.errors import ApportionError, ChangedSince, Conflict, IncompatibleState, UnknownName
from apportion.policies import Policy

if TYPE_CHECKING:
    from apportion.campaigns.health import Checked

T = TypeVar("T")

# So many seconds a reader waits for the state in memory; then it reads the database, as another process would.
READER_WAIT_SECONDS = 0.05

LONGEST_KEY = 200
PREPARED_ATTEMPTS = 3  # so often a long write is prepared beside others before it makes them wait


_expected: ContextVar[frozenset[str] | None] = ContextVar("apportion_expected", default=None)


def expect(tags: frozenset[str] | None) -> None:
    """From here on, in this thread or task, write only where the campaign's `tag` is one of these; None: anyhow."""
    _expected.set(tags)


class SharedState:
    """What the threads of a process share of one campaign: its state, and the lock on it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.state: CampaignState | None = None
        self.pending: Latch | None = None
        self.checked: Checked | None = None
        """The last health check."""

    def forget(self) -> None:
        """Read the state from the database again, the next time it is needed."""
        self.state = None

    @property
    def settled(self) -> bool:
        """Whether all that the state holds is on disk."""
        return self.pending is None or self.pending.is_set()


class Transaction:
    """A write in progress: the state, and the events that will be committed together."""

    def __init__(self, session: Session, campaign: int, state: CampaignState) -> None:
        self.session = session
        self.rows: list[dict[str, Any]] | None = None  # what `event_rows` made of the events before
        self.state = state
        self.events: list[Event] = []
        session.pending = self.events
        self.stale = False  # whether the state may hold more than the events tell
        self._campaign = campaign
        self._requests: dict[str, str] = {}  # the digest of what is asked for under a key, by key

    def append(self, kind: str, payload: dict[str, Any], ticket: int | None = None, key: str | None = None) -> Event:
        """Add an event whose change the state already has."""
        if key in self._requests:
            payload = {**payload, "asked": self._requests[key]}
        if not self.events:
            self.require_expected()
        event = new_event(self.state.number + 1, kind, payload, ticket, key)
        self.state.count(event)
        self.events.append(event)
        return event

    def require_expected(self) -> None:
        """`ChangedSince` where the campaign is not as whoever writes expects it (`expect`)."""
        try:
            require_expected(self.session, self._campaign)
        except ChangedSince:
            self.stale = True  # the state may hold what is refused here
            raise

    def done_before(self, key: str | None, kind: str, ticket: int | None = None, **request: Any) -> Event | None:
        """`find_done`; what is asked for here goes with the event that is appended under the key."""
        event = find_done(self.session, self._campaign, key, kind, ticket, request)
        if key is not None and request:
            self._requests[key] = request_digest(kind, ticket, request)
        return event


class Transactions:
    """One campaign of a store: its state is shared by all threads of the process, and follows the database."""

    def __init__(self, store: Store, campaign: int, name: str) -> None:
        self.store = store
        self.campaign = campaign
        self.name = self._first_name = name
        self._local = threading.local()

    @property
    def shared(self) -> SharedState:
        """What the threads of this process share of the campaign."""
        found: SharedState = self.store.shared.get_or_make(self.campaign, SharedState)
        return found

    @property
    def under_way(self) -> bool:
        """Whether this thread has a write under way."""
        return getattr(self._local, "transaction", None) is not None

    def read(self, look: Callable[[CampaignState, Session], T]) -> T:
        """What `look` finds in the state as of now, or as of the write that this thread has under way."""
        transaction: Transaction | None = getattr(self._local, "transaction", None)
        if transaction is not None:
            self._refresh(transaction)
            return look(transaction.state, transaction.session)
        shared = self.shared
        if shared.pending is not None:
            shared.pending.wait(READER_WAIT_SECONDS)
        with self.store.reading() as session:
            if shared.lock.acquire(timeout=READER_WAIT_SECONDS):
                try:
                    if shared.settled:
                        return look(self._catch_up(session, shared), session)
                finally:
                    shared.lock.release()
            return look(self.state_at(session, None), session)  # nobody sees what may yet fail

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session to read events by: those of a write that this thread has under way are among them."""
        transaction: Transaction | None = getattr(self._local, "transaction", None)
        if transaction is not None:
            yield transaction.session
        else:
            with self.store.reading() as session:
                yield session

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """The campaign to oneself. Nothing that fails leaves a trace, in the database or in memory."""
        outer: Transaction | None = getattr(self._local, "transaction", None)
        if outer is not None:
            self._refresh(outer)
            before = len(outer.events)
            try:
                yield outer
            except BaseException as error:
                if len(outer.events) > before or not isinstance(error, ApportionError):
                    outer.stale = True  # whoever catches this goes on as if it had not begun
                    del outer.events[before:]
                raise
            return
        shared = self.shared
        with self.store.writing(self.campaign) as session, shared.lock:
            transaction = Transaction(session, self.campaign, self._catch_up(session, shared))
            shared.state = None  # until the write is whole: Ctrl-C may come between a change and its event
            try:
                self._local.transaction = transaction
                yield transaction
                self._flush(transaction, session, shared)
            except ApportionError:
                if not transaction.events and not transaction.stale:
                    shared.state = transaction.state  # a refusal changes nothing
                raise
            finally:
                self._local.transaction = None
            shared.state = transaction.state

    def write_prepared(self, work: Callable[[Transaction], T]) -> T:
        """`work` on the campaign, done before it is locked: what takes long keeps no other writer waiting.

        It is done on a copy of the state, and kept if nothing happened to the campaign meanwhile; else once more, and
        in the end with the campaign to oneself. Within a write of this thread, as part of it.
        """
        for _ in range(0 if self.under_way else PREPARED_ATTEMPTS):
            with self.store.reading() as session:
                state, head = self.state_at(session, None), session.head(self.campaign)
                if head.number != state.number:  # another event came in between
                    continue
                transaction = Transaction(session, self.campaign, state)
                try:
                    self._local.transaction = transaction
                    found = work(transaction)
                    self._refresh(transaction)
                finally:
                    self._local.transaction = None
            if not transaction.events or self._keep(transaction, head):
                return found
        with self.write() as transaction:
            return work(transaction)

    def _keep(self, prepared: Transaction, head: Head) -> bool:
        """Write down what was prepared after that event; False where it is no longer the last."""
        prepared.rows = event_rows(self.campaign, head.digest, prepared.events)
        shared = self.shared
        with self.store.writing(self.campaign) as session, shared.lock:
            if session.head(self.campaign) != head:
                return False
            prepared.session = session
            prepared.state.history = self._history(session)
            shared.state = None
            self._flush(prepared, session, shared)
            shared.state = prepared.state
        return True

    def state_at(self, session: Session, number: int | None) -> CampaignState:
        """A fresh copy of the state after that many events; as of now by default."""
        saved = session.snapshot(self.campaign, number)
        state = None
        if saved is not None:
            with contextlib.suppress(OutdatedState):  # then all events are repeated
                state = CampaignState.from_text(saved.state, saved.number)
        if state is None:
            first = next(session.events(self.campaign, 0, limit=1), None)
            if first is None and session.is_deleted(self.campaign):
                raise UnknownName(f"Campaign '{self.name}' was deleted.")
            if first is None:
                raise IncompatibleState(f"Campaign '{self.name}' has no events: its database is damaged.")
            state = CampaignState.begin(first)
        state.history = self._history(session)
        for event in session.events(self.campaign, state.number, upto=number):
            state.apply(event)
        return state

    def totals(self, state: CampaignState, session: Session) -> Totals:
        """What was spent and came back, as of a state: added up from all tickets once, and kept up to date then."""
        if state.totals is None:
            events = session.events_by_ticket(self.campaign)
            state.totals = Totals.of(event for event in events if event.number <= state.number)
        return state.totals

    def seen(self, state: CampaignState, session: Session) -> SeenOutcomes:
        """Between what the outcomes of the last tickets were: read once, and kept up to date then."""
        if state.seen is None:
            period, indices = state.allocator.period, state.allocator.indices
            events = session.events_of_tickets(self.campaign, first_ticket_seen(period, len(indices)), period)
            by_ticket: dict[int, list[Event]] = {}
            for event in events:
                by_ticket.setdefault(event.ticket or 0, []).append(event)
            state.seen = SeenOutcomes.of(by_ticket, indices)
        return state.seen

    def restore_split(self, session: Session, event: Event) -> Split:
        """The split of an event once more, with the beliefs and reasons of its time."""
        state = self.state_at(session, event.number - 1)
        before = state.allocator
        with intact(event.number):
            split = before.explain(before.decision_from(event.payload))
            split.date, split.advised = event.period_date, event.payload.get("source") != "import"
            split.unit, split.unspent = state.settings_unit, unspent_tickets(state)
            return split

    def _refresh(self, transaction: Transaction) -> None:
        """The state anew, from what is on disk and the events of the write, where a verb in it was interrupted."""
        if transaction.stale:
            transaction.state, transaction.stale = self.state_at(transaction.session, None), False

    def _flush(self, transaction: Transaction, session: GroupedSession, shared: SharedState) -> None:
        """Hand the events to the database, and a snapshot where one is due; the store commits."""
        self._refresh(transaction)
        if not transaction.events:
            return
        session.pending = ()
        session.on_failure(shared.forget)
        shared.pending = session.committed
        session.append(self.campaign, transaction.events, transaction.rows)
        number = transaction.state.number
        if number // SNAPSHOT_EVERY != (number - len(transaction.events)) // SNAPSHOT_EVERY:
            session.save_snapshot(self.campaign, number, transaction.state.snapshot())

    def _catch_up(self, session: Session, shared: SharedState) -> CampaignState:
        """The state as of the last event: from memory or a snapshot, and the events since."""
        state, shared.state = shared.state, None  # until it is whole again
        last = 0
        if state is not None:
            last, at = session.last_number_and_moment(self.campaign, state.number)
            if at is None or state.at not in (at, None):
                state = shared.checked = None  # the database went back: another copy was put in its place
            else:
                state.at = at
        if state is None:
            state = self.state_at(session, None)
        else:
            state.history = self._history(session)
            if last != state.number:
                for event in session.events(self.campaign, state.number):
                    state.apply(event)
        shared.state = state
        self.name = state.name or self._first_name  # somebody else may have given it another one
        return state

    def _history(self, session: Session) -> Callable[[int, int], list[Event]]:
        return lambda ticket, upto: session.events_of_ticket(self.campaign, ticket, upto)


def require_expected(session: Session, campaign: int) -> None:
    """`ChangedSince` where a campaign is not as whoever writes expects it (`expect`)."""
    tags = _expected.get()
    if tags is not None and session.head(campaign).tag not in tags:
        raise ChangedSince("The campaign has changed since: look at it again, and send what is still right.")


def find_done(
    session: Session, campaign: int, key: str | None, kind: str, ticket: int | None, request: dict[str, Any]
) -> Event | None:
    """The event that was done under a key before; `Conflict` where it was something else."""
    if write_key(key) is None:
        return None
    event = session.event_by_key(campaign, str(key))
    if event is not None:
        known, digest = event.payload.pop("asked", None), request_digest(kind, ticket, request)
        if event.kind != kind or (request and known != digest and (known or not _same(event, ticket, request))):
            raise Conflict(f"The key '{key}' was used before for something else.")
    return event


def request_digest(kind: str, ticket: int | None, request: dict[str, Any]) -> str:
    """A short text for what is asked for: alike for the same request, and for no other."""
    text = json.dumps(_plain((kind, ticket, request)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _same(event: Event, ticket: int | None, request: dict[str, Any]) -> bool:
    """Whether an event of an older release, which did not keep what was asked for, can be what is asked for."""
    given = {name: value for name, value in request.items() if value is not None and name in event.payload}
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
    if not is_write_key(key):
        raise validation.refuse("key", f"printable text of at most {LONGEST_KEY} characters", key)
    return None if key is None else str(key)


def is_write_key(key: Any) -> bool:
    """Whether a write may be named so; None where it has no name."""
    return key is None or (isinstance(key, str) and 1 <= len(key) <= LONGEST_KEY and key.isprintable())

"""What can be read of a campaign, each time as of one moment."""

from __future__ import annotations

from typing import NamedTuple

from apportion._common import validation
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.split import Split
from apportion.campaigns.check import Check, compare
from apportion.campaigns.events import Event, intact
from apportion.campaigns.expected_regret import expected_regret
from apportion.campaigns.history import History, lines
from apportion.campaigns.replay import Replay
from apportion.campaigns.settings import Settings
from apportion.campaigns.state import Ledger
from apportion.campaigns.status import ArmStatus, Status, sentences
from apportion.campaigns.storage.session import Session
from apportion.campaigns.transactions import Desk
from apportion.errors import IncompatibleState

# More events or tickets than any campaign has; a database can count so far.
MOST = 2**62


class Arm(NamedTuple):
    """One arm of a campaign, as it stands: `state` is active, paused or removed."""

    name: str
    state: str
    minimum: float
    maximum: float


class View(Desk):
    """The reading half of `Campaign`: settings, arms, beliefs, history, events, and the check of what is kept."""

    @property
    def settings(self) -> Settings:
        """What the campaign is run by, as of now."""
        return self._read(lambda ledger, session: ledger.settings)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every arm there ever was, with its state and bounds."""
        return self._read(lambda ledger, session: tuple(Arm(**arm) for arm in ledger.allocator.roster))

    @property
    def period(self) -> int:
        """How many splits were asked for."""
        return self._read(lambda ledger, session: ledger.allocator.period)

    @property
    def version(self) -> int:
        """The number of the last event: it changes when anything does."""
        with self._store.reading() as session:
            return session.last(self._id)

    @property
    def open_tickets(self) -> tuple[int, ...]:
        """The tickets with outcomes still to come."""
        return self._read(lambda ledger, session: ledger.allocator.open_tickets)

    def beliefs(self, at: int | None = None) -> Beliefs:
        """What is believed about every arm that was not removed; `at`: after that many events."""
        if at is not None:
            with self._store.reading() as session:
                return self._at(session, min(validation.whole("at", at, low=1), MOST)).allocator.beliefs()
        return self._read(lambda ledger, session: ledger.allocator.beliefs())

    def beliefs_over_time(self, every: int = 1) -> list[tuple[int, Beliefs]]:
        """What was believed after each split's last event so far: (period, beliefs), every so many periods.

        The last entry is today's. One pass over all events.
        """
        often, found, replay = validation.whole("every", every, low=1), [], Replay(self)
        for step in replay.news():
            if step.before is not None and step.ended and step.ended % often == 0:
                found.append((step.ended, step.before.allocator.beliefs()))
        if replay.ledger is not None:
            found.append((replay.ledger.allocator.period, replay.ledger.allocator.beliefs()))
        return found

    def explain(self, ticket: int) -> Split:
        """The split of a ticket as it was given, with the beliefs and reasons of its time."""

        def found(ledger: Ledger, session: Session) -> Event:
            return self._split_of(session, ledger.allocator.shelf.find(ticket).number)

        event = self._read(found)
        with self._store.reading() as session:
            return self._retold(session, event)

    def status(self) -> Status:
        """Where the campaign stands, at one moment: beliefs, open tickets, settings, what to know in sentences."""

        def found(ledger: Ledger, session: Session) -> Status:
            own, settings = ledger.allocator, ledger.settings
            beliefs, waiting = own.beliefs(), own.open_tickets
            regret = self._regret(ledger, session, beliefs)
            arms = tuple(ArmStatus(**arm, belief=beliefs.get(arm["name"])) for arm in own.roster)
            notes = sentences(settings, waiting, regret, beliefs.learned)
            return Status(
                self.name, own.period, waiting, beliefs.leader, regret, arms, settings, ledger.number, notes, beliefs
            )

        return self._read(found)

    def expected_regret(self) -> float:
        """What the last split (an even one before it) is expected to cost per period, as seen from today's beliefs.

        NaN where σ is unknown or an arm has no outcome yet.
        """
        return self._read(lambda ledger, session: self._regret(ledger, session, ledger.allocator.beliefs()))

    def _regret(self, ledger: Ledger, session: Session, beliefs: Beliefs) -> float:
        if not beliefs:
            return float("nan")
        amounts = dict.fromkeys(beliefs, ledger.settings_budget / len(beliefs))
        if ledger.allocator.period:
            event = self._split_of(session, ledger.allocator.period)
            with intact(event.number):
                amounts = event.payload["amounts"]
        return expected_regret(beliefs, amounts)

    def _split_of(self, session: Session, ticket: int) -> Event:
        found = session.of_ticket(self._id, ticket)
        if not found:
            raise IncompatibleState(f"The split of ticket {ticket} is missing: the database is damaged.")
        return found[0]

    def history(self, first: int | None = None, last: int | None = None) -> History:
        """One line per ticket and arm: advised and spent amount, outcome, corrections. All tickets, or a range."""
        low = 1 if first is None else min(validation.whole("first", first, low=1), MOST)
        high = MOST if last is None else min(validation.whole("last", last, low=low), MOST)
        with self._store.reading() as session:
            return History(self.name, lines(session.of_tickets(self._id, low, high)))

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log: everything that happened, in order."""
        start = min(validation.whole("after", after, low=0), MOST)
        most = None if limit is None else min(validation.whole("limit", limit, low=0), MOST)
        with self._store.reading() as session:
            return list(session.events(self._id, start, limit=most))

    def state(self, b: float | None = None) -> str:
        """The whole state as text, to the last bit: equal states are equal texts. `b`: as it were for that b."""
        return self._read(lambda ledger, session: ledger.text() if b is None else ledger.text_for(b))

    def check(self, repair: bool = False) -> Check:
        """Rebuild everything from the events and compare with what is kept; `repair` replaces wrong snapshots."""
        with self._store.reading() as session:
            found, rebuilt = compare(session, self._id)
        if repair and not found.ok and rebuilt is not None:
            with self._store.writing(self._id) as session:
                session.drop_snapshots(self._id)
            self._shared.forget()
        return found

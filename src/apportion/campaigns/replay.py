"""A campaign once more, event by event, and on from there as it grows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from apportion.campaigns.events import Event
from apportion.campaigns.state import Ledger
from apportion.campaigns.transactions import Desk


class Step(NamedTuple):
    """An event, and the state just before it: None before the first."""

    event: Event
    before: Ledger | None

    @property
    def ended(self) -> int:
        """The period that ends here, as the next split is asked for; 0 where none does."""
        return self.before.allocator.period if self.before is not None and self.event.kind == "split" else 0


class Replay:
    """A state of its own that follows a campaign through its events; every event is read once.

    Events are only ever added, so what was seen of the past stays true: a correction is a later event.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.number = 0
        """How many events were read."""
        self.ledger: Ledger | None = None
        """The state after them."""

    def news(self, upto: int | None = None) -> Iterator[Step]:
        """What happened since the last time, up to an event's number. To be read to its end, or not used again."""
        store, campaign = self._desk._store, self._desk._id
        with store.reading() as session:
            ledger = self.ledger
            if ledger is not None:
                ledger.history = lambda ticket, last: session.of_ticket(campaign, ticket, last)
            for event in session.events(campaign, self.number, upto=upto):
                yield Step(event, ledger)
                if ledger is None:
                    self.ledger = ledger = Ledger.begin(event)
                    ledger.history = lambda ticket, last: session.of_ticket(campaign, ticket, last)
                else:
                    ledger.apply(event)
                self.number = event.number

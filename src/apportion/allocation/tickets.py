"""Open splits and what has come back for them."""

import math
from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np

from apportion._common import validation
from apportion.errors import IncompatibleState, UnknownName
from apportion.model.sums import Floats

# Completed tickets are held, to recognise repeated outcomes and to amend, while they hold no more numbers
# than this (or ten tickets): memory must not grow with the number of periods.
MOST_COMPLETED_NUMBERS = 100_000
FEWEST_COMPLETED = 10


class Ticket:
    """One split: the amount per arm, the outcomes that came (NaN: none, or no data), and which were recorded.

    Its number is also its period: one split is issued in each.
    """

    __slots__ = ("amounts", "number", "outcomes", "recorded")

    def __init__(self, number: int, amounts: Floats) -> None:
        self.number = number
        self.amounts = amounts
        self.outcomes: Floats = np.full(len(amounts), math.nan)
        self.recorded = np.zeros(len(amounts), dtype=bool)

    @property
    def complete(self) -> bool:
        """Whether every arm that got something has its outcome, or will have none."""
        return bool((self.recorded | (self.amounts == 0.0)).all())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "number": self.number,
            "amounts": self.amounts.tolist(),
            "outcomes": [None if math.isnan(value) else value for value in self.outcomes.tolist()],
            "told": self.recorded.tolist(),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any], arms: int) -> Self:
        """The ticket that `to_dict` wrote, for at most so many arms."""
        ticket = cls(validation.whole("number", state["number"], low=1), np.array(state["amounts"], dtype=np.float64))
        ticket.outcomes = np.array(state["outcomes"], dtype=np.float64)
        ticket.recorded = np.array([validation.flag("told", recorded) for recorded in state["told"]], dtype=bool)
        sound = (
            ticket.amounts.shape == ticket.outcomes.shape == ticket.recorded.shape
            and 1 <= len(ticket.recorded) <= arms
            and bool((np.isfinite(ticket.amounts) & (ticket.amounts >= 0.0)).all())
            and not np.isinf(ticket.outcomes).any()
            and bool((ticket.recorded | np.isnan(ticket.outcomes)).all())
        )
        if not sound:
            raise IncompatibleState(f"The saved state is damaged: ticket {ticket.number} contradicts itself.")
        return ticket


class TicketStore(Protocol):
    """Where an allocator holds its tickets: in memory (`Tickets`), or in the database of a campaign."""

    issued: int
    """How many there ever were."""

    @property
    def open(self) -> tuple[int, ...]:
        """The numbers of those with outcomes still to come."""

    def issue(self, amounts: Floats) -> int:
        """A new ticket's number."""

    def find(self, number: int) -> Ticket:
        """The ticket of that number; `UnknownName` with those there are."""

    def at_hand(self) -> Iterator[Ticket]:
        """All tickets that `find` still knows."""

    def settle(self, ticket: Ticket) -> None:
        """Count a ticket with the open or the completed ones, as its outcomes say."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""


class Tickets:
    """The tickets by number, counted from 1: in memory all open ones, and the last of the completed."""

    def __init__(self) -> None:
        self.issued = 0  # how many there ever were
        self._open: dict[int, Ticket] = {}
        self._completed: dict[int, Ticket] = {}

    @property
    def open(self) -> tuple[int, ...]:
        """The numbers of those with outcomes still to come."""
        return tuple(self._open)

    def issue(self, amounts: Floats) -> int:
        """A new ticket's number."""
        self.issued += 1
        self._open[self.issued] = Ticket(self.issued, amounts)
        return self.issued

    def find(self, number: int) -> Ticket:
        """The ticket of that number; an error that says which there are."""
        if validation.is_whole(number):
            ticket = self._open.get(number) or self._completed.get(number)
            if ticket is not None:
                return ticket
            if 1 <= number <= self.issued:
                raise UnknownName(f"Ticket {number} was completed too long ago to be recorded or amended again.")
        shown = ", ".join(str(known) for known in list(self._open)[-10:]) or "none"
        raise UnknownName(f"Ticket {number!r} is not known; open are {shown}.")

    def at_hand(self) -> Iterator[Ticket]:
        """All open ones, and the last of the completed."""
        yield from self._open.values()
        yield from self._completed.values()

    def settle(self, ticket: Ticket) -> None:
        """Put a ticket with the open or the completed ones; where many are complete, forget the oldest."""
        if not ticket.complete:
            # Also one that was complete, until more turned out to have been spent than was advised.
            self._completed.pop(ticket.number, None)
            self._open[ticket.number] = ticket
        elif self._open.pop(ticket.number, None):
            self._completed[ticket.number] = ticket
            most = max(FEWEST_COMPLETED, MOST_COMPLETED_NUMBERS // len(ticket.amounts))
            while len(self._completed) > most:
                del self._completed[next(iter(self._completed))]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "issued": self.issued,
            "open": [ticket.to_dict() for ticket in self._open.values()],
            "completed": [ticket.to_dict() for ticket in self._completed.values()],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any], arms: int) -> Self:
        """The tickets that `to_dict` wrote, for at most so many arms."""
        restored = cls()
        restored.issued = validation.whole("issued", state["issued"], low=0)
        for name, held in (("open", restored._open), ("completed", restored._completed)):
            for saved in state[name]:
                ticket = Ticket.from_dict(saved, arms)
                repeated = ticket.number in restored._open or ticket.number in restored._completed
                if repeated or ticket.number > restored.issued or ticket.complete == (name == "open"):
                    raise IncompatibleState(f"The saved state is damaged: ticket {ticket.number} is out of place.")
                held[ticket.number] = ticket
        return restored

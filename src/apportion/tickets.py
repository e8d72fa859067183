"""Open splits and what has come back for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from apportion import checks
from apportion.errors import UnknownName
from apportion.statistics import Floats

# Completed tickets are kept, to recognise repeated outcomes and to amend, while they hold no more numbers
# than this (or ten tickets): memory must not grow with the number of periods.
KEPT_NUMBERS = 100_000
KEPT_TICKETS = 10


class Ticket:
    """One split: the amount per arm, the outcomes that came (NaN: none, or no data), and which were told."""

    __slots__ = ("amounts", "number", "outcomes", "period", "told")

    def __init__(self, number: int, period: int, amounts: Floats) -> None:
        self.number = number
        self.period = period
        self.amounts = amounts
        self.outcomes: Floats = np.full(len(amounts), math.nan)
        self.told = np.zeros(len(amounts), dtype=bool)

    @property
    def complete(self) -> bool:
        """Whether every arm that got something was told."""
        return bool((self.told | (self.amounts == 0.0)).all())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "number": self.number,
            "period": self.period,
            "amounts": self.amounts.tolist(),
            "outcomes": [None if math.isnan(value) else value for value in self.outcomes.tolist()],
            "told": self.told.tolist(),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Ticket:
        """The ticket that `to_dict` wrote."""
        ticket = cls(int(state["number"]), int(state["period"]), np.array(state["amounts"], dtype=np.float64))
        ticket.outcomes = np.array(state["outcomes"], dtype=np.float64)
        ticket.told = np.array(state["told"], dtype=bool)
        return ticket


class Tickets:
    """The tickets by number, counted from 1. All open ones, and the last of the completed."""

    def __init__(self) -> None:
        self._issued = 0
        self._open: dict[int, Ticket] = {}
        self._completed: dict[int, Ticket] = {}

    @property
    def open(self) -> tuple[int, ...]:
        """The numbers of those with outcomes still to come."""
        return tuple(self._open)

    def issue(self, period: int, amounts: Floats) -> int:
        """A new ticket's number."""
        self._issued += 1
        self._open[self._issued] = Ticket(self._issued, period, amounts)
        return self._issued

    def find(self, number: int) -> Ticket:
        """The ticket of that number; an error that says which there are."""
        if checks.is_whole(number):
            ticket = self._open.get(number) or self._completed.get(number)
            if ticket is not None:
                return ticket
            if 1 <= number <= self._issued:
                raise UnknownName(f"Ticket {number} was completed too long ago to be told or amended again.")
        shown = ", ".join(str(known) for known in list(self._open)[-10:]) or "none"
        raise UnknownName(f"Ticket {number!r} is not known; open are {shown}.")

    def settle(self, ticket: Ticket) -> None:
        """Move a complete ticket out of the open ones; where many are complete, forget the oldest."""
        if ticket.number in self._open and ticket.complete:
            self._completed[ticket.number] = self._open.pop(ticket.number)
            most = max(KEPT_TICKETS, KEPT_NUMBERS // max(len(ticket.amounts), 1))
            while len(self._completed) > most:
                del self._completed[next(iter(self._completed))]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "issued": self._issued,
            "open": [ticket.to_dict() for ticket in self._open.values()],
            "completed": [ticket.to_dict() for ticket in self._completed.values()],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Tickets:
        """The tickets that `to_dict` wrote."""
        restored = cls()
        restored._issued = int(state["issued"])
        for name, shelf in (("open", restored._open), ("completed", restored._completed)):
            for ticket in map(Ticket.from_dict, state[name]):
                shelf[ticket.number] = ticket
        return restored

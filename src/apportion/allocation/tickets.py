"""Open splits and what has come back for them."""

import math
from collections.abc import Iterable, Iterator, Sequence
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

    Of these some may be `provisional`: totals so far, to be replaced. Its number is also its period: one split is
    issued in each.
    """

    __slots__ = ("amounts", "cancelled", "number", "outcomes", "provisional", "recorded")

    def __init__(self, number: int, amounts: Floats) -> None:
        self.number = number
        self.amounts = amounts
        self.outcomes: Floats = np.full(len(amounts), math.nan)
        self.recorded = np.zeros(len(amounts), dtype=bool)
        self.provisional = np.zeros(len(amounts), dtype=bool)
        self.cancelled = False

    def cancel(self) -> None:
        """Take everything back: nothing is to be spent, nothing came back, and nothing will."""
        self.amounts, self.outcomes = np.zeros(len(self.amounts)), np.full(len(self.amounts), math.nan)
        self.recorded, self.cancelled = np.zeros(len(self.amounts), dtype=bool), True
        self.provisional = np.zeros(len(self.amounts), dtype=bool)

    @property
    def complete(self) -> bool:
        """Whether every arm that got something has its final outcome, or will have none."""
        return bool(((self.recorded & ~self.provisional) | (self.amounts == 0.0)).all())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        state: dict[str, Any] = {
            "number": self.number,
            "amounts": self.amounts.tolist(),
            "outcomes": [None if math.isnan(value) else value for value in self.outcomes.tolist()],
            "told": self.recorded.tolist(),
        }
        if self.provisional.any():
            state["provisional"] = self.provisional.tolist()
        return {**state, "cancelled": True} if self.cancelled else state

    @classmethod
    def from_dict(cls, state: dict[str, Any], arms: int) -> Self:
        """The ticket that `to_dict` wrote, for at most so many arms."""
        ticket = cls(validation.whole("number", state["number"], low=1), np.array(state["amounts"], dtype=np.float64))
        ticket.outcomes = np.array(state["outcomes"], dtype=np.float64)
        ticket.recorded = np.array([validation.flag("told", recorded) for recorded in state["told"]], dtype=bool)
        if "provisional" in state:
            marks = [validation.flag("provisional", each) for each in state["provisional"]]
            ticket.provisional = np.array(marks, dtype=bool)
        ticket.cancelled = validation.flag("cancelled", state.get("cancelled", False))
        sound = (
            ticket.amounts.shape == ticket.outcomes.shape == ticket.recorded.shape == ticket.provisional.shape
            and 1 <= len(ticket.recorded) <= arms
            and bool((np.isfinite(ticket.amounts) & (ticket.amounts >= 0.0)).all())
            and not np.isinf(ticket.outcomes).any()
            and bool((ticket.recorded | np.isnan(ticket.outcomes)).all())
            and not (ticket.provisional & np.isnan(ticket.outcomes)).any()
        )
        if not sound:
            raise IncompatibleState(f"The saved state is damaged: ticket {ticket.number} contradicts itself.")
        return ticket


class TicketStore(Protocol):
    """Where an allocator holds its tickets: in memory (`Tickets`), or in the database of a campaign."""

    issued: int
    """How many there ever were."""
    cancelled: set[int]
    """The numbers of those that were taken back."""

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


def last_kept(tickets: TicketStore) -> int:
    """The number of the last ticket that was not cancelled; 0 where there is none."""
    number = tickets.issued
    while number in tickets.cancelled:
        number -= 1
    return number


def to_ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in order as ranges, each with its first and last.

    >>> to_ranges([1, 2, 3, 7])
    [[1, 3], [7, 7]]
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def from_ranges(ranges: Sequence[Sequence[int]], most: int) -> set[int]:
    """The numbers that `to_ranges` wrote, from 1 to at most so many."""
    found: set[int] = set()
    last = 0
    for first, end in ranges:
        if not last < first <= end <= most:
            raise IncompatibleState("The saved state is damaged: its tickets are out of order.")
        found.update(range(first, end + 1))
        last = end
    return found


class Tickets:
    """The tickets by number, counted from 1: in memory all open ones, and the last of the completed."""

    def __init__(self) -> None:
        self.issued = 0  # how many there ever were
        self.cancelled: set[int] = set()
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
        state: dict[str, Any] = {
            "issued": self.issued,
            "open": [ticket.to_dict() for ticket in self._open.values()],
            "completed": [ticket.to_dict() for ticket in self._completed.values()],
        }
        return {**state, "cancelled": to_ranges(sorted(self.cancelled))} if self.cancelled else state

    @classmethod
    def from_dict(cls, state: dict[str, Any], arms: int) -> Self:
        """The tickets that `to_dict` wrote, for at most so many arms."""
        restored = cls()
        restored.issued = validation.whole("issued", state["issued"], low=0)
        restored.cancelled = from_ranges(state.get("cancelled", ()), restored.issued)
        for name, held in (("open", restored._open), ("completed", restored._completed)):
            for saved in state[name]:
                ticket = Ticket.from_dict(saved, arms)
                repeated = ticket.number in restored._open or ticket.number in restored._completed
                if repeated or ticket.number > restored.issued or ticket.complete == (name == "open"):
                    raise IncompatibleState(f"The saved state is damaged: ticket {ticket.number} is out of place.")
                held[ticket.number] = ticket
        return restored

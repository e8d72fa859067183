"""Tickets that live in a database: only the numbers of the open ones are part of the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from apportion._common import validation
from apportion.allocation.tickets import Ticket, from_ranges, to_ranges
from apportion.errors import UnknownName
from apportion.model.sums import Floats

# The tickets used last are held in memory while they hold no more numbers than this, or so many tickets.
RECENT_NUMBERS = 50_000
RECENT_TICKETS = 8


class TicketIndex:
    """Which tickets are open; what is in one is looked up by `fetch` when it is needed.

    So the state stays small however long a campaign runs, however many outcomes never come, and any ticket can be
    amended, however old. A `TicketStore`, as an allocator takes it.
    """

    def __init__(self) -> None:
        self.issued = 0
        self.cancelled: set[int] = set()
        self.provisional: set[int] = set()
        """The numbers of those that hold totals so far, to be replaced."""
        self._open: set[int] = set()
        self._recent: dict[int, Ticket] = {}
        self.fetch: Callable[[int], Ticket] | None = None

    @property
    def open(self) -> tuple[int, ...]:
        """The numbers of those with outcomes still to come."""
        return tuple(sorted(self._open))

    def waits(self, number: int) -> bool:
        """Whether outcomes of a ticket are still to come."""
        return number in self._open

    def issue(self, amounts: Floats) -> int:
        """A new ticket's number."""
        self.issued += 1
        self._open.add(self.issued)
        self._remember(Ticket(self.issued, amounts))
        return self.issued

    def find(self, number: int) -> Ticket:
        """The ticket of that number; an error that says which there are."""
        if not validation.is_whole(number) or not 1 <= number <= self.issued:
            shown = ", ".join(map(str, self.open[-10:])) or "none"
            known = "there is only 1" if self.issued == 1 else f"there are 1 to {self.issued}"
            known = f"{known} (open: {shown})" if self.issued else "no split was asked for yet"
            raise UnknownName(f"Ticket {validation.shown(number)} is not known; {known}.")
        ticket = self._recent.get(number)
        if ticket is None:
            if self.fetch is None:
                raise UnknownName(f"Ticket {number} is in the database, which is not at hand.")
            ticket = self.fetch(int(number))
            self._remember(ticket)
        return ticket

    def at_hand(self) -> Iterator[Ticket]:
        """All of them."""
        return map(self.find, range(1, self.issued + 1))

    def settle(self, ticket: Ticket) -> None:
        """Count a ticket with the open or the completed ones."""
        if ticket.complete:
            self._open.discard(ticket.number)
        else:
            self._open.add(ticket.number)
        if ticket.provisional.any():
            self.provisional.add(ticket.number)
        else:
            self.provisional.discard(ticket.number)

    def _remember(self, ticket: Ticket) -> None:
        self._recent[ticket.number] = ticket
        most = max(RECENT_TICKETS, RECENT_NUMBERS // len(ticket.amounts))
        while len(self._recent) > most:
            del self._recent[next(iter(self._recent))]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: how many there were, and which are open, cancelled or provisional, as ranges."""
        state: dict[str, Any] = {"issued": self.issued, "open": to_ranges(self.open)}
        marks = {"cancelled": self.cancelled, "provisional": self.provisional}
        return state | {name: to_ranges(sorted(numbers)) for name, numbers in marks.items() if numbers}

    def load(self, state: dict[str, Any], arms: int) -> TicketIndex:
        """This index, as `to_dict` wrote it."""
        del arms  # only the tickets in the database hold something for each arm
        self.issued = validation.whole("issued", state["issued"], low=0)
        self._open = from_ranges(state["open"], self.issued)
        self.cancelled = from_ranges(state.get("cancelled", ()), self.issued)
        self.provisional = from_ranges(state.get("provisional", ()), self.issued)
        return self

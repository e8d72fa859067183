"""What was spent and what came back, added up: the numbers that stand in the sheet of whoever runs the campaign."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from apportion.campaigns.events import Event, intact

# Every finite float is a whole multiple of 2^-1074: sums of such multiples are exact, in any order and back again.
_ONE = 1 << 1074


class Total(NamedTuple):
    """What was spent, and what came back for it."""

    spent: float
    returned: float


def return_so_far(total: Any) -> float:
    """Returned ÷ spent, of anything that has both; NaN where nothing was spent.

    >>> return_so_far(Total(200.0, 50.0))
    0.25
    """
    return float(total.returned / total.spent) if total.spent > 0.0 else math.nan


class TicketTotals:
    """One ticket: what was spent on each arm as far as anybody said, and what came back.

    An amount counts as spent once a result of it was recorded, or somebody said that it was spent (`amounts` of an
    outcome, or an imported row, with or without a result). Advice alone does not, nor a ticket
    that was closed without a word.
    """

    def __init__(self) -> None:
        self._amounts: dict[str, float] = {}
        self._outcomes: dict[str, float | None] = {}
        self._stated: set[str] = set()
        self._provisional: set[str] = set()

    def take(self, event: Event) -> None:
        """Take in the next event of this ticket."""
        payload = event.payload
        if event.kind == "split":
            self._amounts = dict(payload["amounts"])
            if payload.get("source") == "import":
                self._stated.update(self._amounts)
        elif event.kind == "cancelled":
            self._amounts, self._outcomes, self._stated, self._provisional = {}, {}, set(), set()
        else:
            amounts = payload.get("amounts", {})
            self._amounts.update(amounts)
            self._stated.update(amounts)
            outcomes = payload["outcomes"]
            self._outcomes.update(outcomes)
            if payload.get("provisional"):
                self._provisional.update(outcomes)
            else:
                self._provisional.difference_update(outcomes)
            self._stated.update(arm for arm, outcome in outcomes.items() if outcome is not None)

    def total(self, arm: str) -> tuple[float, float]:
        """What was spent on the arm, and what came back."""
        return self._amounts.get(arm, 0.0) if arm in self._stated else 0.0, self._outcomes.get(arm) or 0.0

    @property
    def arms(self) -> Iterable[str]:
        """All that it names."""
        return self._amounts.keys() | self._outcomes.keys()

    @property
    def open(self) -> bool:
        """Whether outcomes are still to come."""
        known = self._outcomes.keys() - self._provisional
        return any(amount > 0.0 and arm not in known for arm, amount in self._amounts.items())


class Totals:
    """The totals of all arms, kept up to date event by event."""

    def __init__(self) -> None:
        self._sums: dict[str, list[int]] = {}
        self._open: dict[int, TicketTotals] = {}  # others are done with, but for corrections

    @classmethod
    def of(cls, events: Iterable[Event]) -> Totals:
        """The totals after these events, which come ticket by ticket."""
        found = cls()
        for number, own in groupby(events, key=lambda event: event.ticket):
            ticket = TicketTotals()
            for event in own:
                with intact(event.number):
                    ticket.take(event)
            found._add(ticket, ticket.arms, 1)
            if ticket.open and number is not None:
                found._open[number] = ticket
        return found

    def take(self, event: Event) -> bool:
        """Take in the next event of the log; False where that cannot be done: then begin anew."""
        if event.ticket is None:
            return True
        if event.kind == "split":
            self._open[event.ticket] = ticket = TicketTotals()
        else:
            known = self._open.get(event.ticket)
            if known is None or event.kind not in ("outcome", "amended", "cancelled"):
                return False
            ticket = known
        named = dict.fromkeys((*event.payload.get("outcomes", ()), *event.payload.get("amounts", ())))
        if event.kind == "cancelled":
            named = dict.fromkeys(ticket.arms)
        self._add(ticket, named, -1)
        ticket.take(event)
        self._add(ticket, named, 1)
        if not ticket.open:
            del self._open[event.ticket]
        return True

    def _add(self, ticket: TicketTotals, arms: Iterable[str], sign: int) -> None:
        for arm in arms:
            spent, returned = ticket.total(arm)
            if spent or returned:
                sums = self._sums.setdefault(arm, [0, 0])
                sums[0] += sign * _multiple(spent)
                sums[1] += sign * _multiple(returned)

    def by_arm(self) -> Mapping[str, Total]:
        """The totals of the arms that have any, by name."""
        return {arm: Total(spent / _ONE, returned / _ONE) for arm, (spent, returned) in self._sums.items()}

    def in_all(self) -> Total:
        """Those of all arms together."""
        spent, returned = (sum(sums[index] for sums in self._sums.values()) for index in (0, 1))
        return Total(spent / _ONE, returned / _ONE)


def _multiple(value: float) -> int:
    """How many times 2^-1074 a number is."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (1075 - denominator.bit_length())

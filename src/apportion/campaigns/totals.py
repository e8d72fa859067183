"""What was spent and what came back, added up: the numbers that stand in the sheet of whoever runs the campaign."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from apportion.campaigns.events import Event, intact

# Every finite float is 53 bits times a power of two, a whole multiple of 2^-1127: sums of such multiples are exact,
# in any order and back again.
_ONE = 1 << 1127
WAITING = 512  # so many numbers of an arm are added up at once: their 53 bits fit into 63


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

    @property
    def counted(self) -> bool:
        """Whether anything of it counts so far."""
        return bool(self._stated or self._outcomes)

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
        self._waiting: dict[str, tuple[list[float], list[float]]] = {}  # not yet in the sums
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

    def take(self, event: Event, earlier: Callable[[int, int], list[Event]] | None = None) -> bool:
        """Take in the next event of the log; False where that cannot be done: then begin anew.

        `earlier` reads the events of a ticket up to a number: of one that was done with, and is now corrected.
        """
        if event.ticket is None:
            return True
        if event.kind == "split":
            self._open[event.ticket] = ticket = TicketTotals()
        elif event.kind not in ("outcome", "amended", "cancelled"):
            return False
        else:
            known = self._open.get(event.ticket)
            if known is None:
                if earlier is None:
                    return False
                known = self._open[event.ticket] = TicketTotals()
                for before in earlier(event.ticket, event.number - 1):
                    known.take(before)
            ticket = known
        named = dict.fromkeys((*event.payload.get("outcomes", ()), *event.payload.get("amounts", ())))
        if event.kind == "cancelled":
            named = dict.fromkeys(ticket.arms)
        if ticket.counted:
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
                waiting = self._waiting.get(arm)
                if waiting is None:
                    waiting = self._waiting[arm] = ([], [])
                waiting[0].append(sign * spent)
                waiting[1].append(sign * returned)
                if len(waiting[0]) == WAITING:
                    self._add_up(arm)

    def _add_up(self, arm: str) -> None:
        sums = self._sums.setdefault(arm, [0, 0])
        for index, values in enumerate(self._waiting.pop(arm)):
            sums[index] += _multiple(values)

    def _exact(self) -> dict[str, list[int]]:
        """The sums, with all that waited."""
        for arm in tuple(self._waiting):
            self._add_up(arm)
        return self._sums

    def text(self) -> str:
        """The sums, to the last bit. Tickets that are open are not in it: their events tell."""
        return json.dumps(
            {arm: [hex(value) for value in sums] for arm, sums in sorted(self._exact().items()) if any(sums)}
        )

    @classmethod
    def from_text(cls, text: str) -> Totals:
        """The totals that `text` wrote; tickets that were open are read again when they go on."""
        found = cls()
        found._sums = {arm: [int(value, 16) for value in sums] for arm, sums in json.loads(text).items()}
        return found

    def by_arm(self) -> Mapping[str, Total]:
        """The totals of the arms that have any, by name."""
        return {arm: Total(spent / _ONE, returned / _ONE) for arm, (spent, returned) in self._exact().items()}

    def in_all(self) -> Total:
        """Those of all arms together."""
        spent, returned = (sum(sums[index] for sums in self._exact().values()) for index in (0, 1))
        return Total(spent / _ONE, returned / _ONE)


def _multiple(values: list[float]) -> int:
    """How many times 2^-1127 numbers are together: integers of 53 bits, added up exponent by exponent."""
    parts, exponents = np.frexp(values)
    whole = np.ldexp(parts, 53).astype(np.int64)
    found = 0
    for exponent in np.unique(exponents).tolist():
        found += int(whole[exponents == exponent].sum()) << (exponent + 1074)
    return found

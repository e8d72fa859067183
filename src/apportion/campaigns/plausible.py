"""Whether an outcome can be meant: one that is ten times off all that was seen may be a slip, and is asked about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from apportion._common.formatting import readable
from apportion.campaigns.events import Event, ticket_from_events
from apportion.errors import Unconfirmed

TIMES_OFF = 10.0
"""So many times beyond what was seen is too far to be taken without a word."""
FEWEST_SEEN = 5
"""With fewer outcomes of an arm all arms together are what was seen; with fewer of these nothing is asked."""
MOST_TICKETS, MOST_CELLS = 200, 20_000
"""So many of the last tickets are looked at, and so many arms × tickets."""


class Range:
    """How many outcomes there were, and between what they and the returns per unit were, in size."""

    __slots__ = ("least", "least_rate", "most", "most_rate", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.least = self.least_rate = math.inf
        self.most = self.most_rate = 0.0

    def add(self, size: float, rate: float) -> None:
        """One outcome more: of each record that is taken in, so this must be quick."""
        self.seen += 1
        if size < self.least:
            self.least = size
        if size > self.most:
            self.most = size
        if rate < self.least_rate:
            self.least_rate = rate
        if rate > self.most_rate:
            self.most_rate = rate

    def is_far(self, size: float, rate: float, whole: bool = True) -> bool:
        """Whether both the outcome and the return per unit are ten times off; a 0 is never.

        What is not the `whole` outcome, but a total so far, is never too little. Elsewhere too little is only told
        where outcomes were of one size so far: with noise around 0 any of them may be tiny.
        """
        if self.least < TIMES_OFF * size and size < TIMES_OFF * self.most:
            return False
        if size == 0.0 or self.most == 0.0:
            return False
        above = size >= TIMES_OFF * self.most and rate >= TIMES_OFF * self.most_rate
        below = TIMES_OFF * size <= self.least and TIMES_OFF * rate <= self.least_rate
        return above or (whole and below and self.most < TIMES_OFF * self.least)


class SeenOutcomes:
    """The ranges of the outcomes that were seen, by arm."""

    def __init__(self) -> None:
        self._ranges: dict[str, Range] = {}

    @classmethod
    def of(cls, tickets: Mapping[int, Iterable[Event]], indices: Mapping[str, int]) -> SeenOutcomes:
        """What these tickets hold, each with all of its events."""
        seen = cls()
        for number, own in tickets.items():
            ticket = ticket_from_events(number, own, indices)
            for name, index in indices.items():
                if index < len(ticket.amounts) and not ticket.provisional[index]:
                    seen.add(name, float(ticket.outcomes[index]), float(ticket.amounts[index]))
        return seen

    def add(self, arm: str, outcome: float, amount: float) -> None:
        """One outcome more; NaN is none."""
        if outcome == outcome and amount > 0.0:
            own = self._ranges.get(arm)
            if own is None:
                own = self._ranges[arm] = Range()
            own.add(abs(outcome), abs(outcome) / amount)

    def range_of(self, arm: str) -> Range | None:
        """What was seen of an arm; of all, where that is too little; None where that is too little, too."""
        own = self._ranges.get(arm)
        if own is not None and own.seen >= FEWEST_SEEN:
            return own
        together = Range()
        for each in self._ranges.values():
            together.add(each.least, each.least_rate)
            together.add(each.most, each.most_rate)
        together.seen = sum(each.seen for each in self._ranges.values())
        return together if together.seen >= FEWEST_SEEN else None

    def require_likely(self, outcomes: Iterable[tuple[str, float, float]], whole: bool = True) -> None:
        """`Unconfirmed` where some of these (arm, outcome, amount) are ten times off all that was seen.

        Not `whole`: these are totals so far, which may be small.
        """
        told = []
        for arm, outcome, amount in outcomes:
            if outcome == outcome and amount > 0.0:
                seen, size = self.range_of(arm), abs(outcome)
                if seen is not None and seen.is_far(size, size / amount, whole):
                    bound = (
                        f"at most {readable(seen.most)}" if size > seen.most else f"at least {readable(seen.least)}"
                    )
                    told.append(f"{readable(outcome)} for '{arm}', where {bound} was ever seen")
        if told:
            raise Unconfirmed(
                f"Ten times off: {'; '.join(told)}. Nothing was changed. If it is right, confirm it: `--yes` on the "
                "command line, `confirm` in Python and over HTTP."
            )


def first_ticket_seen(period: int, arms: int) -> int:
    """The first of the tickets to look at, of so many."""
    return max(1, period - min(MOST_TICKETS, max(1, MOST_CELLS // max(arms, 1))) + 1)

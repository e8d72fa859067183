"""Limits of a split: how far an arm may grow beyond what was tried for it, how far a share may move at once.

- `growth`: an arm gets at most so many times the largest amount that ever brought an outcome, and always up to an
  even share, so that a new arm can begin;
- `change`: no share moves by more than this from the split before, counted among the arms that take part.

Bounds that a person gave are hard. Limits are not: the budget is always spent, so where the limits of all arms
together leave no split, they are widened evenly, no further than needed; those on growth hold before those on change.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from apportion._common import validation
from apportion.allocation.feasible import project
from apportion.allocation.outcomes import OutcomeUpdate
from apportion.allocation.share_bounds import SUM_SLACK
from apportion.allocation.tickets import Ticket, TicketStore, last_kept
from apportion.errors import IncompatibleState, UnknownName
from apportion.model.sums import Floats

ROUNDING = 1e-9  # a share this near to a limit is at it

_HALVINGS = 60  # of the range of a width: beyond the precision of a share


class LimitedShares(NamedTuple):
    """The range of each share in one period, by the bounds and the limits; what a reason is made of."""

    low: Floats
    high: Floats
    bounds: tuple[Floats, Floats]
    """Those that a person gave."""
    growth: float | None
    largest: Floats
    """The largest amounts that were tried for these arms."""
    capped: Floats
    """The largest shares where `growth` is what limits them, 1 elsewhere."""
    change: float | None
    """How far shares may move this time."""

    def hold(self, shares: Floats) -> bool:
        """Whether any of these shares is where it is by a limit, and not by the bounds."""
        low, high = self.bounds
        held = (shares >= self.high - ROUNDING) & (self.high < high)
        return bool((held | ((shares <= self.low + ROUNDING) & (self.low > low))).any())


class Limits:
    """The two limits, and what they are held against: the largest amounts tried, and the shares of the last split."""

    def __init__(self, arms: int, growth: float | None = None, change: float | None = None) -> None:
        self.growth = None if growth is None else validation.number("growth", growth, low=1.0)
        self.change = None if change is None else validation.number("change", change, above=0.0, high=1.0)
        self._largest = np.zeros(arms)
        self._lost = np.zeros(
            arms, np.bool_
        )  # whose largest amount was taken back: it is found again when it is needed
        self._previous = np.zeros(arms)
        self._watched = False

    def set_option(self, name: str, value: float | None, tickets: TicketStore) -> None:
        """Another `growth` or `change`, checked by the caller. What was not kept so far is read from the tickets."""
        if name == "growth" and self.growth is None and value is not None:
            self._lost[:] = True
        elif name == "change" and self.change is None and not self._watched and value is not None:
            self._previous = _last_shares(tickets, len(self._previous))
        setattr(self, name, value)

    def watch_change(self, watched: bool, tickets: TicketStore) -> None:
        """Keep the shares of the last split for rules about change, or no longer."""
        if watched and not self._watched and self.change is None:
            self._previous = _last_shares(tickets, len(self._previous))
        self._watched = watched

    def previous(self, active: Any) -> Floats:
        """The shares of the last split, of the arms that take part: what rules about change are held against."""
        return self._previous if active is None else self._previous[active]

    def add_arm(self) -> None:
        """One arm more, for which nothing was tried."""
        self._largest, self._previous = np.append(self._largest, 0.0), np.append(self._previous, 0.0)
        self._lost = np.append(self._lost, False)

    # What happens

    def split(self, shares: Floats) -> None:
        """Take in the shares of a split, of all arms there ever were."""
        self._previous = shares

    def observe(self, ticket: Ticket, update: OutcomeUpdate) -> None:
        """Take in outcomes that a ticket is about to hold, in place of those it holds.

        A correction may lower the largest amount of an arm: it is lost then, until somebody asks.
        """
        if self.growth is None:
            return
        count = len(ticket.amounts)
        before = np.where(ticket.recorded & ~np.isnan(ticket.outcomes), ticket.amounts, 0.0)
        now = np.where((ticket.recorded | update.named) & ~np.isnan(update.outcomes), update.amounts, 0.0)
        largest, lost = self._largest.copy(), self._lost.copy()
        lost[:count] |= (now < before) & (before == largest[:count])
        largest[:count] = np.maximum(largest[:count], now)
        self._largest, self._lost = largest, lost

    def cancel(self, ticket: Ticket, tickets: TicketStore) -> None:
        """Take back a ticket, which is counted as cancelled already: the split before it is the last one, then."""
        nothing = np.full(len(ticket.amounts), np.nan)
        self.observe(ticket, OutcomeUpdate(ticket.recorded, nothing, np.zeros(len(nothing))))
        if (self.change is not None or self._watched) and ticket.number > last_kept(tickets):
            self._previous = _last_shares(tickets, len(self._previous))

    def find_lost(self, tickets: TicketStore) -> None:
        """Find again the largest amounts that were taken back, among the tickets at hand.

        Those are all of a campaign's; of those in memory the open ones and the last of the completed. What is
        forgotten does not count, so the limit may be narrower than it could be, never wider. It is done before a
        split and before the state is written down, once for however many tickets were cancelled since.
        """
        if self.growth is not None and self._lost.any():
            found = _largest_amounts(tickets, len(self._largest))
            self._largest = np.where(self._lost, found, self._largest)
            self._lost = np.zeros_like(self._lost)

    # What follows

    def shares(self, budget: float, active: Any, low: Floats | None, high: Floats | None) -> LimitedShares | None:
        """The range of the share of each arm that takes part; None where there is no limit."""
        if self.growth is None and self.change is None:
            return None
        largest = self._largest if active is None else self._largest[active]
        count = len(largest)
        least = lowest = np.zeros(count) if low is None else low
        most = highest = np.ones(count) if high is None else high
        if self.growth is not None:
            caps = np.maximum(self.growth * (largest / budget), 1.0 / count)
            most = np.clip(caps, least, highest)
            if float(most.sum()) < 1.0 - SUM_SLACK:
                most = project(caps / caps.sum(), most, highest)
        capped = np.where(most < highest, most, 1.0)
        width = self.change
        if width is not None:
            least, most, width = _around(self.previous(active), width, least, most)
        return LimitedShares(least, most, (lowest, highest), self.growth, largest, capped, width)

    # State

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; nothing where there is no limit."""
        state: dict[str, Any] = {}
        if self.growth is not None:
            state |= {"growth": self.growth, "largest": self._largest.tolist()}
        if self.change is not None:
            state["change"] = self.change
        if self.change is not None or self._watched:
            state["previous"] = self._previous.tolist()
        return state

    @classmethod
    def from_dict(cls, state: dict[str, Any], arms: int) -> Self:
        """The limits that `to_dict` wrote; without any, of a state that knew none."""
        restored = cls(arms, state.get("growth"), state.get("change"))
        restored._watched = restored.change is None and "previous" in state
        for name, kept in (("largest", restored.growth is not None), ("previous", "previous" in state)):
            if kept or (name == "previous" and restored.change is not None):
                values = np.array(state[name], dtype=np.float64)
                if values.shape != (arms,) or not (np.isfinite(values) & (values >= 0.0)).all():
                    raise IncompatibleState(
                        f"The saved state is damaged: `{name}` of its limits is no amount per arm."
                    )
                setattr(restored, f"_{name}", values)
        return restored


def _around(previous: Floats, change: float, low: Floats, high: Floats) -> tuple[Floats, Floats, float]:
    """Bounds within `low` and `high` that are at most `change` from the `previous` shares, or as little as can be.

    Those of arms that no longer take part are divided in proportion: a share is one among the arms of today.
    """
    total = float(previous.sum())
    if total <= 0.0:  # none of these had anything: nothing moves
        return low, high, 1.0
    centre = previous / total

    def bounds(width: float) -> tuple[Floats, Floats]:
        return np.clip(centre - width, low, high), np.clip(centre + width, low, high)

    def possible(width: float) -> bool:
        least, most = bounds(width)
        return float(least.sum()) <= 1.0 + SUM_SLACK and float(most.sum()) >= 1.0 - SUM_SLACK

    if possible(change):
        return *bounds(change), change
    narrow, wide = change, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (narrow + wide)
        narrow, wide = (narrow, middle) if possible(middle) else (middle, wide)
    return *bounds(wide), wide


def _largest_amounts(tickets: TicketStore, arms: int) -> Floats:
    """The largest amount of each arm that brought an outcome, over the tickets at hand."""
    largest = np.zeros(arms)
    for ticket in tickets.at_hand():
        counts = ticket.recorded & ~np.isnan(ticket.outcomes)
        part = largest[: len(counts)]
        np.maximum(part, np.where(counts, ticket.amounts, 0.0), out=part)
    return largest


def _last_shares(tickets: TicketStore, arms: int) -> Floats:
    """The shares of the last split, as it was spent; zeros where there is none at hand."""
    shares = np.zeros(arms)
    try:
        amounts = tickets.find(last_kept(tickets)).amounts
    except UnknownName:
        return shares
    total = float(amounts.sum())
    if total > 0.0:
        shares[: len(amounts)] = amounts / total
    return shares

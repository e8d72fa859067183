"""The account of an allocator: what was spent and what came back, by ticket, and the sums that are made of it."""

import math
from typing import Any

import numpy as np

from apportion._common import validation
from apportion.allocation.allowed import Allowed
from apportion.allocation.outcomes import Amounts, Outcomes, OutcomeUpdate, must_agree, read_outcomes, refuse_missing
from apportion.allocation.past import Past
from apportion.allocation.tickets import Ticket, TicketStore, last_kept
from apportion.errors import Conflict
from apportion.model.sums import Floats


class Account:
    """Tickets and sums, each changed together with the other; `allowed` has the arms, and is told what was tried.

    What is given is checked first: bad input changes nothing. With `minimise` outcomes are costs.
    """

    def __init__(self, past: Past, tickets: TicketStore, minimise: bool) -> None:
        self.past, self.tickets, self.minimise = past, tickets, minimise

    def issue(self, amounts: Floats) -> int:
        """One period more: the ticket of its split."""
        self.past.advance()
        return self.tickets.issue(amounts)

    def tell(
        self, ticket: int, outcomes: Outcomes, amounts: Amounts | None, provisional: bool, allowed: Allowed
    ) -> None:
        """Take outcomes in; those that were provisional are replaced exactly."""
        held = self.tickets.find(ticket)
        update = read_outcomes(held, allowed.arms, outcomes, amounts)
        if validation.flag("provisional", provisional):
            refuse_missing(update, allowed.arms.names)
        must_agree(held, update, allowed.arms.names)
        allowed.limits.observe(held, update)
        changed = (update.outcomes != held.outcomes) | (update.amounts != held.amounts)
        replaced = held.provisional & changed
        if replaced.any():
            self._take_back(held, np.where(replaced, held.outcomes, math.nan))
        fresh = np.where((update.named & ~held.recorded) | replaced, update.outcomes, math.nan)
        final = held.recorded & ~held.provisional
        self._take_in(held, update, fresh, update.named & ~final if provisional else None)

    def amend(self, ticket: int, outcomes: Outcomes, amounts: Amounts | None, allowed: Allowed) -> None:
        """Put other outcomes in the place of recorded ones, or other amounts that they came from."""
        held = self.tickets.find(ticket)
        update = read_outcomes(held, allowed.arms, outcomes, amounts)
        touched = update.named | (update.amounts != held.amounts)
        missing = touched & ~held.recorded
        if missing.any():
            name = allowed.arms.names[int(missing.argmax())]
            raise Conflict(f"Ticket {ticket} has no outcome for '{name}' yet: there is nothing to amend.")
        allowed.limits.observe(held, update)
        old, new = (np.where(touched, values, math.nan) for values in (held.outcomes, update.outcomes))
        self._take_back(held, old)
        self._take_in(held, update, new)

    def cancel(self, ticket: int, allowed: Allowed) -> None:
        """Take a split back, with what was told of it."""
        held = self.tickets.find(ticket)
        if held.cancelled:
            return
        self.tickets.cancelled.add(held.number)
        allowed.limits.cancel(held, self.tickets)
        self._take_back(held, np.where(held.recorded, held.outcomes, math.nan))
        held.cancel()
        self.tickets.settle(held)

    def recount(self, past: Past) -> None:
        """Take everything into other sums, which are empty yet, and go on with these."""
        for number in range(1, self.tickets.issued + 1):
            past.advance()
            held = self.tickets.find(number)
            recorded = np.where(held.recorded, held.outcomes, math.nan)
            past.update(self._wide(held.amounts), self._gain(recorded), number)
        self.past = past

    def last_amounts(self) -> Floats:
        """What every arm got in the last split that was not cancelled."""
        kept = last_kept(self.tickets)
        return self._wide(self.tickets.find(kept).amounts) if kept else np.zeros(self.past.arms)

    def _take_back(self, held: Ticket, counted: Floats) -> None:
        self.past.revert(self._wide(held.amounts), self._gain(counted), held.number)

    def _take_in(self, held: Ticket, update: OutcomeUpdate, counted: Floats, provisional: Any = None) -> None:
        self.past.update(self._wide(update.amounts), self._gain(counted), held.number)
        held.amounts, held.outcomes = update.amounts, update.outcomes
        held.recorded |= update.named
        held.provisional = held.provisional & ~update.named if provisional is None else held.provisional | provisional
        self.tickets.settle(held)

    def _wide(self, values: Floats) -> Floats:
        """A ticket's numbers for all arms of today: those that came later had nothing."""
        late = self.past.arms - len(values)
        return values if late == 0 else np.concatenate([values, np.zeros(late)])

    def _gain(self, outcomes: Floats) -> Floats:
        """A ticket's outcomes as the statistics take them in: what is to be made large."""
        return self._wide(-outcomes if self.minimise else outcomes)

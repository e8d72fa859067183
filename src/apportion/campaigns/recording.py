"""What comes back, recorded by ticket: outcomes told, corrected, or no longer waited for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from apportion._common import validation
from apportion.allocation.arms import by_name
from apportion.allocation.outcomes import Amounts, Outcomes
from apportion.allocation.tickets import Ticket
from apportion.campaigns.plausible import SeenOutcomes
from apportion.errors import Unconfirmed

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.transactions import Transaction


def record(
    campaign: Campaign, ticket: int, outcomes: Outcomes, amounts: Amounts | None, provisional: bool, confirm: bool,
    key: str | None,
) -> None:  # fmt: skip
    """Take outcomes in; what was recorded before stays, and told once more it changes nothing."""
    so_far = {"provisional": True} if validation.flag("provisional", provisional) else {}
    with campaign.transactions.write() as transaction:
        request: dict[str, Any] = {"outcomes": outcomes, "amounts": amounts, **so_far}
        if transaction.done_before(key, "outcome", ticket, **request) is not None:
            return
        allocator = transaction.state.allocator
        held = transaction.state.tickets.find(ticket)
        final, before, spent = held.recorded & ~held.provisional, held.outcomes, held.amounts
        seen = _seen(campaign, transaction, confirm)
        allocator.tell(ticket, outcomes, amounts, provisional=provisional)
        told = held.recorded & ~final & ((held.outcomes != before) | ~held.provisional)
        if told.any() or (held.amounts != spent).any():
            _require_likely(transaction, seen, held, told, whole=not provisional)
            payload = _outcomes_payload(outcomes, amounts)
            given = payload["outcomes"]
            fresh = {arm: given[arm] for arm in given if not final[allocator.indices[arm]]}
            if provisional and fresh:  # what is final stays so, told once more
                payload |= {"outcomes": fresh, **so_far}
            transaction.append("outcome", payload, held.number, key)


def amend(
    campaign: Campaign, ticket: int, outcomes: Outcomes, amounts: Amounts | None, confirm: bool, key: str | None
) -> None:
    """Correct what was recorded; the event keeps what it was before."""
    with campaign.transactions.write() as transaction:
        if transaction.done_before(key, "amended", ticket, outcomes=outcomes, amounts=amounts) is not None:
            return
        allocator = transaction.state.allocator
        held = transaction.state.tickets.find(ticket)
        was, spent = held.outcomes, held.amounts
        seen = _seen(campaign, transaction, confirm)
        allocator.amend(ticket, outcomes, amounts)
        _require_likely(transaction, seen, held, (held.outcomes != was) | (held.amounts != spent))
        payload = _outcomes_payload(outcomes, amounts)
        values = {name: float(was[allocator.indices[name]]) for name in payload["outcomes"]}
        old = {"outcomes": {name: None if math.isnan(value) else value for name, value in values.items()}}
        if "amounts" in payload:
            old["amounts"] = {name: float(spent[allocator.indices[name]]) for name in payload["amounts"]}
        transaction.append("amended", {**payload, "old": old}, held.number, key)


def close(campaign: Campaign, ticket: int, key: str | None) -> None:
    """Wait no longer: what is provisional is final now, and what is missing will not come."""
    with campaign.transactions.write() as transaction:
        if transaction.done_before(key, "outcome", ticket, close=True) is not None:
            return
        allocator = transaction.state.allocator
        held = transaction.state.tickets.find(ticket)
        waiting = ((held.amounts > 0.0) & ~held.recorded) | held.provisional
        last: dict[str, float | None] = {
            name: float(held.outcomes[index]) if held.provisional[index] else None
            for name, index in allocator.indices.items()
            if index < len(waiting) and waiting[index]
        }
        if last:
            allocator.tell(ticket, last)
            transaction.append("outcome", {"outcomes": last}, held.number, key)


def _seen(campaign: Campaign, transaction: Transaction, confirm: bool) -> SeenOutcomes | None:
    """What outcomes are held against; None where they were confirmed."""
    confirmed = validation.flag("confirm", confirm)
    return None if confirmed else campaign.transactions.seen(transaction.state, transaction.session)


def _require_likely(
    transaction: Transaction, seen: SeenOutcomes | None, held: Ticket, told: Any, whole: bool = True
) -> None:
    """`Unconfirmed` where outcomes that a ticket was just told are far off: the write begins anew, without them."""
    if seen is None:
        return
    named = zip(transaction.state.allocator.indices, held.outcomes.tolist(), held.amounts.tolist(), told.tolist())
    try:
        seen.require_likely(((arm, outcome, amount) for arm, outcome, amount, new in named if new), whole)
    except Unconfirmed:
        transaction.stale = True
        raise


def _outcomes_payload(outcomes: Outcomes, amounts: Amounts | None) -> dict[str, Any]:
    given = by_name("outcomes", outcomes)
    payload = {"outcomes": {name: None if value is None else float(value) for name, value in given.items()}}
    if amounts is not None:
        payload["amounts"] = {name: float(value) for name, value in by_name("amounts", amounts).items()}
    return payload

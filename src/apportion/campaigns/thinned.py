"""A long campaign in few looks: what its snapshots and some of its tickets tell, without repeating all events.

To repeat 200,000 events takes a minute; a picture has some dozens of moments. Of a campaign with more than `LONG`
periods, moments are those of its snapshots, about one in 1024 events, and tickets are a sample. Nothing is
left out of sums or of exports, only of pictures.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, NamedTuple

from apportion.allocation.beliefs import Beliefs
from apportion.allocation.saved_state import OutdatedState
from apportion.campaigns.events import KINDS, OF_TICKETS, Event
from apportion.campaigns.state import CampaignState

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign

LONG = 4_000  # periods
ARMS_AND_MOMENTS = 600  # a moment of 50 arms takes a tenth of a second, for what was known of the law then
MOST_MOMENTS = 160
MOST_CORRECTED = 50  # tickets whose corrections are marked, the last ones


class Thinned(NamedTuple):
    """Some moments of a campaign, some of its tickets, and what was changed about it."""

    number: int
    """The last event that was looked at."""
    state: CampaignState
    """The state after it."""
    moments: list[tuple[int, Beliefs]]
    """The periods that had been asked for, and what was believed then; that of now is not among them."""
    tickets: dict[int, list[Event]]
    """The events of some tickets, by ticket."""
    others: list[tuple[int, Event]]
    """What happened beside splits and outcomes, corrections among it, and about after which period."""


def is_long(periods: int) -> bool:
    """Whether a campaign of so many periods is looked at thinly."""
    return periods > LONG


def most_moments(arms: int) -> int:
    """How many moments a picture of so many arms has."""
    return max(12, min(MOST_MOMENTS, ARMS_AND_MOMENTS // max(1, arms)))


def thinned(campaign: Campaign, every: int) -> Thinned:
    """A campaign thinly, as of now, with one ticket of `every` so many."""
    transactions, identity = campaign.transactions, campaign.transactions.campaign
    with transactions.reading() as session:
        number = session.last_number(identity)
        state = transactions.state_at(session, number)
        known = [each for each in session.snapshot_numbers(identity) if each < number]
        chosen = _evenly(known, most_moments(len(state.allocator.indices)))
        moments: dict[int, Beliefs] = {}
        for each in chosen:
            saved = session.snapshot(identity, each)
            if saved is None:
                continue
            try:
                then = CampaignState.from_text(saved.state, saved.number).allocator
            except OutdatedState:  # an earlier release kept too little
                continue
            if 0 < then.period < state.allocator.period:
                moments[then.period] = then.beliefs()
        wanted = {*range(1, state.allocator.period + 1, every), *moments, state.allocator.period}
        corrected = session.tickets_of_many_events(identity, MOST_CORRECTED)
        tickets = {each: session.events_of_ticket(identity, each, number) for each in sorted({*wanted, *corrected})}
        found = session.events_of_kind(identity, *(set(KINDS) - set(OF_TICKETS)))
    found += [event for each in corrected for event in tickets[each] if event.kind in ("amended", "cancelled")]
    issued = [events[0].number for events in tickets.values() if events]
    names = list(tickets)
    others = []
    for event in sorted(found, key=lambda event: event.number):
        if event.number <= number:
            before = bisect.bisect_left(issued, event.number)
            others.append((event.ticket or (names[before - 1] if before else 0), event))
    shown = {each: tickets[each] for each in tickets if each in wanted}
    return Thinned(number, state, sorted(moments.items()), shown, others)


def moments_of(campaign: Campaign) -> list[tuple[int, Beliefs]]:
    """What was believed over time, thinly; the last moment is now."""
    found = thinned(campaign, campaign.period)
    return [*found.moments, (found.state.allocator.period, found.state.allocator.beliefs())]


def _evenly(numbers: list[int], most: int) -> list[int]:
    """At most so many of them, evenly spread."""
    if len(numbers) <= most:
        return numbers
    return [numbers[(2 * index + 1) * len(numbers) // (2 * most)] for index in range(most)]

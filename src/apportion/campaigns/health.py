"""The health check of a campaign: its last tickets as a table, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common.dates import parse_date
from apportion.campaigns.events import Event, intact, placed, ticket_from_events
from apportion.campaigns.settings import Settings
from apportion.inference.fit.history import History
from apportion.inference.health.check import LAST_SPLITS, MOST_PERIODS, check_health
from apportion.inference.health.findings import LEAST_PERIODS, Handling, Health
from apportion.inference.health.observations import Observations
from apportion.inference.history.reader import LARGEST, SMALLEST
from apportion.inference.learned import Learned
from apportion.model.sums import Floats

if TYPE_CHECKING:
    from apportion.campaigns.status import Status
    from apportion.campaigns.storage.session import Session

MOST_CELLS = 40_000
"""So many arms × tickets are read at most."""
FEW = 8
"""So many tickets are read one by one, more with all between them."""


def first_ticket(period: int, arms: int) -> int:
    """The first of the tickets to look at, given how many there are; after the last one where arms are too many.

    >>> first_ticket(1000, 8), first_ticket(1000, 200), first_ticket(1000, 100_000)
    (601, 801, 1001)
    """
    tickets = min(MOST_PERIODS, MOST_CELLS // max(arms, 1))
    return max(1, period - tickets + 1) if tickets >= LEAST_PERIODS else period + 1


class TicketRow(NamedTuple):
    """One ticket as it is looked at: the amounts of its split, by arm, and what was spent and is known to be back."""

    moment: datetime | None
    """None where its split has no date but a name."""
    in_split: dict[str, float]
    spent: Floats
    outcomes: Floats
    recorded: npt.NDArray[np.bool_]
    advised: bool
    """Whether it was advice; what was imported was none."""

    @classmethod
    def of(cls, number: int, own: Sequence[Event], indices: Mapping[str, int]) -> TicketRow:
        """The ticket after these events of its own."""
        ticket = ticket_from_events(number, own, indices)
        final = ticket.recorded & ~ticket.provisional  # a total so far says little yet
        with intact(own[0].number):
            moment = parse_date(own[0].period_date)
            payload = own[0].payload
            advised = payload.get("source") != "import"
            return cls(moment, payload["amounts"], ticket.amounts, ticket.outcomes, final, advised)


class Checked(NamedTuple):
    """A health check, after which event it was made, and what it looked at: the next one begins with that."""

    version: int
    digest: str | None
    health: Health
    tickets: Mapping[int, TicketRow]


def check_campaign(
    session: Session, campaign: int, status: Status, indices: Mapping[str, int], last: Checked | None
) -> Checked:
    """The check as of a status. Of the tickets only those are read that changed since the `last` one."""
    first = first_ticket(status.period, len(indices))
    tickets = _tickets(session, campaign, range(first, status.period + 1), status.version, indices, last)
    seen = observations(indices, tickets, first)
    health = check_health(seen, handling(status.name, status.settings, status.beliefs.learned))
    return Checked(status.version, session.digest(campaign, status.version), health, tickets)


def _tickets(
    session: Session, campaign: int, wanted: range, version: int, indices: Mapping[str, int], last: Checked | None
) -> dict[int, TicketRow]:
    known: dict[int, TicketRow] = {}
    # Another database may have been put in the place of the one that was read.
    if last is not None and last.version <= version and session.digest(campaign, last.version) == last.digest:
        changed = session.tickets_changed(campaign, last.version, version)
        known = {number: row for number, row in last.tickets.items() if number in wanted and number not in changed}
    missing = [number for number in wanted if number not in known]
    if len(missing) > FEW:
        events = session.events_of_tickets(campaign, wanted[0], wanted[-1])
    else:
        events = [event for number in missing for event in session.events_of_ticket(campaign, number)]
    asked = (event for event in events if event.number <= version and event.ticket not in known)
    for number, own in groupby(asked, key=lambda event: event.ticket or 0):
        known[number] = TicketRow.of(number, list(own), indices)
    return dict(sorted(known.items()))


def handling(name: str | None, settings: Settings, learned: Learned | None) -> Handling:
    """How the campaign is run."""
    return Handling(
        name=name, unit=settings.unit, policy=settings.policy, learns=frozenset(getattr(learned, "follows", ())),
        c=settings.c, half_life=settings.half_life, window=settings.window, robust=settings.robust,
        growth=settings.growth, change=settings.change, noise_by_arm=isinstance(settings.sigma, Mapping),
        minimise=settings.minimise,
        memory=learned.half_life if learned is not None and learned.fades else None,
    )  # fmt: skip


def observations(indices: Mapping[str, int], tickets: Mapping[int, TicketRow], first: int) -> Observations:
    """The outcomes that are known, by ticket and arm; and the amounts of the last split where some are not."""
    spent, advised, outcomes = (np.zeros((len(tickets), len(indices))) for _ in range(3))
    recorded = np.zeros(spent.shape, np.bool_)
    for row, ticket in enumerate(tickets.values()):
        width = len(ticket.spent)
        spent[row, :width], outcomes[row, :width], recorded[row, :width] = ticket[2:5]
        placed(ticket.in_split, indices, advised[row])
    names = np.array(list(indices), dtype=object)
    waiting: dict[str, float] = {}
    if tickets and ((spent[-1] > 0) & ~recorded[-1]).any():
        in_split = ticket.in_split  # also those that got nothing: an even share is among all
        waiting = {arm: float(spent[-1, indices[arm]]) for arm in in_split}
    known = recorded & (spent >= SMALLEST) & (spent <= LARGEST) & (np.abs(outcomes) <= LARGEST)  # NaN is not
    at, codes = np.nonzero(known)
    there, codes = np.unique(codes, return_inverse=True)
    moments = _moments([ticket.moment for ticket in tickets.values()])
    history = History(
        tuple(names[there].tolist()), codes.astype(np.intp), spent[known], outcomes[known],
        None if moments is None else moments[at],
    )  # fmt: skip
    return Observations(
        history, np.array(list(tickets), np.int64)[at], advised[known], waiting, first - 1, _splits(indices, tickets)
    )


def _splits(indices: Mapping[str, int], tickets: Mapping[int, TicketRow]) -> Floats:
    """The shares of the last splits that were advised and not cancelled."""
    last = [ticket.in_split for ticket in tickets.values() if ticket.advised and ticket.spent.any()][-LAST_SPLITS:]
    shares = np.zeros((len(last), len(indices)))
    for row, amounts in zip(shares, last):
        placed(amounts, indices, row)
        row /= row.sum()
    return shares


def _moments(found: Sequence[datetime | None]) -> npt.NDArray[np.datetime64] | None:
    """When each ticket was; None where one has no date but a name."""
    plain = [moment.astimezone(UTC).replace(tzinfo=None) for moment in found if moment is not None]
    return np.array(plain, "datetime64[s]") if len(plain) == len(found) else None

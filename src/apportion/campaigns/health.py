"""The health check of a campaign: its last tickets as a table, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from itertools import groupby

import numpy as np

from apportion._common.dates import parse_date
from apportion.campaigns.events import Event, intact, placed, ticket_from_events
from apportion.campaigns.settings import Settings
from apportion.inference.fit.history import History
from apportion.inference.health.check import MOST_PERIODS, check_health
from apportion.inference.health.findings import LEAST_PERIODS, Handling, Health
from apportion.inference.health.observations import Observations
from apportion.inference.history.reader import LARGEST, SMALLEST
from apportion.inference.learned import Learned

MOST_CELLS = 40_000
"""So many arms × tickets are read at most."""


def first_ticket(period: int, arms: int) -> int:
    """The first of the tickets to look at, given how many there are; after the last one where arms are too many.

    >>> first_ticket(1000, 8), first_ticket(1000, 200), first_ticket(1000, 100_000)
    (601, 801, 1001)
    """
    tickets = min(MOST_PERIODS, MOST_CELLS // max(arms, 1))
    return max(1, period - tickets + 1) if tickets >= LEAST_PERIODS else period + 1


def campaign_health(
    name: str, settings: Settings, learned: Learned | None, indices: Mapping[str, int], events: Sequence[Event],
    first: int,
) -> Health:  # fmt: skip
    """What is found in the tickets that these are all events of, ticket by ticket; `first` is that of the first."""
    return check_health(observations(indices, events, first), handling(name, settings, learned))


def handling(name: str | None, settings: Settings, learned: Learned | None) -> Handling:
    """How the campaign is run."""
    return Handling(
        name=name, unit=settings.unit, policy=settings.policy, learns=frozenset(getattr(learned, "follows", ())),
        c=settings.c, half_life=settings.half_life, window=settings.window, robust=settings.robust,
        growth=settings.growth, noise_by_arm=isinstance(settings.sigma, Mapping), minimise=settings.minimise,
        memory=learned.half_life if learned is not None and learned.fades else None,
    )  # fmt: skip


def observations(indices: Mapping[str, int], events: Sequence[Event], first: int) -> Observations:
    """The outcomes that are known, by ticket and arm; and the amounts of the last split where some are not."""
    tickets = [(number or 0, list(own)) for number, own in groupby(events, key=lambda event: event.ticket)]
    spent, advised, outcomes = (np.zeros((len(tickets), len(indices))) for _ in range(3))
    recorded = np.zeros(spent.shape, np.bool_)
    dates = []
    for row, (number, own) in enumerate(tickets):
        ticket = ticket_from_events(number, own, indices)
        width = len(ticket.amounts)
        spent[row, :width], outcomes[row, :width] = ticket.amounts, ticket.outcomes
        recorded[row, :width] = ticket.recorded & ~ticket.provisional  # a total so far says little yet
        with intact(own[0].number):
            dates.append(own[0].period_date)
            placed(own[0].payload["amounts"], indices, advised[row])
    names = np.array(list(indices), dtype=object)
    waiting: dict[str, float] = {}
    if tickets and ((spent[-1] > 0) & ~recorded[-1]).any():
        in_split = tickets[-1][1][0].payload["amounts"]  # also those that got nothing: an even share is among all
        waiting = {arm: float(spent[-1, indices[arm]]) for arm in in_split}
    known = recorded & (spent >= SMALLEST) & (spent <= LARGEST) & (np.abs(outcomes) <= LARGEST)  # NaN is not
    at, codes = np.nonzero(known)
    there, codes = np.unique(codes, return_inverse=True)
    moments = _moments(dates)
    history = History(
        tuple(names[there].tolist()), codes.astype(np.intp), spent[known], outcomes[known],
        None if moments is None else moments[at],
    )  # fmt: skip
    periods = np.array([number for number, _ in tickets], np.int64)[at]
    return Observations(history, periods, advised[known], waiting, earlier=first - 1)


def _moments(dates: Sequence[str]) -> np.ndarray | None:
    """When each ticket was; None where one has no date but a name."""
    found = [parse_date(text) for text in dates]
    if any(moment is None for moment in found):
        return None
    plain = [moment.astimezone(UTC).replace(tzinfo=None) for moment in found if moment is not None]
    return np.array(plain, "datetime64[s]")

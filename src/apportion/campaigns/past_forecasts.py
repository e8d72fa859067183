"""Forecasts that were kept, held against what came: how often it was within their ranges, and how far off they were.

A period of a forecast is held against the split of its date, where the calendar has dates and splits have them too,
else against the split that came so many after it was made; cancelled ones are passed over. It is compared where every
result is there and what was spent is within a tenth of the budget that was foreseen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from apportion._common.dates import parse_date
from apportion._common.formatting import counted, percent
from apportion.campaigns.calendar import calendar_of
from apportion.campaigns.events import intact
from apportion.campaigns.forecast import BAND, Forecast, PeriodForecast, forecast
from apportion.errors import InvalidValue, UnknownName

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.history import Line

TICKETS_AT_ONCE = 200  # so many are in memory with all their arms
SAME_BUDGET = 0.1  # spending that is off the budget by no more than this part of it is what was foreseen
FEW = 10  # a share of fewer periods than this says little


class PeriodCheck(NamedTuple):
    """One period of a forecast beside what came. `state` is compared, waiting, or why it is not compared."""

    date: str | None
    ticket: int | None
    budget: float
    returned: float
    returned_low: float
    returned_high: float
    spent: float | None
    actual: float | None
    state: str

    @property
    def inside(self) -> bool | None:
        """Whether what came is within the range; None where it is not compared."""
        if self.state != "compared" or self.actual is None:
            return None
        return self.returned_low <= self.actual <= self.returned_high


class PastForecast(NamedTuple):
    """A forecast that was kept: the number of its event, when it was made and with which policy, and how it did.

    `compared` periods of it, `inside` of them within the range. `error` is the mean of |came − foreseen| ÷ |foreseen|
    over these, `bias` that of (came − foreseen) ÷ |foreseen|; None before there are any.
    """

    number: int
    at: str
    policy: str
    periods: tuple[PeriodCheck, ...]
    compared: int
    inside: int
    error: float | None
    bias: float | None


class PastForecasts(NamedTuple):
    """All forecasts that were kept, oldest first, and how they did together; `expected` of the periods should be
    within the ranges."""

    forecasts: tuple[PastForecast, ...]
    compared: int
    inside: int
    expected: float
    error: float | None
    bias: float | None
    sentences: tuple[str, ...]

    @property
    def coverage(self) -> float | None:
        """The part of the compared periods that were within the range."""
        return self.inside / self.compared if self.compared else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        from apportion.campaigns.plain_data import plain

        found: dict[str, Any] = plain({**self._asdict(), "coverage": self.coverage})
        for past, row in zip(self.forecasts, found["forecasts"]):
            for period, cell in zip(past.periods, row["periods"]):
                cell["inside"] = period.inside
        return found


def make_forecast(campaign: Campaign, keep: bool, key: str | None, options: Mapping[str, Any]) -> Forecast:
    """A forecast, kept as an event unless `keep` is False. It is worked out before the campaign is locked."""
    calendar = calendar_of(options["budgets"], options["periods"], campaign.settings.budget)
    if not keep:
        return forecast(campaign, **options)
    policies = options["policies"]
    asked = {
        "calendar": [list(period) for period in calendar], "worlds": options["worlds"], "seed": options["seed"],
        "policies": None if policies is None else list(policies),
    }  # fmt: skip
    if key is not None:
        with campaign.transactions.write() as transaction:
            known = transaction.done_before(key, "forecast", **asked)
            if known is not None:
                return Forecast.from_payload(known.payload)
    made = forecast(campaign, **{**options, "periods": None, "budgets": [tuple(period) for period in calendar]})
    with campaign.transactions.write() as transaction:
        known = transaction.done_before(key, "forecast", **asked)
        if known is not None:
            return Forecast.from_payload(known.payload)
        transaction.append("forecast", made.to_payload(), key=key)
    return made


def past_forecasts(campaign: Campaign) -> PastForecasts:
    """The forecasts of a campaign and how they did."""
    with campaign.transactions.reading() as session:
        events = session.events_of_kind(campaign.transactions.campaign, "forecast")
    kept = []
    for event in events:
        with intact(event.number):
            kept.append((event, Forecast.from_payload(event.payload)))
    first = min((made.first or 1 for _, made in kept), default=1)
    came = _came(campaign, first) if kept else {}
    found = []
    for event, made in kept:
        tickets = [ticket for ticket in came if ticket >= (made.first or 1)]
        periods = tuple(_check(period, ticket, came) for period, ticket in _matched(made.calendar, tickets, came))
        found.append(PastForecast(event.number, event.at, made.policies[0].policy, periods, *_score(periods)))
    every = [period for past in found for period in past.periods]
    compared, inside, error, bias = _score(every)
    expected = BAND[1] - BAND[0]
    sentences = tuple(_sentences(len(found), compared, inside, error, bias, expected))
    return PastForecasts(tuple(found), compared, inside, expected, error, bias, sentences)


def kept_forecast(campaign: Campaign, number: int | None = None) -> tuple[int, Forecast] | None:
    """A forecast as it was kept, by the number of its event; the last one by default, None where there is none."""
    with campaign.transactions.reading() as session:
        events = session.events_of_kind(campaign.transactions.campaign, "forecast")
    chosen = [event for event in events if number in (None, event.number)]
    if not chosen:
        if number is None:
            return None
        raise UnknownName(f"Event {number} is no forecast.")
    with intact(chosen[-1].number):
        return chosen[-1].number, Forecast.from_payload(chosen[-1].payload)


class _Came(NamedTuple):
    """A split as it went: its date, what was spent, and what came back; None where that is not all known."""

    date: str
    spent: float | None
    returned: float | None


def _came(campaign: Campaign, first: int) -> dict[int, _Came]:
    """What came of each split from one on that was not cancelled, by ticket; read piece by piece."""
    found: dict[int, _Came] = {}
    for start in range(first, campaign.period + 1, TICKETS_AT_ONCE):
        by_ticket: dict[int, list[Line]] = {}
        for line in campaign.history(start, start + TICKETS_AT_ONCE - 1):
            by_ticket.setdefault(line.ticket, []).append(line)
        found |= _came_of(by_ticket)
    return found


def _came_of(by_ticket: Mapping[int, list[Line]]) -> dict[int, _Came]:
    found = {}
    for ticket, own in by_ticket.items():
        if all(line.state == "cancelled" for line in own):
            continue
        used = [line for line in own if line.state != "unused"]
        known = bool(used) and all(line.outcome is not None and line.state != "provisional" for line in used)
        spent = math.fsum(line.amount for line in used) if known else None
        found[ticket] = _Came(own[0].date, spent, math.fsum(line.outcome or 0.0 for line in used) if known else None)
    return found


def _matched(
    calendar: Sequence[PeriodForecast], tickets: Sequence[int], came: Mapping[int, _Came]
) -> list[tuple[PeriodForecast, int | None]]:
    """Each period with the ticket of its split, if there is one by now."""
    days = {_day(came[ticket].date): ticket for ticket in reversed(tickets)}
    dated = [None if period.date is None else days.get(_day(period.date)) for period in calendar]
    if any(ticket is not None for ticket in dated):
        return list(zip(calendar, dated))
    if calendar and all(period.date is not None and _is_day(period.date) for period in calendar):
        last = max((_day(came[ticket].date) for ticket in tickets), default="")
        if last < min(_day(period.date or "") for period in calendar):
            return [(period, None) for period in calendar]  # its time has not come
    return [(period, tickets[index] if index < len(tickets) else None) for index, period in enumerate(calendar)]


def _day(date: str) -> str:
    """A date without its time, as text that sorts; a name as it is."""
    try:
        moment = parse_date(date)
    except InvalidValue:
        return date
    return date if moment is None else moment.date().isoformat()


def _is_day(date: str) -> bool:
    return _day(date)[:4].isdigit()


def _check(period: PeriodForecast, ticket: int | None, came: Mapping[int, _Came]) -> PeriodCheck:
    own = None if ticket is None else came[ticket]
    spent, actual = (None, None) if own is None else (own.spent, own.returned)
    state = "waiting"
    if spent is not None:
        same = abs(spent - period.budget) <= SAME_BUDGET * period.budget
        state = "compared" if same else "other budget"
    return PeriodCheck(period.date, ticket, *period[1:5], spent, actual, state)


def _score(periods: Sequence[PeriodCheck]) -> tuple[int, int, float | None, float | None]:
    """How many were compared and inside, the mean error and the bias, both relative."""
    compared = [period for period in periods if period.state == "compared" and period.actual is not None]
    inside = sum(bool(period.inside) for period in compared)
    off = [(period.actual or 0.0) / abs(period.returned) - math.copysign(1.0, period.returned)
           for period in compared if period.returned]  # fmt: skip
    if not off:
        return len(compared), inside, None, None
    return len(compared), inside, math.fsum(map(abs, off)) / len(off), math.fsum(off) / len(off)


def _sentences(
    count: int, compared: int, inside: int, error: float | None, bias: float | None, expected: float
) -> list[str]:
    if not count:
        return ["No forecast was made yet."]
    if not compared:
        return [f"{counted(count, 'forecast')} kept; none of the periods has its results yet."]
    said = [f"{inside} of {counted(compared, 'period')} with results came out within the range; nine of ten should."]
    if error is not None and bias is not None:
        lean = "" if abs(bias) < 0.5 * error else f", mostly {'less' if bias > 0 else 'more'} than came"
        said.append(f"Forecasts were off by {percent(error)} on average{lean}.")
    if compared < FEW:
        said.append("That is too few to judge them by.")
    elif inside / compared < expected - 2.0 * math.sqrt(expected * (1.0 - expected) / compared):
        said.append("So the ranges are too narrow: something moves that the forecast does not know of.")
    return said

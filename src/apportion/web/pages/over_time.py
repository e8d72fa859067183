"""A campaign over time: means, probabilities and shares by period, and what happened in between."""

from __future__ import annotations

import bisect
import itertools
import math
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from apportion._common.dates import time_axis
from apportion._common.formatting import one_of, readable
from apportion.allocation.beliefs import Beliefs
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.events import Event
from apportion.campaigns.status import Status
from apportion.campaigns.tables import cell
from apportion.campaigns.thinned import is_long, thinned

# A chart shows at most so many moments and steps; the export has all of them.
MOMENTS = 160
STEPS = 400
# No more arms are drawn, as nobody tells more lines apart; the leaderboard has all of them.
ARMS_DRAWN = 24
# With more changes of budget than this only those of the settings are marked.
BUDGET_MARKS = 12
# So many arms that were added at once, as by an import, are marked together.
MANY_ADDED = 4
# Charts are cached while their campaigns have no more arms than this together; about 40 kB each.
CACHED_ARMS = 1_000

# Mean, low, high and the chance of being best; None where nothing is known.
Point = tuple[float | None, float | None, float | None, float | None]


class Mark(NamedTuple):
    """Something that happened, at the period after which it did."""

    period: int
    kind: str
    text: str


class Moment(NamedTuple):
    """What was believed at the end of a period, by arm, and which return exponent the means stand on."""

    period: int
    points: dict[str, Point]
    c: float


class SplitShares(NamedTuple):
    """What a split gave to each arm, as a part of its budget."""

    ticket: int
    budget: float
    shares: dict[str, float]


class ChartCache:
    """The charts that were looked at last; one per app, at `app.state.charts`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._charts: OrderedDict[str, Chart] = OrderedDict()

    def of(self, campaign: Campaign) -> Chart:
        """The chart of a campaign, as far as it was read before."""
        with self._lock:
            chart = self._charts.get(campaign.name)
            if chart is None or not chart.is_of(campaign):
                chart = self._charts[campaign.name] = Chart(campaign)
            self._charts.move_to_end(campaign.name)
            while len(self._charts) > 1 and sum(other.arms for other in self._charts.values()) > CACHED_ARMS:
                self._charts.popitem(last=False)
            return chart

    def forget(self, name: str) -> None:
        """The campaign of that name is another one now, or none."""
        with self._lock:
            self._charts.pop(name, None)


class Chart:
    """What is drawn of one campaign, continued from one look to the next: each event is read once.

    What is drawn is thinned: moments and splits lie 1, 2, 4, … periods apart. So those that are drawn are among
    those that were drawn before, and going on gives the same picture as beginning anew. A long campaign
    (`campaigns.thinned`) is begun at its snapshots.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.arms = 0
        self._campaign = campaign
        self._lock = threading.Lock()
        self._begin()

    def is_of(self, campaign: Campaign) -> bool:
        """Whether it draws this campaign, and not one that had its name."""
        return self._campaign.transactions.campaign == campaign.transactions.campaign

    def _begin(self) -> None:
        self._replay = self._campaign.replay()
        self._moments: list[Moment] = []
        self._splits: list[SplitShares] = []
        self._dates: dict[int, str | None] = {}  # of splits, by period; None of one that was cancelled
        self._marks = Marks()

    def data(self) -> dict[str, Any]:
        """All that the chart shows, as of now."""
        with self._lock:
            status = self._campaign.status(health=False)
            if status.version < self._replay.number:  # the database was replaced by another
                self._begin()
            try:
                self._read_on(status.version, status.period)
            except BaseException:
                self._begin()
                raise
            everyone = [arm.name for arm in status.arms]
            self.arms = len(everyone)
            indices = self._drawn(status)
            arms = [everyone[index] for index in indices]
            moments = [moment for moment in self._moments if self._dates[moment.period] is not None]
            moments.append(_moment(status.period, status.beliefs))
            marks = self._marks.by_period()
            shown = (*(moment.period for moment in moments), *(split.ticket for split in self._splits))
            return {
                "version": status.version,
                "unit": status.settings.unit,
                "one": one_of(status.settings.unit),
                "level": 100 * status.settings.level,
                "minimise": status.settings.minimise,
                "arms": arms,
                "indices": indices,
                "others": f"{len(everyone) - len(arms):,} other arms" if len(arms) < len(everyone) else None,
                "periods": [moment.period for moment in moments],
                "heading": status.estimate_heading,
                "beliefs": {name: _series(moments, name, status.even_amount) for name in arms},
                "tickets": [split.ticket for split in self._splits],
                "budgets": [split.budget for split in self._splits],
                "shares": self._shares(arms, len(everyone)),
                "last": status.period,
                "marks": [mark._asdict() for mark in marks],
                "dates": _dates(self._dates, {*shown, *(mark.period for mark in marks)}),
            }

    def _drawn(self, status: Status) -> list[int]:
        """Which arms are drawn, by their place: all, or of too many those that lead and those that got most."""
        if len(status.arms) <= ARMS_DRAWN:
            return list(range(len(status.arms)))
        given: dict[str, float] = {}
        for split in self._splits:
            for name, share in split.shares.items():
                given[name] = given.get(name, 0.0) + share

        def rank(index: int) -> tuple[float, float, int]:
            arm = status.arms[index]
            best = arm.belief.probability_best if arm.belief is not None else 0.0
            return (0.0 if math.isnan(best) else -best, -given.get(arm.name, 0.0), index)

        by_rank = sorted(range(len(status.arms)), key=rank)
        most = sorted(by_rank, key=lambda index: (-given.get(status.arms[index].name, 0.0), index))
        half = ARMS_DRAWN // 2
        chosen = dict.fromkeys((*by_rank[:half], *most[:ARMS_DRAWN]))
        return sorted(list(chosen)[:ARMS_DRAWN])

    def _shares(self, arms: list[str], everyone: int) -> dict[str, list[float]]:
        """The shares of these arms by split, and of all others together where there are any."""
        found = {name: [split.shares.get(name, 0.0) for split in self._splits] for name in arms}
        if everyone > len(arms):
            drawn = [math.fsum(of) for of in zip(*found.values())]
            found[f"{everyone - len(arms):,} other arms"] = [max(0.0, 1.0 - part) for part in drawn]
        return found

    def _read_thinly(self, every: int) -> None:
        """Begin in the present of a long campaign, with some moments and tickets of what was before."""
        found = thinned(self._campaign, every)
        self._replay.go_on_from(found.number, found.state)
        self._moments = [_moment(period, beliefs) for period, beliefs in found.moments]
        for ticket, events in found.tickets.items():
            gone = any(event.kind == "cancelled" for event in events)
            self._dates[ticket] = None if gone else events[0].period_date
            if not gone and (ticket - 1) % every == 0:
                self._add_split(events[0])
        for period, event in found.others:
            self._marks.go_to(period)
            self._marks.take(event)

    def _add_split(self, event: Event) -> None:
        budget, amounts = event.payload["budget"], event.payload["amounts"]
        shares = {name: amount / budget for name, amount in amounts.items()}
        self._splits.append(SplitShares(event.ticket or 0, budget, shares))

    def _read_on(self, upto: int, periods: int) -> None:
        """Take in the events since the last look, up to the one with that number: so many periods in all."""
        moments, steps = spacing(periods, MOMENTS), spacing(periods, STEPS)
        if self._replay.number == 0 and is_long(periods):
            self._read_thinly(steps)
        thin = is_long(periods)  # its moments lie where snapshots do
        self._moments = [moment for moment in self._moments if thin or moment.period % moments == 0]
        self._splits = [split for split in self._splits if (split.ticket - 1) % steps == 0]
        for step in self._replay.steps(upto):
            event = step.event
            if step.before is not None and step.ended and step.ended % moments == 0:
                self._moments.append(_moment(step.ended, step.before.allocator.beliefs()))
            if event.kind == "split":
                self._dates[event.ticket or 0] = event.period_date
            if event.kind == "split" and event.ticket is not None and (event.ticket - 1) % steps == 0:
                self._add_split(event)
            elif event.kind == "cancelled":
                if event.ticket in self._dates:
                    self._dates[event.ticket] = None
                self._splits = [split for split in self._splits if split.ticket != event.ticket]
            self._marks.take(event)


def _dates(texts: dict[int, str | None], periods: set[int]) -> dict[int, str] | None:
    """When these periods were, and the one after the last would be; None where dates make no axis of time.

    What happened before the first split stands at the first, and a period whose date is not known at the one before.
    """
    known = sorted(texts)
    axis = time_axis([texts[period] for period in known])
    if axis is None:
        return None
    places = {period: axis[max(bisect.bisect_right(known, period), 1) - 1] for period in periods}
    places[known[-1] + 1] = axis[-1]
    return {period: moment.strftime("%Y-%m-%d %H:%M:%S") for period, moment in sorted(places.items())}


def spacing(count: int, most: int) -> int:
    """How far apart to look, as a power of two, so that at most `most` of `count` are left.

    >>> spacing(160, 160), spacing(161, 160), spacing(10_000, 160)
    (1, 2, 64)
    """
    return 1 << (max(1, math.ceil(count / most)) - 1).bit_length()


def _moment(period: int, beliefs: Beliefs) -> Moment:
    points: dict[str, Point] = {}
    for name, belief in beliefs.items():
        if not math.isnan(belief.mean):
            low, high, best = map(_finite, (belief.low, belief.high, belief.probability_best))
            points[name] = belief.mean, low, high, best
    return Moment(period, points, beliefs.c)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _series(moments: list[Moment], arm: str, amount: float) -> dict[str, list[float | None]]:
    """The estimates of an arm over time: what each unit of an amount returns (`per_unit`), and the chances."""
    nothing: Point = (None, None, None, None)
    points = [(amount ** (moment.c - 1.0), *moment.points.get(arm, nothing)) for moment in moments]
    found: dict[str, list[float | None]] = {
        kind: [None if (value := point[index]) is None else point[0] * value for point in points]
        for index, kind in enumerate(("mean", "low", "high"), 1)
    }
    return {**found, "best": [point[4] for point in points]}


class Marks:
    """Changes of budget, corrections, changes of arms and settings, each at its period; event by event."""

    def __init__(self, unit: str | None = None) -> None:
        self._unit = unit
        self._period = 0
        self._usual: float | None = None
        self._found: list[Mark] = []
        self._budgets: list[Mark] = []

    def go_to(self, period: int) -> None:
        """The period after which the next event was."""
        self._period = period

    def by_period(self) -> list[Mark]:
        """The marks so far, by period."""
        budgets = self._budgets if len(self._budgets) <= BUDGET_MARKS else []
        by_period = sorted([*self._found, *budgets], key=lambda mark: mark.period)
        return [mark for _, run in itertools.groupby(by_period, key=_added_at) for mark in _together(list(run))]

    def take(self, event: Event) -> None:
        """Take in the next event."""
        payload: Mapping[str, Any] = event.payload
        if event.kind == "split":
            self._period = event.ticket or self._period
            other = self._usual is not None and payload["budget"] != self._usual and payload.get("source") != "import"
            if other and len(self._budgets) <= BUDGET_MARKS:
                text = f"budget {_amount(payload['budget'], self._unit)} this once"
                self._budgets.append(Mark(self._period, "budget", text))
        elif event.kind == "amended":
            names = ", ".join(list(payload["outcomes"])[:3])
            self._mark("amended", f"ticket {event.ticket} amended ({names})", event.ticket)
        elif event.kind == "arm":
            self._mark("arm", f"{payload['arm']} {_DONE[payload['action']]}")
        elif event.kind == "setting":
            self._usual = payload["changes"].get("budget", self._usual)
            self._unit = payload["changes"].get("unit", self._unit)
            self._mark("setting", f"settings: {_changes(payload['changes'], self._unit)}")
        elif event.kind == "created":
            self._usual, self._unit = payload["settings"]["budget"], payload["settings"]["unit"]
        elif event.kind == "imported":
            self._mark("imported", f"history {payload['file']} taken in")
        elif event.kind == "cancelled" and "import" not in payload:
            self._mark("amended", f"ticket {event.ticket} cancelled", event.ticket)
        elif event.kind == "undone":
            self._mark("imported", f"import of {payload['file']} undone")
        elif event.kind == "renamed":
            self._mark("setting", f"renamed from {payload['old']}")
        elif event.kind in ("archived", "unarchived"):
            self._mark("setting", event.kind)
        elif event.kind == "cloned":
            self._mark("setting", f"copied from {payload['source']}")

    def _mark(self, kind: str, text: str, period: int | None = None) -> None:
        self._found.append(Mark(period or self._period, kind, text))


def _added_at(mark: Mark) -> tuple[int, bool]:
    return mark.period, mark.text.endswith(f" {_DONE['add']}")


def _together(marks: list[Mark]) -> list[Mark]:
    """One mark where a file brought many arms at once."""
    if len(marks) < MANY_ADDED or not _added_at(marks[0])[1]:
        return marks
    return [Mark(marks[0].period, marks[0].kind, f"{len(marks):,} arms added")]


_DONE = {"add": "added", "pause": "paused", "resume": "resumed", "remove": "removed", "bound": "bounded"}


def _changes(changes: Mapping[str, Any], unit: str | None) -> str:
    phrases = []
    for name, value in changes.items():
        if name == "policy":
            phrases.append(f"policy {value['name']}")
        elif name == "budget":
            phrases.append(f"budget {_amount(value, unit)}")
        else:
            phrases.append(f"{name.replace('_', ' ')} {'none' if value is None else cell(value)}")
    return ", ".join(phrases)


def _amount(value: float, unit: str | None) -> str:
    return f"{readable(float(value))} {unit or ''}".rstrip()


def describe_event(event: Event, unit: str | None) -> str:
    """What happened last, in a few words, for those who watch the page meanwhile."""
    if event.kind == "split":
        return f"ticket {event.ticket} was issued"
    if event.kind == "outcome":
        return f"outcomes of ticket {event.ticket} were recorded"
    if event.kind == "created":
        return "the campaign was begun"
    if event.kind == "forecast":
        return "a forecast was made"
    marks = Marks(unit)
    marks.take(event)
    found = marks.by_period()
    return found[0].text if found else f"ticket {event.ticket} was cancelled"

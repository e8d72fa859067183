"""The page of a campaign: where it stands, how it got there, in one HTML file."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from apportion._common import optional
from apportion._common.dates import time_axis
from apportion._common.formatting import counted, readable, to_the_minute
from apportion.allocation.beliefs import Beliefs, per_unit
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.events import now
from apportion.campaigns.history import Line
from apportion.campaigns.history import lines as ticket_lines
from apportion.campaigns.status import Status, cost_shown, per_period
from apportion.campaigns.tables import Rows, estimate_rows, history_rows, setting_rows, split_rows, status_rows
from apportion.campaigns.thinned import is_long, thinned
from apportion.reporting.html import Page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Pictures show at most so many moments and arms, the history so many tickets and lines; the export has all.
MOST_MOMENTS = 120
MOST_STEPS = 400
MOST_ARMS = 10
MOST_TICKETS = 20
MOST_LINES = 200


def campaign_page(campaign: Campaign) -> Page:
    """The report of a campaign; without its pictures, which it says, where the extra `plot` is not installed."""
    status = campaign.status()
    settings = status.settings
    unit = settings.unit or "units"
    lead = (
        f"{counted(status.splits, 'split')}; the budget is {readable(settings.budget)} {unit} {per_period(settings)}."
    )
    page = Page(campaign.name, lead=lead)
    for sentence in status.plain_notes:
        page.text(sentence)
    if status.health is not None and (status.health.findings or status.health.enough):
        page.section("Health of the data")
        page.text(status.health.summary)
        for finding in status.health.findings:
            page.text(f"{finding.severity.capitalize()}: {finding.sentence}")
    page.section("Where it stands")
    _table(page, status_rows(status))
    page.text(status.estimate_note)
    if not math.isnan(status.expected_regret):
        page.text(f"Estimated cost of still not being sure: {cost_shown(status)} {per_period(settings)}.")
    if status.period:
        page.section("The last split")
        last = campaign.explain(status.period)
        last.most_sure = status.most_sure
        _table(page, split_rows(last, settings), last.title)
        page.section("Over time")
        if optional.missing("plot"):
            page.text(f"No pictures. {optional.missing_sentence('plot')}")
        else:
            _pictures(page, campaign, status)
        first = max(1, status.period - MOST_TICKETS + 1)
        page.section("All tickets" if first == 1 else f"The last {MOST_TICKETS} tickets")
        recent = list(campaign.history(first, status.period))
        cut = f"The last {MOST_LINES} of {len(recent):,} lines." if len(recent) > MOST_LINES else ""
        _table(page, history_rows(recent[-MOST_LINES:]), cut)
    usual = setting_rows(settings).rows
    page.section("Settings").facts({row[0]: row[1] for row in usual})
    page.section("Details").facts({row[0]: row[1] for row in setting_rows(settings, None).rows if row not in usual})
    for sentence in status.details:
        page.text(sentence)
    _table(page, estimate_rows(status), "What the estimates stand on.")
    page.text(f"Written {to_the_minute(now())} UTC, after {counted(status.version, 'event')}.")
    return page


def _table(page: Page, content: Rows, caption: str = "") -> None:
    right = [name for name, side in content.columns.items() if side == "right"]
    page.grid(list(content.columns), content.rows, caption, right)


def _pictures(page: Page, campaign: Campaign, status: Status) -> None:
    lines, moments = _drawn(campaign, status)
    budgets: dict[int, float] = defaultdict(float)
    for line in lines:
        budgets[line.ticket] += line.amount
    by_spending = sorted(status.arms, key=lambda arm: -arm.spent)
    names = [arm.name for arm in by_spending[:MOST_ARMS]]
    tickets = sorted(ticket for ticket, budget in budgets.items() if budget > 0)  # not those that were cancelled
    if not tickets:
        return
    shares = {name: dict.fromkeys(tickets, 0.0) for name in names}
    for line in lines:
        if line.arm in shares and line.ticket in shares[line.arm]:
            shares[line.arm][line.ticket] = line.amount / budgets[line.ticket]
    *earlier, last = moments
    shown = [*(moment for moment in earlier if moment[0] in budgets and budgets[moment[0]] > 0), last]
    dates = _dates(lines)
    page.figure(
        _shares(tickets, shares, dates), "What each split gave, as shares; what was really spent where that is known."
    )
    if len(shown) > 1:
        caption = f"{status.estimate_heading}, of each arm, with its likely range as it was known then."
        page.figure(_means(shown, names, status, dates), caption)


def _drawn(campaign: Campaign, status: Status) -> tuple[list[Line], list[tuple[int, Beliefs]]]:
    """The lines and the moments of the pictures: all lines, or of a long campaign those of some tickets."""
    if not is_long(status.period):
        often = max(1, status.period // MOST_MOMENTS)
        return list(campaign.history()), campaign.beliefs_over_time(often)
    found = thinned(campaign, -(-status.period // MOST_STEPS))
    drawn = [line for events in found.tickets.values() for line in ticket_lines(events)]
    return drawn, [*found.moments, (status.period, status.beliefs)]


def _dates(lines: Sequence[Line]) -> dict[int, datetime]:
    """When each ticket was, and the one after the last would be; nothing where dates make no axis of time."""
    texts = {line.ticket: None if line.state == "cancelled" else line.date for line in lines}
    axis = time_axis(list(texts.values()))
    return {} if axis is None else dict(zip((*texts, max(texts) + 1), axis))


def _figure(title: str, dated: bool) -> tuple[Figure, Any]:
    """A picture with dates from left to right; else with tickets: there is no ticket 2.5."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots()
    axes.ticklabel_format(style="plain", useOffset=False)
    if dated:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("ticket")
    return figure, axes


def _safe(name: str) -> str:
    return name.replace("$", r"\$").lstrip("_") or "arm"


def _shares(tickets: list[int], shares: dict[str, dict[int, float]], dates: Mapping[int, datetime]) -> Figure:
    figure, axes = _figure("Shares over time", bool(dates))
    end: Any = max(dates.values()) if dates else tickets[-1] + 1
    edges: list[Any] = [*(dates.get(ticket, ticket) for ticket in tickets), end]
    values = [[*row.values(), row[tickets[-1]]] for row in shares.values()]
    axes.stackplot(edges, values, labels=[_safe(name) for name in shares], step="post")
    axes.set(ylabel="share", ylim=(0, 1), xlim=(edges[0], edges[-1]))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def _means(
    moments: list[tuple[int, Beliefs]], names: list[str], status: Status, dates: Mapping[int, datetime]
) -> Figure:
    heading = status.estimate_heading
    figure, axes = _figure(_safe(f"{heading} over time"), bool(dates))
    for name in names:
        found = [(period, beliefs, beliefs[name]) for period, beliefs in moments if name in beliefs]
        known = [
            (period, per_unit(belief, status.even_amount, beliefs.c))
            for period, beliefs, belief in found
            if not math.isnan(belief.mean)
        ]
        if not known:
            continue
        periods: list[Any] = [dates.get(period, period) for period, _ in known]
        means, low, high = zip(*((belief.mean, belief.low, belief.high) for _, belief in known))
        (line,) = axes.plot(periods, means, label=_safe(name))
        if all(map(math.isfinite, (*low, *high))):
            axes.fill_between(periods, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
    axes.set(ylabel=_safe(heading))
    if axes.lines:
        heights = [float(height) for line in axes.lines for height in line.get_ydata()]
        lowest, highest = min(heights), max(heights)
        spread = (highest - lowest) or abs(lowest) or 1.0
        axes.set_ylim(lowest - spread, highest + spread)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure

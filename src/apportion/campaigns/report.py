"""The page of a campaign: where it stands, how it got there, in one HTML file."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from apportion._common.formatting import column_cells, counted, readable, to_the_minute
from apportion.allocation.beliefs import Beliefs
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.events import now
from apportion.campaigns.history import Line
from apportion.campaigns.status import return_heading
from apportion.campaigns.tables import Rows, history_rows, setting_rows, split_rows, status_rows
from apportion.reporting.html import Page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Pictures show at most so many moments and arms, the history so many tickets and lines; the export has all.
MOST_MOMENTS = 120
MOST_ARMS = 10
MOST_TICKETS = 20
MOST_LINES = 200


def campaign_page(campaign: Campaign) -> Page:
    """The report of a campaign."""
    status = campaign.status()
    settings = status.settings
    unit = settings.unit or "units"
    lines = list(campaign.history())
    lead = f"{counted(status.period, 'split')} of {readable(settings.budget)} {unit} by {settings.policy}."
    page = Page(campaign.name, lead=lead)
    for sentence in status.notes:
        page.text(sentence)
    if status.health is not None and (status.health.findings or status.health.enough):
        page.section("Health of the data")
        page.text(status.health.summary)
        for finding in status.health.findings:
            page.text(f"{finding.severity.capitalize()}: {finding.sentence}")
    page.section("Where it stands")
    _table(page, _with_spent(status_rows(status), lines, unit))
    if not math.isnan(status.expected_regret):
        page.text(f"Estimated cost of still not being sure: {readable(status.expected_regret)} a period.")
    if status.period:
        page.section("The last split")
        last = campaign.explain(status.period)
        _table(page, split_rows(last, settings), last.title)
        page.section("Over time")
        _pictures(page, campaign, lines)
        first = max(1, status.period - MOST_TICKETS + 1)
        page.section("All tickets" if first == 1 else f"The last {MOST_TICKETS} tickets")
        recent = [line for line in lines if line.ticket >= first]
        cut = f"The last {MOST_LINES} of {len(recent):,} lines." if len(recent) > MOST_LINES else ""
        _table(page, history_rows(recent[-MOST_LINES:]), cut)
    page.section("Settings").facts({row[0]: row[1] for row in setting_rows(settings).rows})
    page.text(f"Written {to_the_minute(now())} UTC, after {counted(status.version, 'event')}.")
    return page


def _table(page: Page, content: Rows, caption: str = "") -> None:
    import pandas as pd

    right = [name for name, side in content.columns.items() if side == "right"]
    page.table(pd.DataFrame(content.rows, columns=list(content.columns)), caption, right)


def _with_spent(content: Rows, lines: Sequence[Line], unit: str) -> Rows:
    """The arms with all that was spent on them: what has no outcome or was forgotten since, too."""
    spent: dict[str, list[float]] = {}
    for line in lines:
        if line.state != "open":
            spent.setdefault(line.arm, []).append(line.amount)
    totals = column_cells([math.fsum(spent.get(row[0], ())) for row in content.rows])
    columns = list(content.columns.items())
    return Rows(
        dict([*columns[:3], (f"{unit} spent", "right"), *columns[3:]]),
        [(*row[:3], total, *row[3:]) for row, total in zip(content.rows, totals)],
    )


def _pictures(page: Page, campaign: Campaign, lines: Sequence[Line]) -> None:
    totals: dict[str, float] = defaultdict(float)
    budgets: dict[int, float] = defaultdict(float)
    for line in lines:
        totals[line.arm] += line.amount
        budgets[line.ticket] += line.amount
    names, tickets = sorted(totals, key=lambda name: -totals[name])[:MOST_ARMS], sorted(budgets)
    shares = {name: dict.fromkeys(tickets, 0.0) for name in names}
    for line in lines:
        if line.arm in shares and budgets[line.ticket] > 0:
            shares[line.arm][line.ticket] = line.amount / budgets[line.ticket]
    page.figure(_shares(tickets, shares), "What was spent, as shares; each step is a split.")
    moments = campaign.beliefs_over_time(max(1, campaign.period // MOST_MOMENTS))
    if len(moments) > 1:
        heading = return_heading(campaign.settings)
        caption = f"{heading}, of each arm, with its likely range as it was known then."
        page.figure(_means(moments, names, heading), caption)


def _figure(title: str) -> tuple[Figure, Any]:
    """A picture with tickets from left to right: there is no ticket 2.5."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure, axes


def _safe(name: str) -> str:
    return name.replace("$", r"\$").lstrip("_") or "arm"


def _shares(tickets: list[int], shares: dict[str, dict[int, float]]) -> Figure:
    figure, axes = _figure("Shares over time")
    edges = [*tickets, tickets[-1] + 1]
    values = [[*row.values(), row[tickets[-1]]] for row in shares.values()]
    axes.stackplot(edges, values, labels=[_safe(name) for name in shares], step="post")
    axes.set(xlabel="ticket", ylabel="share", ylim=(0, 1), xlim=(edges[0], edges[-1]))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def _means(moments: list[tuple[int, Beliefs]], names: list[str], heading: str) -> Figure:
    figure, axes = _figure(_safe(f"{heading} over time"))
    for name in names:
        found = [(period, beliefs[name]) for period, beliefs in moments if name in beliefs]
        known = [(period, belief) for period, belief in found if not math.isnan(belief.mean)]
        if not known:
            continue
        periods = [period for period, _ in known]
        means, low, high = zip(*((belief.mean, belief.low, belief.high) for _, belief in known))
        (line,) = axes.plot(periods, means, label=_safe(name))
        if all(map(math.isfinite, (*low, *high))):
            axes.fill_between(periods, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
    axes.set(xlabel="ticket", ylabel=_safe(heading))
    if axes.lines:
        heights = [float(height) for line in axes.lines for height in line.get_ydata()]
        lowest, highest = min(heights), max(heights)
        spread = (highest - lowest) or abs(lowest) or 1.0
        axes.set_ylim(lowest - spread, highest + spread)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure

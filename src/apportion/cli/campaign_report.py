"""The page of a campaign: where it stands, how it got there, in one HTML file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from apportion.live.campaign import Campaign
from apportion.live.events import now
from apportion.report import Page
from apportion.tables import percent, readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Pictures show at most so many moments and arms; the tables and the export have all.
MOMENTS = 120
ARMS = 10


def campaign_page(campaign: Campaign) -> Page:
    """The report of a campaign."""
    import pandas as pd

    status = campaign.status()
    settings, beliefs = status.settings, status.beliefs
    unit = settings.unit or "units"
    page = Page(
        campaign.name, lead=f"{campaign.period} splits of {readable(settings.budget)} {unit} by {settings.policy}."
    )
    for sentence in status.notes:
        page.text(sentence)
    page.section("Where it stands")
    rows: dict[str, list[Any]] = {
        "arm": [],
        "state": [],
        f"spent ({unit})": [],
        "mean": [],
        "low": [],
        "high": [],
        "best": [],
    }
    for arm in status.arms:
        belief = arm.belief
        known = belief is not None and not math.isnan(belief.mean)
        values = (belief.resource, belief.mean, belief.low, belief.high) if belief and known else (math.nan,) * 4
        cells = (arm.name, arm.state, *values, percent(belief.probability_best) if belief else "–")
        for column, value in zip(rows.values(), cells):
            column.append(value)
    page.table(pd.DataFrame(rows).set_index("arm"), beliefs.note)
    regret = status.expected_regret
    if not math.isnan(regret):
        page.text(f"The present split is expected to cost {readable(regret)} a period against knowing the best arm.")
    if campaign.period:
        page.section("The last split")
        last = campaign.explain(campaign.period)
        page.table(last.to_pandas(), last.title)
        page.section("Over time")
        _pictures(page, campaign)
        page.section("Last lines of the history")
        lines = campaign.history(max(1, campaign.period - 20)).to_pandas()
        for when in ("date", "recorded"):
            lines[when] = [str(value)[:16].replace("T", " ") if value else "–" for value in lines[when]]
        page.table(lines.drop(columns=["share"]).tail(200).set_index("ticket"))
    page.section("Settings").facts({name.replace("_", " "): str(value) for name, value in settings._asdict().items()})
    page.text(f"Written {now()[:19]} UTC, after {campaign.version} events.")
    return page


def _pictures(page: Page, campaign: Campaign) -> None:
    lines = campaign.history()
    totals: dict[str, float] = {}
    for line in lines:
        totals[line.arm] = totals.get(line.arm, 0.0) + line.amount
    names = sorted(totals, key=lambda name: -totals[name])[:ARMS]
    budgets: dict[int, float] = {}
    for line in lines:
        budgets[line.ticket] = budgets.get(line.ticket, 0.0) + line.amount
    tickets = sorted(budgets)
    places = {ticket: place for place, ticket in enumerate(tickets)}
    shares = {name: [0.0] * len(tickets) for name in names}
    for line in lines:
        if line.arm in shares and budgets[line.ticket] > 0:
            shares[line.arm][places[line.ticket]] = line.amount / budgets[line.ticket]
    page.figure(_shares(tickets, shares), "What was spent, as shares; each step is a split.")
    moments = _moments(campaign)
    if len(moments) > 1:
        page.figure(_means(moments, names), "The estimated mean of each arm, with its interval as it was known then.")


def _moments(campaign: Campaign) -> list[tuple[int, Any]]:
    """(period, beliefs) at some moments, in one pass over the events."""
    every = max(1, campaign.period // MOMENTS)
    return [(period, beliefs) for period, beliefs in campaign.beliefs_over_time(every)]


def _figure(title: str) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    figure.suptitle(title)
    return figure, figure.subplots()


def _safe(name: str) -> str:
    return name.replace("$", r"\$").lstrip("_") or "arm"


def _shares(tickets: list[int], shares: dict[str, list[float]]) -> Figure:
    figure, axes = _figure("Shares over time")
    edges = [*tickets, tickets[-1] + 1]
    values = [[*row, row[-1]] for row in shares.values()]
    axes.stackplot(edges, values, labels=[_safe(name) for name in shares], step="post")
    axes.set(xlabel="ticket", ylabel="share", ylim=(0, 1), xlim=(edges[0], edges[-1]))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def _means(moments: list[tuple[int, Any]], names: list[str]) -> Figure:
    figure, axes = _figure("Means over time")
    for name in names:
        found = [(period, beliefs[name]) for period, beliefs in moments if name in beliefs]
        told = [(period, belief) for period, belief in found if not math.isnan(belief.mean)]
        if not told:
            continue
        periods, means = [period for period, _ in told], [belief.mean for _, belief in told]
        (line,) = axes.plot(periods, means, label=_safe(name))
        low, high = [belief.low for _, belief in told], [belief.high for _, belief in told]
        if all(map(math.isfinite, (*low, *high))):
            axes.fill_between(periods, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
    axes.set(xlabel="ticket", ylabel="mean per unit")
    if axes.lines:
        last = [line.get_ydata() for line in axes.lines]
        flat = sorted(float(value) for values in last for value in values)
        spread = (flat[-1] - flat[0]) or abs(flat[0]) or 1.0
        axes.set_ylim(flat[0] - spread, flat[-1] + spread)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure

"""How a campaign came to where it is: means, chances and shares by period, and what happened in between."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from apportion.live.campaign import Campaign
from apportion.live.events import Event
from apportion.tables import readable

# A chart shows at most so many moments and steps; the export has all of them.
MOMENTS = 160
STEPS = 400
# More changes of budget than this are no news: then only those of the settings are marked.
BUDGET_MARKS = 12


class Mark(NamedTuple):
    """Something that happened, at the period after which it did."""

    period: int
    kind: str
    text: str


def over_time(campaign: Campaign) -> dict[str, Any]:
    """Plain data for the chart of a campaign's page; None where nothing is known."""
    status = campaign.status()
    every = max(1, status.period // MOMENTS)
    moments = campaign.beliefs_over_time(every)
    arms = [arm.name for arm in status.arms]
    means: dict[str, dict[str, list[float | None]]] = {
        name: {"mean": [], "low": [], "high": [], "best": []} for name in arms
    }
    for _, beliefs in moments:
        for name, series in means.items():
            belief = beliefs.get(name)
            known = belief is not None and not math.isnan(belief.mean)
            series["mean"].append(belief.mean if known else None)
            series["low"].append(_finite(belief.low) if known else None)
            series["high"].append(_finite(belief.high) if known else None)
            series["best"].append(_finite(belief.probability_best) if known else None)
    events = campaign.events()
    return {
        "version": status.version,
        "unit": status.settings.unit,
        "level": 100 * status.settings.level,
        "minimise": status.settings.minimise,
        "arms": arms,
        "periods": [period for period, _ in moments],
        "beliefs": means,
        **_shares(events, arms),
        "marks": [mark._asdict() for mark in marks(events, status.settings.unit)],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _shares(events: list[Event], arms: list[str]) -> dict[str, Any]:
    splits = [event for event in events if event.kind == "split"]
    every = max(1, math.ceil(len(splits) / STEPS))
    shown = splits[::every]
    shares: dict[str, list[float]] = {name: [] for name in arms}
    for event in shown:
        amounts, budget = event.payload["amounts"], event.payload["budget"]
        for name, series in shares.items():
            series.append(amounts.get(name, 0.0) / budget)
    return {
        "tickets": [event.ticket for event in shown],
        "budgets": [event.payload["budget"] for event in shown],
        "shares": shares,
        "last": len(splits),
    }


def marks(events: list[Event], unit: str | None) -> list[Mark]:
    """Changes of budget, corrections, changes of arms and settings, each at its period."""
    period, usual = 0, None
    found: list[Mark] = []
    single: list[Mark] = []
    for event in events:
        payload: Mapping[str, Any] = event.payload
        if event.kind == "split":
            period = event.ticket or period
            if usual is not None and payload["budget"] != usual and payload.get("source") != "import":
                single.append(Mark(period, "budget", f"budget {_amount(payload['budget'], unit)} this once"))
        elif event.kind == "amended":
            names = ", ".join(list(payload["outcomes"])[:3])
            found.append(Mark(event.ticket or period, "amended", f"ticket {event.ticket} amended ({names})"))
        elif event.kind == "arm":
            found.append(Mark(period, "arm", f"{payload['arm']} {_DONE[payload['action']]}"))
        elif event.kind == "setting":
            usual = payload["changes"].get("budget", usual)
            found.append(Mark(period, "setting", f"settings: {_changes(payload['changes'], unit)}"))
        elif event.kind == "created":
            usual = payload["settings"]["budget"]
        elif event.kind == "imported":
            found.append(Mark(period, "imported", f"history {payload['file']} taken in"))
    if len(single) <= BUDGET_MARKS:
        found += single
    return sorted(found, key=lambda mark: mark.period)


_DONE = {"add": "added", "pause": "paused", "resume": "resumed", "remove": "removed", "bound": "bounded"}


def _changes(changes: Mapping[str, Any], unit: str | None) -> str:
    said = []
    for name, value in changes.items():
        if name == "policy":
            said.append(f"policy {value['name']}")
        elif name == "budget":
            said.append(f"budget {_amount(value, unit)}")
        else:
            said.append(f"{name.replace('_', ' ')} {'none' if value is None else value}")
    return ", ".join(said)


def _amount(value: float, unit: str | None) -> str:
    return f"{readable(float(value))} {unit or ''}".rstrip()


def news(event: Event, unit: str | None) -> str:
    """What happened last, in a few words, for those who look at the page meanwhile."""
    if event.kind == "split":
        return f"ticket {event.ticket} was issued"
    if event.kind == "outcome":
        return f"outcomes of ticket {event.ticket} were recorded"
    if event.kind == "created":
        return "the campaign was begun"
    return marks([event], unit)[0].text

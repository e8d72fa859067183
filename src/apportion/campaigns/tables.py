"""Campaigns as tables in words, the same on a terminal and on a page."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from apportion._common.formatting import column_cells, percent, readable, to_the_minute
from apportion.allocation.beliefs import Beliefs, interval
from apportion.allocation.split import Split
from apportion.campaigns.history import Line
from apportion.campaigns.plain_data import plain
from apportion.campaigns.settings import Settings
from apportion.campaigns.status import Status, marginal_heading, return_heading, spent_heading


def cell(value: Any) -> str:
    """A setting or an outcome in a cell of a table."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {cell(item)}" for name, item in value.items()) or "–"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return str(value)


class Rows(NamedTuple):
    """A table in words, for a terminal or a page: each column with its side (left, right), and what is in them."""

    columns: Mapping[str, str]
    rows: Sequence[tuple[str, ...]]


def setting_rows(settings: Settings) -> Rows:
    """All settings, as people read them."""
    named = [(option.replace("_", " "), cell(plain(value))) for option, value in settings._asdict().items()]
    return Rows({"setting": "left", "value": "left"}, named)


def split_rows(split: Split, settings: Settings) -> Rows:
    """A split with, for each arm, amount, share, return with its likely range, how likely it is the best, and why."""
    rows = []
    for name, amount in zip(split.amounts, column_cells(list(split.amounts.values()))):
        belief = split.beliefs[name]
        mean = "–" if math.isnan(belief.mean) else interval(belief)
        best = percent(belief.probability_best)
        bent = (_or_dash(belief.marginal),) if split.beliefs.c < 1.0 else ()
        rows.append(
            (
                name,
                amount,
                percent(split.shares[name] if split.amounts[name] else 0.0),
                mean,
                *bent,
                best,
                split.reasons[name],
            )
        )
    columns = {
        "arm": "left", f"amount {settings.unit or ''}".strip(): "right", "share": "right",
        return_heading(settings, split.beliefs.c): "right", **_marginal_column(settings, split.beliefs),
        "best": "right", "why": "left",
    }  # fmt: skip
    return Rows(columns, rows)


def status_rows(status: Status) -> Rows:
    """Each arm with its bounds, what was spent, return with its likely range, and how likely it is the best."""
    settings, diminishing = status.settings, status.beliefs.c < 1.0
    resources = column_cells([None if arm.belief is None else arm.belief.resource for arm in status.arms])
    rows = []
    for arm, resource in zip(status.arms, resources):
        free = (arm.minimum, arm.maximum) == (0.0, 1.0)
        bounds = "" if free else f"{percent(arm.minimum)} to {percent(arm.maximum)}"
        belief = arm.belief
        if belief is None:
            mean = marginal = best = "–"
        else:
            mean = "not enough data" if math.isnan(belief.mean) else interval(belief)
            marginal, best = _or_dash(belief.marginal), percent(belief.probability_best)
        bent = (marginal,) if diminishing else ()
        rows.append((arm.name, arm.state, bounds, resource, mean, *bent, best))
    columns = {
        "arm": "left", "state": "left", "bounds": "left",
        spent_heading(settings): "right", f"{return_heading(settings)} ({100 * settings.level:.6g}% range)": "right",
        **_marginal_column(settings, status.beliefs), "best": "right",
    }  # fmt: skip
    return Rows(columns, rows)


def _marginal_column(settings: Settings, beliefs: Beliefs) -> dict[str, str]:
    """The heading of the marginal returns, where these are not the means."""
    return {marginal_heading(settings): "right"} if beliefs.c < 1.0 else {}


def _or_dash(value: float) -> str:
    return "–" if math.isnan(value) else readable(value)


def history_rows(lines: Sequence[Line]) -> Rows:
    """Tickets arm by arm: what was advised, spent and earned, and what stood there before it was amended."""
    texts = [column_cells([getattr(line, field) for line in lines]) for field in ("advised", "amount", "outcome")]
    rows = []
    for line, advised, spent, outcome in zip(lines, *texts):
        before = ["no data" if old["outcome"] is None else readable(old["outcome"]) for old in line.corrections]
        state = line.state + (f", was {', '.join(before)}" if before else "")
        rows.append((str(line.ticket), to_the_minute(line.date), line.arm, advised, spent, outcome, state))
    columns = {"ticket": "right", "date (UTC)": "left", "arm": "left", "advised": "right", "spent": "right",
               "outcome": "right", "state": "left"}  # fmt: skip
    return Rows(columns, rows)

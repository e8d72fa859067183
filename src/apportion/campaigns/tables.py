"""Campaigns as tables in words, the same on a terminal and on a page."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from apportion._common.formatting import chance, column_cells, percent, readable, to_the_minute, written
from apportion.allocation.beliefs import Belief, Beliefs, interval, per_unit
from apportion.allocation.split import Split
from apportion.campaigns.history import Line
from apportion.campaigns.plain_data import plain
from apportion.campaigns.settings import DERIVED, STATISTICS, Settings
from apportion.campaigns.status import (
    ArmStatus,
    Status,
    back_words,
    inside,
    marginal_heading,
    return_heading,
    spent_heading,
)


def cell(value: Any) -> str:
    """A setting or an outcome in a cell of a table."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return written(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {cell(item)}" for name, item in value.items()) or "–"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return str(value)


class Rows(NamedTuple):
    """A table in words, for a terminal or a page: each column with its side (left, right), and what is in them."""

    columns: Mapping[str, str]
    rows: Sequence[tuple[str, ...]]


def setting_rows(settings: Settings, also: Collection[str] | None = ()) -> Rows:
    """The settings as people read them: without those that speak of statistics, but for these; None: all of them."""
    behind = {*STATISTICS, *DERIVED} - {*(also or ())}
    named = [
        (option.replace("_", " "), cell(plain(value)))
        for option, value in settings._asdict().items()
        if also is None or option not in behind
    ]
    return Rows({"setting": "left", "value": "left"}, named)


def split_rows(split: Split, settings: Settings) -> Rows:
    """A split with, for each arm, amount, share, return with its likely range, how likely it is the best, and why."""
    rows = []
    for name, amount in zip(split.amounts, column_cells(list(split.amounts.values()))):
        belief = split.beliefs[name]
        own = per_unit(belief, split.amounts[name], split.beliefs.c)
        mean = "–" if math.isnan(own.mean) else interval(own)
        best = chance(belief.probability_best, split.most_sure)
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
    """Each arm and all together: spent, came back, return so far; the estimate that is used, and the chance.

    States and bounds have a column where any arm has one of its own.
    """
    settings, arms = status.settings, status.arms
    totals: list[Any] = [*arms, status] if len(arms) > 1 else [*arms]
    columns: dict[str, tuple[str, list[str]]] = {"arm": ("left", [arm.name for arm in arms])}
    if len(arms) > 1:
        columns["arm"][1].append("all")
    if any(arm.state != "active" for arm in arms):
        columns["state"] = ("left", [arm.state for arm in arms])
    if any((arm.minimum, arm.maximum) != (0.0, 1.0) for arm in arms):
        columns["bounds"] = ("left", [_bounds(arm) for arm in arms])
    back, so_far = back_words(settings)
    columns[f"spent {settings.unit or ''}".strip()] = ("right", column_cells([total.spent for total in totals]))
    columns[f"{back.lower()} {settings.outcome_unit or ''}".strip()] = (
        "right",
        column_cells([total.returned for total in totals]),
    )
    columns[so_far.lower()] = ("right", [_or_dash(total.return_so_far) for total in totals])
    beliefs = [arm.belief for arm in arms]
    estimate = f"estimated {inside(status.estimate_heading)} ({100 * settings.level:.6g}% range)"
    columns[estimate] = (
        "right",
        ["–" if belief is None else _estimate(status.estimate(belief)) for belief in beliefs],
    )
    if status.beliefs.c < 1.0:
        marginal = ["–" if belief is None else _or_dash(belief.marginal) for belief in beliefs]
        columns[marginal_heading(settings)] = ("right", marginal)
    sure = status.most_sure
    columns["best"] = ("right", ["–" if b is None else chance(b.probability_best, sure) for b in beliefs])
    cells = [[*column, *[""] * (len(totals) - len(column))] for _, column in columns.values()]
    return Rows({name: side for name, (side, _) in columns.items()}, list(zip(*cells)))


def _bounds(arm: ArmStatus) -> str:
    free = (arm.minimum, arm.maximum) == (0.0, 1.0)
    return "" if free else f"{percent(arm.minimum)} to {percent(arm.maximum)}"


def _estimate(belief: Belief) -> str:
    return "not enough data" if math.isnan(belief.mean) else interval(belief)


def estimate_rows(status: Status) -> Rows:
    """The statistics behind the estimates: the amounts that they stand on, and the information in them."""
    known = [(arm.name, arm.belief) for arm in status.arms if arm.belief is not None]
    amounts = column_cells([belief.resource for _, belief in known])
    rows = [(name, amount, readable(belief.information)) for (name, belief), amount in zip(known, amounts)]
    return Rows({"arm": "left", spent_heading(status.settings).lower(): "right", "information": "right"}, rows)


def _marginal_column(settings: Settings, beliefs: Beliefs) -> dict[str, str]:
    """The heading of the marginal returns, where these are not the means."""
    return {marginal_heading(settings): "right"} if beliefs.c < 1.0 else {}


def _or_dash(value: float) -> str:
    return "–" if math.isnan(value) else readable(value)


def history_rows(lines: Sequence[Line]) -> Rows:
    """Tickets arm by arm: what was advised, spent and earned, and what stood there before it was amended."""
    texts = [column_cells([getattr(line, field) for line in lines]) for field in ("advised", "spent", "outcome")]
    rows = []
    for line, advised, spent, outcome in zip(lines, *texts):
        before = ["no data" if old["outcome"] is None else readable(old["outcome"]) for old in line.corrections]
        state = line.state + (f", was {', '.join(before)}" if before else "")
        rows.append((str(line.ticket), to_the_minute(line.date), line.arm, advised, spent, outcome, state))
    columns = {"ticket": "right", "date (UTC)": "left", "arm": "left", "advised": "right", "spent": "right",
               "came back": "right", "state": "left"}  # fmt: skip
    return Rows(columns, rows)

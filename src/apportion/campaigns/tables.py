"""Campaigns as tables in words, the same on a terminal and on a page."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from apportion._common.formatting import chance, column_cells, percent, readable, to_the_minute, written
from apportion.allocation.beliefs import Belief, interval, per_unit
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


def split_rows(split: Split, settings: Settings, *, brief: bool = False) -> Rows:
    """A split with, for each arm, amount, share, return with its likely range, how likely it is the best, and why.

    In `brief` without the ranges, and with reasons of a few words.
    """
    bent = split.beliefs.c < 1.0
    reasons = split.brief_reasons if brief else split.reasons
    columns: dict[str, tuple[str, list[str]]] = {
        "arm": ("left", list(split.amounts)),
        f"amount {settings.unit or ''}".strip(): ("right", column_cells(list(split.amounts.values()))),
        # Of the amounts as they are, which the spreadsheet shows, too: whole units are rounded.
        "share": ("right", [percent(amount / split.budget) for amount in split.amounts.values()]),
    }
    beliefs = [split.beliefs[name] for name in split.amounts]
    own = [per_unit(belief, amount, split.beliefs.c) for belief, amount in zip(beliefs, split.amounts.values())]
    shown = [_or_dash(each.mean) if brief or math.isnan(each.mean) else interval(each) for each in own]
    columns[return_heading(settings, split.beliefs.c)] = ("right", shown)
    if bent and not brief:
        columns[marginal_heading(settings)] = ("right", [_or_dash(belief.marginal) for belief in beliefs])
    columns["best"] = ("right", [_best(belief, split.most_sure) for belief in beliefs])
    columns["why"] = ("left", [reasons[name] for name in split.amounts])
    return _table(columns)


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
    columns["best"] = ("right", ["–" if belief is None else _best(belief, sure) for belief in beliefs])
    return _table(columns)


def _table(columns: Mapping[str, tuple[str, Sequence[str]]]) -> Rows:
    """Columns by name, each with its side; those that are shorter end in empty cells."""
    longest = max(len(column) for _, column in columns.values())
    cells = [[*column, *[""] * (longest - len(column))] for _, column in columns.values()]
    return Rows({name: side for name, (side, _) in columns.items()}, list(zip(*cells)))


def _best(belief: Belief, most_sure: float) -> str:
    """How likely an arm is the best; nothing of one without results, whose chance stands on nothing."""
    return "–" if math.isnan(belief.mean) else chance(belief.probability_best, most_sure)


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

"""Campaigns for people and machines: tables and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from apportion import written
from apportion.beliefs import interval
from apportion.errors import InvalidValue
from apportion.live.campaign import Campaign
from apportion.live.content import plain
from apportion.live.status import Status
from apportion.split import Split
from apportion.tables import percent, readable


def console() -> Console:
    """A terminal as wide as it is; a pipe gets room for sentences."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, 120))


def say(sentence: str) -> None:
    """Print a sentence as it is: names may hold brackets."""
    console().print(Text(sentence))


def show_json(content: Any) -> None:
    """Print plain data; what is not a number in JSON becomes null."""
    print(json.dumps(plain(content), indent=2, allow_nan=False, ensure_ascii=True))


def grid(title: str, columns: Mapping[str, str], rows: Iterable[Iterable[Any]], note: str = "") -> None:
    """Print a table; `columns` maps each name to its side, left or right."""
    table = Table(title=Text(title), title_justify="left")
    for name, side in columns.items():
        table.add_column(Text(name), justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(cell if isinstance(cell, str) else readable(cell)) for cell in row))
    out = console()
    out.print(table)
    if note:
        out.print(Text(note))


def cell(value: Any) -> str:
    """A setting or an outcome in a cell of a table."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {cell(item)}" for name, item in value.items()) or "–"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return str(value)


def show_split(campaign: Campaign, split: Split) -> None:
    """Print a split with, for each arm, amount, share, mean, chance of being best and reason."""
    unit = campaign.settings.unit or ""
    rows = []
    for name in split.amounts:
        belief = split.beliefs[name]
        best = percent(belief.probability_best)
        mean = "–" if math.isnan(belief.mean) else interval(belief)
        amount = readable(split.amounts[name])
        rows.append((name, amount, percent(split.shares[name]), mean, best, split.reasons[name]))
    columns = {
        "arm": "left", f"amount {unit}".strip(): "right", "share": "right",
        "mean per unit (interval)": "right", "best": "right", "why": "left",
    }  # fmt: skip
    title = f"{campaign.name}: ticket {split.ticket}, {readable(split.budget)} {unit}".rstrip()
    pairs = " ".join(f"{_quoted(name)}=…" for name, amount in split.amounts.items() if amount > 0)
    note = f"{split.note} Then: apportion record {_quoted(campaign.name)} --ticket {split.ticket} {pairs}".strip()
    grid(title, columns, rows, note)


def show_status(status: Status) -> None:
    """Print where a campaign stands."""
    settings = status.settings
    unit = settings.unit or ""
    rows = []
    for arm in status.arms:
        free = (arm.minimum, arm.maximum) == (0.0, 1.0)
        bounds = "" if free else f"{percent(arm.minimum)} to {percent(arm.maximum)}"
        belief = arm.belief
        if belief is None:
            rows.append((arm.name, arm.state, bounds, "–", "–", "–"))
            continue
        mean = "not enough data" if math.isnan(belief.mean) else interval(belief)
        spent = readable(belief.resource)
        rows.append((arm.name, arm.state, bounds, spent, mean, percent(belief.probability_best)))
    columns = {
        "arm": "left", "state": "left", "bounds": "left", f"spent {unit}".strip(): "right",
        f"mean per unit ({100 * settings.level:.6g}% interval)": "right", "best": "right",
    }  # fmt: skip
    grid(f"{status.name}: {settings.policy}, {status.period} periods", columns, rows, status.beliefs.note)
    budget = f"{readable(settings.budget)} {unit}".rstrip()
    # What is learned has its own sentence among the notes.
    noise = f"; b = {settings.b:g}; σ = {readable(settings.sigma)}" if status.beliefs.learned is None else ""
    lines = [
        f"Budget {budget}{noise}.",
        "Open tickets: " + (", ".join(map(str, status.open_tickets[-10:])) or "none") + ".",
    ]
    if not math.isnan(status.expected_regret):
        lines.append(f"Expected regret of the present split: {readable(status.expected_regret)} per period.")
    say("\n".join([*lines, *status.notes]))


# What `pairs` may be asked for that is a part of the budget.
SHARES = ("minimum", "maximum", "pin")


def pairs(given: Iterable[str], what: str = "outcome") -> dict[str, float | None]:
    """'a=812' as a name and a number; 'a=none' for no data."""
    found: dict[str, float | None] = {}
    for text in given:
        name, mark, value = text.rpartition("=")
        if not mark or not name:
            raise InvalidValue(f"An {what} must be written as arm=number; got {text[:60]!r}.")
        if name in found:
            raise InvalidValue(f"Arm '{name}' is given twice.")
        if what == "outcome" and value.strip().lower() in ("none", "no-data", "nodata", "na"):
            found[name] = None
            continue
        found[name] = number(value, f"the {what} of '{name}'", what in SHARES)
    return found


def numbers(given: Iterable[str], what: str) -> dict[str, float]:
    """'a=0.1' as a name and a number."""
    return {name: value for name, value in pairs(given, what).items() if value is not None}


def number(text: str, what: str, share: bool = False) -> float:
    """A number that a person or a program typed: as Python writes it, else as people do where that is clear."""
    try:
        return float(text.strip().replace("_", ""))
    except ValueError:
        if share:
            allowed = "a share from 0 to 1, for example 0.6"
            raise InvalidValue(f"{what[:1].upper()}{what[1:]} must be {allowed}; got {text[:60]!r}.") from None
        return written.number(text, what)


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)

"""Campaigns for people and machines: tables and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from apportion import written
from apportion.beliefs import interval
from apportion.errors import InvalidValue
from apportion.live.campaign import Campaign
from apportion.live.content import plain
from apportion.live.history import Line
from apportion.live.ledger import Settings
from apportion.live.status import Status, resource_heading
from apportion.split import Split
from apportion.tables import percent, readable

# Where text has fewer characters of room than the first, headings and dates are broken between words; where it has
# fewer than the second, the borders go.
_COMFORTABLE, _READABLE = 24, 8


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


def grid(
    title: str,
    columns: Mapping[str, str],
    rows: Iterable[Iterable[Any]],
    note: str = "",
    unbroken: Collection[str] = (),
) -> None:
    """Print a table; `columns` maps each name to its side, left or right.

    On a narrow terminal text wraps, a long name even inside; a number does not, nor a word of the columns `unbroken`.
    """
    out = console()
    shown = [[cell if isinstance(cell, str) else readable(cell) for cell in row] for row in rows]
    texts = {name: [name, *(row[place] for row in shown)] for place, name in enumerate(columns)}
    numbers = [name for name, side in columns.items() if side == "right" and " " not in "".join(texts[name][1:])]
    whole = {*unbroken, *numbers}

    def fits(room: int) -> bool:
        """Whether there is so much room for each text, beside what must not break and the borders."""
        sizes = {
            name: max(cell_len(line) for text in texts[name] for line in ["", *text.split("\n")]) for name in texts
        }
        wanted = sum(size if name in whole else min(size, room) for name, size in sizes.items())
        return wanted + 3 * len(columns) + 1 <= out.width

    table = Table(title=Text(title), title_justify="left")
    if not fits(_COMFORTABLE):
        texts |= {name: [text.replace(" ", "\n") for text in texts[name]] for name in whole}
    if not fits(_READABLE):
        table.box, table.padding, table.pad_edge = None, (0, 1, 0, 0), False
    for name, side in columns.items():
        kept = name in whole
        table.add_column(
            Text(texts[name][0]), justify="right" if side == "right" else "left", no_wrap=kept,
            overflow="ellipsis" if kept else "fold",
        )  # fmt: skip
    cells = [map(Text, texts[name][1:]) for name in columns]
    for row in zip(*cells):
        table.add_row(*row)
    out.print(table)
    if note:
        out.print(Text(note))


def counted(number: int, word: str) -> str:
    """'1 period', '2 periods'.

    >>> counted(1, "period"), counted(1200, "event")
    ('1 period', '1,200 events')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def minutes(moment: str) -> str:
    """A moment of the log (UTC) to the minute; a date of an imported history as it is.

    >>> minutes("2026-11-02T09:00:17.123456"), minutes("calendar week 45 of 2026")
    ('2026-11-02 09:00', 'calendar week 45 of 2026')
    """
    return f"{moment[:10]} {moment[11:16]}" if moment[10:11] == "T" and moment[13:14] == ":" else moment


def alike(values: Sequence[float | None]) -> list[str]:
    """The numbers of one column, all with as many decimals; '–' where there is none.

    >>> alike([8.5, 98.5, 53.0, None])
    ['8.50', '98.50', '53.00', '–']
    >>> alike([2500.0, 0.004, 0.0]), alike([1e12, 7.0])
    (['2,500.00', '<0.01', '0.00'], ['1e+12', '7'])
    >>> alike([12.5, -0.001])
    ['12.50', '>-0.01']
    """
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(sizes, default=0.0)
    if all(size.is_integer() for size in sizes) or not 1e-3 <= largest < 1e9:
        return [readable(value) for value in values]
    decimals = max(2, 4 - len(str(int(largest))))
    least = 10.0**-decimals
    return [
        readable(value) if value is None or not math.isfinite(value)
        else f"{'<' if value > 0.0 else '>-'}{least:.{decimals}f}" if 0.0 < abs(value) < 0.5 * least
        else f"{value:,.{decimals}f}"
        for value in values
    ]  # fmt: skip


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


def split_rows(split: Split, unit: str) -> Rows:
    """A split with, for each arm, amount, share, mean, chance of being best and reason."""
    rows = []
    for name, amount in zip(split.amounts, alike(list(split.amounts.values()))):
        belief = split.beliefs[name]
        mean = "–" if math.isnan(belief.mean) else interval(belief)
        best = percent(belief.probability_best)
        rows.append((name, amount, percent(split.shares[name]), mean, best, split.reasons[name]))
    columns = {
        "arm": "left", f"amount {unit}".strip(): "right", "share": "right",
        "mean per unit (interval)": "right", "best": "right", "why": "left",
    }  # fmt: skip
    return Rows(columns, rows)


def status_rows(status: Status) -> Rows:
    """Each arm with its bounds, the amount that counts, mean with interval, and chance of being best."""
    resources = alike([None if arm.belief is None else arm.belief.resource for arm in status.arms])
    rows = []
    for arm, resource in zip(status.arms, resources):
        free = (arm.minimum, arm.maximum) == (0.0, 1.0)
        bounds = "" if free else f"{percent(arm.minimum)} to {percent(arm.maximum)}"
        belief = arm.belief
        if belief is None:
            mean = best = "–"
        else:
            mean = "not enough data" if math.isnan(belief.mean) else interval(belief)
            best = percent(belief.probability_best)
        rows.append((arm.name, arm.state, bounds, resource, mean, best))
    columns = {
        "arm": "left", "state": "left", "bounds": "left", resource_heading(status.settings): "right",
        f"mean per unit ({100 * status.settings.level:.6g}% interval)": "right", "best": "right",
    }  # fmt: skip
    return Rows(columns, rows)


def history_rows(lines: Sequence[Line]) -> Rows:
    """Tickets arm by arm: what was advised, spent and earned, and what stood there before it was amended."""
    texts = [alike([getattr(line, field) for line in lines]) for field in ("advised", "amount", "outcome")]
    rows = []
    for line, advised, spent, outcome in zip(lines, *texts):
        before = ["no data" if old["outcome"] is None else readable(old["outcome"]) for old in line.corrections]
        state = line.state + (f", was {', '.join(before)}" if before else "")
        rows.append((str(line.ticket), minutes(line.date), line.arm, advised, spent, outcome, state))
    columns = {"ticket": "right", "date (UTC)": "left", "arm": "left", "advised": "right", "spent": "right",
               "outcome": "right", "state": "left"}  # fmt: skip
    return Rows(columns, rows)


def show_split(campaign: Campaign, split: Split) -> None:
    """Print a split and how to record its outcomes."""
    unit = campaign.settings.unit or ""
    title = f"{campaign.name}: ticket {split.ticket}, {readable(split.budget)} {unit}".rstrip()
    pairs = " ".join(f"{_quoted(name)}=…" for name, amount in split.amounts.items() if amount > 0)
    note = f"{split.note} Then: apportion record {_quoted(campaign.name)} --ticket {split.ticket} {pairs}".strip()
    grid(title, *split_rows(split, unit), note)


def show_status(status: Status) -> None:
    """Print where a campaign stands."""
    settings = status.settings
    title = f"{status.name}: {settings.policy}, {counted(status.period, 'period')}"
    grid(title, *status_rows(status), status.beliefs.note, unbroken=("state",))
    budget = f"{readable(settings.budget)} {settings.unit or ''}".rstrip()
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
            article = "An" if what[0] in "aeiou" else "A"
            raise InvalidValue(f"{article} {what} must be written as arm=number; got {text[:60]!r}.")
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

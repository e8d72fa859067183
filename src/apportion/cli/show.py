"""Campaigns for people and machines: tables and JSON."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from apportion._common import parsing
from apportion._common.formatting import counted, readable
from apportion.errors import InvalidValue

if TYPE_CHECKING:
    from rich.console import Console

    from apportion.allocation.split import Split
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.status import Status
    from apportion.inference.health.findings import Health

_COMFORTABLE_WIDTH = 24  # with fewer characters for each text, headings and dates are broken between words
_READABLE_WIDTH = 8  # with fewer, the borders go
_PIPE_WIDTH = 120  # the characters of a line where the output is no terminal


def console() -> Console:
    """A terminal as wide as it is; a pipe gets room for sentences."""
    from rich.console import Console

    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, _PIPE_WIDTH))


def say(sentence: str) -> None:
    """Print a sentence as it is: names may hold brackets."""
    from rich.text import Text

    console().print(Text(sentence))


def show_json(content: Any) -> None:
    """Print plain data; what is not a number in JSON becomes null."""
    from apportion.campaigns.plain_data import plain

    print(json.dumps(plain(content), indent=2, allow_nan=False, ensure_ascii=True))


def show_result(as_json: bool, content: Any, sentence: str) -> None:
    """Print what a command did: as plain data for machines, or as a sentence."""
    if as_json:
        show_json(content)
    else:
        say(sentence)


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
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    out = console()
    printed = [[cell if isinstance(cell, str) else readable(cell) for cell in row] for row in rows]
    texts = {name: [name, *(row[index] for row in printed)] for index, name in enumerate(columns)}
    numbers = [name for name, side in columns.items() if side == "right" and " " not in "".join(texts[name][1:])]
    whole = {*(name for name in unbroken if name in columns), *numbers}

    def fits(room: int) -> bool:
        """Whether there is so much room for each text, beside what must not break and the borders."""
        sizes = {
            name: max(cell_len(line) for text in texts[name] for line in ["", *text.split("\n")]) for name in texts
        }
        wanted = sum(size if name in whole else min(size, room) for name, size in sizes.items())
        return wanted + 3 * len(columns) + 1 <= out.width

    table = Table(title=Text(title), title_justify="left")
    if not fits(_COMFORTABLE_WIDTH):
        texts |= {name: [text.replace(" ", "\n") for text in texts[name]] for name in whole}
    if not fits(_READABLE_WIDTH):
        table.box, table.padding, table.pad_edge = None, (0, 1, 0, 0), False
    for name, side in columns.items():
        no_wrap = name in whole
        table.add_column(
            Text(texts[name][0]), justify="right" if side == "right" else "left", no_wrap=no_wrap,
            overflow="ellipsis" if no_wrap else "fold",
        )  # fmt: skip
    cells = [map(Text, texts[name][1:]) for name in columns]
    for row in zip(*cells):
        table.add_row(*row)
    out.print(table)
    if note:
        out.print(Text(note))


def show_split(campaign: Campaign, split: Split, as_json: bool, details: bool = False) -> None:
    """Print a split and how to record its outcomes; with `details` how it was decided."""
    from apportion.campaigns.plain_data import split_content
    from apportion.campaigns.tables import split_rows

    if as_json:
        show_json(split_content(campaign.name, campaign.unit, split))
        return
    status = campaign.status()
    settings, split.most_sure = status.settings, status.most_sure
    title = f"{campaign.name}: ticket {split.ticket}, {readable(split.budget)} {settings.unit or ''}".rstrip()
    name = shlex.quote(campaign.name)
    lines = [split.note] if details else [f"More: apportion split {name} --ticket {split.ticket} --details"]
    if split.unspent:
        lines.append(f"{split.unspent_sentence} Type: apportion cancel {name} {split.unspent[-1]}")
    if split.ticket in status.open_tickets:
        pairs = " ".join(f"{shlex.quote(arm)}=…" for arm, amount in split.amounts.items() if amount > 0)
        lines.append(f"Then: apportion record {name} --ticket {split.ticket} {pairs}")
    grid(title, *split_rows(split, settings, brief=not details), "\n".join(line for line in lines if line))


def show_status(status: Status, as_json: bool, details: bool = False) -> None:
    """Print where a campaign stands; with `details` the statistics, too."""
    from apportion.campaigns.status import cost_shown, per_period
    from apportion.campaigns.tables import estimate_rows, status_rows

    if as_json:
        show_json(status.to_dict())
        return
    settings = status.settings
    title = f"{status.name}: {counted(status.splits, 'period')}"
    title += f", {counted(status.cancelled, 'split')} cancelled" if status.cancelled else ""
    grid(title, *status_rows(status), status.estimate_note, unbroken=("state",))
    budget = f"{readable(settings.budget)} {settings.unit or ''}".rstrip()
    lines = [
        f"Budget: {budget} {per_period(settings)}.",
        "Open tickets: " + (", ".join(map(str, status.open_tickets[-10:])) or "none") + ".",
    ]
    if not math.isnan(status.expected_regret):
        lines.append(f"Estimated cost of still not being sure: {cost_shown(status)} {per_period(settings)}.")
    say("\n".join([*lines, *status.plain_notes, *health_lines(status.health)]))
    if details:
        say(" ".join((f"Policy: {settings.policy}.", *status.details)))
        grid("What the estimates stand on", *estimate_rows(status))


def health_lines(health: Health | None) -> list[str]:
    """What was found in the data, a line for each finding; warnings are marked with "!", notes with "·"."""
    if health is None or not (health.findings or health.enough):
        return []
    marks = {"warning": "!", "note": "·"}
    found = [
        f"{marks[finding.severity]} {finding.sentence}" + (f" Type: {finding.command}" if finding.command else "")
        for finding in health.findings
    ]
    return [f"Health of the data: {health.summary}", *found]


def shares(given: Iterable[str], what: str) -> dict[str, float | str]:
    """'a=0.1', 'a=10%' or 'a=250 EUR' as a name and a bound, which the campaign reads."""
    found: dict[str, float | str] = {}
    for text in given:
        name, mark, value = text.rpartition("=")
        if not mark or not name:
            raise InvalidValue(f"A {what} must be written as arm=share, such as video=5%; got {text[:60]!r}.")
        if name in found:
            raise InvalidValue(f"Arm '{name}' is given twice.")
        found[name] = bound(value)
    return found


def bound(text: str) -> float | str:
    """A share that was typed: a number, or the text as it is, for the campaign to read."""
    try:
        value = float(text)
    except ValueError:
        return text
    return value if 0.0 <= value <= 1.0 else text


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
        no_data = what == "outcome" and value.strip().lower() in ("none", "no-data", "nodata", "na")
        found[name] = None if no_data else number(value, f"the {what} of '{name}'")
    return found


def numbers(given: Iterable[str], what: str) -> dict[str, float]:
    """'a=0.1' as a name and a number."""
    return {name: value for name, value in pairs(given, what).items() if value is not None}


def number(text: str, what: str) -> float:
    """A number that a person or a program typed: as Python writes it, else as people do where that is clear."""
    try:
        return float(text.strip().replace("_", ""))
    except ValueError:
        return parsing.number(text, what)

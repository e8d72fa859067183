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
    whole = {*unbroken, *numbers}

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


def show_split(campaign: Campaign, split: Split, as_json: bool) -> None:
    """Print a split and how to record its outcomes."""
    from apportion.campaigns.plain_data import split_content
    from apportion.campaigns.tables import split_rows

    if as_json:
        show_json(split_content(campaign.name, campaign.unit, split))
        return
    settings = campaign.settings
    title = f"{campaign.name}: ticket {split.ticket}, {readable(split.budget)} {settings.unit or ''}".rstrip()
    pairs = " ".join(f"{shlex.quote(name)}=…" for name, amount in split.amounts.items() if amount > 0)
    note = f"{split.note} Then: apportion record {shlex.quote(campaign.name)} --ticket {split.ticket} {pairs}".strip()
    grid(title, *split_rows(split, settings), note)


def show_status(status: Status, as_json: bool) -> None:
    """Print where a campaign stands."""
    from apportion.campaigns.status import return_heading
    from apportion.campaigns.tables import cell, status_rows

    if as_json:
        show_json(status.to_dict())
        return
    settings = status.settings
    title = f"{status.name}: {settings.policy}, {counted(status.period, 'period')}"
    note = f"{return_heading(settings)} is an estimate; it can differ from all results divided by all amounts."
    if settings.c < 1.0:
        note = f"{return_heading(settings)} is an estimate; those after it return less and less (c = {settings.c:g})."
    grid(title, *status_rows(status), note, unbroken=("state",))
    budget = f"{readable(settings.budget)} {settings.unit or ''}".rstrip()
    # What is learned has its own sentence among the notes.
    noise = ""
    if status.beliefs.learned is None:
        sigma = cell(settings.sigma) if isinstance(settings.sigma, Mapping) else readable(settings.sigma)
        bent = "" if settings.c == 1.0 else f"; c = {settings.c:g}"
        noise = f"; b = {settings.b:g}{bent}; σ = {sigma}"
    lines = [
        f"Budget {budget}{noise}.",
        "Open tickets: " + (", ".join(map(str, status.open_tickets[-10:])) or "none") + ".",
    ]
    if not math.isnan(status.expected_regret):
        lines.append(f"Estimated cost of still not being sure: {readable(status.expected_regret)} per period.")
    say("\n".join([*lines, *status.notes, *health_lines(status.health)]))


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


SHARES = ("minimum", "maximum", "pin")  # what `pairs` may be asked for that is a part of the budget


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
        found[name] = None if no_data else number(value, f"the {what} of '{name}'", what in SHARES)
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
        return parsing.number(text, what)

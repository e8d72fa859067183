"""A file before it is read as a history: its first rows, and a guess at which column is which."""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from apportion._common import dates, parsing, tables
from apportion._common.tables import Cell
from apportion.errors import InvalidValue

ROWS_SHOWN = 6
ROWS_LOOKED_AT = 50  # for a guess by what the cells hold

# What the columns are often called, likeliest first.
USUAL = {
    "date": ("date", "day", "datum", "tag", "week", "woche", "month", "monat", "period", "fecha", "time"),
    "arm": ("arm", "channel", "kanal", "campaign", "kampagne", "placement", "platform", "source", "medium", "option",
            "region", "state", "product", "ad set", "ad group", "name"),
    "amount": ("amount", "spend", "spent", "cost", "kosten", "ausgaben", "betrag", "investment", "budget", "tests"),
    "outcome": ("outcome", "revenue", "sales", "umsatz", "return", "margin", "profit", "income", "value",
                "conversions", "orders", "leads", "positives", "result", "clicks"),
}  # fmt: skip


class Preview(NamedTuple):
    """The first rows of a file as text, its sheets if it is a workbook, and the columns that are likely the four."""

    file: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int
    """How many rows there are."""
    guess: dict[str, str]
    """Which column is likely the date, arm, amount and outcome; without those that nothing points to."""
    sheet: str = ""
    sheets: tuple[str, ...] = ()


def look_at(source: tables.Source, *, sheet: str | int | None = None, delimiter: str | None = None) -> Preview:
    """The beginning of a table; of a workbook that of the `sheet`, else of the one whose columns look most like it.

    >>> found = look_at(tables.FileContent("x.csv", b"Day;Channel;Spend;Clicks;Sales\\n2026-01-01;search;12;3;40\\n"))
    >>> found.guess
    {'date': 'Day', 'arm': 'Channel', 'amount': 'Spend', 'outcome': 'Sales'}
    """
    file = tables.read_content(source)
    table = tables.read_table(file, sheet=sheet, delimiter=delimiter, wanted=tuple(USUAL))
    if not sheet and len(table.sheets) > 1 and len(guessed(table)) < len(USUAL):
        for other in table.sheets:
            with contextlib.suppress(InvalidValue):  # it is empty
                found = tables.read_table(file, sheet=other)
                table = found if len(guessed(found)) > len(guessed(table)) else table
    rows = tuple(tuple(_shown(cell) for cell in row) for row in table.rows[:ROWS_SHOWN])
    return Preview(table.file, table.header, rows, len(table.rows), guessed(table), table.sheet, table.sheets)


def guessed(table: tables.Table) -> dict[str, str]:
    """Columns by what they are called, else by what is in them; each serves once."""
    free = [name for name in dict.fromkeys(table.header) if table.index_of(name) is not None]
    found: dict[str, str] = {}

    def take(label: str, name: str | None) -> None:
        if label not in found and name is not None:
            found[label] = name
            free.remove(name)

    for matches in (lambda name, usual: name == usual, lambda name, usual: usual in name):
        for label, names in USUAL.items():
            take(label, next((name for usual in names for name in free if matches(name.casefold(), usual)), None))
    cells = {name: _sample(table, name) for name in free}
    take("date", next((name for name in free if all(map(_is_date, cells[name])) and cells[name]), None))
    numeric = [name for name in free if cells[name] and all(map(_is_number, cells[name]))]
    take("amount", next((name for name in numeric if name in free), None))
    take("outcome", next((name for name in reversed(numeric) if name in free), None))
    take("arm", next((name for name in free if cells[name] and name not in numeric), None))
    return {label: found[label] for label in USUAL if label in found}


def _sample(table: tables.Table, name: str) -> Sequence[Cell]:
    index = table.index_of(name)
    if index is None:
        return ()
    return [row[index] for row in table.rows[:ROWS_LOOKED_AT] if not tables.says_nothing(row[index])]


def _is_date(cell: Cell) -> bool:
    if not isinstance(cell, str):
        return False
    try:
        return dates.is_day_or_month_first(cell) or dates.parse_date(cell) is not None
    except InvalidValue:
        return False


def _is_number(cell: Cell) -> bool:
    return not isinstance(cell, str) or bool(parsing.readings(cell))


def _shown(cell: Cell) -> str:
    return cell if isinstance(cell, str) else f"{cell:.12g}"

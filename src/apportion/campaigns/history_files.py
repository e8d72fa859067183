"""A history file, read: what was spent on each arm at each date, and what came back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from apportion._common import tables
from apportion._common.dates import parse_date
from apportion.errors import InvalidValue

COLUMNS_LISTED = 20
"""So many columns are listed where one is missing."""

LONGEST_DATE = 40
"""The characters of a date or of the name of a period."""

LARGEST_NUMBER, SMALLEST_NUMBER = 1e100, 1e-100
"""Beyond these, sums of squares could leave the range of floats."""

_NO_OUTCOME = {"", "no data", "na", "n/a", "nan", "none", "null"}
"""Cells that say that no outcome will come."""

_FORMULA_MARKS = "=+-@"
"""A cell that begins with one is a formula to a spreadsheet; an export writes ' before it."""


class Observation(NamedTuple):
    """One row of a history file."""

    row: int
    date: str
    arm: str
    amount: float
    outcome: float | None


def read_history(
    path: str | os.PathLike[str],
    *,
    date: str = "date",
    arm: str = "arm",
    amount: str = "amount",
    outcome: str = "outcome",
    delimiter: str | None = None,
    decimal: str | None = None,
) -> tuple[list[Observation], str]:
    """The rows of a CSV file and its digest. Every fault is named with its row; columns are mapped by name.

    Rows come in the order of their dates; in that of the file where one of these is no date but a name ("week 3").
    `decimal` is "point" or "comma"; by default it is found in the file, see `apportion._common.tables`.
    """
    tables.decimal_name(decimal)
    content = tables.read_bytes(path)
    file = Path(path).name
    table = tables.parse_table(tables.decoded(content, file), file, delimiter=delimiter)
    names = {"date": date, "arm": arm, "amount": amount, "outcome": outcome}
    columns = {label: table.column(_index_of(table, name, label)) for label, name in names.items()}
    table.require_rows()
    return _in_order(list(_observations(table, columns, decimal))), hashlib.sha256(content).hexdigest()


def _index_of(table: tables.TextTable, name: str, label: str) -> int:
    index = table.index_of(name)
    if index is None:
        listed = ", ".join(table.header[:COLUMNS_LISTED]) or "none"
        raise InvalidValue(
            f"Row 1: one column named '{name}' is needed, or say which one is the {label} (`--{label}-column` on the "
            f"command line); found are {listed}."
        )
    return index


def _observations(
    table: tables.TextTable, columns: dict[str, list[str]], decimal: str | None
) -> Iterator[Observation]:
    amount_mark, outcome_mark = tables.decimal_marks([columns["amount"], columns["outcome"]], decimal)
    first_rows: dict[tuple[str, str], int] = {}
    cells = zip(table.lines, columns["date"], columns["arm"], columns["amount"], columns["outcome"])
    for row, date, quoted_arm, amount_text, outcome_text in cells:
        if not date or len(date) > LONGEST_DATE or not date.isprintable():
            raise InvalidValue(f"Row {row}: the date must be a short printable text; got {date[:50]!r}.")
        escaped = quoted_arm[:1] == "'" and quoted_arm[1:2] in _FORMULA_MARKS
        arm = quoted_arm[1:] if escaped else quoted_arm
        if not arm or not arm.isprintable():
            raise InvalidValue(f"Row {row}: the arm must be a printable name; got {arm[:50]!r}.")
        before = first_rows.setdefault((date, arm), row)
        if before != row:
            raise InvalidValue(f"Row {row}: arm '{arm}' on {date} was there before, in row {before}.")
        amount = number_in_row(amount_text, "amount", row, amount_mark)
        if amount < 0:
            raise InvalidValue(f"Row {row}: the amount must be a number of at least 0; got {amount_text}.")
        outcome = outcome_in_row(outcome_text, row, outcome_mark)
        if amount == 0 and outcome:
            raise InvalidValue(f"Row {row}: an outcome of {outcome_text} from an amount of 0 cannot be.")
        yield Observation(row, date, arm, amount, outcome)


def number_in_row(text: str, label: str, row: int, decimal: str | None) -> float:
    """The number in a cell; `label` names what it is."""
    value = tables.cell_number(text, decimal, f"Row {row}: the {label} {text[:50]!r}")
    if value is None or abs(value) > LARGEST_NUMBER or 0 < abs(value) < SMALLEST_NUMBER:
        raise InvalidValue(f"Row {row}: the {label} must be a number; got {text[:50]!r}.")
    return value


def outcome_in_row(text: str, row: int, decimal: str | None) -> float | None:
    """The outcome in a cell; None where it says that none will come."""
    return None if text.lower() in _NO_OUTCOME else number_in_row(text, "outcome", row, decimal)


def _in_order(found: list[Observation]) -> list[Observation]:
    """By date where all are dates, else as in the file."""
    moments = {}
    for line in found:
        if line.date not in moments:
            moments[line.date] = parse_date(line.date, line.row)
    known = {date: when for date, when in moments.items() if when is not None}
    return sorted(found, key=lambda line: known[line.date]) if len(known) == len(moments) else found

"""Files of a history (what was spent on each arm at each date, and what came back) and of outcomes, read."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from apportion._common import tables
from apportion._common.dates import parse_date
from apportion.errors import InvalidValue

COLUMNS_LISTED = 20  # so many columns are listed where one is missing
LONGEST_DATE = 40  # the characters of a date or of the name of a period
LONGEST_TICKET = 15  # the digits of a ticket's number
LARGEST_NUMBER, SMALLEST_NUMBER = 1e100, 1e-100  # beyond these, sums of squares could leave the range of floats


class Observation(NamedTuple):
    """One row of a history file."""

    row: int
    date: str
    arm: str
    amount: float
    outcome: float | None


def read_history(
    source: tables.Source,
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
    file = tables.read_content(source)
    table = tables.read_table(file, delimiter=delimiter)
    names = {"date": date, "arm": arm, "amount": amount, "outcome": outcome}
    columns = {label: table.column(_index_of(table, name, label)) for label, name in names.items()}
    table.require_rows()
    return _in_order(list(_observations(table, columns, decimal))), hashlib.sha256(file.content).hexdigest()


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
        arm = tables.unescaped(quoted_arm)
        if not arm or not arm.isprintable():
            raise InvalidValue(f"Row {row}: the arm must be a printable name; got {arm[:50]!r}.")
        before = first_rows.setdefault((date, arm), row)
        if before != row:
            raise InvalidValue(f"Row {row}: arm '{arm}' on {date} was there before, in row {before}.")
        amount = _number(amount_text, "amount", row, amount_mark)
        if amount < 0:
            raise InvalidValue(f"Row {row}: the amount must be a number of at least 0; got {amount_text}.")
        outcome = _outcome(outcome_text, row, outcome_mark)
        if amount == 0 and outcome:
            raise InvalidValue(f"Row {row}: an outcome of {outcome_text} from an amount of 0 cannot be.")
        yield Observation(row, date, arm, amount, outcome)


def _number(text: str, label: str, row: int, decimal: str | None) -> float:
    """The number in a cell; `label` names what it is."""
    value = tables.cell_number(text, decimal, f"Row {row}: the {label} {text[:50]!r}")
    if value is None or abs(value) > LARGEST_NUMBER or 0 < abs(value) < SMALLEST_NUMBER:
        raise InvalidValue(f"Row {row}: the {label} must be a number; got {text[:50]!r}.")
    return value


def _outcome(text: str, row: int, decimal: str | None) -> float | None:
    """The outcome in a cell; None where it says that none will come."""
    return None if tables.says_nothing(text) else _number(text, "outcome", row, decimal)


class OutcomeRow(NamedTuple):
    """One row of a file of outcomes."""

    ticket: int | None
    arm: str
    outcome: float | None
    amount: float | None


def read_outcome_rows(source: tables.Source, decimal: str | None = None) -> list[OutcomeRow]:
    """A CSV file with columns arm and outcome, and maybe amount and ticket; faults are named with their rows."""
    tables.decimal_name(decimal)
    table = tables.read_table(source)
    header = [name.lower() for name in table.header]
    if header.count("arm") != 1 or header.count("outcome") != 1:
        listed = ", ".join(header[:COLUMNS_LISTED]) or "none"
        raise InvalidValue(f"Row 1: columns named arm and outcome are needed; found are {listed}.")
    table.require_rows()
    rows = [dict(zip(header, cells)) for cells in table.rows]
    columns = [[cells.get(name, "") for cells in rows] for name in ("amount", "outcome")]
    amount_mark, outcome_mark = tables.decimal_marks(columns, decimal)
    found = []
    for row, cells in zip(table.lines, rows):
        outcome = _outcome(cells["outcome"], row, outcome_mark)
        amount = _number(cells["amount"], "amount", row, amount_mark) if cells.get("amount") else None
        ticket = cells.get("ticket") or None
        if ticket is not None and not (ticket.isascii() and ticket.isdigit() and len(ticket) <= LONGEST_TICKET):
            raise InvalidValue(f"Row {row}: the ticket must be a number; got {ticket[:50]!r}.")
        found.append(OutcomeRow(None if ticket is None else int(ticket), cells["arm"], outcome, amount))
    return found


def _in_order(found: list[Observation]) -> list[Observation]:
    """By date where all are dates, else as in the file."""
    moments = {}
    for line in found:
        if line.date not in moments:
            moments[line.date] = parse_date(line.date, line.row)
    known = {date: when for date, when in moments.items() if when is not None}
    return sorted(found, key=lambda line: known[line.date]) if len(known) == len(moments) else found

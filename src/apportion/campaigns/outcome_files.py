"""Files of outcomes, to be recorded: a row per arm, maybe with its amount and ticket."""

from typing import NamedTuple

from apportion._common import parsing, tables
from apportion._common.faults import Faults
from apportion._common.tables import Cell
from apportion.errors import InvalidValue
from apportion.inference.history.columns import COLUMNS_LISTED
from apportion.inference.history.reader import LARGEST, SMALLEST

LONGEST_TICKET = 15  # the digits of a ticket's number


class OutcomeRow(NamedTuple):
    """One row of a file of outcomes."""

    ticket: int | None
    arm: str
    outcome: float | None
    amount: float | None


def read_outcome_rows(
    source: tables.Source,
    *,
    decimal: str | None = None,
    delimiter: str | None = None,
    sheet: str | int | None = None,
) -> list[OutcomeRow]:
    """A file with columns arm and outcome, and maybe amount and ticket; faults are named with their rows."""
    parsing.decimal_name(decimal)
    table = tables.read_table(source, delimiter=delimiter, sheet=sheet, wanted=("arm", "outcome"))
    if table.index_of("arm") is None or table.index_of("outcome") is None:
        listed = ", ".join(table.header[:COLUMNS_LISTED]) or "none"
        raise InvalidValue(
            f"Row {table.header_line}: columns named arm and outcome are needed; found are {listed.lower()}."
        )
    table.require_rows()
    columns = {name: _column(table, name) for name in ("ticket", "arm", "amount", "outcome")}
    texts = [[cell for cell in columns[name] if isinstance(cell, str)] for name in ("amount", "outcome")]
    marks = dict(zip(("amount", "outcome"), parsing.decimal_marks(texts, decimal)))
    faults, found = Faults(), []

    def number(name: str, cell: Cell, row: int) -> float | None:
        try:
            value = (
                parsing.cell_number(cell, marks[name], f"the {name} {cell[:50]!r}") if isinstance(cell, str) else cell
            )
        except InvalidValue as error:
            faults.add_once("decimal", row, str(error))
            return None
        if value is None or abs(value) > LARGEST or 0 < abs(value) < SMALLEST:
            faults.add(row, f"the {name} must be a number; got {str(cell)[:50]!r}.")
            return None
        return float(value)

    for index, row in enumerate(table.lines):
        ticket, arm, amount, outcome = (columns[name][index] for name in columns)
        written = str(ticket)
        if ticket != "" and not (written.isascii() and written.isdigit() and len(written) <= LONGEST_TICKET):
            faults.add(row, f"the ticket must be a number; got {written[:50]!r}.")
            continue
        found.append(
            OutcomeRow(
                None if ticket == "" else int(ticket), str(arm),
                None if tables.says_nothing(outcome) else number("outcome", outcome, row),
                None if amount == "" else number("amount", amount, row),
            )
        )  # fmt: skip
    faults.refuse()
    return found


def _column(table: tables.Table, name: str) -> list[Cell]:
    index = table.index_of(name)
    return [""] * len(table.rows) if index is None else table.column(index)

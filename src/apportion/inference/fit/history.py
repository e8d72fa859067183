"""What was spent and what came back, from a data frame, a CSV file, columns or rows, checked row by row."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common import tables, validation
from apportion.errors import InvalidValue
from apportion.inference.fit.likelihood import Floats

# Beyond these, squares of ratios of amounts could leave the range of floats.
LARGEST, SMALLEST = 1e60, 1e-60

COLUMNS_LISTED = 12

Wanted = tuple[str, str, str]


class History(NamedTuple):
    """Observations in the order they were given: arm `names[codes[j]]` got `amounts[j]` and returned `outcomes[j]`.

    `skipped` counts rows with an amount of 0: nothing was observed there.
    """

    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]
    amounts: Floats
    outcomes: Floats
    skipped: int


class _Columns(NamedTuple):
    """Three columns as given, and how to name a row of them."""

    values: Sequence[Sequence[Any]]
    lines: Sequence[int] | None = None  # where a row stands in the file
    source: str = ""

    def row(self, index: int) -> str:
        if self.lines is None:
            return f"row {index + 1}"
        return f"line {self.lines[index]} of {self.source}"


def read_history(history: Any, arm: str, amount: str, outcome: str, decimal: str | None = None) -> History:
    """The observations of `history`, a data frame, a path of a CSV file, a mapping of columns, or rows.

    Rows are mappings with the three names, or triples (arm, amount, outcome). Other columns are ignored. `decimal`,
    "point" or "comma", is for numbers that are text; by default it is found in them, see `apportion._common.tables`.
    """
    given = tables.decimal_name(decimal)
    wanted = (_column_name("arm", arm), _column_name("amount", amount), _column_name("outcome", outcome))
    if len(set(wanted)) < 3:
        raise validation.refuse("outcome", "a column of its own, as `arm` and `amount`", outcome)
    columns = _columns(history, wanted)
    if len({len(column) for column in columns.values}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns.values)
        raise InvalidValue(f"`history` must have columns of one length; got {lengths} rows.")
    return _checked(columns, wanted, given)


def _column_name(name: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise validation.refuse(name, "the name of a column", value)


def _columns(history: Any, wanted: Wanted) -> _Columns:
    if isinstance(history, str | os.PathLike | tables.FileContent):
        return _from_csv(history, wanted)
    if hasattr(history, "columns") and hasattr(history, "notna"):  # a data frame, without importing pandas
        if missing := [name for name in wanted if name not in history.columns]:
            flat = history.reset_index()  # an index of arms is as good as a column
            if any(name not in flat.columns for name in wanted):
                raise _lacks(missing, [str(name) for name in history.columns])
            history = flat
        return _Columns([_plain(history[name]) for name in wanted])
    if isinstance(history, Mapping):
        if missing := [name for name in wanted if name not in history]:
            raise _lacks(missing, [str(name) for name in history])
        return _Columns([_listed(history[name], name) for name in wanted])
    if isinstance(history, Iterable):
        return _from_rows(list(history), wanted)
    raise validation.refuse("history", "a data frame, the path of a CSV file, columns by name, or rows", history)


def _plain(column: Any) -> list[Any]:
    """The values of a data frame's column, None where one is missing."""
    found: list[Any] = column.astype(object).where(column.notna(), None).tolist()
    return found


def _listed(column: Any, name: str) -> list[Any]:
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise validation.refuse(name, "a column of values", column)
    return list(column)


def _from_rows(rows: list[Any], wanted: Wanted) -> _Columns:
    found: list[list[Any]] = []
    for index, row in enumerate(rows):
        if isinstance(row, Mapping):
            if missing := [name for name in wanted if name not in row]:
                raise _lacks(missing, [str(name) for name in row], f" in row {index + 1}")
            found.append([row[name] for name in wanted])
        elif isinstance(row, Sequence) and not isinstance(row, str) and len(row) == 3:
            found.append(list(row))
        else:
            raise validation.refuse("history", f"rows of {', '.join(wanted)} in row {index + 1}", row)
    return _Columns([[row[index] for row in found] for index in range(3)])


def _from_csv(source: tables.Source, wanted: Wanted) -> _Columns:
    """The columns of a file; other columns of it may hold anything, also quotes that do not match."""
    table = tables.read_table(source, strict=False)
    indices = {name: table.index_of(name) for name in wanted}
    if missing := [name for name, index in indices.items() if index is None]:
        raise _lacks(missing, list(table.header), f" in {table.file}")
    return _Columns([table.column(index) for index in indices.values() if index is not None], table.lines, table.file)


def _lacks(missing: list[str], there: list[str], where: str = "") -> InvalidValue:
    columns = "a column " if len(missing) == 1 else "columns "
    named = " and ".join(repr(name) for name in missing)
    more = ", …" if len(there) > COLUMNS_LISTED else ""
    listed = ", ".join(repr(name) for name in there[:COLUMNS_LISTED]) + more
    return InvalidValue(f"`history` must have {columns}{named}{where}; got {listed or 'no columns'}.")


def _checked(columns: _Columns, wanted: Wanted, decimal: str | None) -> History:
    arm, amount, outcome = wanted
    texts = [[value for value in column if isinstance(value, str)] for column in columns.values[1:]]
    amount_mark, outcome_mark = tables.decimal_marks(texts, decimal)
    indices: dict[str, int] = {}
    codes, amounts, outcomes = [], [], []
    skipped = 0
    for index, (name, spent, returned) in enumerate(zip(*columns.values)):
        label = "" if name is None or name != name else str(name).strip()
        if not label:
            raise validation.refuse(arm, f"the name of an arm in {columns.row(index)}", name)
        x = _number(spent, amount_mark, amount, columns, index)
        if x is None or not (x == 0.0 or SMALLEST <= x <= LARGEST):
            allowed = "a number of at least 0" if x is None or x < 0 else "0 or between 1e-60 and 1e60"
            raise validation.refuse(amount, f"{allowed} in {columns.row(index)}", spent)
        y = _number(returned, outcome_mark, outcome, columns, index)
        if x == 0.0 and (y == 0.0 or returned is None or returned == "" or returned != returned):
            skipped += 1
            continue
        if y is None or abs(y) > LARGEST:
            raise validation.refuse(outcome, f"a number between -1e60 and 1e60 in {columns.row(index)}", returned)
        if x == 0.0:
            raise validation.refuse(
                outcome, f"0 or missing where the {amount} is 0, in {columns.row(index)}", returned
            )
        codes.append(indices.setdefault(label, len(indices)))
        amounts.append(x)
        outcomes.append(y)
    return History(tuple(indices), np.array(codes, np.intp), np.array(amounts), np.array(outcomes), skipped)


def _number(value: Any, decimal: str | None, name: str, columns: _Columns, index: int) -> float | None:
    """`value` as a finite float; None for anything else, also for a blank."""
    if isinstance(value, str):
        where = f"`{name}` {value[:50]!r} in {columns.row(index)}"
        return tables.cell_number(value, decimal, where)
    if isinstance(value, bool) or value is None:
        return None
    try:
        given = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return given if math.isfinite(given) else None

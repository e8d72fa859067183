"""What was spent and what came back, from a data frame, a CSV file, columns or rows, checked row by row."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common import tables, validation
from apportion._common.dates import parse_date
from apportion.errors import InvalidValue
from apportion.inference.fit.likelihood import Floats

# Beyond these, squares of ratios of amounts could leave the range of floats.
LARGEST, SMALLEST = 1e60, 1e-60

COLUMNS_LISTED = 12

# The column of dates that is used without being named, if there is one.
_USUAL_DATE = "date"


class History(NamedTuple):
    """Observations in the order they were given: arm `names[codes[j]]` got `amounts[j]` and returned `outcomes[j]`.

    `moments` says when each was, if all rows have a date; `lines` in which row, or line of the file, it stands.
    `skipped` counts rows with an amount of 0 (nothing was observed there), `pending` rows whose outcome is empty: it
    is not known yet, or will never be.
    """

    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]
    amounts: Floats
    outcomes: Floats
    moments: npt.NDArray[np.datetime64] | None
    skipped: int
    pending: int
    lines: npt.NDArray[np.int64] | None = None


class _Wanted(NamedTuple):
    """The names of the columns. A date that was not asked for is used where there is one."""

    arm: str
    amount: str
    outcome: str
    date: str | None

    def among(self, has: Callable[[str], bool]) -> list[str]:
        """The columns to read, if `has` says which there are."""
        usual = [_USUAL_DATE] if _USUAL_DATE not in self[:3] and has(_USUAL_DATE) else []
        return [*self[:3], *(usual if self.date is None else [self.date])]


class _Columns(NamedTuple):
    """Arms, amounts, outcomes and maybe dates as given, and how to name a row of them."""

    values: Sequence[Sequence[Any]]
    lines: Sequence[int] | None = None  # where a row stands in the file
    source: str = ""

    def row(self, index: int) -> str:
        if self.lines is None:
            return f"row {index + 1}"
        return f"line {self.lines[index]} of {self.source}"


def read_history(
    history: Any, arm: str, amount: str, outcome: str, decimal: str | None = None, date: str | None = None
) -> History:
    """The observations of `history`, a data frame, a path of a CSV file, a mapping of columns, or rows.

    Rows are mappings with the names, or triples (arm, amount, outcome). Other columns are ignored; one called "date"
    is the `date` unless another is named. `decimal`, "point" or "comma", is for numbers that are text; by default it
    is found in them, see `apportion._common.tables`.
    """
    given = tables.decimal_name(decimal)
    named = None if date is None else _column_name("date", date)
    wanted = _Wanted(
        _column_name("arm", arm), _column_name("amount", amount), _column_name("outcome", outcome), named
    )
    if len(set(wanted[:3])) < 3:
        raise validation.refuse("outcome", "a column of its own, as `arm` and `amount`", outcome)
    if named in wanted[:3]:
        raise validation.refuse("date", "a column of its own", date)
    columns = _columns(history, wanted)
    if len({len(column) for column in columns.values}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns.values)
        raise InvalidValue(f"`history` must have columns of one length; got {lengths} rows.")
    return _checked(columns, wanted, given)


def _column_name(name: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise validation.refuse(name, "the name of a column", value)


def _columns(history: Any, wanted: _Wanted) -> _Columns:
    if isinstance(history, str | os.PathLike | tables.FileContent):
        return _from_csv(history, wanted)
    if hasattr(history, "columns") and hasattr(history, "notna"):  # a data frame, without importing pandas
        names = wanted.among(lambda name: name in history.columns)
        if missing := [name for name in names if name not in history.columns]:
            flat = history.reset_index()  # an index of arms is as good as a column
            names = wanted.among(lambda name: name in flat.columns)
            if any(name not in flat.columns for name in names):
                raise _lacks(missing, [str(name) for name in history.columns])
            history = flat
        return _Columns([_plain(history[name]) for name in names])
    if isinstance(history, Mapping):
        names = wanted.among(lambda name: name in history)
        if missing := [name for name in names if name not in history]:
            raise _lacks(missing, [str(name) for name in history])
        return _Columns([_listed(history[name], name) for name in names])
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


def _from_rows(rows: list[Any], wanted: _Wanted) -> _Columns:
    names = wanted.among(lambda name: bool(rows) and all(isinstance(row, Mapping) and name in row for row in rows))
    found: list[list[Any]] = []
    for index, row in enumerate(rows):
        if isinstance(row, Mapping):
            if missing := [name for name in names if name not in row]:
                raise _lacks(missing, [str(name) for name in row], f" in row {index + 1}")
            found.append([row[name] for name in names])
        elif isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(names):
            found.append(list(row))
        else:
            raise validation.refuse("history", f"rows of {', '.join(names)} in row {index + 1}", row)
    return _Columns([[row[index] for row in found] for index in range(len(names))])


def _from_csv(source: tables.Source, wanted: _Wanted) -> _Columns:
    """The columns of a file; other columns of it may hold anything, also quotes that do not match."""
    table = tables.read_table(source, strict=False)
    indices = {name: table.index_of(name) for name in wanted.among(lambda name: table.index_of(name) is not None)}
    if missing := [name for name, index in indices.items() if index is None]:
        raise _lacks(missing, list(table.header), f" in {table.file}")
    return _Columns([table.column(index) for index in indices.values() if index is not None], table.lines, table.file)


def _lacks(missing: list[str], there: list[str], where: str = "") -> InvalidValue:
    columns = "a column " if len(missing) == 1 else "columns "
    named = " and ".join(repr(name) for name in missing)
    more = ", …" if len(there) > COLUMNS_LISTED else ""
    listed = ", ".join(repr(name) for name in there[:COLUMNS_LISTED]) + more
    return InvalidValue(f"`history` must have {columns}{named}{where}; got {listed or 'no columns'}.")


def _checked(columns: _Columns, wanted: _Wanted, decimal: str | None) -> History:
    arm, amount, outcome, _ = wanted
    texts = [[value for value in column if isinstance(value, str)] for column in columns.values[1:3]]
    amount_mark, outcome_mark = tables.decimal_marks(texts, decimal)
    indices: dict[str, int] = {}
    rows, codes, amounts, outcomes = [], [], [], []
    skipped = pending = 0
    for index, (name, spent, returned) in enumerate(zip(*columns.values[:3])):
        label = "" if name is None or name != name else tables.unescaped(str(name).strip())
        if not label:
            raise validation.refuse(arm, f"the name of an arm in {columns.row(index)}", name)
        x = _number(spent, amount_mark, amount, columns, index)
        if x is None or not (x == 0.0 or SMALLEST <= x <= LARGEST):
            allowed = "a number of at least 0" if x is None or x < 0 else "0 or between 1e-60 and 1e60"
            raise validation.refuse(amount, f"{allowed} in {columns.row(index)}", spent)
        empty = returned is None or returned != returned or tables.says_nothing(returned)
        y = None if empty else _number(returned, outcome_mark, outcome, columns, index)
        if empty or (x == 0.0 and y == 0.0):
            skipped += x == 0.0
            pending += x > 0.0
            continue
        if y is None or abs(y) > LARGEST:
            raise validation.refuse(outcome, f"a number between -1e60 and 1e60 in {columns.row(index)}", returned)
        if x == 0.0:
            raise validation.refuse(
                outcome, f"0 or missing where the {amount} is 0, in {columns.row(index)}", returned
            )
        rows.append(index)
        codes.append(indices.setdefault(label, len(indices)))
        amounts.append(x)
        outcomes.append(y)
    moments = _moments(columns, rows) if len(columns.values) > 3 else None
    lines = np.array(rows, np.int64) + 1 if columns.lines is None else np.array(columns.lines, np.int64)[rows]
    return History(
        tuple(indices), np.array(codes, np.intp), np.array(amounts), np.array(outcomes), moments, skipped, pending,
        lines,
    )  # fmt: skip


def _moments(columns: _Columns, rows: list[int]) -> npt.NDArray[np.datetime64] | None:
    """When the rows were; None where one has no date but a name, such as "week 3"."""
    dates = columns.values[3]
    known: dict[str, Any] = {}
    found = []
    for index in rows:
        text = str(dates[index]).strip()
        if text not in known:
            known[text] = parse_date(text, index + 1 if columns.lines is None else columns.lines[index])
        if known[text] is None:
            return None
        found.append(known[text].astimezone(UTC).replace(tzinfo=None))
    return np.array(found, "datetime64[s]")


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


def weeks_and_days(moments: npt.NDArray[np.datetime64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The week of each moment, counted on from 1970, and its weekday: 0 is Monday.

    >>> weeks_and_days(np.array(["1970-01-01", "2026-11-16"], "datetime64[s]"))
    (array([   0, 2968]), array([3, 0]))
    """
    days = moments.astype("datetime64[D]").astype(np.int64) + 3  # 1970-01-01 was a Thursday
    week, day = np.divmod(days, 7)
    return week, day

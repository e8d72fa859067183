"""The four columns of a history, from a file, a data frame, columns by name, or rows; the cells are not checked."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from apportion._common import tables, validation
from apportion._common.tables import Cell, as_cell
from apportion.errors import InvalidValue
from apportion.inference.history.preview import look_at

COLUMNS_LISTED = 20  # so many columns are listed where one is missing

USUAL_DATE = "date"
"""The column of dates that is used without being named, if there is one."""


class Names(NamedTuple):
    """What the columns are called. A date that is None is the usual one where there is one."""

    date: str | None
    arm: str
    amount: str
    outcome: str

    def among(self, there: Iterable[str]) -> "Names":
        """With the usual date, if there is such a column and it serves for nothing else."""
        if self.date is not None or tables.column_index(self[1:], USUAL_DATE) is not None:
            return self
        return self._replace(date=USUAL_DATE if tables.column_index(list(there), USUAL_DATE) is not None else None)


class Columns(NamedTuple):
    """Dates (None: there are none), arms, amounts, outcomes, and where each row stands."""

    dates: list[Cell] | None
    arms: list[Cell]
    amounts: list[Cell]
    outcomes: list[Cell]
    rows: Sequence[int]
    table: tables.Table | None = None
    """The file, if it came from one."""


def columns_of(
    history: Any, names: Names, *, delimiter: str | None = None, sheet: str | int | None = None
) -> Columns:
    """The columns of `history` under the given names; other columns of it may hold anything."""
    for label, name in names._asdict().items():
        if not (isinstance(name, str) and name) and not (name is None and label == "date"):
            raise validation.refuse(label, "the name of a column", name)
    given = [name for name in names if name is not None]
    for label, name in zip(("date", "outcome", "amount"), (names.date, names.outcome, names.amount)):
        if given.count(name or "") > 1:
            raise validation.refuse(label, "a column of its own", name)
    if isinstance(history, str | os.PathLike | tables.FileContent):
        return _from_file(history, names, delimiter, sheet)
    if hasattr(history, "columns") and hasattr(history, "notna"):  # a data frame, without importing pandas
        return _from_frame(history, names)
    if isinstance(history, Mapping):
        names = names.among(map(str, history))
        missing = [name for name in names if name is not None and name not in history]
        if missing:
            raise _lacks(missing, map(str, history))
        return _aligned([None if name is None else _listed(history[name], name) for name in names])
    if isinstance(history, Iterable):
        return _from_rows(list(history), names)
    raise validation.refuse("history", "a data frame, the path of a file, columns by name, or rows", history)


def _from_file(source: tables.Source, names: Names, delimiter: str | None, sheet: str | int | None) -> Columns:
    wanted = [name for name in names if name is not None]
    table = tables.read_table(source, delimiter=delimiter, sheet=sheet, wanted=wanted)
    names = names.among(table.header)
    indices = {label: table.index_of(name) for label, name in names._asdict().items() if name is not None}
    listed = ", ".join(table.header[:COLUMNS_LISTED]) or "none"
    where = f" in sheet {table.sheet!r}" if table.sheet else ""
    lacking = {label: getattr(names, label) for label, index in indices.items() if index is None}
    if lacking:
        one = len(lacking) == 1
        needed = " and ".join(f"'{name}'" for name in lacking.values())
        first = next(iter(lacking))
        such = "" if one else "such as "
        doors = f"{such}`--{first}-column` on the command line, `{first}_column` over HTTP, `{first}` in Python"
        which = f"which one is the {first}" if one else "which ones they are"
        of_sheet, likely = _likely(source, names, delimiter, sheet)
        perhaps = ", ".join(f"the {label} is '{name}'" for label, name in likely.items())
        error = InvalidValue(
            f"Row {table.header_line}: {'one column' if one else 'columns'} named {needed} {'is' if one else 'are'} "
            f"needed, or say {which} ({doors}); found are {listed}{where}."
            + (f" Perhaps{of_sheet} {perhaps}." if likely else "")
        )
        error.columns = likely
        raise error
    table.require_rows()
    found = [table.column(index) for index in indices.values() if index is not None]
    arms, amounts, outcomes = found[-3:]
    return Columns(None if names.date is None else found[0], arms, amounts, outcomes, table.lines, table)


def _likely(
    source: tables.Source, names: Names, delimiter: str | None, sheet: str | int | None
) -> tuple[str, dict[str, str]]:
    """The columns that may be meant, and of which sheet; none where the file points to none."""
    found = look_at(source, sheet=sheet, delimiter=delimiter)
    if not {"arm", "amount", "outcome"} <= found.guess.keys():
        return "", {}
    likely = {label: name for label, name in found.guess.items() if getattr(names, label) != name}
    return (f", in sheet {found.sheet!r}," if len(found.sheets) > 1 and not sheet else ""), likely


def _from_frame(frame: Any, names: Names) -> Columns:
    there = [str(name) for name in frame.columns]
    if any(name is not None and name not in frame.columns for name in names.among(there)):
        flat = frame.reset_index()  # an index of arms is as good as a column
        missing = [name for name in names.among(map(str, flat.columns)) if name is not None and name not in flat]
        if missing:
            raise _lacks(missing, there)
        frame = flat
    names = names.among(map(str, frame.columns))

    def plain(name: str) -> list[Any]:
        column = frame[name]
        found: list[Any] = column.astype(object).where(column.notna(), None).tolist()
        return found

    return _aligned([None if name is None else plain(name) for name in names])


def _listed(column: Any, name: str) -> list[Any]:
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise validation.refuse(name, "a column of values", column)
    return list(column)


def _from_rows(rows: list[Any], names: Names) -> Columns:
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = names.among([USUAL_DATE] if all(USUAL_DATE in row for row in rows) else ())
    wanted = [name for name in names if name is not None]
    found: list[list[Any]] = []
    for index, row in enumerate(rows):
        if isinstance(row, Mapping):
            if missing := [name for name in wanted if name not in row]:
                raise _lacks(missing, map(str, row), f" in row {index + 1}")
            found.append([row[name] for name in wanted])
        elif isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(wanted):
            found.append(list(row))
        else:
            raise validation.refuse("history", f"rows of {', '.join(wanted)} in row {index + 1}", row)
    columns = [[row[index] for row in found] for index in range(len(wanted))]
    return _aligned([None, *columns] if names.date is None else [*columns])


def _aligned(columns: list[list[Any] | None]) -> Columns:
    lengths = [len(column) for column in columns if column is not None]
    if len(set(lengths)) > 1:
        raise InvalidValue(f"`history` must have columns of one length; got {', '.join(map(str, lengths))} rows.")
    cells = [None if column is None else [as_cell(value) for value in column] for column in columns]
    dates, arms, amounts, outcomes = cells
    return Columns(dates, arms or [], amounts or [], outcomes or [], range(1, lengths[0] + 1))


def _lacks(missing: list[str], there: Iterable[str], where: str = "") -> InvalidValue:
    columns = "a column " if len(missing) == 1 else "columns "
    named = " and ".join(repr(name) for name in missing)
    found = [repr(name) for name in there]
    listed = ", ".join(found[:COLUMNS_LISTED]) + (", …" if len(found) > COLUMNS_LISTED else "")
    return InvalidValue(f"`history` must have {columns}{named}{where}; got {listed or 'no columns'}.")

"""Budgets of periods to come: as a file (date, budget), as typed, or as numbers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from apportion._common import parsing, tables, validation
from apportion._common.dates import is_day_or_month_first, parse_date, period_date
from apportion._common.faults import Faults
from apportion.errors import InvalidValue

MOST_PERIODS = 1000
DEFAULT_PERIODS = 12

_HEADER = ("date", "budget")
_SEPARATORS = ("=", "\t", ";", ": ", ",", " ")  # between a date and a budget: the first of these that is there


class BudgetPeriod(NamedTuple):
    """A period to come: its date, or the name of it, or None; and what there is to spend."""

    date: str | None
    budget: float


Budgets = Mapping[Any, float] | Sequence[float | tuple[Any, float]] | tables.Source
"""Budgets as they are given: by date, in order, as pairs of both, or a file with the columns date and budget."""


def calendar_of(budgets: Budgets | None, periods: int | None, usual: float) -> tuple[BudgetPeriod, ...]:
    """The periods to come. Without `budgets` each has the usual one.

    >>> calendar_of({"2026-12-01": 5000, "2026-12-08": 6000}, None, 1000.0)[1]
    BudgetPeriod(date='2026-12-08', budget=6000.0)
    >>> len(calendar_of(None, None, 1000.0))
    12
    """
    if budgets is None:
        count = validation.whole("periods", DEFAULT_PERIODS if periods is None else periods, low=1, high=MOST_PERIODS)
        return (BudgetPeriod(None, float(usual)),) * count
    if periods is not None:
        raise validation.refuse("periods", "left out where `budgets` says how many there are", periods)
    return ordered(_given(budgets))


def _given(budgets: Any) -> list[BudgetPeriod]:
    if isinstance(budgets, (str, os.PathLike, tables.FileContent)):
        return read_calendar(budgets)
    pairs: Iterable[Any]
    if hasattr(budgets, "items"):
        pairs = budgets.items()
    elif isinstance(budgets, Iterable):
        pairs = budgets
    else:
        raise validation.refuse("budgets", "budgets by date, a list of them, or a file", budgets)
    found = []
    for pair in pairs:
        date, budget = pair if isinstance(pair, (tuple, list)) and len(pair) == 2 else (None, pair)
        found.append(BudgetPeriod(
            None if date is None else period_date(date), validation.number("budget", budget, above=0.0)
        ))  # fmt: skip
    return found


def ordered(found: Sequence[BudgetPeriod]) -> tuple[BudgetPeriod, ...]:
    """By date where all are dates, else as given; one of each date."""
    if not 1 <= len(found) <= MOST_PERIODS:
        raise InvalidValue(f"The calendar must have 1 to {MOST_PERIODS} periods; got {len(found)}.")
    named = [period.date for period in found if period.date is not None]
    twice = next((date for index, date in enumerate(named) if date in named[:index]), None)
    if twice is not None:
        raise InvalidValue(f"The date {twice!r} is given twice in the calendar.")
    moments = [None if period.date is None else parse_date(period.date) for period in found]
    if any(moment is None for moment in moments):
        return tuple(found)
    return tuple(period for _, period in sorted(zip(moments, found), key=lambda each: each[0]))  # type: ignore[arg-type, return-value]


def read_calendar(source: tables.Source, *, decimal: str | None = None) -> list[BudgetPeriod]:
    """A file with a column budget, and maybe date: CSV, .xlsx, Parquet. Faults are named with their rows."""
    table = tables.read_table(source, wanted=_HEADER)
    places = {name: table.index_of(name) for name in _HEADER}
    if places["budget"] is None:
        listed = ", ".join(table.header[:20]).lower() or "none"
        raise InvalidValue(
            f"Row {table.header_line}: a column named budget is needed, and date where there is one; found are "
            f"{listed}."
        )
    table.require_rows()
    cells = table.column(places["budget"])
    mark = parsing.decimal_marks([[cell for cell in cells if isinstance(cell, str)]], decimal)[0]
    dates = [""] * len(cells) if places["date"] is None else table.column(places["date"])
    faults, found = Faults(), []
    for row, date, cell in zip(table.lines, dates, cells):
        try:
            value = parsing.cell_number(cell, mark, f"the budget {cell[:50]!r}") if isinstance(cell, str) else cell
            if value is None or not 0.0 < value < 1e15:
                raise InvalidValue(f"the budget must be a number above 0; got {str(cell)[:50]!r}.")
            found.append(BudgetPeriod(period_date(str(date)) if date != "" else None, float(value)))
        except InvalidValue as error:
            faults.add(row, str(error))
    faults.refuse()
    return found


def typed_calendar(text: str) -> tuple[BudgetPeriod, ...]:
    """A calendar as it is typed or pasted: a period per line, or with semicolons between; date, if any, and budget.

    >>> typed_calendar("2026-12-01=5000; 2026-12-08=6000")[0]
    BudgetPeriod(date='2026-12-01', budget=5000.0)
    >>> [period.budget for period in typed_calendar("date, budget\\n2026-12-01, 5000\\n2026-12-08\\t6,500.00")]
    [5000.0, 6500.0]
    """
    entries = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    if len(entries) == 1 and "=" in entries[0]:
        entries = [part.strip() for part in re.split(r";|,(?=[^=]*=)", entries[0]) if part.strip()]
    found = []
    for number, entry in enumerate(entries, 1):
        date, budget = _parted(entry)
        if number == 1 and "budget" in (date.casefold(), budget.casefold()):
            continue
        where = f"the budget of {date}" if date else f"budget {number}"
        value = parsing.number(budget, where)
        if not 0.0 < value < 1e15:
            raise InvalidValue(f"{where[:1].upper()}{where[1:]} must be a number above 0; got {budget[:60]!r}.")
        found.append(BudgetPeriod(period_date(date) if date else None, value))
    return ordered(found)


def _parted(entry: str) -> tuple[str, str]:
    """The date and the budget of a line; no date where it is a number alone.

    >>> _parted("2026-12-01 2.000,00 €"), _parted("week 49, 500"), _parted("1 200")
    (('2026-12-01', '2.000,00 €'), ('week 49', '500'), ('', '1 200'))
    """
    if parsing.readings(entry):
        return "", entry
    parted = [entry.partition(separator) for separator in _SEPARATORS] + [entry.rpartition(" ")]
    found = [(date.strip(), budget.strip()) for date, separator, budget in parted if separator]
    certain = (pair for pair in found if _is_date(pair[0]) and parsing.readings(pair[1]))
    likely = (pair for pair in found if parsing.readings(pair[1]))
    return next(certain, None) or next(likely, None) or (found[0] if found else ("", entry))


def _is_date(text: str) -> bool:
    try:
        return is_day_or_month_first(text) or parse_date(text) is not None
    except InvalidValue:
        return False


def as_typed(period: BudgetPeriod) -> str:
    """A period as `typed_calendar` reads it.

    >>> as_typed(BudgetPeriod("2026-12-01", 5000.0)), as_typed(BudgetPeriod(None, 2.125))
    ('2026-12-01=5000.0', '2.1250')
    """
    amount = parsing.plain(period.budget)
    return amount if period.date is None else f"{period.date}={amount}"

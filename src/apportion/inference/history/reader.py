"""A history, read: rows are checked and summed by the rules of `Summary`; what is wrong is said all at once."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from apportion._common import dates, parsing, tables, validation
from apportion._common.faults import Faults
from apportion._common.tables import Cell
from apportion.errors import InvalidValue
from apportion.inference.history.columns import Columns, Names, columns_of
from apportion.inference.history.summary import Summary

# Beyond these, squares of ratios of amounts could leave the range of floats.
LARGEST, SMALLEST = 1e60, 1e-60

_TOTALS = {"total", "totals", "grand total", "sum", "gesamt", "gesamtsumme", "summe", "totaal", "somme", "suma"}


class Observation(NamedTuple):
    """What an arm got in a period, and what came back; `row` is the first it was read from."""

    row: int
    date: str
    arm: str
    amount: float
    outcome: float | None


class Reading(NamedTuple):
    """The observations of a history, in the order of their dates, or of the rows where these are no dates."""

    observations: list[Observation]
    summary: Summary
    moments: Mapping[str, datetime] | None
    """When each date was; None where one is no date, but a name."""
    digest: str = ""
    """Of the file, and of the sheet that was read."""


def read_history(
    history: Any,
    *,
    date: str | None = "date",
    arm: str = "arm",
    amount: str = "amount",
    outcome: str = "outcome",
    period: str | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    sheet: str | int | None = None,
) -> Reading:
    """The observations of a history: a file (CSV, .xlsx, Parquet), a data frame, a mapping of columns, or rows.

    `date`, `arm`, `amount` and `outcome` name the columns; without a date (None, and no column "date") every row is
    an observation of its own. `period` rolls dates into days, weeks (from Monday on) or months. `decimal` is "point"
    or "comma", found in the numbers by default; `delimiter` separates cells; `sheet` is that of a workbook, by name
    or number. `Summary` has the rules.

    >>> rows = [("2026-01-05", "a", 10, 7), ("2026-01-06", "a", 5, 2), ("2026-01-06", "b", 0, "")]
    >>> found = read_history([dict(zip(("date", "arm", "amount", "outcome"), row)) for row in rows], period="week")
    >>> found.observations[0]
    Observation(row=1, date='2026-01-05', arm='a', amount=15.0, outcome=9.0)
    """
    parsing.decimal_name(decimal)
    if period is not None:
        validation.choice("period", period, dates.PERIODS)
    columns = columns_of(history, Names(date, arm, amount, outcome), delimiter=delimiter, sheet=sheet)
    reading = _Reader(columns, period, decimal, needs_dates=date is not None).read()
    return reading._replace(digest=_digest(history, columns.table))


def _digest(history: Any, table: tables.Table | None) -> str:
    if table is None:
        return ""
    digest = hashlib.sha256(tables.read_content(history).content)
    if table.sheet:
        digest.update(b"\0" + table.sheet.encode())  # another sheet is another history
    return digest.hexdigest()


class _Group:
    """The rows of one period and arm."""

    __slots__ = ("known_amounts", "outcomes", "row", "unknown_amounts")

    def __init__(self, row: int) -> None:
        self.row = row
        self.known_amounts: list[float] = []
        self.outcomes: list[float] = []
        self.unknown_amounts: list[float] = []

    @property
    def rows(self) -> int:
        """How many rows said something."""
        return len(self.outcomes) + len(self.unknown_amounts)


class _Reader:
    def __init__(self, columns: Columns, period: str | None, decimal: str | None, *, needs_dates: bool) -> None:
        self.columns, self.period, self.needs_dates = columns, period, needs_dates
        self.faults = Faults()
        numbers = (columns.amounts, columns.outcomes)
        texts = [[cell for cell in column if isinstance(cell, str)] for column in numbers]
        self.marks = parsing.decimal_marks(texts, decimal)
        self.counts: dict[str, Any] = {
            "rows": len(columns.arms), "without_spend": 0, "totals": 0, "left_out": 0, "unspent": 0, "joined": 0,
            "without_outcome": 0, "captions": 0,
        }  # fmt: skip

    def read(self) -> Reading:
        columns = self.columns
        arms = [tables.unescaped(_text(cell)) for cell in columns.arms]
        days = None if columns.dates is None else [_text(cell) for cell in columns.dates]
        named = [index for index, arm in enumerate(arms) if days is None or not _is_total(arm, days[index])]
        used = [index for index in named if arms[index] or not self._says_nothing(index)]
        self.counts |= {"totals": len(arms) - len(named), "captions": len(named) - len(used)}
        keys, labels, moments = self._periods(days, used)
        groups: dict[tuple[Any, str], _Group] = {}
        for index in used:
            row = columns.rows[index]
            arm = arms[index]
            if not arm or not arm.isprintable():
                self.faults.add(row, f"the arm must be a printable name; got {arm[:50]!r}.")
            amount = self._amount(columns.amounts[index], row)
            outcome = self._outcome(columns.outcomes[index], row)
            key = keys.get(index)
            if key is not None:
                self._add(groups, (key, arm), row, amount, outcome)
        self.faults.refuse()
        return self._summed(groups, labels, moments)

    def _says_nothing(self, index: int) -> bool:
        """Whether a row has neither an amount nor an outcome: a caption, where it has no arm."""
        return not _text(self.columns.amounts[index]).strip() and not _text(self.columns.outcomes[index]).strip()

    # Dates

    def _periods(
        self, days: Sequence[str] | None, used: Sequence[int]
    ) -> tuple[dict[int, Any], dict[Any, str], dict[str, datetime] | None]:
        """The period of each row, what each is called, and when they were."""
        if days is None:
            if self.period is not None:
                raise InvalidValue(f"`period` needs a column of dates to roll them into {self.period}s.")
            return {index: index for index in used}, dict.fromkeys(used, ""), None
        day_first = dates.day_comes_first(days)
        read: dict[str, datetime | None] = {}
        keys: dict[int, Any] = {}
        labels: dict[Any, str] = {}
        for index in used:
            day, row = days[index], self.columns.rows[index]
            if not day and not self.needs_dates:
                read[day] = None
            elif not day or len(day) > dates.LONGEST_DATE or not day.isprintable():
                self.faults.add(row, f"the date must be a short printable text; got {day[:50]!r}.")
                continue
            elif day not in read:
                try:
                    read[day] = dates.parse_date(day, day_first)
                except InvalidValue as error:
                    self.faults.add(row, str(error))
                    read[day] = None
                    continue
                if self.period is not None and read[day] is None:
                    hint = " (is the day or the month first?)" if dates.is_day_or_month_first(day) else ""
                    self.faults.add(row, f"the date must be one to be rolled into {self.period}s; got {day!r}{hint}.")
            keys[index] = day
        known = {day: moment for day, moment in read.items() if moment is not None}
        if not known or len(known) < len(read):
            return self._by_name(keys)
        moments: dict[str, datetime] = {}
        for index, day in keys.items():
            moment = known[day]
            key = moment if self.period is None else dates.period_start(moment, self.period)
            keys[index] = key
            if key not in labels:
                clear = self.period is None and dates.has_one_reading(day)
                labels[key] = day if clear else key.date().isoformat() if isinstance(key, datetime) else str(key)
                moments[labels[key]] = moment if clear else dates.parse_date(labels[key]) or moment
        days_seen = [moment.date() for moment in moments.values()]
        self.counts["missing"], self.counts["step"] = dates.missing_between(days_seen)
        if any(map(dates.is_day_or_month_first, read)):
            self.counts["day_first"] = day_first
        return keys, labels, moments

    def _by_name(self, keys: dict[int, Any]) -> tuple[dict[int, Any], dict[Any, str], None]:
        """Periods by what they are called; a row without a date is a period of its own."""
        named = {index: day or index for index, day in keys.items()}
        return named, {key: key if isinstance(key, str) else "" for key in named.values()}, None

    # Numbers

    def _number(self, cell: Cell, mark: str | None, label: str, row: int) -> float | None:
        """The number in a cell; None, and a fault, where it is none."""
        value: float | None
        if isinstance(cell, str):
            try:
                value = parsing.cell_number(cell, mark, f"the {label} {cell[:50]!r}")
            except InvalidValue as error:
                self.faults.add_once("decimal", row, str(error))
                return None
        else:
            value = float(cell) if abs(cell) <= LARGEST else math.inf  # a whole number may be too large for a float
        if value is None or abs(value) > LARGEST:
            allowed = "a number" if value is None else f"between -{LARGEST:g} and {LARGEST:g}"
            self.faults.add(row, f"the {label} must be {allowed}; got {_shown(cell)}.")
            return None
        return value

    def _amount(self, cell: Cell, row: int) -> float | None:
        if tables.says_nothing(cell):
            return 0.0
        value = self._number(cell, self.marks[0], "amount", row)
        if value is not None and value < 0:
            self.faults.add(row, f"the amount must be a number of at least 0; got {_shown(cell)}.")
        elif value is not None and 0 < value < SMALLEST:
            self.faults.add(row, f"the amount must be 0 or at least {SMALLEST:g}; got {_shown(cell)}.")
        return value

    def _outcome(self, cell: Cell, row: int) -> float | None:
        return None if tables.says_nothing(cell) else self._number(cell, self.marks[1], "outcome", row)

    # Sums

    def _add(
        self,
        groups: dict[tuple[Any, str], _Group],
        key: tuple[Any, str],
        row: int,
        amount: float | None,
        outcome: float | None,
    ) -> None:
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(row)
        if not amount and not outcome:
            self.counts["without_spend"] += 1
        elif outcome is None:
            group.unknown_amounts.append(amount or 0.0)
        else:
            group.known_amounts.append(amount or 0.0)
            group.outcomes.append(outcome)

    def _summed(
        self, groups: dict[tuple[Any, str], _Group], labels: Mapping[Any, str], moments: dict[str, datetime] | None
    ) -> Reading:
        counts = self.counts
        unspent: list[float] = []
        left_out: list[float] = []
        found: list[tuple[Any, Observation]] = []
        spent_in: dict[Any, float] = dict.fromkeys((key for key, _ in groups), 0.0)
        summed = 0
        for (key, arm), group in groups.items():
            amount, outcome = _total(group.known_amounts), _total(group.outcomes) if group.outcomes else None
            if amount > 0.0:
                counts["left_out"] += len(group.unknown_amounts)
                left_out += group.unknown_amounts
            else:  # outcomes in rows of their own belong to what the others spent
                amount = _total(group.unknown_amounts)
            if amount == 0.0 and outcome is not None:
                counts["unspent"] += len(group.outcomes)
                unspent.append(outcome)
                outcome = None
            elif amount > 0.0:
                summed += group.rows - 1
                counts["joined"] += sum(own == 0.0 for own in group.known_amounts)
                counts["without_outcome"] += outcome is None
            spent_in[key] += amount
            found.append((key, Observation(group.row, labels[key], arm, amount, outcome)))
        kept = [(key, line) for key, line in found if spent_in[key] > 0.0]
        if moments is not None:
            kept.sort(key=lambda item: moments[item[1].date])
        observations = [line for _, line in kept]
        dated = self.columns.dates is not None
        table = self.columns.table
        if table is not None:
            counts |= {"encoding": table.encoding, "sheet": table.sheet, "sheets": table.sheets}
        periods = sum(spent > 0.0 for spent in spent_in.values())
        summary = Summary(
            **counts, observations=sum(line.amount > 0.0 for line in observations), periods=periods, summed=summed,
            idle=len(spent_in) - periods if dated else 0, unspent_total=_total(unspent),
            left_out_total=_total(left_out), period=self.period,
        )  # fmt: skip
        return Reading(observations, summary, moments)


def _total(values: Sequence[float]) -> float:
    """The sum as a spreadsheet shows it: of the decimal numbers that were written, 3.53 + 1 = 4.53."""
    return values[0] if len(values) == 1 else float(sum(Decimal(repr(value)) for value in values))


def _text(cell: Cell) -> str:
    """A name or a date that may have been a number in a spreadsheet."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _shown(cell: Cell) -> str:
    return repr(cell[:50]) if isinstance(cell, str) else f"{cell:g}"


def _is_total(arm: str, day: str) -> bool:
    """A row of totals: called so, where the arm or the date is, and the other is empty or called so too.

    "Total January" is one where the other is empty: with a date it may be an arm of that name.
    """
    names = {arm.rstrip(": ").casefold(), day.rstrip(": ").casefold()}
    if "" in names and names != {""}:
        names = {max(names).partition(" ")[0].rstrip(":"), ""}
    return names <= {*_TOTALS, ""} and names != {""}

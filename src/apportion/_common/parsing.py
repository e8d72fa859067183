"""What people write into fields and files: numbers, and the names of columns. One definition of how it is read.

A text is read twice: as it would be where the decimal mark is a point, and where it is a comma; the other mark then
groups thousands. `12,5` is a number in one of the two only, `1200` is the same in both, and `1.840` or `1,840` is
1840 in one and 1.84 in the other. That one is told by the rest of the file, or refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from apportion._common import validation
from apportion.errors import InvalidValue

DECIMALS = {"point": ".", "comma": ","}
"""The names of the decimal marks."""

NOT_UTF8 = "it is not UTF-8 text, which spreadsheets save as “CSV UTF-8”"

# Thousands may also be grouped by these, which nobody takes for a decimal mark.
_NEUTRAL = r"[\s_'’]"


def _pattern(decimal: str, grouping: str) -> re.Pattern[str]:
    mark, other = re.escape(decimal), re.escape(grouping)
    grouped = rf"[1-9]\d{{0,2}}(?:(?:{other}\d{{3}})+|(?:{_NEUTRAL}\d{{3}})+)(?:{mark}\d*)?"
    plain = rf"(?:\d+(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
    return re.compile(rf"[+-]?(?:{grouped}|{plain})")


_PATTERNS = {name: _pattern(mark, "," if mark == "." else ".") for name, mark in DECIMALS.items()}
_UNGROUPED = re.compile(r"[+-]?\d{4,}")


def reading(text: str, decimal: str) -> float | None:
    """`text` as a finite number where `decimal`, "point" or "comma", is the decimal mark; None if it is none.

    >>> reading("1.840", "point"), reading("1.840", "comma"), reading("12,5", "point")
    (1.84, 1840.0, None)
    """
    plain = text.strip().replace("−", "-")
    if not _PATTERNS[decimal].fullmatch(plain):
        return None
    mark = DECIMALS[decimal]
    value = float("".join("." if sign == mark else sign for sign in plain if sign.isalnum() or sign in "+-" + mark))
    return value if math.isfinite(value) else None


def readings(text: str) -> tuple[float, ...]:
    """The numbers that `text` may mean: none, one, or two."""
    found = (reading(text, decimal) for decimal in DECIMALS)
    return tuple(dict.fromkeys(value for value in found if value is not None))


def plain(value: float) -> str:
    """A number as apportion writes it for people to change or import: every digit, and only one way to read it.

    >>> plain(2.5), plain(2.125)
    ('2.5', '2.1250')
    """
    text = repr(float(value))
    return text if len(readings(text)) < 2 else text + "0"


def number(typed: str, what: str) -> float:
    """A number that stands alone, in a field: 1234.5, 1,234.5 and 12,5 are clear; 1,234 is not, and is refused.

    >>> number("1,234.5", "the budget"), number("12,5", "the budget")
    (1234.5, 12.5)
    >>> number("1,234", "the budget")
    Traceback (most recent call last):
    ...
    apportion.errors.InvalidValue: The budget can be read in two ways; write 1234 or 1.2340, not '1,234'.
    """
    found = readings(typed)
    what = what[:1].upper() + what[1:]
    if len(found) > 1:
        pair = f"{max(found, key=abs):.0f} or {plain(min(found, key=abs))}"
        raise InvalidValue(f"{what} can be read in two ways; write {pair}, not {typed[:60]!r}.")
    if not found:
        raise InvalidValue(f"{what} must be a number such as 812.50; got {typed[:60]!r}.")
    return found[0]


# Files


def decimal_name(value: str | None) -> str | None:
    """The `decimal` of a file as it was given: "point", "comma", or None to find it out."""
    return None if value is None else validation.choice("decimal", value, tuple(DECIMALS))


def decimals(columns: Sequence[Iterable[str]], given: str | None = None) -> list[str | None]:
    """The decimal mark of each column of one file, None where nothing tells it.

    A number that is one with one of the marks only, in any column, tells it for all: 12,5 or 0.530 or 1.234,56. A
    column with numbers such as 1200 does not group thousands, so that its 12.345 has a decimal point; but not if
    one ends in 0, which is not how 12.34 is written beside 1200, nor for 12,345, which is more often a thousand.

    >>> decimals([["3.530", "960"], ["12,5", "7"]]), decimals([["12.345", "1200"], ["3.530", "960"]])
    (['comma', 'comma'], ['point', None])
    """
    if given is not None:
        return [given] * len(columns)
    told, plainly = set(), []
    for column in columns:
        ungrouped, doubtful = False, False
        for text in column:
            point, comma = reading(text, "point"), reading(text, "comma")
            if (point is None) != (comma is None):
                told.add("comma" if point is None else "point")
            elif point != comma:
                doubtful |= "," in text or text.rstrip().endswith("0")
            ungrouped |= bool(_UNGROUPED.fullmatch(text.strip()))
        plainly.append("point" if ungrouped and not doubtful else None)
    if len(told) == 1:
        return [told.pop()] * len(columns)
    return [None] * len(columns) if told else list(plainly)


def cell(text: str, decimal: str | None, where: str) -> float | None:
    """A number of a file whose decimal mark is `decimal`; None if it is none. `where` begins the sentence of refusal.

    >>> cell("3.530", None, "It")
    Traceback (most recent call last):
    ...
    apportion.errors.InvalidValue: It can be read in two ways, as 3530 or as 3.53, and nothing else in the file \
tells which; write all numbers without thousands separators, or say whether `decimal` is comma or point (`--decimal` \
on the command line).
    """
    if decimal is not None:
        return reading(text, decimal)
    found = readings(text)
    if len(found) > 1:
        raise InvalidValue(
            f"{where} can be read in two ways, as {max(found, key=abs):.0f} or as {min(found, key=abs)!r}, and "
            "nothing else in the file tells which; write all numbers without thousands separators, or say whether "
            "`decimal` is comma or point (`--decimal` on the command line)."
        )
    return found[0] if found else None


def column_place(header: Sequence[str], name: str) -> int | None:
    """Where the column `name` stands: the one that is called so, else the one that is but for case and blanks.

    >>> column_place(["Date", "arm"], "date"), column_place(["Date", "DATE"], "date")
    (0, None)
    """
    names = [found.strip() for found in header]
    for same in (name, name.strip().casefold()):
        if names.count(same) == 1:
            return names.index(same)
        if same in names:
            return None
        names = [found.casefold() for found in names]
    return None

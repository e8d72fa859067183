"""Numbers as people write them, in fields and files: one definition of how they are read.

A text is read twice: as it would be where the decimal mark is a point, and where it is a comma; the other mark then
groups thousands. `12,5` is a number in one of the two only, `1200` is the same in both, and `1.840` or `1,840` is
1840 in one and 1.84 in the other: the rest of the file tells which (`decimal_marks`), or it is refused. A currency
may stand before or after (`€ 1.840,50`, `12 USD`), and `5%` is 0.05, as in a spreadsheet.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence

from apportion._common import validation
from apportion.errors import InvalidValue

DECIMALS = {"point": ".", "comma": ","}
"""The names of the decimal marks."""

# Thousands may also be grouped by these, which nobody takes for a decimal mark.
_NEUTRAL = r"[\s_'’]"


def _pattern(decimal: str, grouping: str) -> re.Pattern[str]:
    mark, other = re.escape(decimal), re.escape(grouping)
    grouped = rf"[1-9]\d{{0,2}}(?:(?:{other}\d{{3}})+|(?:{_NEUTRAL}\d{{3}})+)(?:{mark}\d*)?"
    plain = rf"(?:\d+(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
    return re.compile(rf"[+-]?(?:{grouped}|{plain})")


_CURRENCY = r"(?:[€$£¥]|EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|CZK|INR|BRL)"
_SIGNED = re.compile(rf"([+-]?)\s*({_CURRENCY})?\s*([+-]?[\d.,].*?)\s*({_CURRENCY}|%)?", re.DOTALL)

_PATTERNS = {name: _pattern(mark, "," if mark == "." else ".") for name, mark in DECIMALS.items()}


def reading(text: str, decimal: str) -> float | None:
    """`text` as a finite number where `decimal`, "point" or "comma", is the decimal mark; None if it is none.

    >>> reading("1.840", "point"), reading("1.840", "comma"), reading("12,5", "point")
    (1.84, 1840.0, None)
    >>> reading("€ 12.50", "point"), reading("-1.200,5 EUR", "comma"), reading("5%", "point")
    (12.5, -1200.5, 0.05)
    """
    if text.isdecimal() and text.isascii():  # most cells of most files
        value = float(text)
        return value if math.isfinite(value) else None
    plain = text.strip().replace("−", "-")
    percent = False
    if not _PATTERNS[decimal].fullmatch(plain):
        found = _SIGNED.fullmatch(plain)
        if found is None or not (found[2] or found[4]) or (found[2] and found[4]):
            return None
        plain, percent = found[1] + found[3], found[4] == "%"
        if not _PATTERNS[decimal].fullmatch(plain):
            return None
    mark = DECIMALS[decimal]
    value = float("".join("." if sign == mark else sign for sign in plain if sign.isalnum() or sign in "+-" + mark))
    return (value / 100.0 if percent else value) if math.isfinite(value) else None


def _is_money(text: str) -> bool:
    """Whether a number has a currency before or after it."""
    found = _SIGNED.fullmatch(text.strip())
    return found is not None and bool(found[2] or (found[4] and found[4] != "%"))


def readings(text: str) -> tuple[float, ...]:
    """The numbers that `text` may mean: none, one, or two."""
    found = (reading(text, decimal) for decimal in DECIMALS)
    return tuple(dict.fromkeys(value for value in found if value is not None))


_UNGROUPED = re.compile(r"[+-]?\d{4,}")


def decimal_name(value: str | None) -> str | None:
    """The `decimal` of a file as it was given: "point", "comma", or None to find it in the file."""
    return None if value is None else validation.choice("decimal", value, tuple(DECIMALS))


def decimal_marks(columns: Sequence[Iterable[str]], given: str | None = None) -> list[str | None]:
    """The decimal mark of each column of one file, "point" or "comma"; None where nothing tells it.

    A number that is one with one of the marks only, in any column, tells it for all: 12,5 or 0.530 or 1.234,56. A
    column with numbers such as 1200 does not group thousands, so that its 12.345 has a decimal point; but not if
    one ends in 0, which is not how 12.34 is written beside 1200, nor for 12,345, which is more often a thousand.
    Money has no thousandths: $1,234 and 1.234 € are thousands.

    >>> decimal_marks([["3.530", "960"], ["12,5", "7"]]), decimal_marks([["12.345", "1200"], ["3.530", "960"]])
    (['comma', 'comma'], ['point', None])
    """
    if decimal_name(given) is not None:
        return [given] * len(columns)
    certain: set[str] = set()
    likely: list[str | None] = []
    for column in columns:
        ungrouped, doubtful = False, False
        for text in column:
            if text.isdecimal() and text.isascii():
                ungrouped |= len(text) > 3
                continue
            point, comma = reading(text, "point"), reading(text, "comma")
            if (point is None) != (comma is None):
                certain.add("comma" if point is None else "point")
            elif point != comma and point is not None and comma is not None and _is_money(text):
                certain.add("point" if abs(point) > abs(comma) else "comma")
            elif point != comma:
                doubtful |= "," in text or text.rstrip().endswith("0")
            ungrouped |= bool(_UNGROUPED.fullmatch(text.strip()))
        likely.append("point" if ungrouped and not doubtful else None)
    if len(certain) == 1:
        return [certain.pop()] * len(columns)
    return [None] * len(columns) if certain else likely


def cell_number(text: str, decimal: str | None, where: str) -> float | None:
    """A number of a file whose decimal mark is `decimal`; None if it is none. `where` begins the sentence of refusal.

    >>> cell_number("3.530", None, "It")
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


def plain(value: float) -> str:
    """A number as apportion writes it for people to change or import: every digit, and only one way to read it.

    >>> plain(2.5), plain(2.125)
    ('2.5', '2.1250')
    """
    text = repr(float(value))
    # Only before the last three digits can its point be taken for one that groups thousands.
    return text if text[-4:-3] != "." or len(readings(text)) < 2 else text + "0"


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


def number_or_per_arm(typed: str, what: str, read: Callable[[str, str], float] = number) -> float | dict[str, float]:
    """One number for all arms, or one for each: 'search=40, social=10'. `read` makes a number of a text.

    >>> number_or_per_arm("40", "σ"), number_or_per_arm("search=40, social=10", "σ")
    (40.0, {'search': 40.0, 'social': 10.0})
    """
    if "=" not in typed:
        return read(typed, what)
    found: dict[str, float] = {}
    for part in typed.split(","):
        name, mark, value = (text.strip() for text in part.rpartition("="))
        if not mark or not name:
            what = what[:1].upper() + what[1:]
            raise InvalidValue(f"{what} must be a number, or arm=number for each arm; got {part.strip()[:60]!r}.")
        if name in found:
            raise InvalidValue(f"Arm '{name}' is given twice.")
        found[name] = read(value, f"{what} of '{name}'")
    return found

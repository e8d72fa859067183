"""Numbers as people write them, in fields and files: one definition of how they are read.

A text is read twice: as it would be where the decimal mark is a point, and where it is a comma; the other mark then
groups thousands. `12,5` is a number in one of the two only, `1200` is the same in both, and `1.840` or `1,840` is
1840 in one and 1.84 in the other: the rest of the file tells which (`tables`), or it is refused.
"""

import math
import re
from collections.abc import Callable

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


_PATTERNS = {name: _pattern(mark, "," if mark == "." else ".") for name, mark in DECIMALS.items()}


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

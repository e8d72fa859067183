"""Bounds on the share of an arm as people write them: a percentage, a share, or an amount of the budget."""

import re
from collections.abc import Mapping
from typing import Any

from apportion._common import parsing
from apportion._common.formatting import one_of, readable
from apportion.errors import InvalidValue

Bound = float | str
"""A share from 0 to 1, or a text: '5%', '0.05', '250 EUR'."""

SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
ANY_UNIT = ("unit", "units")

_PARTS = re.compile(r"(?P<before>[^\d.,+−-]*)(?P<number>[+−-]?[\d.,][\d.,\s_'’]*)(?P<after>.*)", re.DOTALL)


def share_of(value: Any, what: str, budget: float, unit: str | None) -> Any:
    """A bound as a share. An amount is taken as its share of the budget, as that is now; a number stays as it is.

    >>> share_of("5%", "the smallest share of 'a'", 5000, "EUR"), share_of("250 EUR", "it", 5000, "EUR")
    (0.05, 0.05)
    >>> share_of("6000 units", "the largest share of 'a'", 5000, "EUR")
    1.0
    >>> share_of("40", "the smallest share of 'a'", 400, "kits")
    Traceback (most recent call last):
    ...
    apportion.errors.InvalidValue: The smallest share of 'a' must be a percentage such as 5%, a share from 0 to 1, \
or an amount such as 20 kits; got '40'.
    """
    if not isinstance(value, str):
        return value  # the library says what a number may be
    found = _PARTS.fullmatch(value.strip())
    if found is None:
        raise _refused(value, what, budget, unit)
    number = parsing.number(found["number"].strip(), what)
    marks = [mark.strip() for mark in (found["before"], found["after"]) if mark.strip()]
    if not marks and 0.0 <= number <= 1.0:
        return number
    if marks == ["%"] and found["after"].strip() == "%" and 0.0 <= number <= 100.0:
        return float(f"{number / 100.0:.12g}")
    if len(marks) != 1 or not _is_unit(marks[0], unit) or number < 0.0:
        raise _refused(value, what, budget, unit)
    if number > budget:
        if "largest" in what:
            return 1.0  # no limit at all
        told = f"{readable(float(budget))} {unit or ''}".rstrip()
        raise InvalidValue(f"{_begin(what)} must be at most the budget of {told}; got {value.strip()[:60]!r}.")
    return float(f"{number / budget:.15g}")


def _is_unit(mark: str, unit: str | None) -> bool:
    named = {name.casefold() for name in (unit or "", one_of(unit), *ANY_UNIT) if name}
    return mark.casefold() in named or (unit is not None and SIGNS.get(mark, "") == unit.upper())


def _refused(value: str, what: str, budget: float, unit: str | None) -> InvalidValue:
    amount = f"{readable(float(f'{budget / 20.0:.3g}'))} {unit or 'units'}"
    return InvalidValue(
        f"{_begin(what)} must be a percentage such as 5%, a share from 0 to 1, or an amount such as {amount}; got "
        f"{value.strip()[:60]!r}."
    )


def _begin(what: str) -> str:
    return what[:1].upper() + what[1:]


def smallest(value: Any, arm: str, budget: float, unit: str | None) -> Any:
    """The smallest share of an arm; None where it is not given."""
    return None if value is None else share_of(value, f"the smallest share of '{arm}'", budget, unit)


def largest(value: Any, arm: str, budget: float, unit: str | None) -> Any:
    """The largest share of an arm; None where it is not given."""
    return None if value is None else share_of(value, f"the largest share of '{arm}'", budget, unit)


def shares_of(given: Any, name: str, budget: float, unit: str | None) -> Any:
    """Bounds by arm as shares; what is no mapping is refused where it is used."""
    if not isinstance(given, Mapping):
        return given
    words = {"minimum": "smallest", "maximum": "largest", "pinned": "fixed"}
    return {arm: share_of(value, f"the {words[name]} share of '{arm}'", budget, unit) for arm, value in given.items()}

"""Validation at the edges, in one sentence pattern: which thing, what is allowed, what was given."""

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from apportion.errors import InvalidValue


def refuse(name: str, allowed: str, given: object) -> InvalidValue:
    """The one sentence of every refusal.

    >>> print(refuse("b", "a number in [0, 1]", 1.3))
    `b` must be a number in [0, 1]; got 1.3.
    """
    return InvalidValue(f"`{name}` must be {allowed}; got {shown(given)}.")


def shown(given: object) -> str:
    """`given` as a person would write it, cut to a readable length."""
    try:
        if isinstance(given, int) or not isinstance(given, Real):
            text = repr(given)
        else:
            text = str(float(given))
    except (OverflowError, ValueError):  # a fraction beyond all floats; an int with too many digits to write
        text = "a number too large to be shown"
    text = " ".join(text.split())  # an array or a table would spoil the sentence
    return text if len(text) <= 80 else text[:77] + "..."


def number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> float:
    """`value` as a finite float with low <= value <= high and above < value < below.

    >>> number("sigma", 2, above=0)
    2.0
    """
    given = _finite(value)
    if given is not None and low <= given <= high and above < given < below:
        return given
    raise refuse(name, allowed_range("a number", low=low, high=high, above=above, below=below), value)


def number_or_each(name: str, value: Any, **bounds: float) -> float | tuple[float, ...]:
    """`value` as a number within the bounds of `number`, or as a tuple of such, one per arm.

    >>> number_or_each("sigma", [1, 0.5], above=0)
    (1.0, 0.5)
    """
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
        return number(name, value, **bounds)
    return tuple(number(f"{name}[{index}]", each, **bounds) for index, each in enumerate(value))


def require_one_per_arm(name: str, value: float | tuple[float, ...], arms: int) -> None:
    """Refuse a tuple that does not have one number per arm."""
    if isinstance(value, tuple) and len(value) != arms:
        raise refuse(name, f"a number, or one per arm ({arms})", value)


def whole(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """`value` as an int; floats that are whole (1e4) are welcome.

    >>> whole("horizon", 1e4, low=1)
    10000
    """
    if _finite(value) is not None:
        given = int(value)
        if given == value and (low is None or given >= low) and (high is None or given <= high):
            return given
    raise refuse(name, allowed_range("a whole number", low=low, high=high), value)


def _finite(value: Any) -> float | None:
    """`value` as a float if it is a real number that a float can hold, not a bool; else None."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        given = float(value)
    except OverflowError:
        return None
    return given if math.isfinite(given) else None


def allowed_range(
    kind: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float = -math.inf,
    below: float = math.inf,
) -> str:
    """In words: the numbers with low ≤ x ≤ high and above < x < below.

    >>> allowed_range("a number", low=0, below=1)
    'a number in [0, 1)'
    """
    low = -math.inf if low is None else low
    high = math.inf if high is None else high
    left, right = max(low, above), min(high, below)
    start = "(" if above >= low else "["
    end = ")" if below <= high else "]"
    if math.isinf(left) and math.isinf(right):
        return f"{kind}, finite"
    if math.isinf(right):
        return f"{kind} {'above' if start == '(' else 'of at least'} {left:g}"
    if math.isinf(left):
        return f"{kind} {'below' if end == ')' else 'of at most'} {right:g}"
    return f"{kind} in {start}{left:g}, {right:g}{end}"


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """`value` if it is one of `options`."""
    if isinstance(value, str) and value in options:
        return value
    raise refuse(name, "one of " + ", ".join(repr(option) for option in options), value)


def flag(name: str, value: Any) -> bool:
    """`value` as a bool; numbers and strings are not guessed at."""
    if isinstance(value, bool):
        return value
    raise refuse(name, "True or False", value)


def arm_names(name: str, values: Any) -> tuple[str, ...]:
    """Arm names: non-empty strings without surrounding blanks, each once.

    >>> arm_names("arms", ["search", "social"])
    ('search', 'social')
    """
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise refuse(name, "a list of names", values)
    names = tuple(values)
    if not names:
        raise refuse(name, "a list with at least one name", names)
    for value in names:
        if not isinstance(value, str) or not value or value != value.strip() or not value.isprintable():
            raise refuse(name, "printable names without blanks at either end, none empty", value)
    if len(set(names)) != len(names):
        repeated = next(value for index, value in enumerate(names) if value in names[:index])
        raise refuse(name, "names that are all different", repeated)
    return names


def is_number(value: Any) -> bool:
    """Whether `value` is a finite number."""
    return _finite(value) is not None


def is_whole(value: Any) -> bool:
    """Whether `value` is an integer and not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)

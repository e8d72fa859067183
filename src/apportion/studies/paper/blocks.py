"""What a section of the report is, and what it shows: text, tables, pictures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from apportion.studies.paper.effort import Effort

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = dict[str, Any]


class Text(NamedTuple):
    """A paragraph."""

    text: str


class Table(NamedTuple):
    """Rows of words and numbers; numbers are written by `told`."""

    caption: str
    columns: list[str]
    rows: list[list[Any]]


class Picture(NamedTuple):
    """A figure and the name of its file."""

    name: str
    caption: str
    draw: Callable[[], Figure]


Block = Text | Table | Picture


@dataclass(frozen=True)
class Section:
    """One section: `measure(effort, seed, step)` makes plain data, `show(data)` what is read.

    `step` is called with a few words before each piece of work. `module` is the file that both are in.
    """

    name: str
    title: str
    module: str
    measure: Callable[[Effort, int, Callable[[str], None]], Values]
    show: Callable[[Values], list[Block]]


def told(value: Any) -> str:
    """A value as the report writes it: four figures, thousands in full, a dash where there is none.

    >>> [told(value) for value in (3527.42, 0.123456, None, True, "Odds", float("inf"))]
    ['3,527', '0.1235', '–', 'yes', 'Odds', '∞']
    """
    from apportion.reporting.html import cell

    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return cell(value)


def ranged(middle: float | None, low: float | None, high: float | None) -> str:
    """A number with its interval, two decimals.

    >>> ranged(0.512, 0.48, 0.544)
    '0.51 (0.48 to 0.54)'
    """
    if middle is None:
        return "–"
    if low is None or high is None:
        return f"{middle:.2f}"
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def with_error(mean: float, error: float | None) -> str:
    """A mean with its standard error.

    >>> with_error(12.3456, 0.5)
    '12.35 ± 0.5'
    """
    return told(mean) if error is None else f"{told(mean)} ± {told(float(f'{error:.2g}'))}"

"""Small tables: text for a terminal, HTML for a notebook, a data frame for everything else."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from apportion._common import optional

if TYPE_CHECKING:
    import pandas as pd

SMALLEST_SHOWN, LARGEST_SHOWN = 1e-6, 1e15
"""Numbers outside of these are not written out: nobody counts so many zeros, and few read powers of ten."""

SMALLEST_ROUNDED = 1e-3
"""Numbers below this are written with three figures, however many zeros go before."""

SMALLEST_PERCENT, LARGEST_PERCENT = 5e-4, 0.9995
"""Shares outside of these would be rounded to 0% or 100%."""

MAX_PRINTED_ROWS = 60
"""A longer table is printed with its middle left out."""


def readable(value: Any) -> str:
    """A number with as many digits as a person reads, never with a power of ten; '–' where there is none.

    >>> readable(1234.5), readable(0.000123), readable(1.05e-08), readable(2e12), readable(None)
    ('1,234.50', '0.000123', '<0.000001', '2,000,000,000,000', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= LARGEST_SHOWN:
        return f">{LARGEST_SHOWN:,.0f}" if value > 0.0 else f"<-{LARGEST_SHOWN:,.0f}"
    if float(value).is_integer():
        return f"{value:,.0f}"
    if size < SMALLEST_SHOWN:
        return "<0.000001" if value > 0.0 else ">-0.000001"
    if size < SMALLEST_ROUNDED:
        return f"{value:.{2 - math.floor(math.log10(size))}f}"
    digits = max(0, 4 - len(str(int(abs(value)))))
    return f"{value:,.{max(digits, 2)}f}"


def written(value: float) -> str:
    """A number as somebody may have given it: no zeros at its end, six figures or cents, no power of ten.

    >>> written(1e6), written(0.05), written(812.5), written(1e-05), written(1e-12), written(12345.678)
    ('1,000,000', '0.05', '812.5', '0.00001', '<0.000001', '12,345.68')
    """
    if not 1e-10 <= abs(value) < LARGEST_SHOWN:
        return readable(float(value))
    rounded = float(f"{value:.6g}") if abs(value) < 1e4 else round(value, 2)
    return f"{rounded:,.10f}".rstrip("0").rstrip(".")


def side_by_side(*values: float) -> tuple[str, ...]:
    """Numbers that are read side by side, with as many decimals as their spread calls for.

    >>> side_by_side(0.562, 0.000722, 1.124)
    ('0.562', '0.001', '1.124')
    >>> side_by_side(1200.0, 350.25)
    ('1,200', '350')
    """
    finite = [value for value in values if math.isfinite(value)]
    spread = max((abs(value - finite[0]) for value in finite), default=0.0) or max(map(abs, finite), default=0.0)
    if spread == 0.0 or not 1e-9 < spread < LARGEST_SHOWN:
        return tuple(readable(value) for value in values)
    decimals = min(max(2 - math.floor(math.log10(spread)), 0), 12)
    return tuple(fixed(value, decimals) if math.isfinite(value) else readable(value) for value in values)


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals; what rounds to 0 has no sign.

    >>> fixed(-0.001, 2), fixed(-1234.5, 1)
    ('0.00', '-1,234.5')
    """
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def percent(share: float) -> str:
    """A share as a percentage; a small one is not shown as 0, nor nearly all as all.

    >>> percent(0.25), percent(0.00004), percent(0.0), percent(0.99996)
    ('25.0%', '<0.1%', '0%', '>99.9%')
    """
    if math.isnan(share):
        return "–"
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share < SMALLEST_PERCENT:
        return "<0.1%"
    return ">99.9%" if LARGEST_PERCENT <= share < 1.0 else f"{100 * share:.1f}%"


def chance(probability: float, most: float = 1.0) -> str:
    """A probability as a percentage: what was worked out from results is never quite 0 or 1.

    `most`: no more than that can be said, where the data contradict what it was worked out for.

    >>> chance(0.25), chance(0.0), chance(1.0), chance(0.99, most=0.95), chance(0.01, most=0.95)
    ('25.0%', '<0.1%', '>99.9%', '>95%', '<5%')
    """
    if most < 1.0 and not 1.0 - most <= probability <= most and not math.isnan(probability):
        return f">{most:.0%}" if probability > most else f"<{1.0 - most:.0%}"
    return percent(min(max(probability, 0.5 * SMALLEST_PERCENT), 1.0 - 1e-9))  # NaN stays NaN


def one_of(unit: str | None) -> str:
    """One of what a budget is counted in: 'EUR' of EUR, 'kit' of kits; 'unit' where it has no name.

    >>> [one_of(unit) for unit in ("EUR", "kits", "hours", "boxes", "batteries", "glass", None)]
    ['EUR', 'kit', 'hour', 'box', 'battery', 'glass', 'unit']
    """
    if not unit:
        return "unit"
    for ending, single in (("ies", "y"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("s", "")):
        if unit.endswith(ending) and not unit.endswith(("ss", "us", "is")) and len(unit) > len(ending) + 1:
            return unit[: -len(ending)] + single
    return unit


def plural(unit: str | None) -> bool:
    """Whether so much of it "come back", and not "comes back".

    >>> plural("orders"), plural("EUR"), plural(None)
    (True, False, False)
    """
    return unit is not None and one_of(unit) != unit


class Table:
    """Rows by arm name, with named columns. `title` and `note` go above and below."""

    title: str = ""
    note: str = ""
    percent_columns: ClassVar[tuple[str, ...]] = ()
    """Which columns are shares, printed as percentages."""
    chance_columns: ClassVar[tuple[str, ...]] = ()
    """Which columns are probabilities."""

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The columns by name, all of one length; the first is the arm."""
        raise NotImplementedError

    def to_pandas(self) -> "pd.DataFrame":
        """One row per arm, indexed by its name."""
        frame: pd.DataFrame = optional.load("pandas", "`to_pandas`").DataFrame(dict(self.columns()))
        return frame.set_index("arm")

    def __str__(self) -> str:
        columns = {name: [readable(value) for value in values] for name, values in self._printed_columns().items()}
        widths = {name: max(map(len, (name, *values))) for name, values in columns.items()}
        left = {"arm", "why"}
        lines = ["  ".join(n.ljust(w) if n in left else n.rjust(w) for n, w in widths.items()).rstrip()]
        for row in zip(*columns.values()):
            cells = (v.ljust(w) if n in left else v.rjust(w) for v, (n, w) in zip(row, widths.items()))
            lines.append("  ".join(cells).rstrip())
        return "\n".join(part for part in (self.title, *lines, self.note) if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = self._printed_columns()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(readable(value))}</td>" for value in row) + "</tr>"
            for row in zip(*columns.values())
        )
        return (
            f"<table><caption>{html.escape(self.title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table><p>{html.escape(self.note)}</p>"
        )

    def _printed_columns(self) -> Mapping[str, Sequence[Any]]:
        columns, half = dict(self.columns()), MAX_PRINTED_ROWS // 2
        for name in self.percent_columns:
            columns[name] = [percent(share) for share in columns[name]]
        for name in self.chance_columns:
            columns[name] = [chance(probability) for probability in columns[name]]
        if len(next(iter(columns.values()))) <= MAX_PRINTED_ROWS:
            return columns
        return {name: [*values[:half], "…", *values[-half:]] for name, values in columns.items()}


def counted(number: int, word: str) -> str:
    """'1 period', '2 periods'.

    >>> counted(1, "period"), counted(1200, "event")
    ('1 period', '1,200 events')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: 'search, social and video', at most five of them.

    >>> listed(["search"]), listed("abc"), listed("abcdefgh")
    ('search', 'a, b and c', 'a, b, c, d, e and 3 more')
    """
    shown = list(names[:5]) + ([f"{len(names) - 5} more"] if len(names) > 5 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def to_the_minute(moment: str) -> str:
    """A moment of the log (UTC) to the minute; a date of an imported history as it is.

    >>> to_the_minute("2026-11-02T09:00:17.123456"), to_the_minute("calendar week 45 of 2026")
    ('2026-11-02 09:00', 'calendar week 45 of 2026')
    """
    return f"{moment[:10]} {moment[11:16]}" if moment[10:11] == "T" and moment[13:14] == ":" else moment


def column_cells(values: Sequence[float | None]) -> list[str]:
    """The numbers of one column, all with as many decimals; '–' where there is none.

    >>> column_cells([8.5, 98.5, 53.0, None])
    ['8.50', '98.50', '53.00', '–']
    >>> column_cells([2500.0, 0.004, 0.0]), column_cells([1e12, 7.0])
    (['2,500.00', '<0.01', '0.00'], ['1,000,000,000,000', '7'])
    >>> column_cells([12.5, -0.001])
    ['12.50', '>-0.01']
    """
    sizes = [abs(float(value)) for value in values if value is not None and math.isfinite(value)]
    largest = max(sizes, default=0.0)
    if all(size.is_integer() for size in sizes) or not SMALLEST_ROUNDED <= largest < LARGEST_SHOWN:
        return [readable(value) for value in values]
    decimals = max(2, 4 - len(str(int(largest))))
    least = 10.0**-decimals
    return [
        readable(value) if value is None or not math.isfinite(value)
        else f"{'<' if value > 0.0 else '>-'}{least:.{decimals}f}" if 0.0 < abs(value) < 0.5 * least
        else f"{value:,.{decimals}f}"
        for value in values
    ]  # fmt: skip

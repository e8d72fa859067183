"""Axes: their limits, their ticks, and how the ticks are written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def log_limits(values: Any, pad: float = 0.0) -> tuple[float, float]:
    """Limits of a logarithmic axis around positive values."""
    low, high = float(values[0]), float(values[-1])
    if low == high:
        return low / 2, high * 2
    room = (high / low) ** pad
    return low / room, high * room


def log_axis(ax: Axes, which: str, low: float, high: float) -> None:
    """Make the "x" or "y" axis logarithmic between the limits, with about as many ticks as it has room for."""
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)
    axis = ax.xaxis if which == "x" else ax.yaxis
    decades = math.log10(high / low)
    subs = (1.0,) if decades > 2.5 else (1.0, 3.0) if decades > 1.6 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs, numticks=9))
    axis.set_major_formatter(FuncFormatter(_power))
    axis.set_minor_formatter(NullFormatter())


def plain_axis(ax: Axes, which: str, most: int = 7) -> None:
    """Round numbers, at most so many, on the "x" or "y" axis."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def tick_at(ax: Axes, values: list[float], log: bool) -> None:
    """Ticks at the values that were simulated, unless they are too many or too close."""
    if not log:
        room = 0.06 * (values[-1] - values[0])
        ax.set_xlim(values[0] - room, values[-1] + room)
    positions = np.log(values) if log else np.array(values, np.float64)
    if len(values) <= 10 and np.diff(positions).min() > 0.06 * (positions[-1] - positions[0]):
        ax.xaxis.set_major_locator(FixedLocator(values))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(_power) if log else FuncFormatter(lambda v, _: f"{v:.4g}"))


def _power(value: float, _: object = None) -> str:
    """A tick: 1,000 rather than 10³, and powers from a million on."""
    if 1e-4 < value < 1e6:
        return f"{value:,.0f}" if value >= 1 and value == round(value) else f"{value:.10g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = value / 10**exponent
    lead = "" if abs(factor - 1) < 1e-9 else rf"{factor:.3g}\cdot "
    return rf"${lead}10^{{{exponent}}}$"

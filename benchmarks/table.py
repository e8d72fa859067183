"""A measured figure beside its bar."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """What was measured, and the bar it has to meet, if any; `at_least` turns the comparison round."""

    what: str
    measured: float
    bar: float | None
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the bar is met, or there is none."""
        if self.bar is None:
            return True
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar


def show(title: str, rows: Iterable[Row]) -> list[Row]:
    """Print rows as they come; returns them."""
    print(f"\n{title}")
    shown = []
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        verdict = "met" if row.met else "MISSED"
        bar = "" if row.bar is None else f"   bar {sign} {_number(row.bar, row.unit):<10} {verdict}"
        print(f"  {row.what:<58} {_number(row.measured, row.unit):>12}{bar}", flush=True)
        shown.append(row)
    return shown


def _number(value: float, unit: str) -> str:
    if unit == "s" and value < 0.1:
        return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"
    return f"{value:.3g} {unit}"

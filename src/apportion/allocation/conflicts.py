"""What stands in the way of a split: the smallest set of rules that contradict each other; how far limits give way.

Both only where a split was found to be impossible. A set of rules is impossible where `nearest` finds no split that
keeps it; how far limits give way follows from what proves that.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from apportion.allocation.nearest import Rows, contradiction, excess
from apportion.errors import Infeasible
from apportion.model.sums import Floats

_MOST_LISTED: Final = 8
_BEYOND: Final = 1e-9  # limits give way so much more than they must, lest rounding decides


class Box(NamedTuple):
    """The smallest and the largest share of each arm."""

    low: Floats
    high: Floats

    def within(self, wider: "Box", part: float) -> "Box":
        """This box, widened by a part of the way to a wider one."""
        low, high = self.low + part * (wider.low - self.low), self.high + part * (wider.high - self.high)
        return Box(np.minimum(low, self.low), np.maximum(high, self.high))


def widening(narrow: Box, wide: Box, rows: Rows, soft: Rows | None = None) -> float | None:
    """The least part t of the way from the narrow to the wide box where some split keeps the rows; None: no such t.

    The `soft` rows give way together with the box, by t of the whole range of a share sum.

    A contradiction at one t holds up to a larger one, as all ends move in proportion to t; where it ends the next is
    looked for. A few of these lead to the least t; where rounding hides one, the rest of the way is halved.
    """

    def at(part: float) -> tuple[Floats, Floats, Rows]:
        loosened = None if soft is None else soft._replace(least=soft.least - part, most=soft.most + part)
        return *narrow.within(wide, part), rows.and_(loosened)

    if contradiction(*at(1.0)) is not None:
        return None
    low, high, factors = 0.0, 1.0, contradiction(*at(0.0))
    if factors is None:
        return 0.0
    while high - low > _BEYOND:
        here, there = excess(factors, *at(low)), excess(factors, *at(1.0))
        end = low + (1.0 - low) * here / (here - there) + _BEYOND if here > 0.0 > there else math.nan
        halved = not low < end < high
        if halved:
            end = 0.5 * (low + high)
        found = contradiction(*at(end))
        if found is not None:
            low, factors = end, found
        elif halved:
            high = end
        else:
            return end
    return high


def conflict(
    rows: Rows, rules: Sequence[str], low: Floats, high: Floats, names: Sequence[str], *, at: str
) -> Infeasible:
    """The error for rules and bounds that no split keeps: it names a set of which each member is needed for that.

    What is not needed is left out in halves (QuickXplain, Junker 2004): a few dozen looks at hundreds of conditions.
    """
    items, matrix, ends = _conditions(rows, rules, low, high, names)
    least = np.full(len(items), -np.inf)

    def impossible(chosen: list[int]) -> bool:
        asked = Rows(matrix[chosen], least[chosen], ends[chosen])
        return contradiction(np.zeros(len(names)), np.ones(len(names)), asked) is not None

    def needed(kept: list[int], tried: bool, rest: list[int]) -> list[int]:
        """Those of `rest` that make what is kept impossible; `tried`: something was added to what is kept."""
        if tried and impossible(kept):
            return []
        if len(rest) == 1:
            return rest
        first, second = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        later = needed(kept + first, True, second)
        return needed(kept + later, bool(later), first) + later

    chosen = list(range(len(items)))
    if impossible(chosen):  # but for rounding it is: that is why this was called
        chosen = needed([], False, chosen)
    found = list(dict.fromkeys(items[each] for each in chosen))
    if len(found) == 1:
        return Infeasible(f"No split {at} keeps {found[0]}: change or drop it.")
    if len(found) > _MOST_LISTED:
        found = [*found[: _MOST_LISTED - 1], f"{len(found) - _MOST_LISTED + 1} more"]
    return Infeasible(f"No split {at} keeps all of these at once: {'; '.join(found)}. Change or drop one of them.")


def _conditions(
    rows: Rows, rules: Sequence[str], low: Floats, high: Floats, names: Sequence[str]
) -> tuple[list[str], Floats, Floats]:
    """Every condition a·x ≤ end with its words: the rules, and the bounds of arms that have some."""
    items: list[str] = []
    matrix, ends = [], []
    for row, least, most, rule in zip(*rows, rules):
        for sign, end in ((1.0, most), (-1.0, -least)):
            if np.isfinite(end):
                items.append(rule)
                matrix.append(sign * row)
                ends.append(end)
    for at, name in enumerate(names):
        for sign, bound, given, words in (
            (1.0, high[at], high[at] < 1.0, "at most"),
            (-1.0, low[at], low[at] > 0.0, "at least"),
        ):
            if given:
                row = np.zeros(len(names))
                row[at] = sign
                items.append(f"{name} {words} {100.0 * bound:.6g}%")
                matrix.append(row)
                ends.append(sign * bound)
    return items, np.array(matrix).reshape(-1, len(names)), np.array(ends)

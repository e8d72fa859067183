"""What stands in the way of a split: the smallest set of rules that contradict each other; how far limits give way.

Both are linear programs, solved by HiGHS (through SciPy), and only where a split was found to be impossible.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from apportion.allocation.nearest import Rows
from apportion.errors import Infeasible
from apportion.model.sums import Floats

_MOST_LISTED: Final = 8
_MISSED: Final = 1e-9  # a sum of violations above this is a contradiction


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
    """
    count = narrow.low.size
    one = np.ones((1, count))
    parts, ends = [], []
    for matrix, limit, room in (
        (np.eye(count), narrow.high, wide.high - narrow.high),
        (-np.eye(count), -narrow.low, narrow.low - wide.low),
        *_one_sided(rows, 0.0),
        *(() if soft is None else _one_sided(soft, 1.0)),
    ):
        parts.append(np.column_stack([matrix, -np.broadcast_to(room, len(matrix))]))
        ends.append(limit)
    found = _linprog(
        np.append(np.zeros(count), 1.0), A_ub=np.concatenate(parts), b_ub=np.concatenate(ends),
        A_eq=np.column_stack([one, [0.0]]), b_eq=[1.0], bounds=[(0.0, 1.0)] * (count + 1),
    )  # fmt: skip
    return min(float(found.x[-1]) * (1.0 + 1e-9) + 1e-12, 1.0) if found.status == 0 else None


def conflict(
    rows: Rows, rules: Sequence[str], low: Floats, high: Floats, names: Sequence[str], *, at: str
) -> Infeasible:
    """The error for rules and bounds that no split keeps: it names a set of which each member is needed for that.

    The duals of the program that makes the violations small are nonzero on a set that is impossible by itself; what
    can be left out of that set is left out, one by one.
    """
    items, matrix, ends = _conditions(rows, rules, low, high, names)
    chosen = np.flatnonzero(np.abs(_violations(matrix, ends)[1]) > 1e-9)
    if not chosen.size or _violations(matrix[chosen], ends[chosen])[0] <= _MISSED:
        chosen = np.arange(len(items))
    for each in chosen.tolist():
        rest = chosen[chosen != each]
        if _violations(matrix[rest], ends[rest])[0] > _MISSED:
            chosen = rest
    found = list(dict.fromkeys(items[each] for each in chosen.tolist()))
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


def _violations(matrix: Floats, ends: Floats) -> tuple[float, Floats]:
    """The least sum of violations that a split of the whole budget can have, and the duals of the conditions."""
    count, arms = matrix.shape
    if not count:
        return 0.0, np.zeros(0)
    cost = np.append(np.zeros(arms), np.ones(count))
    found = _linprog(
        cost, A_ub=np.column_stack([matrix, -np.eye(count)]), b_ub=ends,
        A_eq=np.append(np.ones(arms), np.zeros(count))[np.newaxis], b_eq=[1.0], bounds=[(0.0, None)] * (arms + count),
    )  # fmt: skip
    return float(found.fun), np.asarray(found.ineqlin.marginals)


def _one_sided(rows: Rows, room: float) -> list[tuple[Floats, Floats, float]]:
    """Rows as conditions a·x ≤ end + room·t."""
    above, below = np.isfinite(rows.most), np.isfinite(rows.least)
    return [(rows.matrix[above], rows.most[above], room), (-rows.matrix[below], -rows.least[below], room)]


def _linprog(cost: Floats, **options: Any) -> Any:
    from scipy.optimize import linprog  # heavy to import, and seldom needed

    return linprog(cost, method="highs", **options)

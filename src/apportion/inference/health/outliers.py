"""Outcomes and amounts that look like a slip: a typed extra zero, or one that is missing.

A row stands out if it is far from what its arm gives, beyond what noise explains, *and* five times off or more. All
yardsticks must agree: the law as it was fitted (median and median absolute deviation of the arm, so that the slip
does not hide itself), the rows of the arm just before and after, as returns may move, and those with the nearest
amounts, which need no law. Counts must be off by more than counts vary by themselves, too.

Where this fails: an arm with fewer than ten rows, and one whose results are mostly the same number (0 sales, say), is
not looked at; where returns jump to another level for good, the first rows after it look like slips.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apportion.inference.fit.estimate import Estimate
from apportion.inference.fit.likelihood import Floats
from apportion.inference.health.observations import Observations

LEAST_ROWS = 10
TIMES_OFF = 5.0
_DEVIATIONS = 6.0
_ALONE_DEVIATIONS = 4.0  # of an amount that is alone: it bends the law that it is measured by
# The median absolute deviation of few rows is uncertain: with n rows it takes 1 + this/n times as much.
_FEW = 12.0
_GAUSSIAN = 1.4826  # σ over the median absolute deviation
_LEAST_NOISE = 1e-3  # of what is usual: results that fit the law to the last digit have slips, too
_NEIGHBOURS = 5  # on each side
_NEAR = math.log(3.0)
_ALONE = 2.0  # times the largest other amount
_EXACTLY = 0.05  # a logarithm this near to that of ten is ten: people round what they spend
_FOLLOWED = 0.2  # a median logarithm of spent over advised below this
# More rows than this part are no slips: the law does not fit, or results are like that.
_MOST = 0.02
_ALWAYS_SOME = 3


class Slip(NamedTuple):
    """A row of the history that looks like a slip.

    `what` says which value it is, "outcome" or "amount"; `usual` is what it would usually be (of an amount: what
    brings such an outcome). `certain`: it is an amount that is about ten times what was advised, or a tenth.
    """

    row: int
    what: str
    value: float
    usual: float
    certain: bool = False


def find_slips(table: Observations, found: Estimate | None) -> list[Slip]:
    """The slips, those with the largest factor first; none where there are too many to be slips."""
    known = {slip.row: slip for slip in _against_advice(table)}
    if found is not None:
        measured = _against_law(table, found)
        if len(measured) <= max(_ALWAYS_SOME, _MOST * len(table.periods)):
            known = {slip.row: slip for slip in measured} | known
    return sorted(known.values(), key=lambda slip: (not slip.certain, slip.row))


def _against_advice(table: Observations) -> list[Slip]:
    """Amounts ten times what was advised, or a tenth, of a person who mostly spends what is advised."""
    if table.advised is None or not len(table.advised):
        return []
    amounts, advised = table.history.amounts, table.advised
    with np.errstate(divide="ignore"):
        off = np.abs(np.log(amounts) - np.log(advised))
    if np.median(off) > _FOLLOWED:
        return []
    rows = np.flatnonzero(np.abs(off - math.log(10.0)) < _EXACTLY).tolist()
    return [Slip(row, "amount", float(amounts[row]), float(advised[row]), certain=True) for row in rows]


def _against_law(table: Observations, found: Estimate) -> list[Slip]:
    history, data = table.history, found.data
    slips = []
    in_time = np.lexsort((table.periods, history.codes))
    for rows in np.split(in_time, np.cumsum(np.bincount(history.codes))[:-1]):
        if len(rows) < LEAST_ROWS:
            continue
        logs, y = np.log(history.amounts[rows]) - data.log_unit, history.outcomes[rows]
        level, base = np.exp(found.c * logs), np.exp(found.b * logs)
        mean = _weighted_median(y / level, np.square(level / base))
        rest = (y - mean * level) / base
        scale = _GAUSSIAN * float(np.median(np.abs(rest)))
        scale = max(scale, _LEAST_NOISE * abs(mean) * float(np.median(level / base)))
        if not scale > 0.0:
            continue
        deviations = np.abs(rest) / (scale * (1 + _FEW / len(rows)))
        over = np.abs(y) > TIMES_OFF * np.maximum(np.abs(mean) * level, scale * base)
        under = (np.abs(y) * TIMES_OFF < np.abs(mean) * level) & (y * mean > 0)
        for at in np.flatnonzero((deviations > _ALONE_DEVIATIONS) & (over | under)).tolist():
            amounts, usual = history.amounts[rows], _usual_then(y / level, at) * float(level[at])
            if not _odd(float(y[at]), usual):
                continue
            slip = _lone_amount(amounts, at, float(y[at]) / usual, found.c) if usual else None
            if slip is None and deviations[at] > _DEVIATIONS:
                slip = _odd_outcome(amounts, y, at, usual)
            if slip is not None:
                slips.append(slip._replace(row=int(rows[at])))
    return slips


def _lone_amount(amounts: Floats, at: int, part: float, c: float) -> Slip | None:
    """An amount far beyond the others of its arm that brought a `part` of what it should."""
    others, amount = np.delete(amounts, at), float(amounts[at])
    if not (amount > _ALONE * others.max() and part < 1) and not (amount * _ALONE < others.min() and part > 1):
        return None
    return Slip(at, "amount", amount, amount * abs(part) ** (1 / c))


def _odd_outcome(amounts: Floats, y: Floats, at: int, usual: float) -> Slip | None:
    """An outcome that those of the nearest amounts of its arm call odd too; `usual` where there are none near."""
    away = np.abs(np.log(amounts / amounts[at]))
    near = np.argsort(away, kind="stable")[1 : 2 * _NEIGHBOURS + 1]
    near = near[away[near] < _NEAR]
    if len(near) >= _NEIGHBOURS:
        usual = float(np.median(y[near] / amounts[near]) * amounts[at])
    value = float(y[at])
    if np.array_equal(y, np.rint(y)) and abs(value - usual) <= _DEVIATIONS * math.sqrt(max(abs(usual), 1.0)):
        return None  # a count: two where none is usual is chance, and no slip
    return Slip(at, "outcome", value, usual) if _odd(value, usual) else None


def _odd(value: float, usual: float) -> bool:
    """Whether it is five times off or more."""
    return abs(value) > TIMES_OFF * abs(usual) or abs(value) * TIMES_OFF < abs(usual)


def _usual_then(returns: Floats, at: int) -> float:
    """The median of the rows just before and after."""
    first = max(0, min(at - _NEIGHBOURS, len(returns) - 2 * _NEIGHBOURS - 1))
    around = np.delete(returns[first : first + 2 * _NEIGHBOURS + 1], at - first)
    return float(np.median(around))


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    total: npt.NDArray[np.float64] = np.cumsum(weights[order])
    return float(values[order[int(np.searchsorted(total, total[-1] / 2))]])

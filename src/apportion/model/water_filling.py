"""Water filling: weights raised by one common factor, each between its bounds, until they add up to the budget.

Weights come as logarithms. With c near 1 they are e·log μ, e = 1/(1−c), and would leave the range of floating point.
(`apportion.allocation.feasible.project` fills shares, whose proportions are kept as they are given.)
"""

import math
from typing import Any, Final

import numpy as np

from apportion._common.compiled import kernel

LARGEST_LOG: Final = 700.0
"""exp of more than about 709 overflows."""

_SAMPLED_ARMS: Final = 64  # of so many, evenly spaced, the break points are looked at to find their middle


@kernel
def bounded_amounts(logs: Any, budget: float, low: Any, high: Any, amounts: Any) -> None:
    """clip(exp(θ + logs_i), low_i, high_i) into `amounts`, with the θ that makes them add up to `budget`.

    Needs finite logs and Σ low ≤ budget ≤ Σ high, up to rounding. The sum grows with θ, and between two break points,
    the θ at which some arm leaves its minimum or arrives at its maximum, it is known which arms are held: the others
    follow in closed form.
    """
    arms = len(logs)
    leaves, arrives = np.empty(arms), np.empty(arms)
    for arm in range(arms):
        leaves[arm] = math.log(low[arm]) - logs[arm] if low[arm] > 0.0 else -math.inf
        arrives[arm] = math.inf
        if high[arm] < budget:
            arrives[arm] = math.log(high[arm]) - logs[arm] if high[arm] > 0.0 else -math.inf
    below, above, top = _between_break_points(logs, leaves, arrives, budget, low, high)
    held, held_lost, free, free_lost = 0.0, 0.0, 0.0, 0.0
    for arm in range(arms):
        if arrives[arm] <= below:
            amounts[arm] = high[arm]
            held, held_lost = _added(held, held_lost, amounts[arm])
        elif leaves[arm] >= above:
            amounts[arm] = low[arm]
            held, held_lost = _added(held, held_lost, amounts[arm])
        else:
            amounts[arm] = math.exp(logs[arm] - top)
            free, free_lost = _added(free, free_lost, amounts[arm])
    held += held_lost
    # Where c is so near 1 that arms leave their minimum and arrive at their maximum at the same number, the answer
    # may be at `above`, with such arms in between: the free ones must not grow beyond what they have there.
    most = math.exp(min(above + top, LARGEST_LOG)) if free > 0.0 else 0.0
    scale = min((budget - held) / (free + free_lost), most) if free > 0.0 else 0.0
    turning, growing = np.empty(arms, np.int64), np.empty(arms, np.int64)  # held but about not to be, and free
    few, many = 0, 0
    total, lost = held, 0.0
    for arm in range(arms):
        if leaves[arm] < above and arrives[arm] > below:
            growing[many] = arm
            many += 1
            amounts[arm] = min(max(scale * amounts[arm], low[arm]), high[arm])
            total, lost = _added(total, lost, amounts[arm])
        elif leaves[arm] == above or arrives[arm] == below:
            turning[few] = arm
            few += 1
    missing = (budget - total) - lost
    if scale == most:
        missing = _settle(missing, turning[:few], low, high, amounts)
    missing = _settle(missing, growing[:many], low, high, amounts)
    _settle(missing, turning[:few], low, high, amounts)


@kernel
def _between_break_points(
    logs: Any, leaves: Any, arrives: Any, budget: float, low: Any, high: Any
) -> tuple[float, float, float]:
    """Two break points with no other in between and the answer there, and the largest of the logs that are free.

    Break points are ruled out, about half at a time. An arm is looked at only until it is known to be held or free:
    all of it takes the time of a few passes over the arms.
    """
    below, above = -math.inf, math.inf
    held = 0.0
    free, top = 0.0, -math.inf  # of the arms that are free: Σ exp(logs − top), and the largest of their logs
    undecided = np.arange(len(logs))
    count = len(logs)
    sample = np.empty(2 * _SAMPLED_ARMS)
    while True:
        remaining = 0
        for index in range(count):
            arm = undecided[index]
            if arrives[arm] <= below:
                held += high[arm]
            elif leaves[arm] >= above:
                held += low[arm]
            elif leaves[arm] > below or arrives[arm] < above:
                undecided[remaining] = arm
                remaining += 1
            elif logs[arm] > top:
                free = free * math.exp(top - logs[arm]) + 1.0
                top = logs[arm]
            else:
                free += math.exp(logs[arm] - top)
        count = remaining
        if count == 0:
            return below, above, top
        points = 0
        for index in range(0, count, (count - 1) // _SAMPLED_ARMS + 1):
            arm = undecided[index]
            if below < leaves[arm] < above:
                sample[points] = leaves[arm]
                points += 1
            if below < arrives[arm] < above:
                sample[points] = arrives[arm]
                points += 1
        pivot = np.sort(sample[:points])[points // 2]
        total = held
        if free > 0.0:
            total += free * math.exp(min(top + pivot, LARGEST_LOG))
        for index in range(count):
            arm = undecided[index]
            if pivot >= arrives[arm]:
                total += high[arm]
            elif pivot <= leaves[arm]:
                total += low[arm]
            else:
                total += math.exp(min(logs[arm] + pivot, LARGEST_LOG))
        if total < budget:
            below = pivot
        else:
            above = pivot


@kernel
def _settle(missing: float, arms: Any, low: Any, high: Any, amounts: Any) -> float:
    """Give what is missing to the largest of `arms` with room for it, else to all by room; returns what is left.

    Negative where too much was given. A few last bits, but for arms that leave and arrive at once.
    """
    rooms = 0.0
    chosen = -1
    for index in range(len(arms)):
        arm = arms[index]
        room = high[arm] - amounts[arm] if missing > 0.0 else amounts[arm] - low[arm]
        rooms += room
        if room >= abs(missing) and (chosen < 0 or amounts[arm] > amounts[chosen]):
            chosen = arm
    if chosen >= 0:
        amounts[chosen] = min(max(amounts[chosen] + missing, low[chosen]), high[chosen])
        return 0.0
    if rooms > 0.0:  # finite: an arm without a maximum would have been chosen
        part = min(abs(missing) / rooms, 1.0)
        for index in range(len(arms)):
            arm = arms[index]
            moved = amounts[arm] + part * ((high[arm] if missing > 0.0 else low[arm]) - amounts[arm])
            amounts[arm] = min(max(moved, low[arm]), high[arm])
    return math.copysign(max(abs(missing) - rooms, 0.0), missing)


@kernel
def _added(total: float, lost: float, term: float) -> tuple[float, float]:
    """A sum with one term more, and what rounding has lost of it so far (Knuth's two-sum, which needs no branch)."""
    result = total + term
    taken = result - total
    return result, lost + ((total - (result - taken)) + (term - taken))

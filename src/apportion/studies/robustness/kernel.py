"""A run of a troubled world as a compiled loop: what `play` does through the Allocator, a hundred times faster.

It is the Allocator's arithmetic but for rounding; the study itself plays the start of every cell both ways.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from apportion._common.compiled import kernel
from apportion.model.sums import InformationSums, weights
from apportion.policies.contract import Period, allocate


@kernel
def arm_centre(values: Any, precision: Any, trim: float) -> float:
    """`apportion.model.trimmed_mean.centre` of one arm; sorts both arrays in place."""
    total = 0.0
    for place in range(len(values)):
        value, weight = values[place], precision[place]
        total += weight
        before = place - 1
        while before >= 0 and values[before] > value:
            values[before + 1] = values[before]
            precision[before + 1] = precision[before]
            before -= 1
        values[before + 1] = value
        precision[before + 1] = weight
    below = 0.0
    kept = 0.0
    weighted = 0.0
    for place in range(len(values)):
        above = below + precision[place]
        inside = max(0.0, min(above, (1.0 - trim) * total) - max(below, trim * total))
        kept += inside
        weighted += inside * values[place]
        below = above
    return weighted / kept if kept > 0.0 else 0.0


@kernel
def show(parts: Any, trim: float, table: Any, values: Any, precision: Any) -> None:
    """Write what the policy sees into `table`, rows count, information, score; `parts` is (groups, 3, arms)."""
    groups = parts.shape[0]
    for arm in range(parts.shape[2]):
        for row in range(3):
            table[row, arm] = 0.0
            for group in range(groups):
                table[row, arm] += parts[group, row, arm]
        if groups > 1 and table[1, arm] > 0.0:
            for group in range(groups):  # an empty group has no weight, wherever it stands
                information = parts[group, 1, arm]
                precision[group] = information
                values[group] = parts[group, 2, arm] / information if information > 0.0 else 0.0
            table[2, arm] = table[1, arm] * arm_centre(values, precision, trim)


@kernel
def play_run(
    before: Any,
    policy: Any,
    few: int,
    arrival: int,
    means: Any,
    noise: Any,
    b: float,
    told_b: float,
    delay: int,
    decay: float,
    window: int,
    groups: int,
    trim: float,
    rng: Any,
    lost: Any,
) -> None:
    """Fill `lost` with the regret of each period, against the best arm that is there.

    `before` is the policy's record for the `few` arms there are until period `arrival`, `policy` that for all.
    `decay` is what a period leaves of an outcome's weight, `window` how many periods count (0: all).
    """
    horizon, arms = means.shape
    parts = np.zeros((groups, 3, arms))
    given = np.zeros((horizon, arms))
    returned = np.zeros((horizon, arms))
    table = np.zeros((3, arms))
    shares = np.zeros(arms)
    memory = np.zeros(arms)
    values = np.zeros(groups)
    precision = np.zeros(groups)
    for number in range(1, horizon + 1):
        there = arms if number >= arrival else few
        show(parts, trim, table, values, precision)
        seen: Any = InformationSums(table[0, :there], table[1, :there], table[2, :there])
        for arm in range(arms):
            shares[arm] = 0.0
        if there < arms:
            allocate(before, Period(number, horizon, 1.0), seen, memory[:there], rng, shares[:there])
        else:
            allocate(policy, Period(number, horizon, 1.0), seen, memory[:there], rng, shares[:there])
        best = -math.inf
        earned = 0.0
        for arm in range(there):
            best = max(best, means[number - 1, arm])
            earned += shares[arm] * means[number - 1, arm]
            given[number - 1, arm] = shares[arm]
            if shares[arm] > 0.0:
                deviation = weights(shares[arm], b).deviation
                returned[number - 1, arm] = shares[arm] * means[number - 1, arm] + deviation * noise[number - 1, arm]
        lost[number - 1] = best - earned
        if decay < 1.0:
            for group in range(groups):
                for row in range(3):
                    for arm in range(arms):
                        parts[group, row, arm] *= decay
        if window > 0 and number > window:
            count_in(parts[(number - window) % groups], given[number - window - 1], returned[number - window - 1],
                     told_b, -1.0)  # fmt: skip
        if number > delay:
            told = number - delay
            count_in(parts[told % groups], given[told - 1], returned[told - 1], told_b, decay**delay)


@kernel
def count_in(part: Any, amounts: Any, outcomes: Any, b: float, weight: float) -> None:
    """Add the outcomes of a period to one group's sums, or take them away; an arm without outcomes has none left."""
    for arm in range(len(amounts)):
        if amounts[arm] > 0.0:
            by = weights(amounts[arm], b)
            part[0, arm] += weight
            part[1, arm] += weight * by.information
            part[2, arm] += weight * outcomes[arm] * by.score
            if part[0, arm] == 0.0:
                part[1, arm] = 0.0
                part[2, arm] = 0.0

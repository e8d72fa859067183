"""A run of the study as a compiled loop: what `play` does through the Allocator, a hundred times faster.

It is the Allocator's arithmetic but for rounding; the study itself plays the start of every cell both ways.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion.model.sums import InformationSums, powers_of
from apportion.model.world import best_value, outcome
from apportion.policies.contract import Period, allocate


class Rules(NamedTuple):
    """How outcomes come and count.

    `b` is the one that the policy assumes; outcomes arrive `delay` periods late. `decay` is what a period
    leaves of an outcome's weight, `window` how many periods count (0: all), `groups` and `trim` those of the
    trimmed mean.
    """

    b: float
    delay: int
    decay: float
    window: int
    groups: int
    trim: float


@kernel
def arm_centre(values: Any, precision: Any, trim: float) -> float:
    """`apportion.model.trimmed_mean.centre` of one arm; sorts both arrays in place."""
    total = 0.0
    for index in range(len(values)):
        value, weight = values[index], precision[index]
        total += weight
        before = index - 1
        while before >= 0 and values[before] > value:
            values[before + 1] = values[before]
            precision[before + 1] = precision[before]
            before -= 1
        values[before + 1] = value
        precision[before + 1] = weight
    below = 0.0
    weight_inside = 0.0
    weighted = 0.0
    for index in range(len(values)):
        above = below + precision[index]
        inside = max(0.0, min(above, (1.0 - trim) * total) - max(below, trim * total))
        weight_inside += inside
        weighted += inside * values[index]
        below = above
    return weighted / weight_inside if weight_inside > 0.0 else 0.0


@kernel
def merge_groups(parts: Any, trim: float, table: Any, values: Any, precision: Any) -> None:
    """Write the policy's sums into `table`, rows count, information, score; `parts` is (groups, 3, arms)."""
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
def play_run(early_policy: Any, policy: Any, world: Any, rules: Rules, rng: Any, lost: Any) -> None:
    """Fill `lost` with the regret of each period, against the best arm that is there.

    `early_policy` is the policy's record for the arms there are until the others arrive, `policy` that for all.
    """
    horizon, arms = world.means.shape
    unmoved = np.zeros(0)
    parts = np.zeros((rules.groups, 3, arms))
    amounts = np.zeros((horizon, arms))
    outcomes = np.zeros((horizon, arms))
    table = np.zeros((3, arms))
    shares = np.zeros(arms)
    memory = np.zeros(arms)
    values = np.zeros(rules.groups)
    precision = np.zeros(rules.groups)
    for number in range(1, horizon + 1):
        present = arms if number >= world.arrival else world.early_arms
        merge_groups(parts, rules.trim, table, values, precision)
        sums: Any = InformationSums(table[0, :present], table[1, :present], table[2, :present])
        for arm in range(arms):
            shares[arm] = 0.0
        if present < arms:
            allocate(early_policy, Period(number, horizon, 1.0), sums, memory[:present], rng, shares[:present])
        else:
            allocate(policy, Period(number, horizon, 1.0), sums, memory[:present], rng, shares[:present])
        earned = 0.0
        for arm in range(present):
            amounts[number - 1, arm] = shares[arm]
            if shares[arm] > 0.0:
                expected, outcomes[number - 1, arm] = outcome(world, number, arm, shares[arm], unmoved, rng)
                earned += expected
        lost[number - 1] = best_value(world, number, 1.0, unmoved) - earned
        if rules.decay < 1.0:
            for group in range(rules.groups):
                for row in range(3):
                    for arm in range(arms):
                        parts[group, row, arm] *= rules.decay
        if rules.window > 0 and number > rules.window:
            left = number - rules.window
            count_in(parts[left % rules.groups], amounts[left - 1], outcomes[left - 1], rules.b, -1.0)
        if number > rules.delay:
            arrived, weight = number - rules.delay, rules.decay**rules.delay
            part = parts[arrived % rules.groups]
            count_in(part, amounts[arrived - 1], outcomes[arrived - 1], rules.b, weight)


@kernel
def count_in(part: Any, amounts: Any, outcomes: Any, b: float, weight: float) -> None:
    """Add the outcomes of a period to one group's sums, or take them away; an arm without outcomes has none left."""
    for arm in range(len(amounts)):
        if amounts[arm] > 0.0:
            powers = powers_of(amounts[arm], b)
            part[0, arm] += weight
            part[1, arm] += weight * powers.information
            part[2, arm] += weight * outcomes[arm] * powers.score
            if part[0, arm] == 0.0:
                part[1, arm] = 0.0
                part[2, arm] = 0.0

"""How each arm's sums move over an interval, and how that is sampled.

A policy reads rewards, ratios or scores. The noise of each is a random walk Σ A^(p/2)·ξ with its own p
(`walk_exponent`): Gaussian, with independent increments of variance Σ A^p.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.compiled import generic, implements, kernel
from apportion.model.sums import Floats, InformationSums, RatioSums, RewardSums, powers_of
from apportion.simulation.engines.leaping.power_sums import sum_of_powers

# The two groups of arms whose shares are the same function of time: all arms that do not lead, and the leader.
OTHERS: Final = 0
LEADER: Final = 1
# What is summed for each group (columns of `Workspace.power_sums`); p is `walk_exponent`.
WALK_VARIANCE: Final = 0  # Σ A^p
REWARD_VARIANCE: Final = 1  # Σ A^(2b), of the reward's noise
COVARIANCE: Final = 2  # Σ A^(p/2 + b), of the walk and the reward's noise
# The part of the reward's variance that is not the walk's is rounding below this, relative to the whole.
_ROUNDING: Final = 1e-12


class Interval(NamedTuple):
    """The periods first < s ≤ last, at `row` of the stack; `powers` are those of the leader's share at its start."""

    row: int
    first: int
    last: int
    leader: int
    powers: Any


class Workspace(NamedTuple):
    """The stack of intervals that were sampled and lie in the future, the nearest last, and arrays of one per arm.

    The stack is as deep as log2 T. For each interval it has the last period (it begins where the one above it ends),
    how far the noise of each arm's walk moves in it, in units of σ, and sums of powers of the shares by group.
    """

    ends: NDArray[np.int64]
    increments: Floats
    power_sums: Floats
    shares: Floats
    proposed: Floats
    scratch: Floats
    memory: Floats


def make_workspace(horizon: int, arms: int) -> Workspace:
    """Room for a run of that many periods."""
    depth = horizon.bit_length() + 2
    per_arm = (np.zeros(arms) for _ in range(4))
    return Workspace(np.zeros(depth, np.int64), np.zeros((depth, arms)), np.zeros((depth, 2, 3)), *per_arm)


@generic
def walk_exponent(sums: Any, b: float) -> float:  # type: ignore[empty-body]
    """The p for which the noise of an arm's walk has the variance Σ A^p: the walk is Σ A^(p/2)·ξ."""


@generic
def add_periods(sums: Any, arm: int, periods: float, powers: Any, variance: float, mean: float, noise: float) -> None:
    """Add many periods to the sums of `arm`, in place; `variance` is Σ A^p, `noise` σ times the walk's increment."""


@implements(walk_exponent, RewardSums)
def _exponent_of_rewards(sums: Any, b: float) -> float:
    return 0.0  # shares are constant: Σ ξ will do for the rewards and for the scores


@implements(add_periods, RewardSums)
def _add_rewards(
    sums: Any, arm: int, periods: float, powers: Any, variance: float, mean: float, noise: float
) -> None:
    sums.count[arm] += periods
    sums.response[arm] += periods * powers.response
    sums.noise[arm] += periods * powers.noise
    sums.reward[arm] += periods * powers.amount * mean + powers.deviation * noise
    sums.information[arm] += periods * powers.information
    sums.score[arm] += periods * powers.information * mean + powers.score * powers.deviation * noise


@implements(walk_exponent, RatioSums)
def _exponent_of_ratios(sums: Any, b: float) -> float:
    return 2.0 * b - 2.0


@implements(add_periods, RatioSums)
def _add_ratios(sums: Any, arm: int, periods: float, powers: Any, variance: float, mean: float, noise: float) -> None:
    sums.count[arm] += periods
    sums.ratio[arm] += periods * mean + noise


@implements(walk_exponent, InformationSums)
def _exponent_of_information(sums: Any, b: float) -> float:
    return 2.0 - 2.0 * b


@implements(add_periods, InformationSums)
def _add_scores(sums: Any, arm: int, periods: float, powers: Any, variance: float, mean: float, noise: float) -> None:
    sums.count[arm] += periods
    sums.information[arm] += variance
    sums.score[arm] += variance * mean + noise


@kernel
def add_interval(sums: Any, interval: Any, instance: Any, with_reward: bool, rng: Any, work: Any) -> float:
    """Add an interval to the sums of every arm; returns the noise of its reward where that is wanted."""
    shares, increments, power_sums = work.shares, work.increments, work.power_sums
    means, b, sigma = instance.means, instance.b, instance.sigma
    row, leader, powers, periods = interval.row, interval.leader, interval.powers, interval.last - interval.first
    reward_noise = 0.0
    for arm in range(len(shares)):
        if shares[arm] > 0.0:
            if shares[arm] != powers.amount:
                powers = powers_of(shares[arm], b)
            group = LEADER if arm == leader else OTHERS
            increment = increments[row, arm]
            add_periods(
                sums, arm, periods, powers, power_sums[row, group, WALK_VARIANCE], means[arm], sigma * increment
            )
            if with_reward:
                reward_noise += sigma * sample_reward_noise(power_sums, row, group, increment, rng)
    return reward_noise


@kernel
def other_arm(shares: Any, leader: int) -> int:
    """An arm that gets a share and is not the leader: all such get the same. The leader where there is none."""
    other = leader
    for arm in range(len(shares)):
        if arm != leader and shares[arm] > 0.0:
            other = arm
    return other


@kernel
def fill_power_sums(
    policy: Any, interval: Any, time: int, exponent: float, b: float, with_reward: bool, work: Any
) -> None:
    """Fill in the sums of powers of an interval; `work.shares` are those of period `time` + 1."""
    shares, leader, first, last = work.shares, interval.leader, interval.first, interval.last
    other = other_arm(shares, leader)
    for group in range(2):
        share = shares[leader if group == LEADER else other]
        for column in range(3 if with_reward else 1):
            power = (
                exponent if column == WALK_VARIANCE else 2.0 * b if column == REWARD_VARIANCE else 0.5 * exponent + b
            )
            if last - first == 1 and first == time:
                total = share**power
            else:
                total = sum_of_powers(policy, share, group == LEADER, power, first, last, len(shares))
            work.power_sums[interval.row, group, column] = total


@kernel
def amounts_spent(policy: Any, shares: Any, leader: int, first: int, last: int, spent: Any) -> None:
    """How much each arm got in the periods first < s ≤ last, into `spent`; the leader gets what the others leave."""
    share = shares[other_arm(shares, leader)]
    each = sum_of_powers(policy, share, False, 1.0, first, last, len(shares))
    others = 0
    for arm in range(len(shares)):
        spent[arm] = 0.0
        if arm != leader and shares[arm] > 0.0:
            spent[arm] = each
            others += 1
    spent[leader] = (last - first) - others * each


@kernel
def sample_increments(interval: Any, rng: Any, work: Any) -> None:
    """Sample how far each arm's walk moves over the interval."""
    shares, increments, power_sums = work.shares, work.increments, work.power_sums
    row = interval.row
    for arm in range(len(shares)):
        if shares[arm] > 0.0:
            group = LEADER if arm == interval.leader else OTHERS
            increments[row, arm] = math.sqrt(power_sums[row, group, WALK_VARIANCE]) * rng.standard_normal()


@kernel
def bisect_increments(interval: Any, rng: Any, work: Any) -> None:
    """An interval was cut in two: this is the first half, and the second lies below it on the stack.

    There stand the increments g of the whole; they become those of the second half. Given g, the first of two parts
    with variances v and w moves by N(g·v/(v + w), v·w/(v + w)).
    """
    shares, increments, power_sums = work.shares, work.increments, work.power_sums
    row = interval.row
    for arm in range(len(shares)):
        if shares[arm] > 0.0:
            group = LEADER if arm == interval.leader else OTHERS
            variance, rest = power_sums[row, group, WALK_VARIANCE], power_sums[row - 1, group, WALK_VARIANCE]
            part = variance / (variance + rest)
            increment = part * increments[row - 1, arm] + math.sqrt(part * rest) * rng.standard_normal()
            increments[row, arm] = increment
            increments[row - 1, arm] -= increment


@kernel
def sample_reward_noise(power_sums: Any, row: int, group: int, increment: float, rng: Any) -> float:
    """Sample the noise Σ A^b·ξ of an arm's reward over an interval, given that Σ A^(p/2)·ξ moved by `increment`.

    With variances V and v and covariance c = Σ A^(p/2 + b) it is N(increment·c/v, V − c²/v); nothing is left to
    chance where shares are constant.
    """
    slope = power_sums[row, group, COVARIANCE] / power_sums[row, group, WALK_VARIANCE]
    rest = power_sums[row, group, REWARD_VARIANCE] - slope * power_sums[row, group, COVARIANCE]
    noise = slope * increment
    if rest > _ROUNDING * power_sums[row, group, REWARD_VARIANCE]:
        noise += math.sqrt(rest) * rng.standard_normal()
    return float(noise)

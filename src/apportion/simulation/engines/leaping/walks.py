"""The walks that decisions are made of: how each arm's sums move over an interval, and how that is sampled.

A policy reads rewards, ratios or scores. The noise of each is a walk Σ A^(p/2)·ξ with its own p (`walk_power`):
Gaussian, with independent increments of variance Σ A^p.
"""

from __future__ import annotations

import math
from typing import Any, Final

from apportion._common.compiled import generic, implements, kernel
from apportion.model.sums import InformationSums, RatioSums, RewardSums
from apportion.simulation.engines.leaping.flows import power_total

# Intervals are pieces of a stack (`leap.Pieces`): gains[piece, arm] is how far the noise of an arm's walk moves, and
# flows[piece, group, column] what is summed for an arm that does not lead (group 0) and for the leader (1):
WALK: Final = 0  # Σ A^p, the variance of the walk
NOISE: Final = 1  # Σ A^(2b), the variance of the reward's noise
SHARED: Final = 2  # Σ A^(p/2 + b), its covariance with the walk


@generic
def walk_power(seen: Any, b: float) -> float:  # type: ignore[empty-body]
    """The p for which the noise of an arm's walk has the variance Σ A^p: the walk is Σ A^(p/2)·ξ."""


@generic
def absorb(seen: Any, arm: int, periods: float, by: Any, variance: float, mean: float, kick: float) -> None:
    """Add many periods to the sums of `arm`, in place; `kick` is σ times the move of its walk's noise."""


@implements(walk_power, RewardSums)
def _power_of_rewards(seen: Any, b: float) -> float:
    return 0.0  # shares are constant: Σ ξ will do for the rewards and for the scores


@implements(absorb, RewardSums)
def _absorb_rewards(seen: Any, arm: int, periods: float, by: Any, variance: float, mean: float, kick: float) -> None:
    seen.count[arm] += periods
    seen.resource[arm] += periods * by.amount
    seen.noise[arm] += periods * by.noise
    seen.reward[arm] += periods * by.amount * mean + by.deviation * kick
    seen.information[arm] += periods * by.information
    seen.score[arm] += periods * by.information * mean + by.score * by.deviation * kick


@implements(walk_power, RatioSums)
def _power_of_ratios(seen: Any, b: float) -> float:
    return 2.0 * b - 2.0


@implements(absorb, RatioSums)
def _absorb_ratios(seen: Any, arm: int, periods: float, by: Any, variance: float, mean: float, kick: float) -> None:
    seen.count[arm] += periods
    seen.ratio[arm] += periods * mean + kick


@implements(walk_power, InformationSums)
def _power_of_information(seen: Any, b: float) -> float:
    return 2.0 - 2.0 * b


@implements(absorb, InformationSums)
def _absorb_scores(seen: Any, arm: int, periods: float, by: Any, variance: float, mean: float, kick: float) -> None:
    seen.count[arm] += periods
    seen.information[arm] += variance
    seen.score[arm] += variance * mean + kick


@kernel
def other_arm(shares: Any, leader: int) -> int:
    """An arm that gets a share and is not the leader: all such get the same. The leader where there is none."""
    other = leader
    for arm in range(len(shares)):
        if arm != leader and shares[arm] > 0.0:
            other = arm
    return other


@kernel
def measure(
    policy: Any, shares: Any, leader: int, walk: float, b: float, time: int, first: int, last: int, with_reward: bool,
    flows: Any, piece: int,
) -> None:  # fmt: skip
    """Fill in the flow of a piece, the periods first < s ≤ last; `shares` are those of period `time` + 1."""
    other = other_arm(shares, leader)
    for group in range(2):
        share = shares[leader if group == 1 else other]
        for column in range(3 if with_reward else 1):
            power = walk if column == WALK else 2.0 * b if column == NOISE else 0.5 * walk + b
            if last - first == 1 and first == time:
                flows[piece, group, column] = share**power
            else:
                flows[piece, group, column] = power_total(policy, share, group == 1, power, first, last, len(shares))


@kernel
def spent(policy: Any, shares: Any, leader: int, first: int, last: int, into: Any) -> None:
    """How much each arm got in the periods first < s ≤ last; the leader what the others leave."""
    share = shares[other_arm(shares, leader)]
    each = power_total(policy, share, False, 1.0, first, last, len(shares))
    others = 0
    for arm in range(len(shares)):
        into[arm] = 0.0
        if arm != leader and shares[arm] > 0.0:
            into[arm] = each
            others += 1
    into[leader] = (last - first) - others * each


# ---- sampling ----------------------------------------------------------------------------------------------


@kernel
def draw_ends(gains: Any, flows: Any, top: int, shares: Any, leader: int, rng: Any) -> None:
    """Sample how far each arm's walk moves over the piece at the top."""
    for arm in range(len(shares)):
        if shares[arm] > 0.0:
            gains[top, arm] = math.sqrt(flows[top, 1 if arm == leader else 0, WALK]) * rng.standard_normal()


@kernel
def draw_middles(gains: Any, flows: Any, top: int, shares: Any, leader: int, rng: Any) -> None:
    """A piece was cut in two: the one below the top holds the moves of the whole, and keeps those of the second half.

    Given the whole move g, the first of two parts with variances v and w moves by N(g·v/(v + w), v·w/(v + w)).
    """
    for arm in range(len(shares)):
        if shares[arm] > 0.0:
            group = 1 if arm == leader else 0
            rest = flows[top - 1, group, WALK]
            part = flows[top, group, WALK] / (flows[top, group, WALK] + rest)
            move = part * gains[top - 1, arm] + math.sqrt(part * rest) * rng.standard_normal()
            gains[top, arm] = move
            gains[top - 1, arm] -= move


@kernel
def reward_move(flows: Any, top: int, group: int, gain: float, rng: Any) -> float:
    """Sample the noise Σ A^b·ξ of an arm's reward over a piece, given that Σ A^(p/2)·ξ moved by `gain`.

    With variances V and v and covariance c = Σ A^(p/2 + b) it is N(gain·c/v, V − c²/v); nothing is left to chance
    where shares are constant.
    """
    slope = flows[top, group, SHARED] / flows[top, group, WALK]
    rest = flows[top, group, NOISE] - slope * flows[top, group, SHARED]
    move = slope * gain
    if rest > 1e-12 * flows[top, group, NOISE]:
        move += math.sqrt(rest) * rng.standard_normal()
    return float(move)

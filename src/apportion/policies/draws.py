"""Splits for draws of the means from what is believed of them: μ̃_i ~ N(μ*_i, σ_i²/B_i), arms independent.

For returns μ·A^c with c < 1 the best split of known means gives something to every arm with a positive mean
(`apportion.model.response.best_shares`). Playing the best split of the *estimates* gets stuck: an arm that looked bad
once gets next to nothing, and little is learned of it. The split of one draw doubles the regret in the long run; the
mean of the splits of many draws does not.
"""

import math
from functools import cache
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion.model.response import best_shares
from apportion.model.sums import Floats
from apportion.policies.shared import power_floor, share_by_weight

# Draws come in antithetic pairs, z and −z: what is linear in the errors cancels.
PAIRS: Final = 16
# Arms ranked further apart than this share their normals, which saves memory with very many arms.
LARGEST_TABLE: Final = 512
# No share falls below about t^(−α)/K: what it costs adds up to a finite sum.
FLOOR_EXPONENT: Final = 1.5


def antithetic_normals(arms: int) -> Floats:
    """Half of the draws, (arms, PAIRS); for very many arms fewer rows, which are then used in turn."""
    return _table()[:arms]


@cache
def _table() -> Floats:
    """LARGEST_TABLE rows of draws: in every row the same quantiles of the normal law, in an order of its own.

    The quantiles are those in the middle of even slices of the positive half, scaled to a mean square of 1. Orders
    and signs come from a fixed seed, so that a split is a function of what is known.
    """
    middles = np.array([NormalDist().inv_cdf(0.5 + (slice_ + 0.5) / (2 * PAIRS)) for slice_ in range(PAIRS)])
    rng = np.random.Generator(np.random.PCG64(10))
    table = rng.permuted(np.tile(middles / math.sqrt(np.mean(middles**2)), (LARGEST_TABLE, 1)), axis=1)
    return np.ascontiguousarray(table * rng.choice([-1.0, 1.0], size=table.shape))


@kernel
def known_arms(information: Any) -> Any:
    """The arms of which something is known, as an array."""
    known = np.empty(len(information), dtype=np.int64)
    count = 0
    for arm in range(len(information)):
        if information[arm] > 0.0:
            known[count] = arm
            count += 1
    return known[:count]


class DrawRule(NamedTuple):
    """What is known besides the sums: the exponent c, the σ_i, and the exponents of the floor and of the tilt."""

    c: float
    sigma: Any
    tilt: float
    floor: float


@kernel
def split_by_draws(
    rule: Any, number: int, normals: Any, information: Any, score: Any, left: float, shares: Any
) -> None:
    """Divide `left` over the observed arms: the mean of the best splits for the draws of `normals`, with a floor.

    Normals belong to the rank of an arm by its mean, not to its number: the order in which arms are named is nothing
    that a split may depend on.
    """
    known = known_arms(information)
    means, deviations = np.empty(len(known)), np.empty(len(known))
    for index in range(len(known)):
        arm = known[index]
        means[index] = score[arm] / information[arm]
        deviations[index] = rule.sigma[arm] / math.sqrt(information[arm])
    order = np.argsort(-means, kind="mergesort")
    draw, split, total = np.empty(len(known)), np.empty(len(known)), np.zeros(len(known))
    for pair in range(normals.shape[1]):
        for sign in (-1.0, 1.0):
            for rank in range(len(known)):
                index = order[rank]
                draw[index] = means[index] + sign * deviations[index] * normals[rank % len(normals), pair]
            best_shares(draw, rule.c, split)
            for index in range(len(known)):
                total[index] += split[index]
    write_weights(rule, number, known, total, information, left, shares)


@kernel
def split_of_one_draw(
    rule: Any, number: int, information: Any, score: Any, left: float, rng: Any, shares: Any
) -> None:
    """Divide `left` over the observed arms: the best split for one fresh draw."""
    known = known_arms(information)
    draw, split = np.empty(len(known)), np.empty(len(known))
    for index in range(len(known)):
        arm = known[index]
        deviation = rule.sigma[arm] / math.sqrt(information[arm])
        draw[index] = score[arm] / information[arm] + deviation * rng.standard_normal()
    best_shares(draw, rule.c, split)
    write_weights(rule, number, known, split, information, left, shares)


@kernel
def write_weights(
    rule: Any, number: int, known: Any, weights: Any, information: Any, left: float, shares: Any
) -> None:
    """From weights of the known arms, to the power of the tilt, to their shares of `left`."""
    largest = 0
    for index in range(len(known)):
        if weights[index] > weights[largest]:
            largest = index
    for index in range(len(known)):
        weight = weights[index] / weights[largest]
        shares[known[index]] = weight if rule.tilt == 1.0 else weight**rule.tilt
    share_by_weight(shares, information, left, power_floor(number, rule.floor, len(shares)), known[largest])

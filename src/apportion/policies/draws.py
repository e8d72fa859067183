"""Splits for draws of the means from what is believed of them: μ̃_i ~ N(μ*_i, σ_i²/B_i), arms independent.

For returns μ·A^c with c < 1 the best split of known means gives something to every arm with a positive mean
(`apportion.model.response.best_shares`). Playing the best split of the *estimates* gets stuck: an arm that looked bad
once gets next to nothing, and little is learned of it. The split of one draw doubles the regret in the long run; the
mean of the splits of many draws does not.
"""

import math
from functools import cache
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from apportion._common.compiled import kernel, when_compiled
from apportion.model.response import best_shares, best_splits
from apportion.model.sums import Floats
from apportion.policies.shared import share_by_weight

# Draws come in antithetic pairs, z and −z: what is linear in the errors cancels.
PAIRS: Final = 16
# Arms ranked further apart than this share their normals, which saves memory with very many arms.
LARGEST_TABLE: Final = 512
# No share falls below about t^(−α)/K: what it costs adds up to a finite sum.
FLOOR_EXPONENT: Final = 1.5
# How much of the noise is taken out of the spread of the means, and which part of it stays; chosen by simulation.
_CORRECTION: Final = 0.1
_LEAST_UNEXPLAINED: Final = 0.3
_LEAST_DEGREES: Final = 1e-12


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


@kernel
def beliefs_of(known: Any, sigma: Any, information: Any, score: Any) -> Any:
    """The mean and the standard deviation of each known arm: μ* and σ_i/√B."""
    means, deviations = np.empty(len(known)), np.empty(len(known))
    for index in range(len(known)):
        arm = known[index]
        means[index] = score[arm] / information[arm]
        deviations[index] = sigma[arm] / math.sqrt(information[arm])
    return means, deviations


@kernel
def mean_of_splits(means: Any, deviations: Any, c: float, normals: Any) -> Any:
    """The mean of the best splits for the draws of `normals`; it adds up to 1.

    Normals belong to the rank of an arm by its mean, not to its number: the order in which arms are named is nothing
    that a split may depend on.
    """
    order, ranks = np.argsort(-means, kind="mergesort"), np.arange(len(means))
    spread = np.empty((normals.shape[1], len(means)))
    spread[:, order] = (normals[ranks % len(normals)] * deviations[order, np.newaxis]).T
    return best_splits(np.concatenate([means - spread, means + spread]), c).mean(axis=0)


@when_compiled(mean_of_splits)
def _mean_of_splits_by_loops(means: Any, deviations: Any, c: float, normals: Any) -> Any:
    """`mean_of_splits`, draw by draw."""
    arms, pairs = len(means), normals.shape[1]
    order = np.argsort(-means, kind="mergesort")
    draw, split, total = np.empty(arms), np.empty(arms), np.zeros(arms)
    for pair in range(pairs):
        for sign in (-1.0, 1.0):
            for rank in range(arms):
                arm = order[rank]
                draw[arm] = means[arm] + sign * deviations[arm] * normals[rank % len(normals), pair]
            best_shares(draw, c, split)
            for arm in range(arms):
                total[arm] += split[arm]
    for arm in range(arms):
        total[arm] /= 2.0 * pairs
    return total


@kernel
def split_of_one_draw(means: Any, deviations: Any, c: float, rng: Any) -> Any:
    """The best split for one fresh draw."""
    draw, split = np.empty(len(means)), np.empty(len(means))
    for arm in range(len(means)):
        draw[arm] = means[arm] + deviations[arm] * rng.standard_normal()
    best_shares(draw, c, split)
    return split


@kernel
def write_shares(known: Any, weights: Any, floor: float, information: Any, left: float, shares: Any) -> None:
    """Give `left` to the known arms by their weights, none of them less than about `floor`."""
    largest = 0
    for index in range(len(known)):
        if weights[index] > weights[largest]:
            largest = index
    for index in range(len(known)):
        shares[known[index]] = weights[index] / weights[largest]
    share_by_weight(shares, information, left, floor, known[largest])


@kernel
def shrink(means: Any, deviations: Any, most: float) -> None:
    """Draw means and deviations towards what the arms have in common, in place: empirical Bayes.

    Arms are taken as draws from N(g, τ²): each mean moves by the part k = most·d²/(d² + τ²) of its way to g, and its
    variance is d²·(1 − k) + k²·Var(g). τ² is the spread of the means that their errors d do not explain (DerSimonian
    and Laird, with a tenth of the correction, and at least 30% of the spread). An arm that is hardly known is
    as good as the others until it shows that it is not: it is not forgotten.
    """
    arms = len(means)
    least = math.inf
    for arm in range(arms):
        least = min(least, deviations[arm])
    weights, squares, centre = 0.0, 0.0, 0.0
    for arm in range(arms):
        weight = (least / deviations[arm]) ** 2
        weights += weight
        squares += weight * weight
        centre += weight * means[arm]
    centre /= weights
    spread = 0.0
    for arm in range(arms):
        spread += (least / deviations[arm] * (means[arm] - centre)) ** 2
    degrees = weights - squares / weights
    if not degrees > _LEAST_DEGREES:  # one arm, or one that is known so much better that it has nothing to learn
        return
    unexplained = max(spread - _CORRECTION * (arms - 1) * least * least, _LEAST_UNEXPLAINED * spread) / degrees
    weights, centre = 0.0, 0.0
    for arm in range(arms):
        variance = deviations[arm] * deviations[arm] + unexplained
        weights += 1.0 / variance
        centre += means[arm] / variance
    centre /= weights
    for arm in range(arms):
        variance = deviations[arm] * deviations[arm]
        part = most * variance / (variance + unexplained)
        means[arm] += part * (centre - means[arm])
        deviations[arm] = math.sqrt(variance * (1.0 - part) + part * part / weights)

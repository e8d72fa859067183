"""Kernels that several policies share.

They take the arrays they need and not all of `sums`: compiled code counts references to every array in a tuple
that is passed on, which would cost more than the loop itself.
"""

import math
from typing import Any

from apportion._common.compiled import kernel
from apportion.model.sums import Floats
from apportion.theory.floors import kappa

# No share may underflow to 0, or its arm would never be observed again.
SMALLEST_SHARE = 1e-290

_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
# erfc underflows at 38 deviations; by 35 the first terms of its asymptotic series are exact.
_ASYMPTOTIC_FROM = 35.0


@kernel
def open_shares(known: Any, shares: Any) -> float:
    """Give 1/K to each arm of which nothing is known (0) and 0 to the others; returns what is left for those."""
    arms = len(shares)
    unseen = 0
    for arm in range(arms):
        shares[arm] = 0.0
        if not known[arm] > 0.0:
            shares[arm] = 1.0 / arms
            unseen += 1
    return (arms - unseen) / arms


@kernel
def first_unseen(information: Any, rng: Any) -> int:
    """An arm that was never observed, any of them alike; −1 where all were."""
    chosen = -1
    ties = 0
    for arm in range(len(information)):
        if not information[arm] > 0.0:
            ties += 1
            if ties == 1 or rng.random() * ties < 1.0:
                chosen = arm
    return chosen


@kernel
def leading_arm(numerators: Any, denominators: Any, rng: Any) -> int:
    """The arm with the largest quotient among denominators > 0, ties broken by chance; −1 where there is none."""
    chosen = -1
    ties = 0
    best = -math.inf
    for arm in range(len(numerators)):
        if denominators[arm] > 0.0:
            value = numerators[arm] / denominators[arm]
            if value >= best:  # seldom: one comparison serves the others
                ties = 1 if value > best else ties + 1
                if ties == 1 or rng.random() * ties < 1.0:
                    chosen = arm
                best = value
    return chosen


@kernel
def whole_unit(arm: int, shares: Any) -> None:
    """Pool: everything on one arm."""
    for other in range(len(shares)):
        shares[other] = 0.0
    shares[arm] = 1.0


@kernel
def power_floor(number: int, exponent: float, arms: int) -> float:
    """t^(−α)/K, never 0; an exponent of 0 means no floor."""
    if exponent <= 0.0:
        return 0.0
    share: float = math.exp(-exponent * math.log(number)) / arms  # quicker than a power
    return max(share, SMALLEST_SHARE)


@kernel
def share_by_weight(weights: Any, information: Any, left: float, floor: float, leader: int) -> None:
    """Turn weights of observed arms (leader: 1) into shares of `left`, none below about `floor`, in place.

    The leader takes what the others leave, so that rounding never moves the sum. Without a floor a share may
    underflow: below 1e-290 it is 0, as powers of a smaller amount would overflow.
    """
    total = 0.0
    for arm in range(len(weights)):
        if information[arm] > 0.0:
            total += weights[arm]
    lifted = 0.0
    for arm in range(len(weights)):
        if information[arm] > 0.0:
            weights[arm] = max(weights[arm] / total, floor)
            if weights[arm] < SMALLEST_SHARE:
                weights[arm] = 0.0
            lifted += weights[arm]
    others = 0.0
    for arm in range(len(weights)):
        if information[arm] > 0.0 and arm != leader:
            weights[arm] *= left / lifted
            others += weights[arm]
    weights[leader] = max(left - others, 0.0)


@kernel
def sample_arm(shares: Any, rng: Any) -> int:
    """An arm drawn with the shares as probabilities."""
    target = rng.random()
    last = 0
    for arm in range(len(shares)):
        if shares[arm] > 0.0:
            last = arm
            target -= shares[arm]
            if target < 0.0:
                return arm
    return last


@kernel
def log_odds_of_tail(z: float) -> float:
    """log(q / (1 − q)) with q = P(N(0, 1) > z), for z ≥ 0 however large."""
    if z > _ASYMPTOTIC_FROM:
        inverse = 1.0 / (z * z)
        series = -inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse * (1.0 - 7.0 * inverse)))
        return -0.5 * z * z - math.log(z) - _LOG_ROOT_TWO_PI + math.log1p(series)
    tail = 0.5 * math.erfc(z * _ROOT_HALF)
    return math.log(tail / (1.0 - tail))


def pools(b: float, c: float = 1.0) -> bool:
    """Whether a whole unit tells more than its parts: c − b > 1/2. One period tells A^(2c−2b) of an arm."""
    return c - b > 0.5 + 1e-12


def relative_variances(sigma: Floats) -> tuple[float, Floats]:
    """The largest σ_i, and (σ_i/σ_max)²: exactly 1 where all are alike, and nothing overflows."""
    largest = float(sigma.max())
    return largest, (sigma / largest) ** 2


@kernel
def recommended_tilt(b: float) -> float:
    """√κ: near the best mean and the best tail of those tried; 1 at b ≤ 1/2, where arms are drawn."""
    return math.sqrt(kappa(b)) if b > 0.5 else 1.0

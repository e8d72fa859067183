"""What the law of returns μ·A^c makes best: the optimal split of a budget, and its value.

An arm given the amount A returns μ·A^c on average, 0 < c ≤ 1. For c < 1 returns diminish: the budget M is split so
that every arm has the same marginal return, x_i = M·a_i with a_i = μ_i^e / Σ μ_j^e, e = 1/(1−c), and the value is
V(M) = M^c·(Σ μ_j^e)^(1−c). As c → 1 the best arm gets all; at c = 1 the best share evenly.

An arm with μ ≤ 0 gets nothing while another mean is positive. Where none is, the budget must be spent all the same:
for c < 1 losses diminish too, so it all goes to one arm with the largest mean.
"""

import math
from typing import Any, Final

from apportion._common.compiled import kernel

# An arm whose weight is below this, relative to the best arm's, gets nothing: it would not move the sum of shares.
_SMALLEST_WEIGHT: Final = 1e-18


@kernel
def best_shares(means: Any, c: float, shares: Any) -> None:
    """a_i = μ_i^e / Σ μ_j^e, e = 1/(1−c), into `shares`: the optimal split of one unit, without bounds.

    Computed as exp(e·log(μ_i/max)), which for c → 1 underflows to 0 and is never NaN. Shares below 1e-18 of the
    largest are 0, as are those of means ≤ 0. At c = 1 the arms with the largest mean share evenly, and so they do
    where it is 0; where it is negative and c < 1 the first of them gets all: −x^c is cheaper whole than in parts.

    >>> shares = [0.0, 0.0, 0.0]
    >>> best_shares([2.0, 1.0, -1.0], 0.5, shares)
    >>> shares
    [0.8, 0.2, 0.0]
    """
    arms = len(means)
    best = means[0]
    for arm in range(1, arms):
        best = max(best, means[arm])
    total = 0.0
    if best > 0.0 and c < 1.0:
        power = 1.0 / (1.0 - c)
        cut = best * _SMALLEST_WEIGHT ** (1.0 - c)
        for arm in range(arms):
            shares[arm] = _weight(means[arm], best, cut, power)
            total += shares[arm]
    else:
        whole = best < 0.0 and c < 1.0
        for arm in range(arms):
            chosen = means[arm] == best and not (whole and total > 0.0)
            shares[arm] = 1.0 if chosen else 0.0
            total += shares[arm]
    for arm in range(arms):
        shares[arm] /= total


@kernel
def best_value(means: Any, c: float, budget: float) -> float:
    """V(M) = M^c·(Σ μ_j^e)^(1−c), e = 1/(1−c): what `best_shares` of the budget M returns on average.

    Scaled by the largest mean, so that nothing overflows that the value itself does not. At c = 1, and where no mean
    is positive, it is M^c·max μ.

    >>> round(best_value([2.0, 1.0, -1.0], 0.5, 5.0), 12)      # 2·√4 + 1·√1
    5.0
    """
    best = means[0]
    for arm in range(1, len(means)):
        best = max(best, means[arm])
    if best <= 0.0 or c == 1.0:
        return float(best * budget**c)
    power = 1.0 / (1.0 - c)
    cut = best * _SMALLEST_WEIGHT ** (1.0 - c)
    total = 0.0
    for arm in range(len(means)):
        total += _weight(means[arm], best, cut, power)
    return float(best * budget**c * total ** (1.0 - c))


@kernel
def _weight(mean: float, best: float, cut: float, power: float) -> float:
    """(μ/best)^e, and 0 for a mean up to `cut`."""
    if mean == best:
        return 1.0
    return math.exp(power * math.log(mean / best)) if mean > cut else 0.0

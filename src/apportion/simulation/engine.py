"""One simulated run: the same loop as live use, with the law in the place of the world."""

from __future__ import annotations

from typing import Any

import numpy as np

from apportion.kernels import kernel
from apportion.law import outcome
from apportion.policies.contract import Period, allocate
from apportion.statistics import Sums, information_root, observe


@kernel
def play(
    policy: Any,
    memory: Any,
    noise: Any,
    means: Any,
    b: float,
    sigma: float,
    horizon: int,
    rng: Any,
    marks: Any,
    regret: Any,
    reward: Any,
) -> None:
    """Run `horizon` periods of a budget of 1; cumulated regret and reward at the periods `marks` (rising).

    Regret is the pseudo-regret Σ_t Σ_i A_ti·Δ_i; reward is what the law really returned.
    """
    arms = len(means)
    shares = np.zeros(arms)
    table = np.zeros((8, arms))
    seen = Sums(table[0], table[1], table[2], table[3], table[4], table[5], table[6], table[7])
    best = means[0]
    for arm in range(arms):
        best = max(best, means[arm])
    lost = 0.0
    earned = 0.0
    mark = 0
    amount = root = spread = 1.0
    for number in range(1, horizon + 1):
        allocate(policy, Period(number, horizon, 1.0), seen, memory, rng, shares)
        for arm in range(arms):
            if shares[arm] > 0.0:
                if shares[arm] != amount:  # equal shares share one power
                    amount = shares[arm]
                    root = information_root(amount, b)
                    spread = amount / root
                returned = outcome(means[arm], spread * sigma, noise, amount, rng)
                observe(seen, arm, amount, returned, root)
                lost += amount * (best - means[arm])
                earned += returned
        if mark < len(marks) and marks[mark] == number:
            regret[mark] = lost
            reward[mark] = earned
            mark += 1

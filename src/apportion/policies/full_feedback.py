"""The classical policies of full feedback (b = 1), where any share, however small, shows the arm."""

import math
from typing import Any

from apportion._common import validation
from apportion.model.sums import InformationSums, RatioSums
from apportion.policies.contract import Policy
from apportion.policies.parameters import NOISE_EXPONENT, NOISE_LEVEL, PROPORTIONAL, parameter
from apportion.policies.shared import leading_arm, open_shares

# At b = 1 this little shows an arm as well as everything would; at T = 10^9 it has cost 0.001
# of a gap.
GLANCE = 1e-12


class FollowTheLeader(Policy):
    """All but a glance (10^−12 each) goes to the arm with the largest mean so far, μ*.

    Guarantee: at b = 1 every arm is seen in full in every period, so the leader is wrong in period t with
    probability at most Σ_i exp(−t·Δ_i²/4σ²) for σ-sub-Gaussian noise, and the regret is at most
    Σ_i Δ_i·(1 + 4σ²/Δ_i²) for all T. Where it fails: for b < 1 a glance shows nothing, a wrong leader can
    stay for ever, and the regret is linear.

    >>> FollowTheLeader()
    FollowTheLeader()
    """

    b: float = parameter(NOISE_EXPONENT, default=1.0)
    c: float = parameter(PROPORTIONAL, default=1.0)

    rule = "gives the leader everything but a glance at the others"
    needs = "Made for b = 1; below that a wrong leader can stay for ever."
    reads = InformationSums

    def allocate(self, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """The leader takes all that is not a glance."""
        left = open_shares(sums.information, shares)
        leader = leading_arm(sums.score, sums.information, rng)
        if leader < 0:
            return
        rest = left
        for arm in range(len(shares)):
            if arm != leader and sums.information[arm] > 0.0:
                shares[arm] = GLANCE * left
                rest -= shares[arm]
        shares[leader] = rest


class Hedge(Policy):
    """Exponential weights: A_i ∝ exp(η_t·Q_i), Q_i the sum of returns per unit, η_t = √(log K / t)/max σ_i.

    Guarantee (full feedback, σ-sub-Gaussian noise, gaps of the order of σ): regret at most about
    2σ√(T·log K), whatever the gaps, and without knowing T. Where it fails: for b < 1 a small weight is also a
    small view of the arm, so weights feed on themselves; such b is refused. Gaps much larger than σ only slow
    it down.

    >>> Hedge()
    Hedge()
    """

    b: float = parameter(NOISE_EXPONENT, default=1.0)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    c: float = parameter(PROPORTIONAL, default=1.0)

    rule = "weighs every arm by the exponential of what it would have earned"
    needs = "Needs b = 1 (full feedback)."
    reads = RatioSums

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.b != 1.0:
            raise validation.refuse(
                "b", "1 for Hedge, which needs full feedback: a small share must show all of its arm", self.b
            )

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Weights in logarithms, relative to the best arm, never below a glance."""
        arms = len(shares)
        left = open_shares(sums.count, shares)
        if left <= 0.0:
            return
        largest = self.sigma[0]
        for arm in range(arms):
            largest = max(largest, self.sigma[arm])
        rate = math.sqrt(math.log(arms) / period.number) / largest
        best = -math.inf
        for arm in range(arms):
            if sums.count[arm] > 0.0:
                best = max(best, sums.ratio[arm])
        total = 0.0
        for arm in range(arms):
            if sums.count[arm] > 0.0:
                shares[arm] = max(math.exp(rate * (sums.ratio[arm] - best)), GLANCE)
                total += shares[arm]
        for arm in range(arms):
            if sums.count[arm] > 0.0:
                shares[arm] *= left / total

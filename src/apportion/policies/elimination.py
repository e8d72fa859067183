"""Algorithm 1 of the paper, successive elimination, with radii that hold."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion._common.compiled import kernel
from apportion.model.confidence import (
    anytime_radius,
    cone_radius,
    cone_table,
    corrected_radius,
    cycles_table,
    printed_radius,
)
from apportion.model.estimators import mu1, mu1_precision, mu_star
from apportion.model.sums import Floats, RewardSums
from apportion.policies.contract import Policy
from apportion.policies.parameters import (
    HORIZON,
    NOISE_EXPONENT,
    NOISE_LEVEL,
    PROPORTIONAL,
    Flag,
    Number,
    OneOf,
    parameter,
)

RADII = ("printed", "corrected", "cone", "cycles", "anytime")
PRINTED, CORRECTED, CONE, CYCLES, ANYTIME = range(len(RADII))

# Without a horizon a table of quantiles reaches this far; nobody decides more often.
_LONGEST_HORIZON = 10**12
# Two radii alike make √2 of one in a pair; a little less never rules out the closer look.
_BELOW_ROOT_TWO = 1.4


class SuccessiveElimination(Policy):
    """Even shares over the arms still in the race; an arm leaves when it is surely not the best.

    After period t, arm i is dropped when μ_i + r_i < max_j (μ_j − r_j) over the active arms; with `pairwise`,
    when μ_i + √(r_i² + r_j²) < μ_j for the leading arm j (active arms share one history, so the difference of
    two has twice the variance, not four times). The radius r:

    - `corrected` (default): σ√(2·h(n)·log(1/δ))/√R1 around μ1 = ΣY/ΣA, R1 = (ΣA)²/ΣA^(2b), h(n) the growth
      of `apportion.model.confidence.monotone_growth`; δ = T^(−4) per arm and period.
    - `cone`: the exact law of the same supremum for Gaussian noise, at tail δ = T^(−3) per arm and period.
    - `cycles`: a bound on the law of that supremum for any i.i.d. sub-Gaussian noise, at the same tail; a third
      narrower than `corrected`, and it too grows as √log n.
    - `anytime`: σ√((B+ρ)(log(1+B/ρ)+2log(1/δ)))/B around μ*, ρ = (unit/K)^(2−2b), δ = 1/(KT); any noise, any
      shares, all periods at once. The narrowest of those with a proof.
    - `printed`: as in the paper, 2√3·σ√(log n·log T)/√R1. It is 0 after period 1, so exactly one arm survives
      and regret is linear. For study only.

    Guarantee (Theorem 2, corrected): regret at most of order K^(1−b)·√(T·log T·h(T)) for b in [1/2, 1]; see
    `apportion.theory.elimination_regret_bound`. Where it fails: b < 1/2 (dividing wastes information there),
    σ too small or b too large, drifting means, `cone` for noise that is not Gaussian, and
    `cycles` for noise whose law changes with the amount.

    `horizon` None takes the simulation's; a live run needs it, unless `delta` is given.

    >>> SuccessiveElimination(b=0.75, horizon=10_000, radius="anytime", pairwise=True)
    SuccessiveElimination(b=0.75, horizon=10000, radius='anytime', pairwise=True)
    """

    b: float = parameter(NOISE_EXPONENT)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    horizon: int | None = parameter(HORIZON, default=None)
    radius: str = parameter(OneOf(RADII, "how wide the intervals are"), default="corrected")
    pairwise: bool = parameter(Flag(hint="compare two arms at a time"), default=False)
    delta: float | None = parameter(
        Number(above=0.0, below=1.0, hint="error level of the intervals; empty: by the horizon"), default=None
    )
    c: float = parameter(PROPORTIONAL, default=1.0)

    rule = "splits evenly over the arms that can still be the best"
    reads = RewardSums

    class Record(NamedTuple):
        """What the kernel needs: which of `RADII` as a number, and the level it is taken at."""

        b: float
        sigma: Floats
        horizon: int
        radius: int
        pairwise: bool
        log_inverse_delta: float
        counts: Floats
        quantiles: Floats

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Resolve the horizon and the level; tabulate the cone or the cycle law."""
        if self.delta is not None and self.radius != "printed":
            periods = self.horizon or horizon or _LONGEST_HORIZON
            level = -math.log(self.delta)
        else:
            if self.horizon is None and horizon is None:
                needed = "given to SuccessiveElimination, the number of periods to come"
                raise validation.refuse("horizon", needed, None)
            periods = validation.whole("horizon", self.horizon or horizon, low=1)
            log_horizon = math.log(max(periods, 2))
            levels = {"anytime": math.log(arms) + log_horizon, "cone": 3.0 * log_horizon, "cycles": 3.0 * log_horizon}
            level = levels.get(self.radius, 4.0 * log_horizon)
        if self.radius == "cone":
            counts, quantiles = cone_table(periods, math.exp(-level))
        elif self.radius == "cycles":
            counts, quantiles = cycles_table(periods, math.exp(-level))
        else:
            counts, quantiles = np.ones(1), np.ones(1)
        return self.Record(
            self.b, self.each_arm("sigma", arms), periods, RADII.index(self.radius), self.pairwise, level, counts,
            quantiles,
        )  # fmt: skip

    def why(self, memory: float) -> str | None:
        """Whether the arm was ruled out."""
        if memory > 0.0:
            return f"Ruled out after period {memory:.0f}: even its best plausible return is below the leader's worst."
        return None

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Drop arms, then split evenly. Memory: the last period in which the arm was active, 0 till then."""
        arms = len(shares)
        bar = -math.inf
        lowest = narrowest = math.inf
        bar_radius = unit_radius = 0.0
        active = 0
        # The history that `unit_radius` was worked out for: as a rule all active arms share one.
        count = response = noise = 0.0
        for arm in range(arms):
            if memory[arm] == 0.0:
                active += 1
                if sums.count[arm] > 0.0:
                    mean = mu_star(sums, arm) if self.radius == ANYTIME else mu1(sums, arm)
                    if sums.count[arm] != count or sums.response[arm] != response or sums.noise[arm] != noise:
                        count, response, noise = sums.count[arm], sums.response[arm], sums.noise[arm]
                        precision, information = mu1_precision(sums, arm), sums.information[arm]
                        unit_radius = elimination_radius(self, period.unit, count, precision, information, arms)
                    radius = self.sigma[arm] * unit_radius
                    narrowest = min(narrowest, radius)
                    low = mean if self.pairwise else mean - radius
                    lowest = min(lowest, mean)
                    if low > bar:
                        bar, bar_radius = low, radius
        if lowest + (_BELOW_ROOT_TWO if self.pairwise else 1.0) * narrowest < bar:  # rarely: an arm may have to leave
            for arm in range(arms):
                if memory[arm] == 0.0 and sums.count[arm] > 0.0:
                    mean = mu_star(sums, arm) if self.radius == ANYTIME else mu1(sums, arm)
                    radius = self.sigma[arm] * elimination_radius(
                        self, period.unit, sums.count[arm], mu1_precision(sums, arm), sums.information[arm], arms
                    )
                    slack = math.sqrt(radius * radius + bar_radius * bar_radius) if self.pairwise else radius
                    if mean + slack < bar:
                        memory[arm] = period.number - 1.0
                        active -= 1
        if active == 0:  # the arms in the race are all paused or gone: the others come back
            active = arms
            for arm in range(arms):
                memory[arm] = 0.0
        share = 1.0 / active
        for arm in range(arms):
            shares[arm] = share if memory[arm] == 0.0 else 0.0


@kernel
def elimination_radius(
    policy: Any, unit: float, count: float, precision: float, information: float, arms: int
) -> float:
    """The radius of an arm that was observed `count` times, in units of its σ."""
    if policy.radius == ANYTIME:
        rho = (unit / arms) ** (2.0 - 2.0 * policy.b)
        return anytime_radius(information, policy.log_inverse_delta, rho, 1.0)
    if policy.radius == CONE or policy.radius == CYCLES:
        return cone_radius(count, policy.counts, policy.quantiles, precision, 1.0)
    if policy.radius == CORRECTED:
        return corrected_radius(count, policy.log_inverse_delta, precision, 1.0)
    return printed_radius(count, policy.horizon, precision, 1.0)

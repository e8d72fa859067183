"""`python -m benchmarks.auto`: the regret of `Auto`, told nothing, over that of `Recommended`, told b and σ.

Every case of the leaderboard's suite at T = 10,000; the bar is a geometric mean of at most 1.5.
`python -m benchmarks.auto 4` plays four times as many runs.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

import apportion as ap
from apportion.leaderboard.suite import SUITE, Case

HORIZON = 10_000
BAR = 1.5


class Ratio(NamedTuple):
    """The mean regret of both on one case, and the standard error of the logarithm of their ratio."""

    case: Case
    told: float
    auto: float
    error: float

    @property
    def value(self) -> float:
        """How many times as much `Auto` loses."""
        return self.auto / self.told


def compare(case: Case, runs: int, horizon: int = HORIZON, seed: int = 1) -> Ratio:
    """Play both on one case; they share the seed but not the noise."""
    told: ap.Policy = ap.Recommended(b=case.b, sigma=case.sigma)
    means, squares = [], 0.0
    for policy in (told, ap.Auto()):
        found = ap.simulate(
            policy, case.instance, horizon=horizon, replications=runs, seed=seed, record=["regret"], periods=1,
            progress=False,
        )  # fmt: skip
        regret = found.regret.values.ravel()
        means.append(float(regret.mean()))
        squares += float(regret.var(ddof=1) / runs / regret.mean() ** 2)
    return Ratio(case, means[0], means[1], math.sqrt(squares))


def geometric_mean(ratios: list[Ratio]) -> tuple[float, float]:
    """The geometric mean of the ratios, and its standard error."""
    mean = math.exp(float(np.mean([math.log(ratio.value) for ratio in ratios])))
    return mean, mean * math.sqrt(sum(ratio.error**2 for ratio in ratios)) / len(ratios)


def main(effort: float = 1.0) -> int:
    """Print a row per case as it is done, and the geometric mean; exit code 1 if the bar is missed."""
    ratios = []
    print("| case, at T = 10,000 | Recommended, told b and σ | Auto, told nothing | ratio |\n|---|---|---|---|")
    for case in SUITE:
        runs = int(effort * max(20, min(200, 400 // case.arms)))
        ratios.append(compare(case, runs))
        told, auto, error = ratios[-1].told, ratios[-1].auto, ratios[-1].error
        label = case._replace(horizon=HORIZON).label.replace(f", T={HORIZON:,}", "")
        print(f"| {label} | {told:.1f} | {auto:.1f} | {auto / told:.2f} ± {auto / told * error:.2f} |", flush=True)
    mean, error = geometric_mean(ratios)
    print(f"\nGeometric mean of the ratios: {mean:.3f} ± {error:.3f}; the bar is {BAR}.")
    return int(mean > BAR)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))

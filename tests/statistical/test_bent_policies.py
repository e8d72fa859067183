"""What `Recommended` reaches where returns diminish, told c, b and σ: the table of docs/explanation/policies.md.

Regret after 10^4 periods, means (1, ½, …, ½), σ = 1. A row holds where the mean is at most `best` + 2 standard
errors: the smaller of what one posterior draw and the mean of 32 draws were once measured to reach, in whole numbers,
so up to ½ more. The first row has 10 where 9 was measured once: that rule itself (`Matching`) has 9.7 ± 0.2 here, and
nothing that was tried had less than 9.2.

Error budget: a rule exactly at the bar fails a row with probability 2.3%, and seeds are fixed. By
default three rows are played, far from their bars (below 1e-3 each); with APPORTION_SOAK=1 all of them.
"""

import math
import os

import numpy as np
import pytest

import apportion as ap
from apportion.theory import bent_constant

SOAK = os.environ.get("APPORTION_SOAK") == "1"
# c, b, K, and the best known before
TABLE = (
    (0.5, 0.5, 5, 10), (0.5, 0.75, 5, 4), (0.7, 0.3, 5, 95), (0.7, 0.5, 5, 23), (0.9, 0.1, 5, 163), (0.9, 0.5, 5, 41),
    (0.9, 0.75, 5, 14), (0.7, 0.5, 20, 86), (0.9, 0.5, 20, 166), (0.97, 0.5, 20, 169),
)  # fmt: skip
QUICK = ((0.7, 0.3, 5, 95), (0.9, 0.1, 5, 163), (0.9, 0.5, 20, 166))


def world(c, b, arms):
    return ap.Instance((1.0, *(0.5 for _ in range(arms - 1))), b=b, c=c)


def regret(policy, instance, horizon, runs, seed, periods=1):
    found = ap.simulate(
        policy, instance, horizon=horizon, replications=runs, seed=seed, record=["regret"], periods=periods,
        progress=False,
    )  # fmt: skip
    return found.regret.values[0, 0]


@pytest.mark.parametrize(("c", "b", "arms", "best"), TABLE if SOAK else QUICK)
def test_recommended_reaches_the_best_that_was_known(c, b, arms, best):
    runs = 100 if SOAK else 30 if arms == 5 else 8
    found = regret(ap.Recommended(b=b, c=c), world(c, b, arms), 10_000, runs, seed=14)[:, -1]
    assert found.mean() <= best + 0.5 + 2.0 * found.std() / math.sqrt(runs)


@pytest.mark.parametrize(("c", "b"), [(0.5, 0.5), (0.5, 0.25)] if SOAK else [(0.5, 0.5)])
def test_regret_grows_as_the_constant_of_theory_says(c, b):
    # Error budget: the slope of 100 runs has a standard error of 4%, that of 6 runs 16%; its own distance to C* is
    # within 7%.
    runs, tolerance = (100, 0.15) if SOAK else (6, 0.55)
    instance = world(c, b, 5)
    found = regret(ap.Recommended(b=b, c=c), instance, 100_000, runs, seed=15, periods=[1_000, 100_000])
    slope = np.diff(found, axis=1).mean() / math.log(100.0)
    assert slope == pytest.approx(bent_constant(instance.means, b=b, c=c, sigma=1.0), rel=tolerance)


def test_more_noise_on_an_arm_is_taken_into_account():
    """Told each σ, it loses less than told the largest: 150 runs, about five standard errors apart."""
    levels = (0.15, 1.2, 0.25, 0.7, 0.4)
    instance = ap.Instance((1.0, 0.85, 0.7, 0.6, 0.4), b=0.5, sigma=levels, c=0.7)
    told, largest = (
        regret(ap.Recommended(b=0.5, sigma=sigma, c=0.7), instance, 2_000, 150, seed=16)[:, -1]
        for sigma in (levels, 1.2)
    )
    error = math.sqrt((told.var() + largest.var()) / 150)
    assert told.mean() < largest.mean() - 3.0 * error

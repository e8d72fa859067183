"""The anytime interval covers for every c and every σ_i, whatever decides.

Error budget. All is seeded. Frequencies are held to 5 standard errors: with a fresh seed a true statement fails with
3e-7, and there are 54 (18 cases of three arms): below 2e-5 together. APPORTION_SOAK=1 has ten times the runs.
"""

import functools
import math
import os

import numpy as np
import pytest

import apportion as ap
from apportion._common.compiled import compiled, kernel
from apportion.model.confidence import anytime_radius, anytime_rho
from apportion.model.sums import Sums, no_sums, observe, powers_of
from apportion.model.world import outcome, terms
from apportion.policies.contract import Period, Policy, allocate
from apportion.policies.parameters import NumberPerArm, parameter

DELTA, PERIODS = 0.05, 200
RUNS = 10_000 if os.environ.get("APPORTION_SOAK") == "1" else 1000
MEANS = (1.0, 0.8, -0.2)
SIGMA = (0.3, 1.0, 3.0)


class Freezing(Policy):
    """Knows the truth, and works against the estimates: one that looks wrong by much gets almost nothing more."""

    means: tuple[float, ...] = parameter(NumberPerArm())
    levels: tuple[float, ...] = parameter(NumberPerArm())

    def allocate(self, period, sums, memory, rng, shares):
        total = 0.0
        for arm in range(len(shares)):
            shares[arm] = 1.0
            known = sums.information[arm]
            if known > 0.0:
                error = abs(sums.score[arm] / known - self.means[arm]) * math.sqrt(known)
                if error > 1.96 * self.levels[arm]:
                    shares[arm] = 1e-9
            total += shares[arm]
        for arm in range(len(shares)):
            shares[arm] /= total


@kernel
def crossings(policy, world, b, c, rho, rng, memory, sums, shares, state, crossed):
    """Which intervals miss their mean in any of the periods; and which of 1.96 deviations do at the end."""
    for number in range(1, PERIODS + 1):
        allocate(policy, Period(number, PERIODS, 1.0), sums, memory, rng, shares)
        for arm in range(len(shares)):
            if shares[arm] > 0.0:
                powers = powers_of(shares[arm], b, c)
                _, returned = outcome(world, number, arm, terms(world, powers), state, rng)
                observe(sums, arm, returned, powers)
            if sums.information[arm] > 0.0:
                mean = sums.score[arm] / sums.information[arm]
                radius = anytime_radius(sums.information[arm], -math.log(DELTA), rho, world.sigmas[arm])
                error = abs(mean - world.means[arm])
                if error > radius:
                    crossed[0, arm] = 1.0
                naive = 1.96 * world.sigmas[arm] / math.sqrt(sums.information[arm])
                crossed[1, arm] = 1.0 if error > naive else 0.0


@functools.cache
def missed(name, b, c):
    """How often the interval of each arm misses in some period, and one of 1.96 deviations at the end."""
    world = ap.Instance(MEANS, b=b, sigma=SIGMA, c=c)
    policy = {
        "Thompson": lambda: ap.Thompson(b=b, c=c, sigma=SIGMA),
        "Matching": lambda: ap.Matching(b=b, c=c, sigma=SIGMA),
        "Freezing": lambda: Freezing(MEANS, SIGMA),
    }[name]()
    arms = len(MEANS)
    rho = anytime_rho(20.0 * (1.0 / arms) ** (2.0 * c - 2.0 * b), -math.log(DELTA))
    record, law, run = policy.prepared(arms, PERIODS), world.record(), compiled(crossings)
    total = np.zeros((2, arms))
    for number in range(RUNS):
        crossed, rng = np.zeros((2, arms)), np.random.Generator(np.random.SFC64([27, number]))
        memory, sums = policy.initial_memory(arms), no_sums(Sums, arms)
        run(record, law, b, c, rho, rng, memory, sums, np.zeros(arms), world.initial_state(), crossed)
        total += crossed
    return total / RUNS


@pytest.mark.parametrize("c", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("b", [0.3, 0.75])
@pytest.mark.parametrize("name", ["Thompson", "Matching", "Freezing"])
def test_all_periods_at_once_are_covered_for_every_arm(name, b, c):
    assert missed(name, b, c)[0].max() <= DELTA + 5.0 * math.sqrt(DELTA * (1.0 - DELTA) / RUNS)


@pytest.mark.parametrize("c", [0.5, 0.8, 1.0])
def test_a_naive_interval_would_not_do(c):
    """An arm that looks wrong gets nothing that could set it right: 1.96 deviations miss far more often than 5%."""
    assert missed("Freezing", 0.3, c)[1].min() > 0.25

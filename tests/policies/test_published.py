"""Policies of others: the contract where it applies, and the regret that their papers say, by simulation.

Error budget: seeds are fixed. Each bar of a rate is at least five standard errors from what is measured (the comment
beside it), so chance breaks none in a million seeds; with APPORTION_SOAK=1 horizons are ten times as long.
"""

import os

import numpy as np
import pytest

import apportion as ap
from apportion.errors import InvalidValue
from apportion.policies import find_policy
from apportion.policies.published import PUBLISHED
from apportion.testing import POLICY_CHECKS

SOAK = os.environ.get("APPORTION_SOAK") == "1"
LONG = 10 if SOAK else 1
P = ap.published

CASES = {
    "optimistic": P.OptimisticAllocation(),
    "stepped": P.SteppedAllocation(),
    "multiple plays": P.CensoredMultiplePlays(),
    "ascent": P.GradientAscent(),
    "cucb": P.DiscretisedCUCB(levels=4),
    "river": P.RiverUCB(),
    "refit": P.QuarterlyRefit(every=7),
}
# Why a check does not apply: all are for simulations, so none has a life in an `Allocator`; a start of jobs and the
# sums per level are made for shares of one unit and few arms.
NOT_FOR = {"check_json": set(CASES), "check_many_arms": {"cucb"}}


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES)
def test_contract(case, check):
    if case in NOT_FOR.get(check.__name__, ()):
        with pytest.raises(InvalidValue, match=r"one for live use; got .* which is for simulations"):
            ap.Allocator(CASES[case], ("a", "b"))
        return
    check(CASES[case])


def test_every_published_policy_is_found_by_name_and_says_what_it_does():
    for name in PUBLISHED:
        cls = find_policy(name)
        assert cls is getattr(ap.published, name)
        assert cls.rule
        assert cls.laboratory
        words = " ".join(cls.__doc__.split())
        assert "Where it fails" in words or "not proven" in words
    assert {type(case).__name__ for case in CASES.values()} == set(PUBLISHED) - {
        "NoisyBisection",  # two arms only: played below
        "GaussianProcessKnapsack",  # never compiled: played below
    }


def regret(policy, world, horizon, runs, periods):
    """Mean regret after these periods, (periods,)."""
    found = ap.simulate(
        policy, world, horizon=horizon, replications=runs, seed=1, record=["regret"], periods=periods, progress=False
    )
    return found.regret.values[0, 0].mean(axis=0)


JOBS = ap.Jobs(needs=(0.3, 0.5, 0.8, 1.2))


def test_jobs_cost_log_squared_by_bounds_and_log_by_steps():
    """Per factor of ten in T log² T says ×1.4 to 1.6, measured 1.8, 1.5; log T the same again, measured +35, +35."""
    last = 1_000_000 * LONG
    bounds = regret(P.OptimisticAllocation(), JOBS, last, 4, [last // 100, last // 10, last])
    assert bounds[2] / bounds[1] < 1.75 < 2.6  # a power of T of ½ would be 3.2
    assert bounds[2] / bounds[1] < bounds[1] / bounds[0]
    last = 100_000 * LONG
    steps = regret(P.SteppedAllocation(), JOBS, last, 20, [last // 100, last // 10, last])
    assert steps[2] - steps[1] < 1.5 * (steps[1] - steps[0])
    assert steps[2] < 0.1 * bounds[1]


def test_multiple_plays_cost_log():
    """Measured 134, 152, 164 at 10³, 10⁴, 10⁵: a constant for the search, and log T."""
    world = ap.Thresholds(rates=(0.9, 0.8, 0.6, 0.5, 0.4, 0.3), threshold=0.3)
    last = 100_000 * LONG
    found = regret(P.CensoredMultiplePlays(), world, last, 20, [last // 100, last // 10, last])
    assert found[2] - found[1] < 40.0
    assert found[2] < 250.0


def test_discretised_cucb_costs_log_against_the_best_in_levels():
    """Measured 450, 1051, 1884: the second differences of log T shrink where a power would grow."""
    chances = ((0.0, 0.5, 0.6, 0.65, 0.7), (0.0, 0.2, 0.5, 0.8, 0.9), (0.0, 0.1, 0.2, 0.3, 0.4))
    last = 100_000 * LONG
    world = ap.SuccessCurves(chances=chances)
    found = regret(P.DiscretisedCUCB(levels=4), world, last, 10, [last // 100, last // 10, last])
    assert found[2] / found[1] < 2.0


KNOTS = tuple(np.linspace(0.0, 1.0, 41).tolist())
BENT = ap.Concave(values=[np.sqrt(KNOTS), 0.6 * np.sqrt(KNOTS)], knots=KNOTS, sigma=0.1)


@pytest.mark.parametrize("policy", [P.NoisyBisection(sigma=0.1), P.GradientAscent()], ids=["bisection", "ascent"])
def test_concave_returns_cost_about_the_root_of_time(policy):
    """√T is a factor of 3.2 for each of ten in T; measured 4.2 for bisection (with its log T), 2 to 5 for ascent."""
    last = 100_000 * LONG
    found = regret(policy, BENT, last, 20, [last // 100, last // 10, last])
    even = regret(ap.Uniform(), BENT, last, 1, [last])[0]
    assert found[2] / found[1] < 6.5
    assert found[2] < 0.25 * even


def test_bisection_is_for_two_arms():
    with pytest.raises(InvalidValue, match="2 for NoisyBisection; got 3"):
        P.NoisyBisection().prepared(3, None)


@pytest.mark.parametrize("by", ["thompson", "ucb"])
def test_a_process_per_arm_learns_the_curves(by):
    """Regret of the last 60 of 120 periods below that of an even split, in 4 runs (measured: a third of it)."""
    world = ap.Instance((1.0, 0.4, 0.3), b=0.5, sigma=0.1, c=0.7)
    found = regret(P.GaussianProcessKnapsack(levels=10, by=by), world, 120, 4, [60, 120])
    even = regret(ap.Uniform(), world, 60, 1, [60])[0]
    assert found[1] - found[0] < even


def test_the_library_in_use_pools_and_the_quarterly_plan_learns():
    """With diminishing returns one arm is worse than even shares for ever; a refit is better after some quarters."""
    world = ap.Instance((1.0, 0.85, 0.7, 0.6, 0.4), b=0.5, sigma=0.3, c=0.7)
    even = regret(ap.Uniform(), world, 2000, 1, [2000])[0]
    assert regret(P.RiverUCB(), world, 2000, 10, [2000])[0] > 2.0 * even  # measured 3.0
    assert regret(P.QuarterlyRefit(), world, 2000, 10, [2000])[0] < 0.3 * even  # measured 0.14


def test_river_ucb_is_rivers_index():
    """Counts 3 and 5, means 0.5 and 0.4: 0.5 + √(2·log 8/3) against 0.4 + √(2·log 8/5)."""
    from apportion.model.sums import Sums, no_sums, observe, powers_of
    from apportion.policies.contract import Period, decide_now

    policy, sums = P.RiverUCB(), no_sums(Sums, 2)
    for arm, count, mean in ((0, 3, 0.5), (1, 5, 0.4)):
        for _ in range(count):
            observe(sums, arm, mean, powers_of(1.0, 0.5))
    shares = decide_now(policy.prepared(2, None), Period(9, 0, 1.0), sums, np.zeros(2), np.random.default_rng(0))
    assert shares.tolist() == [1.0, 0.0]

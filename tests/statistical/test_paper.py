"""What the paper claims about its algorithms, and what replaces it, against simulated runs.

Error budget. Everything is seeded, so a run passes or fails the same way every time; the budget says how
often a fresh seed would fail a true statement. Where a mean or frequency is held to 5 standard errors that is
6e-7 (two-sided) a comparison, and there are fewer than 100 of these: below 6e-5 together. Where a test says
something else, its comment states the chance; heavy-tailed regret is compared by factors, not by errors.
"""

import functools
import math

import numpy as np
import pytest
from runs import regrets, runs

import apportion as ap
from apportion import theory
from apportion.model.confidence import anytime_radius, cone_closed_form
from apportion.model.estimators import information_weighted, mean_of_ratios
from apportion.model.exact_sums import Statistics

ERRORS = 5.0


def world(arms, b, gap, noise="gaussian"):
    """One arm better than all others by `gap`, as in every measured table."""
    return ap.Instance((0.5 + gap,) + (0.5,) * (arms - 1), b=b, noise=noise)


def standard_error(values):
    return float(np.std(values)) / math.sqrt(len(values))


def within(values, expected):
    """Whether a mean is within 5 standard errors."""
    return abs(float(np.mean(values)) - expected) < ERRORS * standard_error(values)


# ---- the law: toy example, and the example before Algorithm 2 ----


@pytest.mark.parametrize("b", [0.25, 0.5, 0.75, 1.0])
def test_toy_example_has_the_variances_of_simulated_estimates(b):
    """K arms, K periods: one arm a period has variance 1, a K-th to each has K^(1-2b). Two of 5 errors each."""
    arms, count = 4, 20_000
    instance = ap.Instance((1.0,) * arms, b=b)
    rng = np.random.default_rng(40)
    expected = theory.toy_example(arms, b)
    for amounts, variance in (
        (np.eye(arms), expected.pooling),
        (np.full((arms, arms), 1 / arms), expected.dividing),
    ):
        outcomes = instance.draw_block(np.tile(amounts, (count, 1)), rng).reshape(count, arms, arms)
        estimates = np.nansum(outcomes, axis=1)[:, 0]  # each arm gets one unit in all
        assert within(estimates, 1.0)
        assert abs(np.var(estimates) / variance - 1) < ERRORS * math.sqrt(2 / count)


def test_example_of_falling_shares_has_the_precisions_of_simulated_estimates():
    """A_s = s^(-1.5), b = 0.75, 300 periods: the mean of ratios learns from a finite resource, mu1 does not."""
    periods, count, alpha, b = 300, 4000, 1.5, 0.75
    expected = theory.example_precision(periods, alpha, b)
    past = Statistics(count, b)  # every run is an arm
    rng = np.random.default_rng(41)
    for period in range(1, periods + 1):
        amount = period**-alpha
        past.update(np.full(count, amount), amount * 2.0 + amount**b * rng.standard_normal(count))
    for estimator, precision in (
        (ap.estimators.ratio_of_sums, expected.ratio_of_sums),
        (mean_of_ratios, expected.mean_of_ratios),
        (information_weighted, expected.information),
    ):
        means, found = estimator(past.sums())
        assert found[0] == pytest.approx(precision, rel=1e-12, abs=0)
        assert within(means, 2.0)
        assert abs(np.var(means) * precision - 1) < ERRORS * math.sqrt(2 / count)
    assert expected.resource < 2.62
    assert expected.information > 1.8 * expected.mean_of_ratios > 3 * expected.ratio_of_sums


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
def test_an_arm_without_a_share_is_not_observed_in_the_engine(b):
    """Exact, no chance in it: 0^0 = 1 must not count noise at b = 0 nor information at b = 1."""
    instance = ap.Instance((0.2, 0.9, 0.5), b=b)
    found = runs(ap.Oracle(means=instance.means), instance, 50, 2, seed=1)
    assert np.all(found.regret == 0.0)
    for values in found.sums:
        assert np.all(values[:, [0, 2]] == 0.0)
    assert np.all(found.sums.count[:, 1] == found.sums.information[:, 1])
    assert np.all(found.sums.count[:, 1] == 50.0)


# ---- Algorithm 1 ----


def test_printed_algorithm_keeps_one_arm_after_period_one_and_its_regret_is_the_exact_formula():
    """K = 5, b = 0.75, gap 0.5: R/T = 0.357. Memory: the last active period, 0 while active."""
    instance, horizon = world(5, 0.75, 0.5), 1000
    found = runs(ap.SuccessiveElimination(b=0.75, radius="printed"), instance, horizon, 3000, seed=2)
    assert np.all(np.sum(found.memory == 0.0, axis=1) == 1)
    assert np.all(np.sum(found.memory == 1.0, axis=1) == 4)
    exact = theory.printed_elimination_regret(instance.means, 0.75, horizon)
    assert within(found.regret, exact)
    assert exact / horizon == pytest.approx(0.357, abs=5e-4)


class Tabulated(ap.SuccessiveElimination):
    """Algorithm 1 with a radius of q(t)/sqrt(R1) for a q that is not on offer."""

    law: str = "closed"

    def prepared(self, arms, horizon):
        record = super().prepared(arms, horizon)
        if self.law == "closed":
            return record._replace(quantiles=np.array([cone_closed_form(self.delta, int(t)) for t in record.counts]))
        counts = np.arange(1.0, horizon + 1)
        quantiles = np.sqrt(3 * np.log(counts) * -math.log(self.delta))
        quantiles[:2] = math.inf  # log t is below 1: the proof starts at t = 3
        return record._replace(counts=counts, quantiles=quantiles)


SAME_LEVEL = {
    "printed": (Tabulated(b=0.75, radius="cone", delta=1e-16, law="printed"), 28_770, 0.05),
    "corrected": (ap.SuccessiveElimination(b=0.75, delta=1e-16), 5907, 0.06),
    "cycles": (ap.SuccessiveElimination(b=0.75, radius="cycles", delta=1e-11), 2768, 0.09),
    "closed": (Tabulated(b=0.75, radius="cone", delta=1e-11), 2054, 0.10),
    "cone": (ap.SuccessiveElimination(b=0.75, radius="cone", delta=1e-11), 1602, 0.12),
    "anytime": (ap.SuccessiveElimination(b=0.75, radius="anytime"), 852, 0.17),
    "pairwise": (ap.SuccessiveElimination(b=0.75, radius="anytime", pairwise=True), 424, 0.25),
}


@functools.cache
def same_level(name):
    return float(np.mean(regrets(SAME_LEVEL[name][0], world(10, 0.75, 0.5), 10**5, 24, seed=3)))


@pytest.mark.parametrize("name", list(SAME_LEVEL))
def test_regret_of_algorithm_one_at_the_same_failure_level(name):
    """K = 10, b = 0.75, gap 0.5, T = 1e5, all arms and periods together failing with at most 1/T.

    Per arm and period that is delta = 1/(K T^3) for the corrected law (whose bound has a factor t) and 1/(K T^2)
    for the cone and the cycles; the printed constant is used from t = 3 on. The expected values are means of 200 to
    300 runs (the first two: MATH). The tolerance is at least 4.5 standard errors of 24 runs: below 1e-5 a value.
    """
    _, expected, tolerance = SAME_LEVEL[name]
    assert abs(same_level(name) / expected - 1) < tolerance


def test_each_law_at_the_same_level_is_better_than_the_one_before():
    """Measured factors 4.9, 2.1, 1.35, 1.28, 1.88, 2.0; means of 24 runs move by at most 6 % (one error)."""
    assert same_level("printed") > 4 * same_level("corrected")
    assert same_level("corrected") > 1.9 * same_level("cycles")
    assert same_level("cycles") > 1.2 * same_level("closed")
    assert same_level("closed") > 1.1 * same_level("cone")
    assert same_level("cone") > 1.4 * same_level("anytime")
    assert same_level("anytime") > 1.4 * same_level("pairwise")


@pytest.mark.parametrize(
    ("radius", "b"), [("corrected", 0.75), ("anytime", 0.75), ("corrected", 1.0), ("anytime", 1.0)]
)
def test_bounds_of_theorem_two_hold_above_measured_regret(radius, b):
    """A gap of 3 sigma makes the bound say something: it is below the regret of splitting evenly for ever."""
    instance, horizon = world(10, b, 3.0), 10**5
    bound = theory.elimination_regret_bound(instance.means, horizon=horizon, b=b, form=radius)
    found = regrets(ap.SuccessiveElimination(b=b, radius=radius), instance, horizon, 10, seed=4)
    assert bound < horizon * np.mean(instance.gaps)
    assert np.mean(found) + ERRORS * standard_error(found) < bound


# ---- Algorithm 2 ----


@functools.cache
def greedy(epsilon, leader):
    policy = ap.EpsilonGreedy(b=0.75, epsilon=epsilon, leader=leader)
    return regrets(policy, world(5, 0.75, 0.5), 10**5, 60 if leader == "ratios" else 40, seed=5)


def test_small_epsilon_and_the_information_weighted_leader_are_far_better():
    """K = 5, b = 0.75, gap 0.5, T = 1e5; means of 1000 runs (error): 8897 (322) and 200 (51) at eps = 0.25, 190
    (11) and 33 (3) at 0.05, the first with mu2 and the second with mu* leading; MATH has 8143, 150, 197, 23.

    The mean of 60 runs at mu2, eps = 0.25 has an error of 1300, so 3000 is 4.5 errors away; the medians of the
    others are far below their means, and factors between medians are steady: false alarms below 1e-4.
    """
    assert 3000 < np.mean(greedy(0.25, "ratios")) < 16_000
    assert 60 < np.mean(greedy(0.05, "ratios")) < 600
    medians = {
        (epsilon, leader): np.median(greedy(epsilon, leader))
        for epsilon in (0.25, 0.05)
        for leader in ("ratios", "information")
    }
    assert medians[0.25, "ratios"] > 100 * medians[0.25, "information"]
    assert medians[0.25, "ratios"] > 20 * medians[0.05, "ratios"]
    assert medians[0.05, "ratios"] > 4 * medians[0.05, "information"]


@pytest.mark.parametrize(
    ("leader", "form"), [("ratios", "corrected"), ("ratios", "sharp"), ("information", "information")]
)
@pytest.mark.parametrize(
    ("arms", "b", "epsilon", "gap"), [(2, 0.75, 0.05, 3.0), (5, 0.9, 0.1, 2.0), (4, 1.0, 0.5, 1.0)]
)
def test_bounds_of_theorem_four_hold_above_measured_regret(leader, form, arms, b, epsilon, gap):
    instance = world(arms, b, gap)
    bound = theory.greedy_regret_bound(instance.means, b, epsilon, form=form)
    found = regrets(ap.EpsilonGreedy(b=b, epsilon=epsilon, leader=leader), instance, 10**4, 200, seed=6)
    assert np.mean(found) + ERRORS * standard_error(found) < bound


def test_regret_of_algorithm_two_stops_growing():
    """Finite gap-dependent regret: from T = 1e3 to 1e5 regret per period falls faster than 1/T^0.9 would."""
    policy, instance = ap.EpsilonGreedy(b=0.9, epsilon=0.1), world(3, 0.9, 1.0)
    short, long = (np.mean(regrets(policy, instance, horizon, 100, seed=7)) for horizon in (10**3, 10**5))
    assert long < 100**0.1 * short


@functools.cache
def greedy_estimates(b, epsilon):
    policy = ap.EpsilonGreedy(b=b, epsilon=epsilon)
    instance = ap.Instance((0.6, 0.5, 0.5), b=b)
    found = runs(policy, instance, 300, 12_000, seed=8)
    return instance, found.sums


@pytest.mark.parametrize("epsilon", [0.05, 0.25])
def test_mean_of_ratios_is_unbiased_under_algorithm_two(epsilon):
    """Every share stays positive, so each Y/A has mean mu given the past, whatever the shares."""
    instance, sums = greedy_estimates(0.75, epsilon)
    means = mean_of_ratios(sums).mean
    for arm in range(instance.arms):
        assert within(means[:, arm], instance.means[arm])


@pytest.mark.parametrize("epsilon", [0.05, 0.25])
def test_information_weighted_mean_is_biased_down_under_algorithm_two(epsilon):
    """MATH: -0.03 to -0.14 at b = 0.75."""
    instance, sums = greedy_estimates(0.75, epsilon)
    means = information_weighted(sums).mean
    for arm in range(instance.arms):
        bias = float(np.mean(means[:, arm])) - instance.means[arm]
        assert bias + ERRORS * standard_error(means[:, arm]) < 0
        assert -0.17 < bias < -0.02


# ---- lower bounds ----

HARD_POLICIES = {
    "elimination": ap.SuccessiveElimination(b=0.75, radius="anytime", pairwise=True),
    "greedy": ap.EpsilonGreedy(b=0.75, leader="information"),
    "adaptive": ap.AdaptiveElimination(b=0.75, scale=0.5),
    "thompson": ap.Thompson(b=0.75),
    "odds": ap.Odds(b=0.75),
    "uniform": ap.Uniform(),
    "oracle of the first": ap.Oracle(means=theory.hard_instances(5, 1000, 0.75)[0]),
}


@pytest.mark.parametrize("name", list(HARD_POLICIES))
def test_no_policy_beats_theorem_one_on_both_of_the_hard_pair(name):
    """K = 5, T = 1000, b = 0.75: the sharp constant gives 1.70; the best here has 22 (T times the gap)."""
    policy = HARD_POLICIES[name]
    bound = theory.minimax_lower_bound(5, 1000, 0.75, constant="sharp")
    worst = []
    for means in theory.hard_instances(5, 1000, 0.75):
        found = regrets(policy, ap.Instance(means, b=0.75), 1000, 100, seed=9)
        worst.append(np.mean(found) - ERRORS * standard_error(found))
    assert max(worst) > bound


# ---- anytime intervals ----


class Freezing(ap.Policy):
    """Half to arm 0 until its mean looks different from 0, then almost nothing."""

    b: float

    def allocate(self, period, sums, memory, rng, shares):
        small = 0.5
        if sums.information[0] > 0.0:
            mean = sums.score[0] / sums.information[0]
            if mean * mean * sums.information[0] > 1.96 * 1.96:
                small = 1e-12
        for arm in range(len(shares)):
            shares[arm] = (1.0 - small) / (len(shares) - 1)
        shares[0] = small


ANYTIME_POLICIES = {
    "freezing": Freezing(b=0.75),
    "greedy": ap.EpsilonGreedy(b=0.75, leader="information"),
    "adaptive": ap.AdaptiveElimination(b=0.75, scale=0.3),
    "thompson": ap.Thompson(b=0.75),
    "odds": ap.Odds(b=0.75, floor=0.0),
    "maillard": ap.Maillard(b=0.75, tilt=3.0),
}
# The same generators give the same path, so runs to each of these periods are looks at one path.
LOOKS = (1, 2, 5, 13, 34, 89, 233, 610)


@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
@pytest.mark.parametrize("name", list(ANYTIME_POLICIES))
def test_anytime_interval_covers_under_policies_that_freeze(name, noise):
    """All means 0, delta = 0.05, rho = 1: an arm's interval fails at some look in at most 5 % of runs."""
    instance = ap.Instance((0.0, 0.0, 0.0), b=0.75, noise=noise)
    delta, count = 0.05, 1000
    radius = np.vectorize(anytime_radius)
    crossed = np.zeros((count, 3), dtype=bool)
    for look in LOOKS:
        mean, information = information_weighted(runs(ANYTIME_POLICIES[name], instance, look, count, seed=10).sums)
        with np.errstate(invalid="ignore"):  # an arm that was never seen has no interval to leave
            crossed |= np.abs(mean) > radius(information, -math.log(delta), 1.0, 1.0)
    allowed = delta + ERRORS * math.sqrt(delta * (1 - delta) / count)
    assert np.all(np.mean(crossed, axis=0) <= allowed)


def test_naive_interval_fails_where_a_policy_freezes():
    """1.96/sqrt(B) at the end, nominal 5 %: the policy stops exactly where the mean is out. Measured 49 %."""
    instance = ap.Instance((0.0, 0.0, 0.0), b=0.75)
    mean, information = information_weighted(runs(Freezing(b=0.75), instance, 610, 1000, seed=10).sums)
    out = np.abs(mean[:, 0]) > 1.96 / np.sqrt(information[:, 0])
    assert np.mean(out) > 0.25
    anytime = np.abs(mean[:, 0]) > np.vectorize(anytime_radius)(information[:, 0], -math.log(0.05), 1.0, 1.0)
    assert np.mean(anytime) < 0.05


# ---- beyond the paper ----


@functools.cache
def measured(kind, arms, b, gap):
    """T = 1e4, the setting of the table in MATH 8."""
    few = arms > 5
    policy, count = {
        "elimination": (ap.SuccessiveElimination(b=b), 5 if few else 10),
        "elimination at T^-5": (ap.SuccessiveElimination(b=b, delta=1e-20), 10),
        "greedy": (ap.EpsilonGreedy(b=b, epsilon=b - 0.5), 20 if few else 60),
        "thompson": (ap.Thompson(b=b), 20 if few else 100),
        "odds tilt 1": (ap.Odds(b=b, tilt=1.0, floor=0.0), 40 if few else 200),
        "odds": (ap.Odds(b=b), 40 if few else 200),
    }[kind]
    return regrets(policy, world(arms, b, gap), 10**4, count, seed=11)


# Arms, b, gap, policy: mean regret and relative tolerance. The means are of 400 runs (Thompson 1000, the paper's
# algorithms 40 to 60; with 30 arms 60 to 100). MATH agrees within its errors but for Algorithm 1 at b = 0.75 and
# 0.9, 3990 and 2730: those belong to delta = T^-5, and T^-4 has 3504 and 2125; and Thompson, 96 and 631.
TABLE = {
    (5, 0.6, 0.5, "elimination"): (4000, 0.001),
    (5, 0.6, 0.5, "greedy"): (3045, 0.35),
    (5, 0.6, 0.5, "thompson"): (84, 0.25),
    (5, 0.6, 0.5, "odds tilt 1"): (51, 0.25),
    (5, 0.6, 0.5, "odds"): (45, 0.30),
    (5, 0.75, 0.5, "elimination"): (3504, 0.10),
    (5, 0.75, 0.5, "elimination at T^-5"): (3990, 0.02),
    (5, 0.75, 0.5, "greedy"): (1600, 0.60),
    (5, 0.75, 0.5, "odds tilt 1"): (24, 0.25),
    (5, 0.75, 0.5, "odds"): (18, 0.35),
    (5, 0.9, 0.5, "elimination"): (2125, 0.10),
    (5, 0.9, 0.5, "elimination at T^-5"): (2730, 0.10),
    (5, 0.9, 0.5, "greedy"): (110, 0.90),
    (5, 0.9, 0.5, "odds tilt 1"): (13.5, 0.30),
    (5, 0.9, 0.5, "odds"): (8.4, 0.40),
    (30, 0.75, 0.5, "elimination"): (4833, 0.001),
    (30, 0.75, 0.5, "greedy"): (4150, 0.25),
    (30, 0.75, 0.5, "thompson"): (587, 0.15),
    (30, 0.75, 0.5, "odds tilt 1"): (106, 0.25),
    (30, 0.75, 0.5, "odds"): (79, 0.35),
    (30, 0.9, 0.15, "elimination"): (1450, 0.001),
    (30, 0.9, 0.15, "greedy"): (1275, 0.25),
    (30, 0.9, 0.15, "thompson"): (1030, 0.25),
    (30, 0.9, 0.15, "odds tilt 1"): (138, 0.35),
    (30, 0.9, 0.15, "odds"): (82, 0.45),
}


@pytest.mark.parametrize(("arms", "b", "gap", "kind"), list(TABLE))
def test_measured_table_of_policies(arms, b, gap, kind):
    """Each tolerance is 4 to 5 standard errors of the mean here (roughly: heavy tails): below 1e-3 in all."""
    expected, tolerance = TABLE[arms, b, gap, kind]
    assert abs(np.mean(measured(kind, arms, b, gap)) / expected - 1) < tolerance


@pytest.mark.parametrize("b", [0.6, 0.75, 0.9])
def test_odds_is_far_better_than_both_algorithms_and_than_pooling(b):
    """Factors here are 1.9, 4.7 and 10 against pooling, and above 17 and 90 against the two algorithms."""
    odds = np.mean(measured("odds", 5, b, 0.5))
    assert odds < np.mean(measured("odds tilt 1", 5, b, 0.5))
    assert odds < np.mean(measured("thompson", 5, b, 0.5)) / 1.4
    assert odds < np.mean(measured("greedy", 5, b, 0.5)) / 5
    assert odds < np.mean(measured("elimination", 5, b, 0.5)) / 50
    assert np.quantile(measured("odds", 5, b, 0.5), 0.99) < 150


@pytest.mark.parametrize(("scale", "expected", "tolerance"), [(1.0, 249, 0.25), (0.5, 57, 0.45)])
def test_adaptive_elimination_has_its_measured_regret(scale, expected, tolerance):
    """K = 5, b = 0.75, gap 0.5, T = 1e5: means of 100 runs 249 (7) and 57 (3), MATH 242 and 54. Five errors."""
    found = regrets(ap.AdaptiveElimination(b=0.75, scale=scale), world(5, 0.75, 0.5), 10**5, 40, seed=12)
    assert abs(np.mean(found) / expected - 1) < tolerance


# ---- a lower bound on b ----


@pytest.mark.parametrize("name", ["corrected", "cycles", "anytime", "greedy", "adaptive"])
def test_a_lower_bound_on_b_is_safe(name):
    """The law has b = 0.9, the policy b₀ = 0.65: regret plus 5 errors is below the bound with b₀, by far."""
    instance, horizon, low = world(5, 0.9, 1.0), 3000, 0.65
    if name == "greedy":
        policy, bound = ap.EpsilonGreedy(b=low), theory.greedy_regret_bound(instance.means, low, 0.03, form="sharp")
    elif name == "adaptive":
        policy = ap.AdaptiveElimination(b=low, split="leader")
        bound = theory.adaptive_regret_bound(instance.means, b=low, horizon=horizon, split="leader")
    else:
        policy = ap.SuccessiveElimination(b=low, radius=name)
        bound = theory.elimination_regret_bound(instance.means, horizon=horizon, b=low, form=name)
    found = regrets(policy, instance, horizon, 40, seed=41)
    assert np.mean(found) + ERRORS * standard_error(found) < bound


def test_intervals_with_too_small_a_b_cover():
    """The law has b = 0.9; sums and radius are taken at b₀ = 0.6, under shares that freeze. Level 0.05, 5 errors."""
    count, periods, b, low, delta = 2000, 400, 0.9, 0.6, 0.05
    rng = np.random.default_rng(42)
    score, information, share = np.zeros(count), np.zeros(count), np.ones(count)
    crossed = np.zeros(count, dtype=bool)
    for _ in range(periods):
        outcome = share**b * rng.standard_normal(count)  # the mean is 0
        score += share ** (1 - 2 * low) * outcome
        information += share ** (2 - 2 * low)
        logs = np.log1p(information) + 2 * math.log(1 / delta)
        crossed |= np.abs(score) > np.sqrt((information + 1) * logs)
        share = np.where(np.abs(score) > 1.5 * np.sqrt(information), 0.01, 1.0)
    assert np.mean(crossed) <= delta + ERRORS * math.sqrt(delta * (1 - delta) / count)


@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
@pytest.mark.parametrize("b", [0.0, 0.5, 0.9])
def test_ucb_is_below_its_bound(b, noise):
    """Proposition 7 at T = 100 and 10,000: regret plus 5 errors. Whole units, so b makes no difference."""
    instance = ap.Instance((1.0, 0.6, 0.0), b=b, noise=noise)
    for horizon in (100, 10_000):
        found = regrets(ap.UCB(), instance, horizon, 40, seed=43)
        assert np.mean(found) + ERRORS * standard_error(found) < theory.ucb_regret_bound(instance.means, horizon)

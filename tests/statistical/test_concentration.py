"""The concentration law against simulation, and the two errata that it decides.

Error budget. Everything is seeded, so a run passes or fails the same way every time; the budget says how
often a fresh seed would fail a true statement. Frequencies and means are held to 5 standard errors (6e-7
each, two-sided) and distribution functions to the Dvoretzky-Kiefer-Wolfowitz distance at 1e-6. There are
fewer than 60 such comparisons in this file: below 6e-5 together. Statements without simulation in them are
exact.
"""

import functools
import math

import numpy as np
import pytest

from apportion import theory
from apportion._common.compiled import compiled
from apportion.model import confidence

ERRORS = 5.0
RUNS = {1: 50_000, 2: 50_000, 10: 50_000, 1000: 20_000}


def suprema(noise):
    fast = compiled(confidence.supremum)
    return np.array([fast(row) for row in noise])


@functools.cache
def gaussian_suprema(t):
    return suprema(np.random.default_rng([20240, t]).standard_normal((RUNS[t], t)))


def margin(probability, runs):
    """How far a frequency may be from its probability."""
    return ERRORS * math.sqrt(probability * (1 - probability) / runs)


# ---- Proposition 1 as printed is false ----


def excess(epsilon, t):
    """Exact probability minus the printed bound at eps: positive where Proposition 1 fails."""
    threshold = max(math.sqrt(1.5) * math.log(t) * epsilon, 1e-12)
    return confidence.cone_tail(threshold, t) - math.exp(-epsilon * epsilon / 2)


@pytest.mark.parametrize(("t", "first"), [(1, 1.18), (2, 3.11)])
def test_printed_proposition_is_false_from_a_known_point_on(t, first):
    low, high = 0.5, 4.0
    assert excess(low, t) < 0 < excess(high, t)
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle, t) < 0 else (low, middle)
    assert math.ceil(100 * high) / 100 == first  # the crossings are 1.1774 and 3.1039
    assert all(excess(epsilon, t) > 0 for epsilon in np.linspace(high + 1e-6, 12, 200))


def test_printed_proposition_at_one_period_is_a_coin_toss():
    """sqrt(3/2) log(1) eps is 0: the claim is P(xi >= 0) <= exp(-eps^2/2), for every eps."""
    frequency = np.mean(gaussian_suprema(1) >= 0)
    assert frequency - margin(0.5, RUNS[1]) > math.exp(-(1.5**2) / 2)


def test_printed_proposition_fails_in_simulation_at_two_periods():
    epsilon, runs = 3.6, 400_000
    noise = np.random.default_rng(7).standard_normal((runs, 2))
    # Two values: the supremum is reached on the last alone, on the mean of both, or inside the cone.
    inside = (noise[:, 0] > 0) & (noise[:, 1] > noise[:, 0])
    edge = np.maximum(noise[:, 1], noise.sum(axis=1) / math.sqrt(2))
    supremum = np.where(inside, np.hypot(noise[:, 0], noise[:, 1]), edge)
    threshold = math.sqrt(1.5) * math.log(2) * epsilon
    exact = confidence.cone_tail(threshold, 2)
    frequency = np.mean(supremum >= threshold)
    assert abs(frequency - exact) < margin(exact, runs)
    assert frequency - margin(exact, runs) > confidence.printed_tail(threshold, 2)


def test_printed_proposition_is_not_violated_from_three_periods_on():
    for t in (3, 4, 10, 100, 10**6):
        assert all(excess(epsilon, t) < 0 for epsilon in np.linspace(0.01, 8, 300))


# ---- the exact law ----


@pytest.mark.parametrize("t", list(RUNS))
def test_cone_law_is_the_law_of_simulated_suprema(t):
    found = np.sort(gaussian_suprema(t))
    runs = len(found)
    allowed = math.sqrt(math.log(2e6) / (2 * runs))
    positive = found[found > 0]
    rank = np.arange(runs - len(positive), runs)
    law = 1 - confidence.cone_tail(positive, t)
    assert max(np.max(np.abs(law - rank / runs)), np.max(np.abs(law - (rank + 1) / runs))) < allowed
    assert abs(np.mean(found <= 0) - confidence.cone_weights(t)[0]) < allowed


@pytest.mark.parametrize("t", list(RUNS))
@pytest.mark.parametrize("level", [0.3, 0.05, 0.005])
def test_cone_quantile_is_crossed_at_its_level(t, level):
    frequency = np.mean(gaussian_suprema(t) >= confidence.cone_quantile(level, t))
    assert abs(frequency - level) < margin(level, RUNS[t])


@pytest.mark.parametrize("t", list(RUNS))
def test_mean_square_is_half_the_harmonic_number(t):
    squares = np.maximum(gaussian_suprema(t), 0) ** 2
    error = ERRORS * np.std(squares) / math.sqrt(len(squares))
    assert abs(np.mean(squares) - confidence.harmonic(t) / 2) < error


def test_closed_form_is_an_upper_bound_on_the_exact_tail():
    for t in (1, 2, 3, 10, 1000, 10**6, 10**12, 10**18):
        start = math.sqrt(confidence.harmonic(t) / 2)
        x = np.linspace(0, 20, 400)
        assert np.all(confidence.cone_tail(start + x, t) <= np.exp(-x * x / 2))


def test_corrected_bound_is_above_the_exact_tail():
    for t in (1, 2, 3, 10, 1000, 10**6, 10**12, 10**18):
        x = np.linspace(0.01, 30, 400)
        bound = np.array([confidence.corrected_tail(value, t) for value in x])
        assert np.all(confidence.cone_tail(x, t) <= bound)


@pytest.mark.parametrize("family", ["rademacher", "uniform"])
@pytest.mark.parametrize("t", [1, 2, 30])
def test_corrected_bound_holds_for_other_sub_gaussian_noise(family, t):
    runs = 20_000
    rng = np.random.default_rng([11, t])
    if family == "rademacher":
        noise = rng.choice([-1.0, 1.0], size=(runs, t))
    else:
        noise = rng.uniform(-math.sqrt(3), math.sqrt(3), size=(runs, t))
    found = suprema(noise)
    for level in (0.5, 0.1, 0.01):
        frequency = np.mean(found >= confidence.corrected_quantile(level, t))
        assert frequency <= level + margin(level, runs)


# ---- anytime ----


def test_the_line_holds_under_shares_that_react():
    """P(μ* − μ ≥ ε and B ≥ v at some time) ≤ exp(−ε²v/2), shares that starve an arm while it looks too good."""
    runs, periods, b = 4000, 300, 0.75
    rng = np.random.default_rng(6)
    weighted, information, share = np.zeros(runs), np.zeros(runs), np.ones(runs)
    cases = {(0.5, 10.0): np.zeros(runs, bool), (0.3, 20.0): np.zeros(runs, bool), (0.2, 30.0): np.zeros(runs, bool)}
    for _ in range(periods):
        weighted += share ** (1 - b) * rng.standard_normal(runs)
        information += share ** (2 - 2 * b)
        for (epsilon, least), crossed in cases.items():
            crossed |= (weighted >= epsilon * information) & (information >= least)
        share = np.where(weighted > np.sqrt(information), 0.01, 1.0)
    for (epsilon, least), crossed in cases.items():
        bound = math.exp(-epsilon * epsilon * least / 2)
        assert np.mean(crossed) <= bound + margin(bound, runs)


def test_anytime_interval_covers_all_periods_where_the_naive_one_fails():
    """A policy that freezes: almost no resource while the estimate looks significant, all of it before."""
    runs, periods, b, delta = 2000, 2000, 0.75, 0.05
    rng = np.random.default_rng(5)
    radius = np.vectorize(compiled(confidence.anytime_radius))
    weighted, information, share = np.zeros(runs), np.zeros(runs), np.ones(runs)
    crossed = np.zeros(runs, dtype=bool)
    for t in range(1, periods + 1):
        outcome = share**b * rng.standard_normal(runs)  # the mean is 0
        weighted += share ** (1 - 2 * b) * outcome
        information += share ** (2 - 2 * b)
        mean = weighted / information
        if t < 100 or t % 20 == 0:  # looking less often can only cross less
            crossed |= np.abs(mean) > radius(information, -math.log(delta), 1.0, 1.0)
        share = np.where(np.abs(mean) * np.sqrt(information) > 1.96, 1e-12, 1.0)
    naive = np.mean(np.abs(mean) > 1.96 / np.sqrt(information))
    assert np.mean(crossed) <= delta + margin(delta, runs)
    assert naive > 0.25


# ---- Algorithm 1 as printed ----


def test_literal_algorithm_keeps_one_arm_after_the_first_period_and_has_linear_regret():
    """K = 5, b = 0.75, gap 0.5. The algorithm, line by line; exact R/T from `printed_elimination_regret`."""
    runs, horizon, b = 4000, 30, 0.75
    means = np.array([0.5, 0.0, 0.0, 0.0, 0.0])
    rng = np.random.default_rng(3)
    regrets = np.zeros(runs)
    for run in range(runs):
        active = np.ones(5, dtype=bool)
        rewards, resource, squares = 0.0, 0.0, 0.0
        for t in range(1, horizon + 1):
            shares = active / active.sum()
            rewards = rewards + shares * means + shares**b * rng.standard_normal(5)
            resource, squares = resource + shares.max(), squares + shares.max() ** (2 * b)
            regrets[run] += float(shares @ (0.5 - means))
            estimate = np.where(active, rewards / resource, -np.inf)
            radius = confidence.printed_radius(float(t), float(horizon), resource**2 / squares, 1.0)
            active &= ~(estimate + radius < np.max(estimate - radius))
            assert active.sum() == 1
    exact = theory.printed_elimination_regret(means, b, horizon)
    assert abs(np.mean(regrets) - exact) < ERRORS * np.std(regrets) / math.sqrt(runs)
    assert round(theory.printed_elimination_regret(means, b, 10**6) / 10**6, 3) == 0.357

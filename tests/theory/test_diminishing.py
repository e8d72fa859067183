"""Diminishing returns: the constant of regret, what errors and a wrong exponent cost, a σ per arm."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion import theory
from apportion.errors import InvalidValue
from apportion.model import response

positive_means = st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=6)


def test_the_constant_has_its_worked_values():
    assert theory.bent_constant([1.0, 0.5, 0.5, 0.5, 0.5], 0.5, 1.0, 0.5) == pytest.approx(math.sqrt(2), rel=1e-14)
    # K equal arms: a = 1/K, V = μ K^(1−c).
    equal = 0.7 / (0.6 * 2.0 * 4**0.3) * 4 * 9.0 * 0.75 * 0.25**-0.4
    assert theory.bent_constant([2.0] * 4, 0.3, 3.0, 0.7) == pytest.approx(equal, rel=1e-13)
    assert theory.bent_constant([2.0] * 4, 0.3, [3.0] * 4, 0.7) == pytest.approx(equal, rel=1e-13)
    assert theory.bent_constant([2.0], 0.3, 3.0, 0.7) == 0.0


def test_the_constant_adds_up_what_each_arms_noise_costs():
    means, b, c = (1.0, 0.8, 0.5), 0.4, 0.6
    whole = theory.bent_constant(means, b, (1.0, 2.0, 3.0), c)
    alone = [theory.bent_constant(means, b, tuple(s if i == j else 1e-9 for i in range(3)), c)
             for j, s in enumerate((1.0, 2.0, 3.0))]  # fmt: skip
    assert whole == pytest.approx(math.fsum(alone), rel=1e-12)


@pytest.mark.parametrize(("b", "limit"), [(0.3, math.inf), (0.75, 0.0)])
def test_towards_proportional_returns_the_constant_falls_to_0_or_grows_without_limit(b, limit):
    found = [theory.bent_constant([1.0, 0.7, 0.5], b, 1.0, 1 - 10.0**-digits) for digits in range(2, 12)]
    assert found == sorted(found, reverse=limit == 0.0)
    assert found[-1] == limit


@given(positive_means, st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.sampled_from([0.01, 0.5, 0.9, 0.999, 1 - 1e-9]))
def test_the_constant_is_a_number_or_infinite_for_means_of_any_size(means, part, scale, c):
    assert theory.bent_constant(means, part * c, 1e-6 + 1e6 * scale, c) >= 0.0


def test_the_loss_of_errors_is_that_of_the_split_they_lead_to_in_the_second_order():
    rng = np.random.default_rng(5)
    for c in (0.2, 0.5, 0.8):
        means = rng.uniform(0.5, 1.5, 4)
        errors = rng.standard_normal(4)
        for size, close in ((1e-3, 2e-2), (1e-4, 2e-3)):
            split = response.optimal_split(means * (1 + size * errors), c=c)
            lost = response.value(means, c=c) - float(np.dot(means, split**c))
            assert theory.split_error_loss(means, size * errors, c) == pytest.approx(lost, rel=close)
    assert theory.split_error_loss([1.0, 0.5], [0.3, 0.3], 0.5) == pytest.approx(0.0, abs=1e-16)


def test_the_constant_is_the_loss_of_independent_errors_of_the_estimates():
    """ε_i has variance σ_i² / (μ_i² B_i), B_i = t·a_i^(2c−2b): the mean loss of period t is C*/t."""
    means, sigma, b, c = np.array([1.0, 0.8, 0.5]), np.array([0.5, 1.0, 2.0]), 0.4, 0.7
    shares = response.optimal_split(means, c=c)
    deviations = sigma / (means * shares ** (c - b))
    # The loss is a quadratic form: its mean is that of the form over independent coordinates.
    mean = math.fsum(
        theory.split_error_loss(means, deviation * np.eye(3)[arm], c) for arm, deviation in enumerate(deviations)
    )
    assert theory.bent_constant(means, b, sigma, c) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(
    ("means", "b", "sigma", "c"),
    [((1.0, 0.5, 0.5, 0.5, 0.5), 0.5, 1.0, 0.5), ((1.0, 0.8, 0.6), 0.4, (0.1, 0.2, 0.3), 0.7)],
)
def test_playing_the_optimum_of_the_estimates_has_regret_of_that_slope(means, b, sigma, c):
    """Slope in log T between 500 and 5000, 400 runs; 4 standard errors and 5% for what is not asymptotic yet."""
    rng, runs, horizon, start = np.random.default_rng(10), 400, 5000, 500
    means, power = np.array(means), 1 / (1 - c)
    information, score = np.zeros((2, runs, means.size))
    shares = np.full((runs, means.size), 1 / means.size)
    best, regret = response.value(means, c=c), np.zeros(runs)
    for period in range(1, horizon + 1):
        if period > start:
            regret += best - shares**c @ means
        outcomes = means * shares**c + sigma * shares**b * rng.standard_normal(shares.shape)
        information += shares ** (2 * c - 2 * b)
        score += shares ** (c - 2 * b) * outcomes
        weights = np.clip(score / information, 0.3, 2.0) ** power  # a compact set that has the means in it
        shares = weights / weights.sum(axis=1, keepdims=True)
    slope = regret / math.log(horizon / start)
    error = slope.std() / math.sqrt(runs)
    predicted = theory.bent_constant(means, b, sigma, c)
    assert abs(slope.mean() - predicted) < 4 * error + 0.05 * predicted
    assert error < 0.06 * predicted


def test_the_factor_of_a_wrong_exponent():
    assert [round(theory.wrong_exponent_factor(0.5, believed), 2) for believed in (0.7, 0.8, 0.9)] == [
        1.19,
        1.56,
        2.78,
    ]
    assert theory.wrong_exponent_factor(0.6, 0.6) == 1.0
    assert theory.wrong_exponent_factor(0.75, 0.6) == pytest.approx(0.625**2 / 0.25)
    assert theory.wrong_exponent_factor(0.75, 0.5) == math.inf
    assert theory.wrong_exponent_factor(0.9, 0.1) == math.inf
    assert theory.wrong_exponent_factor(0.5, 1.0) == math.inf
    assert math.isfinite(theory.wrong_exponent_factor(1e-300, 1 - 1e-16))


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 0.75, 0.99, 1.0])
@pytest.mark.parametrize("constant", ["printed", "sharp"])
def test_the_lower_bound_with_a_sigma_per_arm_is_that_with_one_where_they_are_equal(b, constant):
    one = theory.minimax_lower_bound(7, 10_000, b, 1.7, constant)
    assert theory.minimax_lower_bound(7, 10_000, b, [1.7] * 7, constant) == one
    # It grows with every σ but the smallest, and leaves that one out.
    assert theory.minimax_lower_bound(7, 10_000, b, [1.7] * 6 + [0.1], constant) == one
    assert theory.minimax_lower_bound(7, 10_000, b, [1.7] * 6 + [2.0], constant) > one


def test_the_lower_bound_with_a_sigma_per_arm_follows_from_the_divergence():
    """The raised arm gets at most its part T·σ_j^p / Σ σ^p of the resource, and a divergence of 1/2."""
    sigma, horizon = (0.5, 2.0, 1.0, 3.0), 1000
    for b in (0.5, 0.6, 0.75, 0.9):
        bound = theory.minimax_lower_bound(4, horizon, b, sigma, constant="sharp")
        gap = bound / (horizon * math.exp(-0.5) / 8)
        weights = [scale ** (1 / (1 - b)) for scale in sigma[1:]]
        for scale, weight in zip(sigma[1:], weights):
            information = horizon * (weight / sum(weights)) ** (2 - 2 * b)
            assert theory.divergence([information], [0.0], [2 * gap], scale) == pytest.approx(0.5)


TWO = [1.0, 0.5]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: theory.bent_constant(TWO, 0.6, 1.0, 0.5),
            r"`b` must be at most c = 0.5, as above it tiny amounts tell",
        ),
        (lambda: theory.bent_constant(TWO, 0.5, 1.0, 1.0), r"`c` must be below 1 \(C\* is of diminishing returns;"),
        (lambda: theory.bent_constant([1.0, 0.0], 0.5, 1.0, 0.5), r"`means\[1\]` must be a number above 0; got 0.0."),
        (lambda: theory.bent_constant(TWO, 0.5, [1.0], 0.5), r"`sigma` must be a number, or one per arm \(2\)"),
        (lambda: theory.bent_constant(TWO, 0.5, [1.0, 0.0], 0.5), r"`sigma\[1\]` must be a number above 0; got 0.0."),
        (lambda: theory.split_error_loss(TWO, [0.1], 0.5), r"`errors` must be one for each of 2 arms; got"),
        (lambda: theory.split_error_loss(TWO, TWO, 1.0), r"`c` must be below 1"),
        (lambda: theory.wrong_exponent_factor(1.0, 0.5), r"`c` must be below 1"),
        (lambda: theory.wrong_exponent_factor(0.5, 0.0), r"`believed` must be a number in \(0, 1\]; got 0.0."),
        (lambda: theory.minimax_lower_bound(3, 100, 0.5, TWO), r"`sigma` must be a number, or one per arm \(3\)"),
        (lambda: theory.minimax_lower_bound(3, 100, 0.5, "ab"), r"`sigma` must be a number above 0; got 'ab'."),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, sentence):
    with pytest.raises(InvalidValue, match=sentence):
        call()

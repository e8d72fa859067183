"""Errata of the paper that need no simulated policy: the display without order, two sides, two steps of proofs.

Error budget: simulated means are held to 5 standard errors (6e-7), fewer than 10 comparisons.
"""

import math

import numpy as np
import pytest

from apportion import theory
from apportion.model import confidence


@pytest.mark.parametrize("family", ["gaussian", "rademacher"])
def test_without_order_the_supremum_grows_as_the_root_of_t_and_its_mean_square_is_half_of_t(family):
    """sup over a ≥ 0 is ‖max(ξ, 0)‖: mean square t/2. The text has E‖ξ‖² = O(√t); it is t."""
    rng, runs = np.random.default_rng(3), 4000
    for t in (1, 10, 1000):
        shape = (runs, t)
        noise = rng.standard_normal(shape) if family == "gaussian" else rng.choice([-1.0, 1.0], shape)
        squares = np.sum(np.maximum(noise, 0.0) ** 2, axis=1)
        error = 5 * squares.std() / math.sqrt(runs)
        assert abs(squares.mean() - theory.unordered_growth(t) ** 2) < error
        assert np.sqrt(squares).mean() <= theory.unordered_growth(t) + 5 * np.sqrt(squares).std() / math.sqrt(runs)
        assert abs(np.sum(noise**2, axis=1).mean() - t) <= 5 * np.sum(noise**2, axis=1).std() / math.sqrt(runs)
    # Nothing of nonnegative weights beats it, and at t = 1000 the order is worth a factor of 5 and more.
    weights = rng.random((500, 20))
    noise = rng.standard_normal(20)
    bound = np.linalg.norm(np.maximum(noise, 0.0))
    assert np.all(weights @ noise / np.linalg.norm(weights, axis=1) <= bound + 1e-12)
    assert theory.unordered_growth(1000) > 4.5 * confidence.cone_quantile(0.01, 1000)


def test_the_self_normalised_sum_grows_as_the_root_of_the_log_and_not_of_t():
    """|ΣA^b ξ|/√V, V = ΣA^(2b), under shares that rise and fall with the noise: within √V times the anytime radius at
    all 3000 periods in all but δ of the runs, and that grows as √(log t), where √(t log t) is said and log t printed.
    """
    rng, runs, b, delta = np.random.default_rng(6), 4000, 0.75, 0.05
    sums, squares, failed = np.zeros(runs), np.zeros(runs), np.zeros(runs, dtype=bool)
    rho = 0.1
    for _ in range(3000):
        share = np.where(sums > 0, 0.05, 0.5)  # an arm that looks good is starved, so that it stays so
        sums += share**b * rng.standard_normal(runs)
        squares += share ** (2 * b)
        logs = np.log1p(squares / rho) - 2 * math.log(delta)
        failed |= np.abs(sums) > np.sqrt((squares + rho) * logs)
    assert failed.mean() <= delta + 5 * math.sqrt(delta * (1 - delta) / runs)
    assert failed.any()  # it is a bound that can be reached, and by its own function the same:
    last = [math.sqrt(v) * confidence.anytime_radius(v, -math.log(delta), rho, 1.0) for v in squares[:5]]
    np.testing.assert_allclose(last, np.sqrt((squares + rho) / squares * logs)[:5], rtol=1e-12)
    growth = [math.sqrt(t) * confidence.anytime_radius(t, -math.log(delta), rho, 1.0) for t in (1e3, 1e6, 1e12)]
    assert growth[2] / growth[0] < math.sqrt(math.log(1e12) / math.log(1e3))
    assert growth[2] < 0.2 * confidence.printed_quantile(delta, 10**12)


def test_rising_weights_have_far_smaller_packings_than_weights_without_order():
    """N rising unit vectors, 1 apart: log N ≤ π log 2 H_t (Sudakov and the cone law); without order all are apart."""
    rng, t, tried = np.random.default_rng(7), 400, 3000
    bound = math.pi * math.log(2) * confidence.harmonic(t)

    def packed(candidates):
        kept = np.zeros((0, t))
        for vector in candidates:
            if not len(kept) or np.max(kept @ vector) <= 0.5:  # |x − y|² = 2 − 2 x·y ≥ 1
                kept = np.vstack([kept, vector])
        return len(kept)

    steps = rng.standard_exponential((tried, t)) * (
        rng.random((tried, t)) < rng.choice([0.003, 0.01, 0.1], (tried, 1))
    )
    steps *= np.exp(8 * rng.standard_normal((tried, t)))  # few steps, of very different heights
    steps[:, 0] += 1e-9
    rising = np.cumsum(steps, axis=1)
    unordered = rng.random((tried, t)) < 0.25
    counts = [packed(v / np.linalg.norm(v, axis=1, keepdims=True)) for v in (rising, unordered.astype(float))]
    assert 3 <= counts[0] < 100
    assert math.log(counts[0]) <= bound
    assert counts[1] > 0.9 * tried


def test_two_sides_need_both_signs():
    """P(|ξ| ≥ √h ε) ≤ t exp(−ε²/2), as printed for |μ1 − μ|, fails for one coin at ε = 1; with 2t it holds."""
    for epsilon in np.linspace(0.05, 1.0, 20):  # |ξ| = 1: the probability is 1
        assert math.exp(-epsilon * epsilon / 2) < 1.0 <= 2 * math.exp(-epsilon * epsilon / 2)
    rng, runs = np.random.default_rng(4), 20_000
    noise = rng.choice([-1.0, 1.0], (runs, 3))
    for epsilon in (0.8, 1.2, 1.6):
        threshold = math.sqrt(confidence.monotone_growth(3.0)) * epsilon
        both = np.mean(
            [max(confidence.cone_supremum(row), confidence.cone_supremum(-row)) >= threshold for row in noise]
        )
        assert both <= min(1.0, 2 * 3 * math.exp(-epsilon * epsilon / 2))


def test_the_sketch_of_theorem_two_has_another_failure_probability_than_its_proof():
    """Σ K t⁻² does not vanish with T; the proof's K t T⁻⁴ adds up to at most 1/T, which is what the bound needs."""
    arms = 10
    for horizon in (100, 10_000):
        t = np.arange(1.0, horizon + 1)
        assert np.sum(arms * t**-2.0) > 1.6 * arms
        assert np.sum(arms * t * horizon**-4.0) <= 1 / horizon


def test_the_event_of_the_best_arm_in_the_proof_of_theorem_four_is_empty_as_printed():
    """G for i* with Δ_{i*} = 0 is an open interval of length 0; with Δ_i the two events exclude an error."""
    rng = np.random.default_rng(5)
    means, gap = np.array([0.5, 0.0]), 0.5
    estimates = means + rng.standard_normal((20_000, 2))
    as_printed = np.abs(estimates[:, 0] - means[0]) < 0.0 / 2
    assert not np.any(as_printed)
    good = np.all(np.abs(estimates - means) < gap / 2, axis=1)
    assert np.any(good)
    assert not np.any(good & (estimates[:, 1] >= estimates[:, 0]))


def test_full_feedback_has_a_third_power_of_the_gap_as_printed_and_the_first_in_the_sharp_bound():
    """b = 1, ε → 0: m = ⌈1/(1 − ε)⌉ = 2, so Δ^(1 − 2m) = Δ⁻³ where Δ⁻¹ is said."""
    for form, power in (("printed", -3.0), ("sharp", -1.0)):
        bounds = [theory.greedy_regret_bound((gap, 0.0), 1.0, 1e-3, form=form) for gap in (1e-5, 1e-6)]
        assert -math.log10(bounds[1] / bounds[0]) == pytest.approx(power, abs=1e-3)

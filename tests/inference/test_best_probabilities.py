"""The probability of being best, against closed forms, mpmath and plain numerical integration."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import apportion as ap
from apportion._common.compiled import compiled
from apportion.inference.best_probabilities import ACCURATE, QUICK, best_probabilities, probability_best


def plainly(means, deviations, width):
    result = np.empty(len(means))
    with np.errstate(all="ignore"):
        probability_best(np.array(means, float), np.array(deviations, float), width, result)
    return result


def by_scipy(means, deviations):
    """∫ φ_i Π Φ_j, cut at every arm's own scale so that adaptive quadrature cannot overlook a narrow one."""
    cuts = sorted({m + z * s for m, s in zip(means, deviations) for z in (-9, -5, -2, -1, 0, 1, 2, 5, 9)})

    def chance(i):
        def integrand(x):
            others = [norm.cdf(x, m, s) for j, (m, s) in enumerate(zip(means, deviations)) if j != i]
            return norm.pdf(x, means[i], deviations[i]) * math.prod(others)

        inside = [cut for cut in cuts if abs(cut - means[i]) <= 9.001 * deviations[i]]
        return sum(
            quad(integrand, left, right, epsabs=1e-14, epsrel=1e-12)[0] for left, right in itertools.pairwise(inside)
        )

    return np.array([chance(i) for i in range(len(means))])


@pytest.mark.parametrize("gap", [0.0, 1e-9, 0.3, 1.0, 5.0, 12.0])
@pytest.mark.parametrize("deviations", [(1.0, 1.0), (1.0, 1e-3), (1e3, 1.0), (1e-6, 2.0)])
def test_two_arms_have_a_closed_form(gap, deviations):
    z = gap / math.hypot(*deviations)
    chances = best_probabilities([gap, 0.0], deviations)
    assert chances == pytest.approx([norm.cdf(z), norm.cdf(-z)], abs=1e-12)


@pytest.mark.parametrize(
    ("means", "deviations"),
    [
        ((0.0, 0.5, 1.0), (1.0, 1.0, 1.0)),
        ((0.0, 0.1, -0.1), (1e-3, 1.0, 0.03)),
        ((0.3, 0.3, 0.3, 0.3), (1.0, 0.1, 0.01, 0.001)),
        ((2.0, 1.9, 1.0, 0.0, -5.0), (0.05, 0.3, 1.0, 2.0, 7.0)),
        ((1.0, 1.1, 0.9, 1.05, 0.2, 1.2), (0.5, 0.0005, 0.05, 0.3, 0.5, 0.1)),
    ],
)
def test_several_arms_agree_with_adaptive_quadrature(means, deviations):
    expected = by_scipy(means, deviations)
    assert best_probabilities(means, deviations) == pytest.approx(expected, abs=1e-10)
    assert plainly(means, deviations, QUICK) == pytest.approx(expected, abs=1e-5)


def test_small_probabilities_are_right_to_many_digits():
    means, deviations = (0.0, 1.0, 2.0), (0.3, 0.2, 0.25)
    mpmath.mp.dps = 40

    def integrand(x):
        below = [mpmath.ncdf((x - m) / s) for m, s in zip(means[1:], deviations[1:])]
        return mpmath.npdf(x, means[0], deviations[0]) * below[0] * below[1]

    expected = mpmath.quad(integrand, mpmath.linspace(-2, 4, 25))
    assert expected < 1e-6
    assert best_probabilities(means, deviations)[0] == pytest.approx(float(expected), rel=1e-9)


def test_the_quick_width_is_as_accurate_as_it_says():
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(60):
        arms = int(rng.integers(2, 9))
        means, deviations = rng.standard_normal(arms), 10.0 ** rng.uniform(-3, 0, arms)
        worst = max(worst, np.abs(plainly(means, deviations, QUICK) - plainly(means, deviations, ACCURATE)).max())
    assert worst < 1e-5


def test_an_unknown_arm_is_above_the_others_half_of_the_time():
    assert best_probabilities([9.0, math.nan], [1.0, math.inf]).tolist() == [0.5, 0.5]
    known = best_probabilities([0.0, 1.0], [1.0, 1.0])
    both = best_probabilities([0.0, 0.0, 1.0, 0.0], [1.0, math.inf, 1.0, math.inf])
    assert both == pytest.approx([known[0] / 4, 3 / 8, known[1] / 4, 3 / 8], abs=1e-14)
    assert best_probabilities([0.0] * 4, [math.inf] * 4).tolist() == [0.25] * 4


def test_the_unknown_are_the_limit_of_wide_beliefs():
    wide = best_probabilities([0.0, 0.5, 3.0], [1.0, 1.0, 1e9])
    limit = best_probabilities([0.0, 0.5, 3.0], [1.0, 1.0, math.inf])
    assert wide == pytest.approx(limit, abs=1e-6)


def test_one_arm_is_the_best():
    assert best_probabilities([3.0], [2.0]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("means", "deviations", "expected"),
    [
        ((1.0, 2.0), (1e-300, 1e-300), (0.0, 1.0)),
        ((1.0, 1.0, 0.0), (1e-320, 1e-320, 1e-320), (0.5, 0.5, 0.0)),
        ((1e6, 1e6 + 1e-9), (1e-12, 1e-12), (0.0, 1.0)),
        ((1e6, 0.0), (1e-12, 1e7), (norm.cdf(0.1), norm.cdf(-0.1))),
        ((0.0, 0.0, 0.0), (1e-300, 1.0, 1e300), (0.25, 0.25, 0.5)),
        ((1e300, -1e300), (1e299, 1e299), (1.0, 0.0)),
        ((-1e6, 0.0), (1e9, 1e-9), (norm.cdf(-1e-3), norm.cdf(1e-3))),
    ],
)
def test_extremes(means, deviations, expected):
    """Beliefs narrower than the spacing of floating-point numbers near their means included."""
    assert best_probabilities(means, deviations) == pytest.approx(expected, abs=1e-10)


@settings(deadline=None, max_examples=60)
@given(
    arms=st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-9, 1e9)), min_size=1, max_size=7),
    seed=st.integers(0, 2**32 - 1),
)
def test_probabilities_for_any_beliefs(arms, seed):
    means, deviations = np.array(arms).T
    chances = best_probabilities(means, deviations)
    assert (chances >= 0.0).all()
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    order = np.random.default_rng(seed).permutation(len(arms))
    assert best_probabilities(means[order], deviations[order]) == pytest.approx(chances[order], abs=1e-10)


def test_raising_a_mean_raises_its_chance():
    chances = [best_probabilities([mean, 0.5, 1.0], [0.5, 1.0, 0.2])[0] for mean in np.linspace(-3, 3, 25)]
    assert (np.diff(chances) > 0.0).all()


def test_plain_equals_compiled():
    rng = np.random.default_rng(9)
    for width in (ACCURATE, QUICK):
        means, deviations = rng.standard_normal(12), 10.0 ** rng.uniform(-3, 1, 12)
        deviations[3] = math.inf
        fast = np.empty(12)
        compiled(probability_best)(means, deviations, width, fast)
        assert fast == pytest.approx(plainly(means, deviations, width), rel=1e-12, abs=1e-14)


def test_many_arms_agree_with_simulation():
    """Error budget: 600 counts at 5.5 standard errors, below 3e-5 in all; seeded."""
    rng = np.random.default_rng(2)
    means, deviations = rng.standard_normal(600), 10.0 ** rng.uniform(-1, 0.3, 600)
    chances = best_probabilities(means, deviations)
    draws = 20_000
    winners = np.concatenate([
        (means + deviations * rng.standard_normal((1000, 600))).argmax(axis=1) for _ in range(draws // 1000)
    ])  # fmt: skip
    counts = np.bincount(winners, minlength=600)
    error = np.sqrt(draws * chances * (1 - chances)) + 1.0
    assert (np.abs(counts - draws * chances) < 5.5 * error).all()


@pytest.mark.parametrize(
    ("means", "deviations", "sentence"),
    [
        ([1.0, 2.0], [1.0], "`deviations` must be one number per mean ((2,)); got (1,)."),
        ([], [], "`deviations` must be one number per mean ((0,)); got (0,)."),
        ([1.0], [0.0], "`deviations` must be numbers above 0; got array([0.])."),
        ([1.0], [math.nan], "`deviations` must be numbers above 0; got array([nan])."),
        ([math.nan], [1.0], "`means` must be finite numbers; got array([nan])."),
        (["x"], [1.0], "`means` must be numbers, and so must `deviations`; got ['x']."),
    ],
)
def test_bad_beliefs_get_one_sentence(means, deviations, sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        best_probabilities(means, deviations)
    assert str(caught.value) == sentence


def test_no_arm_is_likelier_to_be_best_than_to_beat_the_leader():
    """P(i best) ≤ Φ(−z), z to the largest mean: what Theorem C needs of `Matching`, also far in the tail."""
    rng = np.random.default_rng(9)
    for width in (ACCURATE, QUICK):
        for _ in range(300):
            arms = int(rng.integers(2, 12))
            deviations = np.exp(rng.choice([0.1, 1.0, 3.0]) * rng.standard_normal(arms))
            means = rng.choice([0.1, 1.0, 10.0, 100.0]) * rng.standard_normal(arms)
            found, leader = plainly(means, deviations, width), int(means.argmax())
            z = (means[leader] - means) / np.hypot(deviations, deviations[leader])
            others = np.arange(arms) != leader
            assert np.all(found[others] <= 1.0001 * norm.cdf(-z[others]))

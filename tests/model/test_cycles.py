"""The cycle law: its combinatorial identity in full, its weights and quantiles, and what it covers."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import chi2

from apportion._common.compiled import compiled
from apportion.errors import InvalidValue
from apportion.model import confidence, noise


def cycles_of(permutation):
    """The cycles of a permutation of 0 .. n-1, as sets."""
    left, found = set(range(len(permutation))), []
    while left:
        start = element = left.pop()
        cycle = {start}
        while (element := permutation[element]) != start:
            cycle.add(element)
            left.discard(element)
        found.append(cycle)
    return found


def squares_over_cycles(values, permutation):
    return math.fsum(max(sum(values[i] for i in cycle), 0.0) ** 2 / len(cycle) for cycle in cycles_of(permutation))


@pytest.mark.parametrize(
    "values",
    [(0.3, -1.1, 0.7, 2.2, -0.4), (1.0, -1.0, 1.0, 1.0, -1.0), (-1.0, -2.0, 0.5), (0.0, 0.0, 3.0, -3.0)],
    ids=["generic", "ties", "short", "zeros"],
)
def test_over_all_orders_the_squared_suprema_are_the_sums_over_the_cycles_of_all_permutations(values):
    """Theorem P, exactly: both sides as multisets over the t! arrangements, also where partial means are tied."""
    orders = list(itertools.permutations(range(len(values))))
    suprema = [max(confidence.cone_supremum([values[i] for i in order]), 0.0) ** 2 for order in orders]
    sums = [squares_over_cycles(values, order) for order in orders]
    np.testing.assert_allclose(sorted(suprema), sorted(sums), atol=1e-12)


def test_blocks_that_stay_above_their_chord_are_one_rotation_in_each_cycle():
    """The cycle lemma behind it: of the n rotations of generic values exactly one walk stays above its chord."""
    rng = np.random.default_rng(2)
    for n in range(1, 8):
        values = rng.standard_normal(n)
        above = 0
        for turn in range(n):
            walk = np.cumsum(np.roll(values, turn))[:-1] - values.mean() * np.arange(1, n)
            above += bool(np.all(walk > 0))
        assert above == 1


@pytest.mark.parametrize("t", [1, 2, 3, 5])
def test_weights_count_the_cycles_of_all_permutations(t):
    counted = Counter(len(cycles_of(order)) for order in itertools.permutations(range(t)))
    found = confidence.cycles_weights(t)
    assert [round(weight * math.factorial(t), 9) for weight in found] == [counted[k] for k in range(t + 1)]


@pytest.mark.parametrize("t", [300, 10**6, 10**12, 10**18])
@pytest.mark.parametrize("z", [0.5, 1.0, 2.0])
def test_weights_at_large_t_sum_to_the_gamma_ratio(t, z):
    weights = confidence.cycles_weights(t)
    if t < 10**7:
        expected = gammaln(t + z) - gammaln(t + 1) - gammaln(z)
    else:  # Γ(t + z)/Γ(t + 1) = t^(z − 1) (1 + O(1/t))
        expected = (z - 1) * math.log(t) - gammaln(z)
    assert math.log(np.sum(weights * z ** np.arange(len(weights)))) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("t", [1, 7, 1000])
def test_tail_is_the_mixture_of_chi_laws(t):
    weights, x = confidence.cycles_weights(t), np.array([0.1, 1.0, 3.0, 6.0, 12.0])
    direct = [math.fsum(w * chi2.sf(v * v, 2 * k) for k, w in enumerate(weights) if k) for v in x]
    np.testing.assert_allclose(confidence.cycles_tail(x, t), direct, rtol=1e-10)


@given(st.floats(-40, -0.31), st.one_of(st.integers(1, 2000), st.integers(10**4, 10**18)))
def test_quantile_inverts_the_tail_and_stands_between_the_exact_law_and_the_closed_form(power, t):
    level = 10.0**power
    found = confidence.cycles_quantile(level, t)
    assert math.log(confidence.cycles_tail(found, t)) == pytest.approx(math.log(level), abs=1e-9)
    assert confidence.cone_quantile(level, t) < found <= confidence.cycles_closed_form(level, t)


def test_the_closed_form_is_a_bound_on_the_tail():
    for t in (1, 2, 3, 10, 1000, 10**6, 10**12, 10**18):
        x = np.linspace(0, 20, 400)
        tail = confidence.cycles_tail(math.sqrt(2 * confidence.harmonic(t)) + x, t)
        assert np.all(tail <= np.exp(-x * x / 2) * (1 + 1e-12))


def test_the_radius_is_a_third_narrower_than_the_corrected_one_and_29_percent_in_closed_form():
    """K = 10, T = 10^5, level 1/(K T²) per arm and period, by each law's own bound."""
    level, horizon = 1e-11, 10**5
    corrected = confidence.corrected_quantile(level, horizon)
    assert round(1 - confidence.cycles_closed_form(level, horizon) / corrected, 2) == 0.29
    assert round(1 - confidence.cycles_quantile(level, horizon) / corrected, 2) == 0.33


def test_the_table_is_exact_at_its_counts_and_rises():
    counts, quantiles = confidence.cycles_table(10**4, 1e-6)
    assert counts[-1] == 10**4
    assert np.all(np.diff(quantiles) > 0)
    for index in (0, 63, 100, len(counts) - 1):
        assert quantiles[index] == pytest.approx(confidence.cycles_quantile(1e-6, int(counts[index])), rel=1e-12)


FAMILIES = (noise.Gaussian(), noise.Rademacher(), noise.UniformNoise(), noise.CentredBernoulli(0.1))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("t", [1, 10, 200])
def test_the_bound_covers_gaussian_rademacher_uniform_and_skewed_bernoulli_noise(family, t):
    """Coverage: 5 standard errors above the level (3e-7 each, 48 comparisons: below 2e-5 together)."""
    runs = 20_000 if t < 200 else 4000
    rng = np.random.default_rng([14, t])
    if family.name == "bernoulli":
        drawn = ((rng.random((runs, t)) < family.p) - family.p) / math.sqrt(noise.bernoulli_proxy(family.p))
    else:
        drawn = {
            "gaussian": lambda: rng.standard_normal((runs, t)),
            "rademacher": lambda: rng.choice([-1.0, 1.0], (runs, t)),
            "uniform": lambda: rng.uniform(-math.sqrt(3), math.sqrt(3), (runs, t)),
        }[family.name]()
    fast = compiled(confidence.supremum)
    for sign in (1.0, -1.0):  # the bound holds for both tails of a skewed law
        found = np.array([fast(sign * row) for row in drawn])
        for level in (0.1, 0.01):
            frequency = np.mean(found >= confidence.cycles_quantile(level, t))
            assert frequency <= level + 5 * math.sqrt(level * (1 - level) / runs)
        if family.name == "rademacher" and t == 10:  # E sup₊² = H_t/2 for symmetric noise of variance 1
            squares = np.maximum(found, 0.0) ** 2
            assert abs(squares.mean() - confidence.harmonic(t) / 2) < 5 * squares.std() / math.sqrt(runs)


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
@pytest.mark.parametrize("t", [1, 2, 3, 4, 6, 9])
def test_the_tail_is_never_above_the_bound_for_noise_with_two_values(p, t):
    """(P) at every x that matters, by all 2^t outcomes; rare large values come within 2% of it at t = 1."""
    scale = math.sqrt(noise.bernoulli_proxy(p))
    suprema, chances = [], []
    for outcome in itertools.product((0, 1), repeat=t):
        suprema.append(confidence.cone_supremum([(success - p) / scale for success in outcome]))
        chances.append(math.prod(p if success else 1 - p for success in outcome))
    suprema, chances = np.array(suprema), np.array(chances)
    for x in np.unique(suprema[suprema > 0].round(9)):
        assert chances[suprema >= x - 2e-9].sum() <= confidence.cycles_tail(float(x) + 2e-9, t) + 1e-12
    if t == 1 and p == 0.02:
        assert p > 0.98 * confidence.cycles_tail((1 - p) / scale, 1)


def test_the_mean_square_needs_one_law_for_all_periods():
    """Two coins, then ±2 with probability 1/8 each: 15/16, where noise of one law has H_3/2 = 11/12; by all outcomes.

    In the mean over the six orders of the three laws it is 11/12 again, as then the noise is exchangeable.
    """

    def mean_square(laws):
        return math.fsum(
            math.prod(chance for _, chance in outcome)
            * max(confidence.cone_supremum([value for value, _ in outcome]), 0.0) ** 2
            for outcome in itertools.product(*laws)
        )

    coin, rare = [(1.0, 0.5), (-1.0, 0.5)], [(2.0, 0.125), (-2.0, 0.125), (0.0, 0.75)]
    assert mean_square([coin] * 3) == pytest.approx(11 / 12, abs=1e-12)
    assert mean_square([rare] * 3) == pytest.approx(11 / 12, abs=1e-12)
    assert mean_square([coin, coin, rare]) == pytest.approx(15 / 16, abs=1e-12)
    orders = [mean_square(laws) for laws in itertools.permutations([coin, coin, rare])]
    assert math.fsum(orders) / 6 == pytest.approx(11 / 12, abs=1e-12)


def test_skewed_noise_can_exceed_the_gaussian_threshold_which_the_cycle_law_does_not():
    """Bernoulli(0.1), one period: P(ξ ≥ 0.9/s) = 0.1, where the Gaussian tail is 0.0175 and the cycle law's 0.108."""
    top = 0.9 / math.sqrt(noise.bernoulli_proxy(0.1))
    assert confidence.cone_tail(top, 1) < 0.1 < confidence.cycles_tail(top, 1)


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(InvalidValue, match="`x` must be a number above 0, or an array of them; got 0"):
        confidence.cycles_tail(0.0, 3)
    with pytest.raises(InvalidValue, match="`level` must be a number in"):
        confidence.cycles_quantile(1.0, 3)

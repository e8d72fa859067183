"""Every theorem as a function: worked values, brute force, extremes, refusals."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import apportion as ap
from apportion import theory
from apportion.errors import InvalidValue
from apportion.model.confidence import harmonic
from apportion.theory.guarantee import guaranteed_regret

UPPER_B = st.floats(0.5, 1.0)
GREEDY_FORMS = ("printed", "corrected", "sharp", "information")
ELIMINATION_FORMS = ("printed", "repaired", "corrected", "anytime")

# ---- the law ----


def test_information_is_concave_above_a_half_and_convex_below():
    for b, sign in ((0.75, 1), (0.25, -1), (0.5, 0)):
        halves = 2 * theory.information_rate(0.5, b) - theory.information_rate(1.0, b)
        assert np.sign(round(halves, 12)) == sign


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 1.0])
def test_no_share_gives_no_information_at_any_b(b):
    assert theory.information_rate(0.0, b) == 0.0
    assert theory.information_rate(1.0, b) == 1.0
    assert math.isfinite(theory.information_rate(1e-150, b))


def test_toy_example_prefers_dividing_above_a_half():
    assert theory.toy_example(9, 0.75) == (1.0, pytest.approx(9**-0.5))
    assert theory.toy_example(9, 0.5) == (1.0, 1.0)
    assert theory.toy_example(9, 0.25).dividing == pytest.approx(3.0)
    assert theory.toy_example(4, 1.0, sigma=2.0) == (4.0, 1.0)


def test_toy_example_follows_from_the_information():
    for b, c in itertools.product((0.1, 0.5, 0.9), (0.3, 0.7, 1.0)):
        information = 7 * theory.information_rate(1 / 7, b, c)
        assert theory.toy_example(7, b, c=c).dividing == pytest.approx(1 / information)
    assert theory.toy_example(7, 0.25, c=0.75) == (1.0, 1.0)  # the transition is where c − b is a half


def test_divergence_is_the_sum_of_gaussian_divergences_over_periods():
    """One arm, shares fixed: the sum over periods of KL(N(A mu, A^2b s^2), N(A mu', A^2b s^2))."""
    shares, b, sigma, mean, other = (0.2, 0.7, 0.1), 0.8, 1.3, 0.4, -0.5
    direct = sum((a * (mean - other)) ** 2 / (2 * a ** (2 * b) * sigma**2) for a in shares)
    information = sum(theory.information_rate(a, b) for a in shares)
    assert theory.divergence([information], [mean], [other], sigma) == pytest.approx(direct)


def test_divergence_of_the_hard_pair_is_at_most_a_half():
    """What the proof of Theorem 1 uses: the raised arm has at most T/(K-1)^(2-2b) information."""
    for arms, horizon, b in itertools.product((2, 5, 40), (100, 10**6), (0.0, 0.5, 0.75, 1.0)):
        first, second = theory.hard_instances(arms, horizon, b, sigma=3.0)
        most = horizon / (arms - 1) ** (2 - 2 * max(b, 0.5))
        information = [0.0, most] + [0.0] * (arms - 2)
        assert theory.divergence(information, first, second, sigma=3.0) == pytest.approx(0.5)


@pytest.mark.parametrize("t", [1, 30, 1000, 1001, 50_000])
@pytest.mark.parametrize(("alpha", "b"), [(1.5, 0.75), (1.0, 0.5), (2.0, 1.0), (0.7, 0.1), (5.0, 0.0)])
def test_example_precision_is_the_direct_sum(t, alpha, b):
    shares = np.arange(1, t + 1, dtype=float) ** -alpha
    found = theory.example_precision(t, alpha, b)
    resource = np.sum(shares)
    assert found.resource == pytest.approx(resource, rel=1e-12, abs=0)
    assert found.ratio_of_sums == pytest.approx(resource**2 / np.sum(shares ** (2 * b)), rel=1e-12, abs=0)
    assert found.mean_of_ratios == pytest.approx(t**2 / np.sum(shares ** (2 * b - 2)), rel=1e-12, abs=0)
    assert found.information == pytest.approx(np.sum(shares ** (2 - 2 * b)), rel=1e-12, abs=0)


def test_example_keeps_resource_finite_while_information_grows():
    small, large = (theory.example_precision(t, 1.5, 0.75) for t in (10**6, 10**14))
    assert large.resource < float(mpmath.zeta(1.5))
    assert large.ratio_of_sums < large.resource**2
    assert large.mean_of_ratios / small.mean_of_ratios == pytest.approx(1e8**0.25, rel=1e-3, abs=0)
    assert large.information / small.information == pytest.approx(1e8**0.25, rel=0.05, abs=0)


@settings(deadline=None)
@given(st.integers(1, 10**15), st.floats(0, 5), st.floats(0, 1))
def test_information_is_at_least_both_precisions(t, alpha, b):
    found = theory.example_precision(t, alpha, b)
    assert found.information >= max(found.ratio_of_sums, found.mean_of_ratios) * (1 - 1e-9)


# ---- lower bounds ----


def test_minimax_lower_bound_has_its_worked_values():
    assert theory.minimax_lower_bound(arms=10, horizon=10_000, b=0.75) == pytest.approx(9**0.25 * 100 / 27)
    assert theory.minimax_lower_bound(arms=10, horizon=10_000, b=0.2) == pytest.approx(300 / 27)
    sharp = theory.minimax_lower_bound(arms=2, horizon=100, b=1.0, constant="sharp")
    assert round(sharp / 10, 4) == 0.0379
    assert sharp > theory.minimax_lower_bound(arms=2, horizon=100, b=1.0)


def test_minimax_branches_agree_at_a_half():
    below, at, above = (theory.minimax_lower_bound(50, 1000, b) for b in (0.5 - 1e-12, 0.5, 0.5 + 1e-12))
    assert below == at == pytest.approx(above, rel=1e-10, abs=0)


def test_one_arm_has_no_regret_also_under_full_feedback():
    assert theory.minimax_lower_bound(1, 100, 1.0) == 0.0


def test_hard_pair_raises_one_arm_above_the_best():
    first, second = theory.hard_instances(4, 10_000, 0.3, sigma=2.0, raised=3)
    gap = 2.0 * math.sqrt(3 / 40_000)
    assert first == pytest.approx((gap, 0, 0, 0))
    assert second == pytest.approx((gap, 0, 0, 2 * gap))


def test_hard_pair_gives_the_sharp_constant():
    """(T D / 8) exp(-1/2), the last line of the proof with the halving of the two regrets."""
    first, _ = theory.hard_instances(6, 500, 0.8)
    assert 500 * first[0] / 8 * math.exp(-0.5) == pytest.approx(
        theory.minimax_lower_bound(6, 500, 0.8, constant="sharp")
    )


def test_asymptotic_lower_bound_sums_over_suboptimal_arms():
    assert theory.asymptotic_lower_bound([1.0, 0.75, 0.5, 1.0], 0.25, sigma=2.0) == pytest.approx(8 / 0.25 + 8 / 0.5)
    assert theory.asymptotic_lower_bound([1.0, 1.0], 0.5) == 0.0


def test_table_has_the_four_rows_of_the_paper():
    assert [row.regime for row in theory.TABLE_1] == ["bandit", "pool", "divide", "full feedback"]
    assert theory.regret_rate(0).regime == "bandit"
    assert theory.regret_rate(0.5).regime == theory.regret_rate(1e-9).regime == "pool"
    assert theory.regret_rate(0.5 + 1e-9).regime == "divide"
    assert theory.regret_rate(1).arms_log_power == 0.5
    assert [row.gap_dependent_log_power for row in theory.TABLE_1] == [1, 1, 0, 0]
    assert theory.regret_rate(0.75).arms_power(0.75) == 0.25


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 0.6, 0.9])
def test_lower_bound_follows_the_rate_of_its_row(b):
    rate = theory.regret_rate(b)
    in_time = theory.minimax_lower_bound(10, 10**8, b) / theory.minimax_lower_bound(10, 10**6, b)
    in_arms = theory.minimax_lower_bound(100_001, 10**6, b) / theory.minimax_lower_bound(1001, 10**6, b)
    assert math.log(in_time, 100) == pytest.approx(rate.time_power)
    assert math.log(in_arms, 100) == pytest.approx(rate.arms_power(b))


# ---- Lemma 2 ----


def test_stopping_time_maximum_against_every_integer_choice():
    """K = 3, T = 40, b = 0.75: the best whole stopping times reach 8.87519, real ones 8.87528."""
    best = max(
        theory.stopping_time_sum((first, second, 40), 0.75) for first in range(1, 41) for second in range(first, 41)
    )
    assert round(best, 5) == 8.87519
    assert round(theory.stopping_time_maximum(3, 40, 0.75), 5) == 8.87528


def test_stopping_time_sum_is_the_sum_over_periods():
    taus, b = (3, 9, 4, 9), 0.6
    total = 0.0
    for tau in taus:
        total += math.sqrt(sum(sum(other >= s for other in taus) ** (-2 * b) for s in range(1, tau + 1)))
    assert theory.stopping_time_sum(taus, b) == pytest.approx(total)


@settings(deadline=None)
@given(st.integers(1, 200), st.floats(1, 1e12), UPPER_B)
def test_maximiser_reaches_the_maximum(arms, horizon, b):
    taus = theory.stopping_time_maximiser(arms, horizon, b)
    assert len(taus) == arms
    assert np.all(np.diff(taus) >= 0)
    assert taus[0] >= 0
    assert taus[-1] == horizon
    assert theory.stopping_time_sum(taus, b) == pytest.approx(
        theory.stopping_time_maximum(arms, horizon, b), rel=1e-9
    )


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), UPPER_B)
def test_no_stopping_times_beat_the_maximum_nor_it_the_printed_bound(fractions, b):
    taus = [1000 * f for f in fractions]
    taus[0] = 1000.0
    maximum = theory.stopping_time_maximum(len(taus), 1000, b)
    assert theory.stopping_time_sum(taus, b) <= maximum * (1 + 1e-12)
    assert maximum <= theory.stopping_time_printed_bound(len(taus), 1000, b) * (1 + 1e-12)


def test_stopping_time_constant_is_the_direct_sum():
    for b in (0.5, 0.6, 0.75, 0.99, 1.0):
        direct = mpmath.fsum(1 / (mpmath.mpf(x) ** (2 * b) - mpmath.mpf(x - 1) ** (2 * b)) for x in range(1, 301))
        assert theory.stopping_time_constant(300, b) == pytest.approx(float(direct), rel=1e-13, abs=0)


def test_stopping_time_constant_at_the_two_ends():
    assert theory.stopping_time_constant(10**6, 0.5) == pytest.approx(10**6)
    assert theory.stopping_time_constant(10**6, 1.0) - 0.5 * math.log(10**6) == pytest.approx(0.98, abs=0.005)


def test_printed_lemma_is_infinite_under_full_feedback_where_the_maximum_is_not():
    assert theory.stopping_time_printed_bound(10, 100, 1.0) == math.inf
    assert theory.stopping_time_maximum(10, 100, 1.0) == pytest.approx(
        10 * math.sqrt(sum(1 / (2 * x - 1) for x in range(1, 11)))
    )


# ---- Theorem 2 ----


def test_elimination_bounds_are_their_formulas():
    means, horizon, b, sigma = (0.9, 0.5, 0.2), 10_000, 0.75, 2.0
    log, constant = math.log(horizon), theory.stopping_time_constant(3, b)
    start = 0.7 * (1 + 11 / 6)
    printed = 4 * math.sqrt(6) * sigma * log * 3**0.25 * math.sqrt(horizon / 0.25)
    growth = math.fsum((math.sqrt(s) - math.sqrt(s - 1)) ** 2 for s in range(1, horizon + 1))
    corrected = 4 * sigma * math.sqrt(8 * growth * log * horizon * constant)
    spread = 2 * math.log(3 * horizon) + math.log(1 + horizon * math.sqrt(3))
    anytime = 4 * sigma * math.sqrt(2 * spread * horizon * constant)
    expected = (0.7 + printed, start + printed, start + corrected, start + anytime)
    for form, value in zip(ELIMINATION_FORMS, expected):
        assert theory.elimination_regret_bound(means, horizon=horizon, b=b, sigma=sigma, form=form) == pytest.approx(
            value, rel=1e-9, abs=0
        )


def test_repaired_adds_the_off_by_one_of_elimination():
    bounds = [
        theory.elimination_regret_bound(arms=20, max_gap=0.5, horizon=1000, b=0.6, form=form)
        for form in ("printed", "repaired")
    ]
    assert bounds[1] - bounds[0] == pytest.approx(0.5 * harmonic(20))


@settings(deadline=None)
@given(st.integers(1, 1000), st.integers(3, 15), st.floats(0.5, 0.999))
def test_corrected_and_anytime_are_below_repaired(arms, power, b):
    bounds = {
        form: theory.elimination_regret_bound(arms=arms, max_gap=1.0, horizon=10**power, b=b, form=form)
        for form in ELIMINATION_FORMS
    }
    assert max(bounds["corrected"], bounds["anytime"]) <= bounds["repaired"]
    assert min(bounds.values()) >= theory.minimax_lower_bound(arms, 10**power, b)


def test_elimination_bounds_are_finite_under_full_feedback():
    for form in ("corrected", "anytime"):
        assert math.isfinite(theory.elimination_regret_bound(arms=10, max_gap=1.0, horizon=1000, b=1.0, form=form))


def test_printed_elimination_has_linear_regret():
    """K = 5, b = 0.75, gap 0.5: R/T tends to 0.357, and the printed Theorem 2 is violated."""
    means = (0.5, 0.0, 0.0, 0.0, 0.0)
    assert round(theory.printed_elimination_regret(means, 0.75, 10**6) / 10**6, 3) == 0.357
    first, second = (theory.printed_elimination_regret(means, 0.75, t) for t in (1001, 2001))
    assert first - 0.4 == pytest.approx((second - 0.4) / 2)
    horizon = 10**7
    bound = theory.elimination_regret_bound(means, horizon=horizon, b=0.75, form="printed")
    assert theory.printed_elimination_regret(means, 0.75, horizon) > bound


def test_printed_elimination_of_two_arms_is_in_closed_form():
    """Two arms: P(wrong) = Phi(-gap / (sigma K^(1-b) sqrt 2))."""
    for gap, b, sigma in itertools.product((0.1, 1.0, 6.0), (0.5, 1.0), (0.5, 2.0)):
        wrong = 0.5 * math.erfc(gap / (2 * sigma * 2 ** (1 - b)))
        found = theory.printed_elimination_regret((0.0, gap), b, 1001, sigma)
        assert found == pytest.approx(gap / 2 + 1000 * gap * wrong, rel=1e-12, abs=0)


def test_printed_elimination_of_many_arms_against_mpmath():
    gaps = [0.0, 0.0, 0.3, 1.1, 2.0, 2.0]
    scale = 6**0.25

    def wins(i):
        def density(z):
            product = mpmath.npdf(z)
            for j, gap in enumerate(gaps):
                if j != i:
                    product *= mpmath.ncdf(z + (gap - gaps[i]) / scale)
            return product

        return mpmath.quad(density, mpmath.linspace(-12, 12, 25))

    expected = float(sum(gap * wins(i) for i, gap in enumerate(gaps) if gap > 0))
    means = [5 - gap for gap in gaps]
    found = theory.printed_elimination_regret(means, 0.75, 2)
    assert found == pytest.approx(np.mean(gaps) + expected, rel=1e-11, abs=0)


def test_printed_elimination_at_extremes():
    assert theory.printed_elimination_regret([3.0], 0.75, 1000) == 0.0
    assert theory.printed_elimination_regret([1.0, 1.0], 0.75, 1000) == 0.0
    assert theory.printed_elimination_regret([0.0, 1.0], 0.75, 1) == 0.5
    assert theory.printed_elimination_regret([0.0, 1e200], 0.75, 1000) == pytest.approx(5e199)
    assert theory.printed_elimination_regret([0.0, 1.0], 0.75, 1000, sigma=1e-200) == 0.5
    assert theory.printed_elimination_regret([0.0, 1.0], 0.75, 1000, sigma=1e200) == pytest.approx(500)
    equal = theory.printed_elimination_regret([0.0] + [1e-9] * 9999, 1.0, 2)
    assert equal == pytest.approx(2e-13, rel=1e-3, abs=0)


# ---- Theorem 4 ----


def test_greedy_bounds_have_their_worked_values():
    values = {f: theory.greedy_regret_bound([0.5, 0.0], 0.75, 0.25, form=f) for f in GREEDY_FORMS}
    assert f"{values['printed']:.2e}" == "6.87e+10"
    assert f"{values['corrected']:.2e}" == "1.61e+09"
    assert f"{values['information']:.2e}" == "4.30e+05"
    assert values["sharp"] == pytest.approx(values["corrected"] / 16, rel=1e-6, abs=0)


def test_greedy_exponent_is_within_its_range():
    assert theory.greedy_exponent(0.75, 0.25) == 1.5
    assert theory.greedy_exponent(0.75) == 1.5
    assert theory.greedy_exponent(1.0) == theory.greedy_exponent(1.0, 0.3) == 2.0
    for b in (0.51, 0.6, 0.9, 0.999):
        assert 1 < theory.greedy_exponent(b) < 1 / (2 - 2 * b)


def test_greedy_bound_counts_suboptimal_arms_only():
    for form in GREEDY_FORMS:
        assert theory.greedy_regret_bound([1.0, 1.0], 0.75, form=form) == 0.0
        two = theory.greedy_regret_bound([1.0, 0.5, 0.5], 0.75, form=form)
        assert math.isfinite(two)
        one = theory.greedy_regret_bound([1.0, 1.0, 0.5], 0.75, form=form)
        assert two == pytest.approx(2 * one)


@pytest.mark.parametrize(("b", "epsilon"), [(0.75, 0.1), (0.9, 0.3), (1.0, 0.5), (0.6, 0.1)])
@pytest.mark.parametrize("gap", [0.3, 1.0, 3.0, 10.0])
def test_greedy_bounds_are_above_the_sums_they_bound(b, epsilon, gap):
    """The sums over periods in the proof, by direct summation."""
    arms = 2
    alpha = theory.greedy_exponent(b, epsilon)
    gamma = 1.0 if b == 1 else 2 * b - 1 - epsilon
    t = np.arange(1, 200_001, dtype=float)
    per_noise = gap**2 / arms ** (2 - 2 * b)
    exploring = float(mpmath.zeta(alpha)) / arms
    variance = np.cumsum(t ** (1 - gamma)) / t**2
    wrong_ratios = 2 * np.sum(np.exp(-per_noise / (8 * variance)))
    wrong_information = 2 * np.sum(np.exp(-per_noise / 8 * np.cumsum(t ** (gamma - 1))))
    means = (gap, 0.0)
    sharp = theory.greedy_regret_bound(means, b, epsilon, form="sharp")
    assert gap * (exploring + wrong_ratios) <= sharp * (1 + 1e-9)
    assert sharp <= theory.greedy_regret_bound(means, b, epsilon) * (1 + 1e-9)
    assert gap * (exploring + wrong_information) <= theory.greedy_regret_bound(means, b, epsilon, form="information")


@settings(deadline=None)
@given(
    st.floats(0.500001, 1.0),
    st.floats(0.001, 0.999),
    st.floats(-100, 100),
    st.sampled_from(GREEDY_FORMS),
    st.integers(2, 50),
)
def test_greedy_bounds_over_200_orders_of_magnitude_are_never_nan(b, part, power, form, arms):
    means = [10.0**power] + [0.0] * (arms - 1)
    bound = theory.greedy_regret_bound(means, b, part * (2 * b - 1), form=form)
    assert bound > 0
    assert not math.isnan(bound)


def test_greedy_power_is_not_moved_by_rounding():
    """1/(2b - 1 - eps) is 2 here, and 2.0000000000000004 in floats: m must be 2, not 3."""
    exact = 2 * (1 - 0.85 + 0.2) / (2 * 0.2) + 2.0**6 + 8 * (16 * 2**0.3 * 2) ** 2
    assert theory.greedy_regret_bound([1.0, 0.0], 0.85, 0.2, form="printed") == pytest.approx(exact, rel=1e-9, abs=0)


def test_greedy_bound_under_full_feedback():
    """b = 1: alpha = 2, gamma = 1, so zeta(2)/K and 2/a."""
    found = theory.greedy_regret_bound([0.5, 0.0], 1.0)
    assert found == pytest.approx(0.5 * (math.pi**2 / 12 + 2 * 16 / 0.25))


# ---- bad input ----


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.minimax_lower_bound(10, 100, 1.3), "`b` must be a number in [0, 1]; got 1.3."),
        (
            lambda: theory.minimax_lower_bound(10, 9, 0.5),
            "`horizon` must be a whole number of at least 10; got 9.",
        ),
        (
            lambda: theory.minimax_lower_bound(10, 100, 0.5, constant="best"),
            "`constant` must be one of 'printed', 'sharp'; got 'best'.",
        ),
        (lambda: theory.hard_instances(1, 9, 0.5), "`arms` must be a whole number of at least 2; got 1."),
        (lambda: theory.asymptotic_lower_bound([1, 0], 0.6), "`b` must be a number in [0, 0.5]; got 0.6."),
        (
            lambda: theory.asymptotic_lower_bound([], 0.5),
            "`means` must be a list with at least one number; got [].",
        ),
        (lambda: theory.asymptotic_lower_bound("ab", 0.5), "`means` must be a list of numbers; got 'ab'."),
        (
            lambda: theory.divergence([1.0], [1.0], [1.0, 2.0]),
            "`other_means` must be as long as `means` and `information` (1); got 2.",
        ),
        (lambda: theory.stopping_time_constant(3, 0.4), "`b` must be a number in [0.5, 1]; got 0.4."),
        (
            lambda: theory.elimination_regret_bound([1, 0], horizon=10, b=1.0, form="printed"),
            "`b` must be a number in [0.5, 1); got 1.0.",
        ),
        (
            lambda: theory.elimination_regret_bound(horizon=10, b=0.75),
            "`arms` must be a whole number of at least 1; got None.",
        ),
        (
            lambda: theory.elimination_regret_bound([1, 0], arms=2, horizon=10, b=0.75),
            "`arms` must be left out when `means` are given, and so must `max_gap`; got (2, None).",
        ),
        (lambda: theory.greedy_exponent(0.5, 0.1), "`b` must be a number in (0.5, 1]; got 0.5."),
        (lambda: theory.greedy_exponent(0.75, 0.5), "`epsilon` must be a number in (0, 0.5); got 0.5."),
        (lambda: theory.information_rate(-0.1, 0.5), "`share` must be a number of at least 0; got -0.1."),
        (lambda: theory.example_precision(10, 6.0, 0.5), "`alpha` must be a number in [0, 5]; got 6.0."),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(InvalidValue) as refusal:
        call()
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("form", ["printed", "corrected", "sharp", "information"])
def test_greedy_bound_is_finite_where_the_proof_divides_by_zero(form):
    """The proof's m/(m − a) at a = m: K = 2, b = 0.75, ε = 0.25 give γ = 1/4, m = 4 and a = Δ²/(16√2)."""
    gap = (4 * 16 * 2**0.5) ** 0.5
    bound = theory.greedy_regret_bound((gap, 0.0), b=0.75, epsilon=0.25, form=form)
    assert 0 < bound < np.inf


def test_algorithm_two_over_all_gaps_is_the_least_over_thresholds():
    """D ζ(α) + min over x of x T + (K − 1) times the cost of an arm of gap x, searched; and above every instance."""
    for arms, b, epsilon, sigma in ((2, 0.75, 0.25, 1.0), (10, 0.9, 0.08, 0.3), (30, 1.0, None, 2.0)):
        for horizon in (100, 10**6, 10**12):
            found = theory.greedy_worst_case_bound(arms, horizon, b, epsilon, sigma, max_gap=5.0)
            floors = 5.0 * float(mpmath.zeta(theory.greedy_exponent(b, epsilon)))

            def cost(gap, arms=arms, b=b, epsilon=epsilon, sigma=sigma):
                """(K − 1) arms of this gap, by Theorem 4 (sharp), without their floors."""
                means = (gap,) + (0.0,) * (arms - 1)
                floor = (arms - 1) * gap * float(mpmath.zeta(theory.greedy_exponent(b, epsilon))) / arms
                return theory.greedy_regret_bound(means, b, epsilon, sigma, form="sharp") - floor

            gaps = np.geomspace(1e-6, 1e6, 3000)
            searched = min(gap * horizon + cost(gap) for gap in gaps)
            assert found == pytest.approx(floors + min(5.0 * horizon, searched), rel=1e-2)
            for gap in (1e-3, 0.1, 5.0):
                assert min(gap * horizon, cost(gap)) <= found * (1 + 1e-12)


@pytest.mark.parametrize(("b", "power"), [(0.6, 0.91), (0.75, 0.775), (0.9, 0.64), (1.0, 0.5)])
def test_algorithm_two_over_all_gaps_has_its_powers(b, power):
    """T^(1 − γ/2) at the default ε = (2b − 1)/10, and K^((1 − ε)/2), not K^(b − 1/2) as printed."""
    epsilon = 0.1 * (2 * b - 1)
    setting = {"b": b, "epsilon": epsilon, "max_gap": 1e30}
    late = [theory.greedy_worst_case_bound(5, 10**digits, **setting) for digits in (250, 260)]
    assert math.log10(late[1] / late[0]) / 10 == pytest.approx(power, abs=1e-6)
    # (K − 1) is K^1 for many arms; at b = 1 the exponent of the floor is 2 whatever ε, and γ = 1.
    many = [theory.greedy_worst_case_bound(arms, 10**250, **setting) for arms in (10**6, 10**8)]
    assert math.log10(many[1] / many[0]) / 2 == pytest.approx(0.5 if b == 1 else (1 - epsilon) / 2, abs=1e-4)


def test_a_guarantee_covers_a_policy_with_too_small_a_b_by_the_bound_of_that_b():
    world = {"means": (1.0, 0.5), "sigma": 1.0, "horizon": 10**6}
    for name in ("SuccessiveElimination", "EpsilonGreedy", "AdaptiveElimination"):
        low = {"informed": name, "parameters": {"b": 0.6}}
        assert guaranteed_regret(low, **world, b=0.75) == guaranteed_regret(low, **world, b=0.6) is not None
        assert guaranteed_regret(low, **world, b=0.55) is None


def test_the_guarantee_of_algorithm_two_is_that_of_its_leader():
    world = {"means": (1.0, 0.5), "b": 0.75, "sigma": 1.5, "horizon": 1000}
    for leader, form in (("ratios", "corrected"), ("information", "information")):
        found = guaranteed_regret({"name": "EpsilonGreedy", "parameters": {"b": 0.75, "leader": leader}}, **world)
        assert found == theory.greedy_regret_bound((1.0, 0.5), 0.75, 0.05, 1.5, form)
    # One that was given no sigma takes 1, which is not the true one here.
    assert guaranteed_regret({"name": "AdaptiveElimination", "parameters": {"b": 0.75}}, **world) is None
    one = {**world, "sigma": 1.0}
    assert guaranteed_regret({"name": "AdaptiveElimination", "parameters": {"b": 0.75}}, **one) is not None


def test_a_guarantee_needs_the_true_sigma_of_every_arm():
    world = {"means": (1.0, 0.5), "b": 0.75, "sigma": 2.0, "horizon": 10**6}
    for name in ("SuccessiveElimination", "AdaptiveElimination"):
        one, each, wrong = (
            guaranteed_regret({"name": name, "parameters": {"b": 0.75, "sigma": sigma}}, **world)
            for sigma in (2.0, [2.0, 2.0], (2.0, 1.0))
        )
        assert one == each is not None
        assert wrong is None


@pytest.mark.parametrize(
    "noise", [ap.Batch(p=0.1), ap.Batch(p=0.9), ap.Batch(p=0.5), ap.CentredBernoulli(0.1)], ids=str
)
def test_a_guarantee_holds_with_the_sigma_that_bounds_the_noise(noise):
    world = {"means": (1.0, 0.5), "b": 0.75, "horizon": 10**6}
    scale = 2.0 * math.sqrt(noise.proxy)
    elimination, greedy = {"informed": "SuccessiveElimination", "parameters": {}}, {"informed": "EpsilonGreedy"}

    def found(policy, sigma, proxy):
        return guaranteed_regret(policy, **world, sigma=sigma, proxy=proxy)

    # A policy that was given the standard deviation is covered only where that bounds the noise.
    assert (found(elimination, 2.0, noise.proxy) is None) == (not noise.sub_gaussian)
    aware = {"informed": "SuccessiveElimination", "parameters": {"sigma": scale}}
    assert found(aware, 2.0, noise.proxy) == pytest.approx(found(elimination, scale, 1.0))
    assert found(greedy, 2.0, noise.proxy) == pytest.approx(found(greedy, scale, 1.0))
    assert found(greedy, 2.0, math.inf) is None

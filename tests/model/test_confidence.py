"""Radii and the law of the worst monotone weighting, against worked values, brute force and mpmath."""

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from apportion._common.compiled import compiled
from apportion.errors import InvalidValue
from apportion.model import confidence

FINITE = st.floats(-50, 50, allow_nan=False).map(lambda x: round(x, 6))


def growth_by_sum(t):
    with mpmath.workdps(40):
        return float(mpmath.fsum((mpmath.sqrt(s) - mpmath.sqrt(s - 1)) ** 2 for s in range(1, t + 1)))


@functools.cache
def weights_by_product(t):
    """The generating function multiplied out in 60 digits, to z^160."""
    with mpmath.workdps(60):
        row = [mpmath.mpf(1)]
        for i in range(1, t + 1):
            p = mpmath.mpf(1) / (2 * i)
            row = [a * (1 - p) + c * p for a, c in zip([*row, mpmath.mpf(0)], [mpmath.mpf(0), *row])][:161]
        return row


def tail_by_sum(x, t):
    with mpmath.workdps(40):
        half = mpmath.mpf(x) ** 2 / 2
        return mpmath.fsum(
            v * mpmath.gammainc(mpmath.mpf(k) / 2, half, regularized=True)
            for k, v in enumerate(weights_by_product(t))
            if k > 0
        )


# ---- h ----


@pytest.mark.parametrize(("t", "value"), [(1, 1.0), (2, 1.1716), (3, 1.2726)])
def test_growth_has_its_worked_values(t, value):
    assert round(confidence.monotone_growth(t), 4) == value


@pytest.mark.parametrize("t", [1, 2, 3, 10, 63, 64, 65, 100, 1000])
def test_growth_is_the_direct_sum(t):
    assert confidence.monotone_growth(t) == pytest.approx(growth_by_sum(t), rel=2e-15, abs=0)


def test_growth_is_a_quarter_of_the_log_plus_a_constant():
    for t in (1e4, 1e8, 1e15):
        assert confidence.monotone_growth(t) - math.log(t) / 4 == pytest.approx(0.9976551666267466, abs=1e-9)


@settings(deadline=None)
@given(st.floats(0, 1e15), st.floats(0, 1e15))
def test_growth_never_falls_and_stays_below_its_bound(s, t):
    low, high = sorted((s, t))
    assert confidence.monotone_growth(low) <= confidence.monotone_growth(high)
    assert 1.0 <= confidence.monotone_growth(low) <= 1 + math.log(max(low, 1.0)) / 4 + 1e-15


def test_growth_has_no_step_where_the_series_takes_over():
    values = [confidence.monotone_growth(t) for t in np.linspace(63.9, 64.1, 2001)]
    assert np.all(np.diff(values) > 0)
    assert np.max(np.diff(values)) < 1e-6


# ---- radii ----


def test_printed_radius_is_zero_in_the_first_period():
    assert confidence.printed_radius(1.0, 1e4, 0.3, 1.0) == 0.0
    assert confidence.printed_radius(0.5, 1e4, 0.3, 1.0) == 0.0


def test_printed_and_corrected_radius_at_the_papers_level():
    horizon, precision, sigma = 1e5, 7.0, 2.0
    logs = math.log(horizon)
    assert confidence.printed_radius(50.0, horizon, precision, sigma) == pytest.approx(
        2 * math.sqrt(3) * sigma * math.sqrt(math.log(50) * logs) / math.sqrt(precision)
    )
    assert confidence.corrected_radius(50.0, 4 * logs, precision, sigma) == pytest.approx(
        sigma * math.sqrt(8 * growth_by_sum(50) * logs) / math.sqrt(precision)
    )


def test_anytime_radius_is_its_formula():
    information, logs, rho, sigma = 40.0, math.log(20), 3.0, 1.5
    direct = sigma * math.sqrt((information + rho) * (math.log(1 + information / rho) + 2 * logs)) / information
    assert confidence.anytime_radius(information, logs, rho, sigma) == pytest.approx(direct, rel=1e-14, abs=0)


@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-3, 1e-9])
def test_tuned_rho_is_close_to_the_best(delta):
    logs = -math.log(delta)
    tuned = confidence.anytime_radius(100.0, logs, confidence.anytime_rho(100.0, logs), 1.0)
    best = min(confidence.anytime_radius(100.0, logs, rho, 1.0) for rho in np.geomspace(0.01, 1e4, 2000))
    assert tuned <= best * 1.01


def test_nothing_observed_means_an_infinite_radius():
    table = confidence.cone_table(10, 0.01)
    assert confidence.anytime_radius(0.0, 1.0, 1.0, 1.0) == math.inf
    assert confidence.corrected_radius(1.0, 1.0, 0.0, 1.0) == math.inf
    assert confidence.printed_radius(5.0, 10.0, 0.0, 1.0) == math.inf
    assert confidence.cone_radius(5.0, *table, 0.0, 1.0) == math.inf
    assert confidence.anytime_interval(1.0, 0.0) == (-math.inf, math.inf)


def test_anytime_radius_over_200_orders_of_magnitude_is_never_nan_and_falls():
    values = [confidence.anytime_radius(x, 3.0, 1.0, 1.0) for x in np.geomspace(1e-100, 1e100, 400)]
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) < 0)
    assert confidence.anytime_radius(5e-324, 3.0, 1.0, 1.0) > 1e300


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (confidence.monotone_growth, (0.3,)),
        (confidence.monotone_growth, (17.25,)),
        (confidence.monotone_growth, (1e12,)),
        (confidence.printed_radius, (7.0, 1e4, 2.5, 1.5)),
        (confidence.corrected_radius, (7.0, 20.0, 2.5, 1.5)),
        (confidence.anytime_radius, (12.0, 3.0, 0.5, 2.0)),
        (confidence.anytime_radius, (0.0, 3.0, 0.5, 2.0)),
        (confidence.anytime_rho, (12.0, 3.0)),
        (confidence.cone_radius, (77.0, *confidence.cone_table(1000, 0.01), 4.0, 2.0)),
        (confidence.supremum, (np.array([0.5, -1.0, 2.0, 1.0, -0.3, 0.7]),)),
    ],
)
def test_kernels_give_the_same_plain_and_compiled(function, arguments):
    assert compiled(function)(*arguments) == pytest.approx(function(*arguments), rel=1e-15, abs=0)


# ---- the exact law ----


@pytest.mark.parametrize("t", [1, 2, 7, 40, 255, 256, 257, 300, 700])
def test_weights_are_the_product_multiplied_out(t):
    exact = weights_by_product(t)
    found = confidence.cone_weights(t)
    assert len(found) == min(t, 160) + 1
    for v, w in zip(exact, found):
        if v > mpmath.mpf(10) ** -100:
            assert float(w / v - 1) == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("t", [10**4, 10**6, 10**9, 10**15, 10**18])
@pytest.mark.parametrize("z", [0.0, 0.5, 1.0, 3.0])
def test_weights_at_large_t_sum_to_the_gamma_ratio(t, z):
    with mpmath.workdps(60):
        half = mpmath.mpf(z + 1) / 2
        ratio = mpmath.gammaprod([t + half], [half, t + 1])
    weights = confidence.cone_weights(t)
    assert float(np.polynomial.polynomial.polyval(z, weights) / ratio) == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize("t", [1, 5, 30, 500])
def test_weights_have_the_central_binomial_at_zero_and_the_mean_of_half_the_harmonic_number(t):
    weights = confidence.cone_weights(t)
    with mpmath.workdps(40):
        central = float(mpmath.binomial(2 * t, t) / mpmath.mpf(4) ** t)
    assert weights[0] == pytest.approx(central, rel=1e-13, abs=0)
    assert np.sum(weights) == pytest.approx(1, rel=1e-13, abs=0)
    assert np.sum(weights * np.arange(len(weights))) == pytest.approx(confidence.harmonic(t) / 2, rel=1e-13, abs=0)


@pytest.mark.parametrize("t", [1, 2, 10, 300])
@pytest.mark.parametrize("x", [0.01, 1.0, 4.0, 12.0, 20.0])
def test_tail_is_relatively_accurate_deep_down(x, t):
    assert float(confidence.cone_tail(x, t) / tail_by_sum(x, t)) == pytest.approx(1, abs=1e-13)


def test_tail_of_one_value_is_the_gaussian_tail():
    assert confidence.cone_tail(1.5, 1) == pytest.approx(0.5 * math.erfc(1.5 / math.sqrt(2)), rel=1e-14, abs=0)


def test_tail_takes_arrays():
    x = np.array([[0.5, 1.0], [2.0, 40.0]])
    tail = confidence.cone_tail(x, 50)
    assert tail.shape == x.shape
    assert tail[1, 0] == confidence.cone_tail(2.0, 50)
    assert confidence.cone_tail(np.array([]), 50).size == 0


def test_tail_over_100_orders_of_magnitude_is_finite_and_falls():
    tail = confidence.cone_tail(np.geomspace(1e-100, 1e100, 500), 1000)
    assert np.all(np.isfinite(tail))
    assert np.all(np.diff(tail) <= 0)
    assert np.all((tail >= 0) & (tail <= 1))
    assert confidence.cone_tail(math.inf, 3) == 0.0


def test_quantiles_of_the_four_laws_at_1000():
    assert round(confidence.cone_quantile(0.001, 1000), 2) == 4.54
    assert round(confidence.cone_closed_form(0.001, 1000), 2) == 5.65
    assert round(confidence.corrected_quantile(0.001, 1000), 2) == 8.68
    assert round(confidence.printed_quantile(0.001, 1000), 1) == 31.4


@settings(deadline=None)
@given(st.floats(-40, -0.31), st.one_of(st.integers(1, 2000), st.integers(10**4, 10**18)))
def test_quantile_inverts_the_tail(power, t):
    level = 10.0**power
    x = confidence.cone_quantile(level, t)
    if level >= 1 - confidence.cone_weights(t)[0]:
        assert x == 0.0
    else:
        assert confidence.cone_tail(x, t) == pytest.approx(level, rel=1e-11, abs=0)


@pytest.mark.parametrize("level", [1e-100, 1e-72, 1e-40])
def test_quantile_at_the_smallest_levels(level):
    assert float(tail_by_sum(confidence.cone_quantile(level, 100), 100)) == pytest.approx(level, rel=1e-11, abs=0)


def test_quantile_is_zero_where_the_supremum_is_too_rarely_positive():
    assert confidence.cone_quantile(0.5, 1) == 0.0
    assert confidence.cone_quantile(0.499, 1) == pytest.approx(0.0025066, rel=1e-3, abs=0)
    assert confidence.cone_quantile(0.7, 2) == 0.0


@settings(deadline=None, max_examples=50)
@given(st.floats(1e-40, 0.9), st.integers(1, 10**12))
def test_exact_closed_and_corrected_stand_in_order(level, t):
    exact = confidence.cone_quantile(level, t)
    assert exact <= confidence.cone_closed_form(level, t)
    assert exact <= confidence.corrected_quantile(level, t)


def test_exact_growth_is_the_root_of_the_log_and_not_the_log():
    """The paper's second open question, Gaussian noise: q(t^2)/q(t) tends to sqrt(2), and not to 2."""
    ratio = confidence.cone_quantile(0.5, 10**18) / confidence.cone_quantile(0.5, 10**9)
    assert 1.3 < ratio < math.sqrt(2) + 0.05
    assert confidence.printed_quantile(0.5, 10**18) / confidence.printed_quantile(0.5, 10**9) == pytest.approx(2)


def test_table_is_exact_at_its_counts_and_safe_between_them():
    counts, quantiles = confidence.cone_table(10**6, 1e-8)
    assert list(counts[:64]) == list(range(1, 65))
    assert counts[-1] == 10**6
    assert np.max(counts[65:] / counts[64:-1]) < 1.07
    assert np.all(np.diff(quantiles) >= 0)
    for t in (1, 2, 64, 65, 66, 5000, 999_999, 10**6):
        exact = confidence.cone_quantile(1e-8, t)
        found = confidence.cone_radius(float(t), counts, quantiles, 1.0, 1.0)
        assert exact * (1 - 1e-13) <= found <= exact * 1.01
    assert confidence.cone_radius(0.4, counts, quantiles, 1.0, 1.0) == quantiles[0]
    assert confidence.cone_radius(10**6 + 1, counts, quantiles, 1.0, 1.0) == math.inf
    assert confidence.cone_radius(1.0, counts, quantiles, 4.0, 3.0) == pytest.approx(1.5 * quantiles[0])


@pytest.mark.parametrize("horizon", [1, 2, 64, 65])
def test_short_tables(horizon):
    counts, quantiles = confidence.cone_table(horizon, 0.01)
    assert list(counts) == list(range(1, horizon + 1))
    assert len(quantiles) == horizon


# ---- bounds ----


def test_corrected_tail_and_quantile_are_inverse():
    for level, t in itertools.product((0.3, 1e-3, 1e-20), (1, 2, 50, 10**9)):
        assert confidence.corrected_tail(confidence.corrected_quantile(level, t), t) == pytest.approx(
            level, rel=1e-9, abs=0
        )
    assert confidence.corrected_tail(0.0, 5) == 1.0
    assert confidence.corrected_tail(6.0, 5, sigma=2.0) == confidence.corrected_tail(3.0, 5)


def test_printed_tail_and_quantile_are_inverse():
    for level, t in itertools.product((0.3, 1e-3, 1e-20), (2, 50, 10**9)):
        assert confidence.printed_tail(confidence.printed_quantile(level, t), t) == pytest.approx(
            level, rel=1e-9, abs=0
        )
    assert confidence.printed_quantile(0.1, 1) == 0.0
    assert confidence.printed_tail(0.0, 1) == 1.0
    assert confidence.printed_tail(6.0, 5, sigma=2.0) == confidence.printed_tail(3.0, 5)


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 1000])
def test_harmonic_numbers(n):
    assert confidence.harmonic(n) == pytest.approx(float(mpmath.harmonic(n)), rel=1e-15, abs=0)


# ---- the supremum itself ----


def supremum_by_nnls(noise):
    """The projection on the cone spanned by (0, .., 0, 1, .., 1), by non-negative least squares."""
    t = len(noise)
    rays = np.tril(np.ones((t, t)))
    coefficients, _ = nnls(rays, noise)
    return float(np.linalg.norm(rays @ coefficients))


@settings(deadline=None)
@given(st.lists(FINITE, min_size=1, max_size=8))
def test_supremum_is_the_norm_of_the_projection(noise):
    found = confidence.cone_supremum(noise)
    direct = supremum_by_nnls(np.array(noise))
    if found > 1e-6:
        assert found == pytest.approx(direct, rel=1e-6, abs=1e-9)
    else:
        assert direct == pytest.approx(0, abs=1e-5)


@settings(deadline=None)
@given(st.lists(FINITE, min_size=1, max_size=6), st.data())
def test_no_monotone_weights_beat_the_supremum(noise, data):
    steps = data.draw(st.lists(st.floats(0, 1), min_size=len(noise), max_size=len(noise)))
    weights = np.cumsum(np.array(steps) + np.array([1e-3] + [0.0] * (len(noise) - 1)))
    value = float(weights @ np.array(noise) / np.linalg.norm(weights))
    assert value <= confidence.cone_supremum(noise) + 1e-9


def test_supremum_of_noise_with_no_positive_ending_is_on_an_edge():
    assert confidence.cone_supremum([5.0, -1.0, -7.0]) == pytest.approx(-3 / math.sqrt(3))
    assert confidence.cone_supremum([1.0, -1.0]) == 0.0
    assert confidence.cone_supremum([-2.0]) == -2.0
    grid = [(a, c) for a in np.linspace(1e-6, 1, 200) for c in np.linspace(1e-6, 1, 200) if a <= c]
    by_search = max((-3 * a - c) / math.hypot(a, c) for a, c in grid)
    assert confidence.cone_supremum([-3.0, -1.0]) == pytest.approx(by_search, abs=1e-5)


def test_supremum_scales_with_the_noise_over_600_orders_of_magnitude():
    noise = np.array([0.3, -1.0, 0.8, 2.0, 1.5])
    unit = confidence.cone_supremum(noise)
    for scale in (1e-300, 1e-150, 1e150, 1e300):
        assert confidence.cone_supremum(noise * scale) == pytest.approx(unit * scale, rel=1e-14, abs=0)
    assert confidence.cone_supremum([0.0, 0.0]) == 0.0


# ---- bad input ----


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: confidence.cone_quantile(0.0, 5), "`level` must be a number in [1e-100, 1); got 0.0."),
        (lambda: confidence.cone_quantile(0.1, 0), "`t` must be a whole number in [1, 1e+18]; got 0."),
        (lambda: confidence.cone_weights(2.5), "`t` must be a whole number in [1, 1e+18]; got 2.5."),
        (
            lambda: confidence.cone_tail(-1.0, 5),
            "`x` must be a number above 0, or an array of them; got -1.0.",
        ),
        (
            lambda: confidence.cone_tail(math.nan, 5),
            "`x` must be a number above 0, or an array of them; got nan.",
        ),
        (lambda: confidence.corrected_tail(1.0, 5, sigma=0), "`sigma` must be a number above 0; got 0."),
        (lambda: confidence.cone_table(0, 0.1), "`horizon` must be a whole number in [1, 1e+18]; got 0."),
        (
            lambda: confidence.cone_supremum([]),
            "`noise` must be a list of at least one finite number; got [].",
        ),
        (
            lambda: confidence.anytime_interval(0.0, -1.0),
            "`information` must be a number of at least 0; got -1.0.",
        ),
        (
            lambda: confidence.anytime_interval(0.0, 1.0, delta=1),
            "`delta` must be a number in (0, 1); got 1.",
        ),
        (lambda: confidence.harmonic(-1), "`n` must be a whole number of at least 0; got -1."),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(InvalidValue) as refusal:
        call()
    assert str(refusal.value) == sentence

"""The four estimators of a mean: the paper's worked example, who is most precise, extremes, refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.errors import InvalidValue
from apportion.model import estimators
from apportion.model.exact_sums import Statistics
from apportion.model.sums import Sums, no_sums

AMOUNTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8)
ORDERS = st.floats(0, 1)
FROM_SUMS = (estimators.ratio_of_sums, estimators.mean_of_ratios, estimators.information_weighted)


def sums_of(amounts, outcomes, b):
    """The sums of one arm with this history."""
    past = Statistics(1, b)
    for amount, outcome in zip(amounts, outcomes):
        past.update([amount], [outcome])
    return past.sums()


def estimate(function, amounts, outcomes, b):
    mean, precision = function(sums_of(amounts, outcomes, b))
    return float(mean[0]), float(precision[0])


def column(values):
    return np.array(values, dtype=float)[:, np.newaxis]


def cuts(periods):
    """Every way to cut periods 1 .. t into blocks, as the last periods of the blocks."""
    for inner in itertools.product((False, True), repeat=periods - 1):
        yield [end for end, cut in enumerate(inner, start=1) if cut] + [periods]


# ---- worked values and identities ----


def test_worked_example_where_the_paper_prints_the_two_swapped():
    """A = (1/2, 1/3), Y = (2, 3): mu1 = 5/(5/6) = 6 and mu2 = (4 + 9)/2 = 6.5; printed are mu2 = 6, mu1 = 6.5."""
    mu1, _ = estimate(estimators.ratio_of_sums, (1 / 2, 1 / 3), (2, 3), 0.75)
    mu2, _ = estimate(estimators.mean_of_ratios, (1 / 2, 1 / 3), (2, 3), 0.75)
    assert mu1 == pytest.approx(6.0, rel=1e-15, abs=0)
    assert mu2 == pytest.approx(6.5, rel=1e-15, abs=0)


def test_all_estimators_are_the_sample_mean_when_arms_are_pulled_whole():
    outcomes = (0.5, 2.0, -1.0, 4.0)
    for function, b in itertools.product(FROM_SUMS, (0.0, 0.3, 1.0)):
        assert estimate(function, (1,) * 4, outcomes, b) == pytest.approx((np.mean(outcomes), 4.0))


@settings(deadline=None)
@given(AMOUNTS, st.data())
def test_information_weighted_is_the_ratio_of_sums_at_a_half_and_the_mean_of_ratios_at_one(amounts, data):
    outcomes = data.draw(st.lists(st.floats(-100, 100), min_size=len(amounts), max_size=len(amounts)))
    for other, b in ((estimators.ratio_of_sums, 0.5), (estimators.mean_of_ratios, 1.0)):
        mean, precision = estimate(estimators.information_weighted, amounts, outcomes, b)
        same_mean, same_precision = estimate(other, amounts, outcomes, b)
        size = max(abs(outcome / amount) for outcome, amount in zip(outcomes, amounts))
        assert mean == pytest.approx(same_mean, rel=1e-9, abs=1e-12 * (1 + size))
        assert precision == pytest.approx(same_precision, rel=1e-9, abs=0)


@settings(deadline=None)
@given(AMOUNTS, ORDERS, st.data())
def test_information_weighted_is_the_most_precise_for_fixed_amounts(amounts, b, data):
    """Cauchy-Schwarz: B >= S^2/V, n^2/W, and the precision of mu3 for every cut into blocks."""
    outcomes = [0.0] * len(amounts)
    _, best = estimate(estimators.information_weighted, amounts, outcomes, b)
    for function in FROM_SUMS[:2]:
        assert estimate(function, amounts, outcomes, b)[1] <= best * (1 + 1e-12)
    ends = data.draw(st.sampled_from(list(cuts(len(amounts)))))
    blocked = estimators.blocked(column(amounts), column(outcomes), b, ends).precision[0]
    assert blocked <= best * (1 + 1e-12)


def test_precision_of_information_weighted_is_the_information_of_the_divergence_lemma():
    amounts, b = (0.2, 0.7, 0.1), 0.8
    _, precision = estimate(estimators.information_weighted, amounts, (1, 1, 1), b)
    assert precision == pytest.approx(sum(a ** (2 - 2 * b) for a in amounts))


# ---- blocks ----


@settings(deadline=None)
@given(AMOUNTS, ORDERS, st.data())
def test_one_block_is_the_ratio_of_sums_and_a_block_a_period_is_the_mean_of_ratios(amounts, b, data):
    outcomes = data.draw(st.lists(st.floats(-100, 100), min_size=len(amounts), max_size=len(amounts)))
    periods = len(amounts)
    for ends, function in (
        ([periods], estimators.ratio_of_sums),
        (list(range(1, periods + 1)), estimators.mean_of_ratios),
    ):
        found = estimators.blocked(column(amounts), column(outcomes), b, ends)
        mean, precision = estimate(function, amounts, outcomes, b)
        size = max(abs(outcome / amount) for outcome, amount in zip(outcomes, amounts))
        assert found.mean[0] == pytest.approx(mean, rel=1e-9, abs=1e-12 * (1 + size))
        assert found.precision[0] == pytest.approx(precision, rel=1e-9, abs=0)


@pytest.mark.parametrize("periods", [1, 2, 5, 9])
def test_there_are_half_as_many_partitions_as_printed(periods):
    """Every period but the last may end a block: 2^(t-1) estimators, all different; the paper says 2^t."""
    rng = np.random.default_rng(periods)
    amounts, outcomes = rng.uniform(0.1, 1, (periods, 1)), rng.normal(size=(periods, 1))
    means = {float(estimators.blocked(amounts, outcomes, 0.7, ends).mean[0]) for ends in cuts(periods)}
    assert len(means) == 2 ** (periods - 1)


def test_blocks_in_which_an_arm_got_nothing_are_left_out_for_that_arm():
    amounts = [[0.5, 1.0], [0.0, 0.5], [0.5, 0.0], [0.25, 0.0]]
    outcomes = [[1.0, 2.0], [math.nan, 4.0], [3.0, math.nan], [1.0, math.nan]]
    found = estimators.blocked(amounts, outcomes, 0.5, ends=[1, 2, 4])
    assert found.mean.tolist() == pytest.approx([(1 / 0.5 + 4 / 0.75) / 2, (2.0 + 8.0) / 2])
    variances = [(0.5 / 0.25 + 0.75 / 0.75**2) / 4, (1.0 + 0.5 / 0.25) / 4]
    assert found.precision.tolist() == pytest.approx([1 / variance for variance in variances])


# ---- the precision is the variance ----


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 0.75, 1.0])
def test_precision_is_one_over_the_simulated_variance(b):
    """Error budget: 20 means and 20 variances of normals, each held to 5 standard errors: 2.4e-5 together."""
    runs, mean, sigma = 20_000, 1.3, 2.0
    amounts = np.array([1.0, 0.2, 0.05, 0.6, 0.3])
    noise = np.random.default_rng([81, int(100 * b)]).standard_normal((runs, len(amounts)))
    outcomes = amounts * mean + amounts**b * sigma * noise
    past = Statistics(runs, b)  # every run is an arm
    for amount, row in zip(amounts, outcomes.T):
        past.update(np.full(runs, amount), row)
    found = [function(past.sums()) for function in FROM_SUMS]
    found.append(estimators.blocked(np.repeat(amounts[:, None], runs, axis=1), outcomes.T, b, ends=[2, 5]))
    for means, precision in found:
        variance = sigma**2 / precision[0]
        assert abs(np.mean(means) - mean) < 5 * math.sqrt(variance / runs)
        assert abs(np.var(means) / variance - 1) < 5 * math.sqrt(2 / runs)


# ---- nothing spent, nothing seen ----


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
def test_an_amount_of_zero_adds_nothing(b):
    """0^0 is 1 in floating point: at b = 0 the noise, at b = 1 the information would be counted."""
    sums = sums_of((0.5, 0.0, 0.25), (1.0, 7.0, 2.0), b)
    without = sums_of((0.5, 0.25), (1.0, 2.0), b)
    assert [values.tolist() for values in sums] == [values.tolist() for values in without]
    blocked = estimators.blocked([[0.5], [0.0], [0.25]], [[1.0], [7.0], [2.0]], b, ends=[3])
    plain = estimators.blocked([[0.5], [0.25]], [[1.0], [2.0]], b, ends=[2])
    assert blocked == plain


@pytest.mark.parametrize("function", FROM_SUMS)
def test_an_arm_that_was_never_observed_has_no_mean_and_no_precision(function):
    past = Statistics(2, 0.75)
    past.update([1.0, 0.0], [2.0, math.nan])
    mean, precision = function(past.sums())
    assert mean[0] == 2.0
    assert math.isnan(mean[1])
    assert precision.tolist() == [1.0, 0.0]
    mean, precision = function(no_sums(Sums, 3))
    assert np.isnan(mean).all()
    assert precision.tolist() == [0.0] * 3


def test_an_arm_that_was_never_observed_has_no_blocked_mean():
    mean, precision = estimators.blocked([[0.0, 1.0]], [[math.nan, 2.0]], 0.75, ends=[1])
    assert math.isnan(mean[0])
    assert precision.tolist() == [0.0, 1.0]


# ---- 300 orders of magnitude ----


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("amount", [1e-150, 1e-77, 1e-9, 1.0, 1e9, 1e77, 1e150])
@pytest.mark.parametrize("function", FROM_SUMS)
def test_small_and_large_amounts_keep_mean_and_precision(function, amount, b):
    """A^2 / A^(2b) would be 0/0 at 1e-170; the powers are taken directly."""
    other = 1 / 3 if amount > 1 else 3.0  # terms beyond 1e300 are cut
    mean, precision = estimate(function, (amount, other * amount), (0.75 * amount, 0.25 * amount), b)
    unit_mean, unit_precision = estimate(function, (1.0, other), (0.75, 0.25), b)
    assert mean == pytest.approx(unit_mean, rel=1e-12, abs=0)
    expected = math.log(unit_precision) + (2 - 2 * b) * math.log(amount)
    assert math.log(precision) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("amount", [1e-150, 1e-77, 1.0, 1e77, 1e150])
def test_blocks_of_small_and_large_amounts_keep_mean_and_precision(amount, b):
    amounts, outcomes = column((1.0, 1 / 3, 0.5)), column((1.5, 0.5, 0.25))
    unit = estimators.blocked(amounts, outcomes, b, ends=[2, 3])
    found = estimators.blocked(amount * amounts, amount * outcomes, b, ends=[2, 3])
    assert found.mean[0] == pytest.approx(unit.mean[0], rel=1e-12, abs=0)
    expected = math.log(unit.precision[0]) + (2 - 2 * b) * math.log(amount)
    assert math.log(found.precision[0]) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("amount", [1e-300, 1e300])
def test_the_papers_means_stay_finite_at_the_ends_of_the_range(amount, b):
    """Precision may leave the range of floats here (A^2 = 1e600), but is never NaN."""
    outcomes = (0.75 * amount, 0.25 * amount)
    for function in FROM_SUMS[:2]:
        mean, precision = estimate(function, (amount, amount), outcomes, b)
        assert mean == pytest.approx(0.5, rel=1e-12, abs=0)
        assert not math.isnan(precision)
    for ends in ([2], [1, 2]):
        blocked = estimators.blocked(column((amount, amount)), column(outcomes), b, ends)
        assert blocked.mean[0] == pytest.approx(0.5, rel=1e-12, abs=0)
        assert not math.isnan(blocked.precision[0])


# ---- bad input ----


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ([[1.0]], [[1.0, 2.0]], 0.5, [1]),
            "`amounts` must be finite, at least 0, and of the same shape as `outcomes`; got (1, 1).",
        ),
        (
            ([[-1.0]], [[1.0]], 0.5, [1]),
            "`amounts` must be finite, at least 0, and of the same shape as `outcomes`; got (1, 1).",
        ),
        (
            ([[math.nan]], [[1.0]], 0.5, [1]),
            "`amounts` must be finite, at least 0, and of the same shape as `outcomes`; got (1, 1).",
        ),
        (([[1.0]], [[1.0]], 1.5, [1]), "`b` must be a number in [0, 1]; got 1.5."),
        (([[1.0]], [[1.0]], 0.5, [2]), "`ends` must be a whole number in [1, 1]; got 2."),
        (
            ([[1.0], [1.0]], [[1.0], [1.0]], 0.5, [1]),
            "`ends` must be increasing period numbers, the last one 2; got [1].",
        ),
        (
            ([[1.0], [1.0]], [[1.0], [1.0]], 0.5, [2, 1]),
            "`ends` must be increasing period numbers, the last one 2; got [2, 1].",
        ),
        (
            ([[1.0], [1.0]], [[1.0], [1.0]], 0.5, []),
            "`ends` must be increasing period numbers, the last one 2; got [].",
        ),
    ],
)
def test_bad_blocks_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(InvalidValue) as refusal:
        estimators.blocked(*arguments)
    assert str(refusal.value) == sentence

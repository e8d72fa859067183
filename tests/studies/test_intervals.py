"""Intervals of the reports: Student's t, the level shared by a table, slopes whose errors are those of their means.

Error budget. Everything is seeded. A coverage is counted over `REPEATS` tables and held to four standard errors below
its level (3e-5 each, five of them).
"""

import math

import numpy as np
import pytest

from apportion.studies.intervals import (
    CONFIDENCE,
    Estimate,
    Interval,
    against,
    errors_to_each_side,
    interval_of,
    mean_and_error,
    slope_through,
    within,
)
from apportion.studies.seeds import seed_of

REPEATS = 2000
LEAST = CONFIDENCE - 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / REPEATS)


def test_quantiles_are_students_and_shared_by_all_comparisons():
    assert errors_to_each_side(math.inf) == pytest.approx(1.959964, abs=1e-6)
    assert errors_to_each_side(3) == pytest.approx(3.182446, abs=1e-6)
    # 20 comparisons: each at 1 − 0.05/20, so 0.00125 on either side.
    assert errors_to_each_side(math.inf, 20) == pytest.approx(3.023341, abs=1e-6)
    assert interval_of(Estimate(2.0, 0.0, 5.0), 30) == (2.0, 2.0)


def test_the_error_of_a_slope_is_that_of_a_weighted_sum_of_independent_means():
    """Weights −1/2, 0, 1/2 for x = 0, 1, 2; a logarithm has the error e/m; degrees of Welch and Satterthwaite."""
    means, errors, runs = [2.0, 5.0, 8.0], [0.3, 9.0, 0.4], [5, 5, 9]
    plain = slope_through([0.0, 1.0, 2.0], means, errors, runs, logarithm=False)
    assert plain[:2] == pytest.approx((3.0, 0.25))
    parts = np.array([0.15**2, 0.2**2])
    assert plain.freedom == pytest.approx(parts.sum() ** 2 / (parts[0] ** 2 / 4 + parts[1] ** 2 / 8))
    logs = slope_through([0.0, 1.0, 2.0], means, errors, runs, logarithm=True)
    assert logs[:2] == pytest.approx((math.log(4.0) / 2, math.hypot(0.15, 0.05) / 2))


@pytest.mark.parametrize("logarithm", [False, True])
def test_the_interval_of_a_slope_covers_also_where_the_means_are_on_no_line(logarithm):
    """Means on a curve, 12 runs a point of unequal noise: the slope through the true means is in it often enough."""
    rng, x = np.random.default_rng(21), np.log([10.0, 30.0, 100.0, 300.0])
    truth, spread = np.array([3.0, 5.0, 6.0, 6.5]), np.array([0.3, 0.6, 0.3, 1.2])
    centred = x - x.mean()
    slope = centred @ (np.log(truth) if logarithm else truth) / (centred @ centred)
    runs, hit = 12, 0
    for _ in range(REPEATS):
        values = truth[:, None] + spread[:, None] * rng.standard_normal((4, runs))
        points = [mean_and_error(row) for row in values]
        means, errors = ([getattr(point, name) for point in points] for name in ("value", "error"))
        found = slope_through(x, means, errors, [runs] * 4, logarithm=logarithm)
        assert found.freedom >= runs - 1 - 1e-9
        low, high = interval_of(found)
        hit += low <= slope <= high
    assert hit / REPEATS > LEAST


def test_all_intervals_of_a_table_hold_together():
    """Twenty means of five runs each: all are covered in 95% of tables, where twenty single intervals are not."""
    rng, rows, runs = np.random.default_rng(22), 20, 5
    together = alone = 0
    for _ in range(REPEATS):
        found = [mean_and_error(row) for row in rng.standard_normal((rows, runs))]
        together += all(against(interval_of(each, rows), 0.0) == "not told apart" for each in found)
        alone += all(against(interval_of(each), 0.0) == "not told apart" for each in found)
    assert together / REPEATS > LEAST
    assert alone / REPEATS < 0.5


def test_points_of_one_seed_share_their_noise_and_points_of_their_own_do_not():
    same = [np.random.default_rng(1).standard_normal(4).tolist() for _ in (100, 1000)]
    own = [np.random.default_rng(seed_of(1, horizon)).standard_normal(4).tolist() for horizon in (100, 1000)]
    assert same[0] == same[1]
    assert own[0] != own[1]
    assert len({seed_of(1, "point", number) for number in range(10_000)}) > 9_990


def test_words_for_intervals():
    assert against(Interval(0.1, 0.2), 0.2) == "not told apart"
    assert against(Interval(0.1, 0.2), 0.3) == "below"
    assert within(Interval(0.9, 1.1), 0.9, 1.1)
    assert not within(Interval(0.9, 1.1), 0.95, 1.2)

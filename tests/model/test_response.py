"""The optimum of the bent law against brute force, a convex solver and its own first-order conditions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion._common.compiled import compiled
from apportion.model.response import best_shares, best_value

EXPONENTS = (1e-3, 0.2, 0.5, 0.7, 0.9, 0.97, 1 - 1e-9, 1 - 1e-16, 1.0)

means_of_any_size = st.lists(
    st.one_of(st.floats(-1e12, 1e12), st.floats(1e-12, 1e12), st.sampled_from([0.0, 1.0])), min_size=1, max_size=8
)


def split(means, c, run=best_shares):
    out = np.full(len(means), np.nan)
    run(np.array(means, dtype=float), c, out)
    return out


def returns(means, c, amounts):
    return math.fsum(mean * amount**c for mean, amount in zip(means, amounts))


def test_best_shares_have_their_worked_values():
    assert split([2.0, 1.0], 0.5) == pytest.approx([0.8, 0.2], rel=1e-15)
    assert split([3.0, 1.0, -2.0], 2 / 3) == pytest.approx([27 / 28, 1 / 28, 0.0], rel=1e-14)
    assert split([5.0], 0.3).tolist() == [1.0]
    assert split([1.0, 3.0, 3.0], 1.0).tolist() == [0.0, 0.5, 0.5]
    assert split([1.0, 3.0, 3.0], 1 - 1e-9).tolist() == [0.0, 0.5, 0.5]


def test_with_no_positive_mean_the_budget_goes_where_it_loses_least():
    assert split([-2.0, -1.0, -1.0], 1.0).tolist() == [0.0, 0.5, 0.5]
    assert split([-2.0, -1.0, -1.0], 0.5).tolist() == [0.0, 1.0, 0.0]  # −1 in one arm, −√2 in two
    assert split([-2.0, 0.0, 0.0], 0.5).tolist() == [0.0, 0.5, 0.5]
    for c in EXPONENTS:
        assert best_value([-2.0, -1.0, -1.0], c, 4.0) == -(4.0**c)


@pytest.mark.parametrize("c", [0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("means", [(1.0, 0.7, 0.3), (2.0, 2.0, -1.0), (0.0, 1.0, 5.0), (-3.0, -1.0, -2.0)])
def test_no_split_of_a_grid_is_better(c, means):
    steps = 60
    best = returns(means, c, split(means, c))
    assert best == pytest.approx(best_value(means, c, 1.0), rel=1e-14)
    for first, second in itertools.product(range(steps + 1), repeat=2):
        if first + second <= steps:
            point = (first / steps, second / steps, (steps - first - second) / steps)
            assert returns(means, c, point) <= best + 1e-14


@given(means_of_any_size, st.one_of(st.sampled_from(EXPONENTS), st.floats(1e-6, 1.0)), st.floats(1e-12, 1e12))
def test_shares_add_up_and_have_the_value_for_means_and_budgets_of_any_size(means, c, budget):
    shares = split(means, c)
    assert (shares >= 0.0).all()
    assert abs(shares.sum() - 1.0) < 1e-14
    assert max(means) <= 0.0 or not shares[np.array(means) <= 0.0].any()
    value = best_value(means, c, budget)
    assert math.isfinite(value)
    # A share that is cut costs that share of the value, μ·a^c = V·a: nothing that a float could show.
    assert returns(means, c, shares * budget) == pytest.approx(value, rel=1e-12)


@settings(deadline=None)  # the first call compiles
@given(means_of_any_size, st.sampled_from(EXPONENTS))
def test_the_kernels_give_the_same_plain_and_compiled(means, c):
    assert split(means, c, compiled(best_shares)) == pytest.approx(split(means, c), rel=1e-13, abs=0)
    values = np.array(means)
    assert compiled(best_value)(values, c, 3.0) == pytest.approx(best_value(values, c, 3.0), rel=1e-13)


def test_close_to_one_the_shares_come_to_those_at_one():
    means = (1.0, 1.0, 0.999)
    found = [split(means, 1 - 10.0**-digits)[2] for digits in range(2, 10)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0.0

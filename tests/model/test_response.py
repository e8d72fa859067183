"""The optimum of the bent law against brute force, a convex solver and its own first-order conditions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from apportion._common.compiled import compiled
from apportion.errors import Infeasible, InvalidValue
from apportion.model.response import (
    amount_for_marginal,
    best_shares,
    best_value,
    marginal_return,
    optimal_split,
    value,
)

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


# ---- the split between bounds ----


def bounded_case(rng, arms):
    """Means, a budget, and bounds that admit it; some arms without a minimum, some without a maximum."""
    means = rng.lognormal(0.0, 1.0, arms)
    low = rng.uniform(0.0, 1.0, arms) * (rng.random(arms) < 0.5)
    high = np.where(rng.random(arms) < 0.7, low + rng.exponential(2.0, arms), math.inf)
    room = float(np.where(np.isinf(high), low + 3.0, high).sum()) - float(low.sum())
    return means, float(low.sum()) + rng.uniform(0.02, 0.98) * room, low, high


@pytest.mark.parametrize("c", [0.1, 0.5, 0.8])
def test_a_convex_solver_finds_nothing_better(c):
    rng = np.random.default_rng(14)
    for _ in range(25):
        means, budget, low, high = bounded_case(rng, arms=int(rng.integers(2, 6)))
        found = optimal_split(means, budget, c, low, high)
        # 1e-9 keeps the solver from the infinite slope at 0.
        solved = optimize.minimize(
            lambda x, means=means: -float(np.dot(means, np.maximum(x, 1e-9) ** c)),
            np.clip(found.mean(), low, np.minimum(high, budget)),
            bounds=list(zip(np.maximum(low, 1e-9), np.minimum(high, budget))),
            constraints={"type": "eq", "fun": lambda x, budget=budget: float(x.sum()) - budget},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        best = value(means, budget, c, low, high)
        assert best >= -solved.fun - 1e-7 * best
        assert best == pytest.approx(-solved.fun, rel=1e-4)


@given(
    st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=8),
    st.sampled_from(EXPONENTS),
    st.integers(0, 2**32),
    st.floats(1e-12, 1e12),
    st.floats(0.0, 1.0),
)
@example(means=[1.0, 2.0, 1.0, 3.0, 1.0, 1.0], c=1 - 1e-16, seed=1, scale=1.0, where=1.0)
def test_marginal_returns_are_equal_but_for_arms_at_a_bound(means, c, seed, scale, where):
    rng = np.random.default_rng(seed)
    low = scale * rng.random(len(means)) * (rng.random(len(means)) < 0.5)
    high = low + scale * 10.0 ** rng.uniform(-3.0, 3.0, len(means))
    budget = max(float(low.sum()) + where * float((high - low).sum()), 1e-3 * scale)
    high[0] = max(high[0], budget)
    found = optimal_split(means, budget, c, low, high)
    assert math.fsum(found) == pytest.approx(budget, rel=4e-16 * len(means))
    assert ((found >= low) & (found <= high)).all()
    # Nothing is gained by moving a little from an arm above its minimum to another below its maximum.
    little = 1e-12 * budget
    given_up = marginal_return(means, found, c)[found > low + little]
    gained = marginal_return(means, found + little, c)[found < high - little]
    assert given_up.min(initial=math.inf) * (1 + 1e-9) >= gained.max(initial=0.0)


@given(means_of_any_size, st.sampled_from(EXPONENTS), st.integers(0, 2**32), st.floats(1e-12, 1e12))
@example(means=[1.0], c=0.001, seed=2, budget=1.0)  # the maxima add up to the budget, less a last bit
@example(means=[1.0, 55.0, 1.0, 0.0], c=1 - 1e-16, seed=540034, budget=1.0)  # break points that are rounded by e²
def test_between_bounds_amounts_add_up_for_means_of_any_sign_and_size(means, c, seed, budget):
    rng = np.random.default_rng(seed)
    middle = rng.dirichlet(np.full(len(means), 0.3)) * budget  # a split that the bounds admit
    low = middle * rng.choice([0.0, 0.5, 1.0], len(means))
    high = middle * rng.choice([1.0, 2.0, 1e9, math.inf], len(means), p=[0.5, 0.3, 0.1, 0.1])
    high[np.isnan(high)] = math.inf
    found = optimal_split(means, budget, c, low, high)
    assert ((found >= low) & (found <= high)).all()
    assert math.fsum(found) == pytest.approx(budget, rel=1e-15 * (1 + len(means)))
    reached, rounding = returns(means, c, found), 1e-9 * max(map(abs, means)) * budget**c + 1e-300
    assert abs(reached - value(means, budget, c, low, high)) <= rounding
    if c == 1.0 or min(means) >= 0.0:  # where it is the best, it is no worse than the split that the bounds came from
        assert reached >= returns(means, c, middle) - rounding


@pytest.mark.parametrize("c", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("means", [(1.0, 0.7, 0.3), (2.0, 2.0, -1.0), (-3.0, 1.0, 0.0)])
def test_no_split_of_a_grid_between_bounds_is_better(c, means):
    low, high, steps = (0.1, 0.0, 0.2), (0.5, 0.4, 0.9), 40
    best = value(means, 1.0, c, low, high)
    for first, second in itertools.product(range(4, 21), range(17)):
        point = (first / steps, second / steps, (steps - first - second) / steps)
        if 0.2 <= point[2] <= 0.9:
            assert returns(means, c, point) <= best + 1e-14


@pytest.mark.parametrize("c", EXPONENTS)
@pytest.mark.parametrize("means", [(1.0, 0.7, 0.3), (2.0, 2.0, -1.0), (0.0, 1.0, 5.0), (-3.0, -1.0, -1.0), (4.0,)])
def test_without_bounds_it_is_the_budget_by_the_best_shares(c, means):
    for budget in (1e-12, 1.0, 1e12):
        assert optimal_split(means, budget, c) == pytest.approx(
            budget * split(means, c), rel=1e-12, abs=1e-17 * budget
        )
        assert value(means, budget, c) == pytest.approx(best_value(means, c, budget), rel=1e-15)
        assert value(means, budget, c, low=0.0) == pytest.approx(value(means, budget, c), rel=1e-12)


def test_bounds_that_bind_have_their_worked_values():
    assert optimal_split([2.0, 1.0], 10.0, 0.5, high=[5.0, 20.0]).tolist() == [5.0, 5.0]
    assert optimal_split([2.0, 1.0], 10.0, 0.5, low=[0.0, 4.0]).tolist() == [6.0, 4.0]
    assert optimal_split([3.0, 2.0, 2.0, 1.0], 10.0, 1.0, high=4.0).tolist() == [4.0, 3.0, 3.0, 0.0]
    assert optimal_split([3.0, 2.0, 2.0, 1.0], 10.0, 1.0, [0.0, 2.5, 0.0, 1.0], 4.0).tolist() == [4.0, 2.5, 2.5, 1.0]
    assert optimal_split([1.0, 2.0], 3.0, 0.5, low=[1.0, 2.0]).tolist() == [1.0, 2.0]
    assert optimal_split([1.0, 2.0], 3.0, 0.5, high=[1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("c", [0.5, 1.0])
def test_arms_that_lose_get_their_minimum_or_what_no_other_may_take(c):
    assert optimal_split([1.0, -1.0, 0.0], 10.0, c, low=[0.0, 2.0, 0.0]).tolist() == [8.0, 2.0, 0.0]
    assert optimal_split([1.0, -1.0, 0.0, 0.0], 10.0, c, high=[4.0, 9.0, 2.0, 9.0]).tolist() == [4.0, 0.0, 2.0, 4.0]
    assert optimal_split([1.0, -1.0, -2.0], 10.0, c, high=[4.0, 5.0, 9.0]).tolist() == [4.0, 5.0, 1.0]


def test_an_arm_whose_bounds_are_next_to_each_other_takes_what_is_missing():
    """At e = 10^9 it leaves its minimum and arrives at its maximum at the same floating-point number."""
    low, high = [0.0, 1.0, 0.5], [1.0, 1.0 + 1e-7, 0.5 + 1e-7]
    for missing in (0.0, 3e-8, 1e-7):
        found = optimal_split([3.0, 2e-12, 1e-12], 2.5 + missing, 1 - 1e-9, low, high)
        assert found == pytest.approx([1.0, 1.0 + missing, 0.5], rel=1e-15)


@pytest.mark.parametrize("c", [0.3, 0.9, 1 - 1e-9, 1.0])
def test_many_arms_take_the_compiled_path_to_the_same_amounts(c, monkeypatch):
    means, budget, low, high = bounded_case(np.random.default_rng(3), arms=2000)
    means[::7] *= -1.0
    machine = optimal_split(means, budget, c, low, high), marginal_return(means, low, c), value(means, budget, c)
    amounts = amount_for_marginal(means, 0.5, c)
    monkeypatch.setattr("apportion.model.response.MANY_ARMS", 10**9)
    plain = optimal_split(means, budget, c, low, high)
    assert machine[0] == pytest.approx(plain, rel=1e-6 if 0.99 < c < 1.0 else 1e-12)
    assert math.fsum(machine[0]) == pytest.approx(budget, rel=1e-15)
    assert machine[1] == pytest.approx(marginal_return(means, low, c), rel=1e-14)
    assert machine[2] == pytest.approx(value(means, budget, c), rel=1e-14)
    assert amounts == pytest.approx(amount_for_marginal(means, 0.5, c), rel=1e-12)


# ---- marginal returns, and what errors cost ----


@pytest.mark.parametrize("c", [0.1, 0.5, 0.9, 0.99])
def test_the_derivative_of_the_value_is_the_common_marginal_return(c):
    means, budget, step = (1.0, 0.8, 0.3), 7.0, 1e-4
    slope = (value(means, budget + step, c) - value(means, budget - step, c)) / (2 * step)
    amounts = optimal_split(means, budget, c)
    assert marginal_return(means, amounts, c) == pytest.approx(np.full(3, slope), rel=1e-7)
    assert amount_for_marginal(means, c * value(means, budget, c) / budget, c) == pytest.approx(amounts, rel=1e-9)


@pytest.mark.parametrize("c", [0.2, 0.5, 0.9])
def test_the_spend_at_a_marginal_return_is_the_best_split_of_the_budget_that_has_it(c):
    means, target = [1.0, 0.7, -0.2, 0.3], 0.4
    worth = value(means, 1.0, c)
    budget = (c * worth / target) ** (1.0 / (1.0 - c))
    amounts = amount_for_marginal(means, target, c)
    assert amounts.sum() == pytest.approx(budget, rel=1e-12)
    np.testing.assert_allclose(amounts, optimal_split(means, budget, c), rtol=1e-9, atol=1e-12 * budget)
    wanted = 2.5
    assert value(means, (wanted / worth) ** (1.0 / c), c) == pytest.approx(wanted, rel=1e-12)


def test_marginal_returns_at_the_ends():
    assert marginal_return([2.0, 0.0, -1.0], 0.0, c=0.5).tolist() == [math.inf, 0.0, -math.inf]
    assert marginal_return([2.0, 0.0, -1.0], [0.0, 1.0, 5.0], c=1.0).tolist() == [2.0, 0.0, -1.0]
    assert np.isfinite(marginal_return([1e12, 1e-12], [1e-12, 1e12], c=1e-6)).all()
    assert marginal_return([1.0], [5e-324], c=1e-6)[0] > 1e280
    assert amount_for_marginal([2.0, 1.0, 0.5, -1.0], 1.0).tolist() == [math.inf, math.inf, 0.0, 0.0]
    assert amount_for_marginal([1e12, 1.0, 1e-12], 1.0, 1 - 1e-9).tolist() == [
        math.inf,
        pytest.approx(1 / math.e),
        0.0,
    ]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: optimal_split([1.0], c=0.0), r"`c` must be a number in \(0, 1\]; got 0.0."),
        (lambda: value([1.0], c=1.5), r"`c` must be a number in \(0, 1\]; got 1.5."),
        (lambda: optimal_split([1.0], budget=0.0), r"`budget` must be a number above 0; got 0.0."),
        (lambda: optimal_split([]), r"`means` must be a list with one number per arm; got \[\]."),
        (lambda: value([1.0, math.nan]), r"`means` must be finite numbers; got nan."),
        (lambda: optimal_split("ab"), r"`means` must be a list with one number per arm; got 'ab'."),
        (lambda: optimal_split([1.0, 2.0], low=[0.1]), r"`low` must be a number or one for each of 2 arms; got"),
        (lambda: optimal_split([1.0, 2.0], high=-1.0), r"`high` must be non-negative numbers; got -1.0."),
        (lambda: optimal_split([1.0, 2.0], low=math.inf), r"`low` must be non-negative numbers; got inf."),
        (lambda: marginal_return([1.0], ["x"]), r"`amounts` must be a number or one per arm; got \['x'\]."),
        (lambda: amount_for_marginal([1.0], target=0.0), r"`target` must be a number above 0; got 0.0."),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, sentence):
    with pytest.raises(InvalidValue, match=sentence):
        call()


@pytest.mark.parametrize(
    ("low", "high", "sentence"),
    [
        ([2.0, 9.0], None, "The minimum amounts add up to 11; the budget is 10."),
        (None, [2.0, 3.0], "The maximum amounts add up to 5; the budget is 10."),
        ([0.0, 3.0], [10.0, 2.0], r"The minimum amount of arm 1 \(3\) is above its maximum \(2\)."),
    ],
)
def test_bounds_that_no_split_can_meet_are_refused(low, high, sentence):
    with pytest.raises(Infeasible, match=sentence):
        optimal_split([1.0, 2.0], 10.0, 0.5, low, high)

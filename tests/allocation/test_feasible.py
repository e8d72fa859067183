"""Shares to amounts: bounds, sums to the last bit or unit, and rounding that is right on average."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from apportion.allocation import feasible
from apportion.allocation.feasible import amounts, project, units
from apportion.errors import ApportionError, Infeasible, InvalidValue

weights = st.lists(
    st.one_of(
        st.floats(0.01, 1.0),
        st.just(0.0),
        st.just(1.0),
        st.floats(-300, 0).map(lambda power: 10.0**power),
    ),
    min_size=1,
    max_size=30,
)


@st.composite
def simplex(draw):
    values = np.array(draw(weights))
    assume(values.sum() > 1e-3)
    return values / values.sum()


@st.composite
def bounded(draw):
    """Shares, and bounds around some other point of the simplex, which makes them feasible."""
    shares = draw(simplex())
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    inner = rng.dirichlet(np.full(shares.size, draw(st.sampled_from([0.2, 1.0, 20.0]))))
    slack = draw(st.sampled_from([0.05, 0.5, 1.0]))
    low = inner * (1 - slack * rng.random(shares.size))
    high = inner + (1 - inner) * slack * rng.random(shares.size)
    kinds = rng.integers(0, 4, shares.size)
    low[kinds == 1] = 0.0
    high[kinds == 2] = 1.0
    low[kinds == 3] = high[kinds == 3] = inner[kinds == 3]
    return shares, low, high


def left_to_right(values):
    total = 0.0
    for value in values.tolist():
        total += value
    return total


# --- project -----------------------------------------------------------------------------------------------


@given(bounded())
@settings(deadline=None, max_examples=300)
def test_projection_is_within_bounds_sums_to_one_and_keeps_proportions(case):
    """The three conditions that define it: with the common scale λ, an arm is at λ·share or at a bound."""
    shares, low, high = case
    out = project(shares, low, high)
    assert np.all((low <= out) & (out <= high))
    assert math.fsum(out) == pytest.approx(1.0, abs=2e-12)
    free = (low < out) & (out < high) & (shares > 1e-250)
    if free.any() and math.fsum(high[shares > 0]) + math.fsum(low[shares == 0]) > 1 + 1e-9:
        scale = out[free] / shares[free]
        np.testing.assert_allclose(scale, scale[0], rtol=1e-12)
        slack = 1e-9 * (1 + scale[0])
        at_low, at_high = (out == low) & (low < high), (out == high) & (low < high)
        assert np.all(scale[0] * shares[at_low] <= low[at_low] + slack)
        assert np.all(scale[0] * shares[at_high] >= high[at_high] - slack)


@given(bounded())
@settings(deadline=None, max_examples=150)
def test_projecting_twice_is_projecting_once(case):
    shares, low, high = case
    once = project(shares, low, high)
    np.testing.assert_array_equal(project(once, low, high), once)


@given(bounded(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=150)
def test_the_order_of_the_arms_plays_no_part(case, random):
    shares, low, high = case
    order = list(range(shares.size))
    random.shuffle(order)
    np.testing.assert_allclose(
        project(shares[order], low[order], high[order]),
        project(shares, low, high)[order],
        rtol=1e-9,
        atol=1e-14,
    )


@given(simplex())
@settings(deadline=None)
def test_shares_within_the_bounds_come_back_unchanged(shares):
    for low, high in (
        (None, None),
        (0.0, 1.0),
        (shares, shares),
        (shares / 2, None),
        (None, np.sqrt(shares)),
    ):
        np.testing.assert_array_equal(project(shares, low, high), shares)


def test_worked_examples():
    def check(shares, low, high, expected):
        np.testing.assert_allclose(project(shares, low, high), expected, rtol=1e-14)

    check([0.7, 0.2, 0.1], [0, 0, 0.2], [0.5, 1, 1], [0.5, 0.3, 0.2])
    check([0.6, 0.3, 0.1], 0.0, [0.3, 1, 1], [0.3, 0.525, 0.175])  # 3 : 1 is kept
    check([0.6, 0.3, 0.1], [0.25, 0, 0], [0.25, 1, 1], [0.25, 0.5625, 0.1875])  # pinned
    check([1.0, 0.0, 0.0], 0.0, [0.4, 1.0, 0.2], [0.4, 0.4, 0.2])  # the rest is levelled
    check([1.0, 0.0, 0.0], [0, 0.1, 0], [0.5, 1, 1], [0.5, 0.25, 0.25])
    check([0.0, 1.0], [0.5, 0.5], None, [0.5, 0.5])
    check([0.2] * 5, 0.2, 0.2, [0.2] * 5)
    check([0.9, 0.1], [0.7, 0.1 + 0.2], None, [0.7, 0.3])  # bounds that sum to 1 up to rounding


def test_a_very_small_share_grows_without_overflow():
    for tiny in (1e-17, 1e-200, 1e-300, 5e-324):
        np.testing.assert_allclose(project([1.0, tiny], None, [0.3, 1.0]), [0.3, 0.7], rtol=1e-12)
        np.testing.assert_allclose(project([1.0, tiny, 0.0], None, [0.3, 1.0, 1.0]), [0.3, 0.7, 0.0])


def test_large_numbers_of_arms():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(100_000))
    low, high = np.full(shares.size, 2e-6), np.full(shares.size, 2e-5)
    out = project(shares, low, high)
    assert np.all((low <= out) & (out <= high))
    assert math.fsum(out) == pytest.approx(1.0, abs=1e-13)
    money = amounts(shares, 5000.0, low=low, high=high)
    assert left_to_right(money) == math.fsum(money) == money.sum() == 5000.0
    kits = amounts(shares, 300_000, step=1, rng=rng)
    assert kits.sum() == 300_000


# --- money -------------------------------------------------------------------------------------------------

budgets = st.one_of(st.floats(1e-6, 1e15), st.sampled_from([1e-6, 1.0, 100.0, 1024.0, 5000.0, 0.1, 1e15]))


@given(simplex(), budgets)
@settings(deadline=None, max_examples=400)
@example(np.full(3, 1 / 3), 100.0)
@example(np.array([1e-17] * 9 + [1.0]), 1.0)  # below q/2 each, together 0.4 q
@example(np.array([1e-16] * 25 + [1.0]), 1.0)  # together 11 q: they become q each
def test_money_adds_up_to_the_last_bit(shares, budget):
    out = amounts(shares, budget)
    quantum = math.ulp(budget)
    assert math.fsum(out) == budget
    assert left_to_right(out) == budget
    assert np.all(out >= 0)
    assert np.array_equal(out > 0, shares > 0)
    *others, most = sorted(np.abs(out - shares * budget))
    assert all(missed <= quantum for missed in others)
    assert most <= (2 * shares.size + 10) * quantum  # the arm that takes what is left over


@given(bounded(), budgets)
@settings(deadline=None, max_examples=200)
def test_money_within_bounds(case, budget):
    shares, low, high = case
    out = amounts(shares, budget, low=low, high=high)
    assert math.fsum(out) == left_to_right(out) == budget
    slack = 1.01 * math.ulp(budget) + 3e-16 * budget
    outside = np.maximum(low * budget - slack - out, out - high * budget - slack)
    # Only where every arm is held does one go further, by what rounding left over.
    free = np.any((project(shares, low, high) > low) & (project(shares, low, high) < high))
    assert np.all(outside <= (0 if free else shares.size * math.ulp(budget)))
    assert np.all(out >= 0)


def test_sums_are_exact_in_any_order():
    rng = np.random.default_rng(3)
    for budget in (0.1, 100.0, 12345.67, 2.0**40):
        out = amounts(rng.dirichlet(np.ones(200)), budget)
        for _ in range(20):
            rng.shuffle(out)
            assert left_to_right(out) == out.sum() == budget


def test_small_amounts_that_rounding_would_carry_up():
    """Just over half an ulp of each partial sum, so that plain addition rounds up at every step."""
    budget = 2.0**53 - 1
    large = [2.0**k for k in range(53)]
    small = [2.0**-54 * (1 + 2**-20)]
    shares = np.array(small + large) / budget
    out = amounts(shares / shares.sum(), budget)
    assert left_to_right(out) == math.fsum(out) == budget
    assert out[0] > 0


def test_a_small_share_is_kept_to_the_digit():
    out = amounts([1.0, 1e-30, 0.0], 5000.0)
    assert out.tolist() == [5000.0, 5e-27, 0.0]
    assert amounts([1.0, 5e-324], 1e-6)[1] > 0


def test_pinned_money_is_not_touched_by_rounding():
    out = amounts([0.4, 0.3, 0.3], 100.0, low=[0.9, 0, 0], high=[0.9, 1, 1])
    assert out.tolist() == [90.0, 5.0, 5.0]


# --- whole units -------------------------------------------------------------------------------------------


@given(simplex(), st.integers(1, 10**15), st.integers(0, 1000))
@settings(deadline=None, max_examples=300)
def test_units_add_up_and_are_the_neighbours_of_the_target(shares, total, seed):
    out = units(shares, total, rng=np.random.default_rng(seed))
    assert out.dtype == np.int64
    assert int(out.sum()) == total
    slack = 1e-12 * total
    assert np.all(out >= np.floor(shares * total - slack))
    assert np.all(out <= np.ceil(shares * total + slack))
    assert np.all(out[shares == 0] == 0)
    np.testing.assert_array_equal(out, units(shares, total, rng=np.random.default_rng(seed)))


@given(bounded(), st.integers(1, 5000), st.integers(0, 1000))
@settings(deadline=None, max_examples=300)
def test_units_within_bounds_or_an_error_that_is_true(case, total, seed):
    shares, low, high = case
    slack = 1e-9 + 1e-15 * total * np.array([low, high])  # the tolerance of `units`
    up, down = np.ceil(low * total - slack[0]), np.floor(high * total + slack[1])
    band = up > down  # no whole number between: either neighbour
    up[band], down[band] = np.floor(low * total)[band], np.ceil(high * total)[band]
    try:
        out = units(shares, total, low=low, high=high, rng=np.random.default_rng(seed))
    except Infeasible:
        assert up.sum() > total or down.sum() < total
        return
    assert int(out.sum()) == total
    assert np.all((up <= out) & (out <= down))


def frequencies(shares, total, runs, **bounds):
    rng = np.random.default_rng(12)
    return np.array([units(shares, total, rng=rng, **bounds) for _ in range(runs)])


def test_the_mean_of_rounding_is_the_target():
    """Six arms, one of them small: each mean within 5 standard errors (6e-7 each)."""
    shares, total, runs = np.array([0.31, 0.27, 0.2, 0.11, 0.1, 0.01]), 7, 20_000
    means = frequencies(shares, total, runs).mean(axis=0)
    fractions = shares * total % 1
    assert np.all(np.abs(means - shares * total) <= 5 * np.sqrt(fractions * (1 - fractions) / runs))
    assert means[-1] > 0  # 0.07 kits a period are a kit now and then


def test_the_mean_of_rounding_is_exact():
    """Over all orders and all starts of the points, which change the outcome at multiples of 1/4 only."""

    class Fixed:
        def __init__(self, order, start):
            self.order, self.start = order, start

        def permutation(self, open_):
            return open_[list(self.order)]

        def random(self):
            return self.start

    targets = np.array([2.25, 0.5, 3.0, 1.25, 1.0])
    every = [
        feasible._sample(targets, 8, Fixed(order, start))
        for order in itertools.permutations(range(3))
        for start in (0.0, 0.25, 0.5, 0.75)
    ]
    assert {int(counts.sum()) for counts in every} == {8}
    np.testing.assert_array_equal(np.mean(every, axis=0), targets)


def test_no_two_arms_are_always_rounded_together():
    """Four halves: each of the six pairs goes up together in 1/6 of the runs, within 5 standard errors."""
    runs = 6000
    counts = frequencies(np.full(4, 0.25), 2, runs)
    for i, j in itertools.combinations(range(4), 2):
        together = np.mean(counts[:, i] * counts[:, j])
        assert abs(together - 1 / 6) < 5 * math.sqrt(1 / 6 * 5 / 6 / runs)


def test_an_arm_pinned_between_whole_numbers_keeps_its_mean():
    """A quarter of 10 kits is 2 or 3, half of the time each; 5 standard errors."""
    runs = 4000
    counts = frequencies([0.5, 0.4, 0.1], 10, runs, low=[0.25, 0, 0], high=[0.25, 1, 1])
    assert set(counts[:, 0]) == {2, 3}
    assert abs(counts[:, 0].mean() - 2.5) < 5 * 0.5 / math.sqrt(runs)
    # The other two share 7.5 by 4 : 1.
    np.testing.assert_allclose(counts[:, 1:].mean(axis=0), [6.0, 1.5], atol=5 * 0.5 / math.sqrt(runs))


def test_an_arm_pinned_between_whole_numbers_gives_way_where_it_must():
    """A quarter, at most 0.7 and at most 0.05 of 10 kits: only 3, 7, 0 adds up."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        out = units([0.25, 0.7, 0.05], 10, low=[0.25, 0, 0], high=[0.25, 0.7, 0.05], rng=rng)
        assert out.tolist() == [3, 7, 0]


def test_whole_bounds_forgive_float_error():
    """0.07·100 is 7.000000000000001, and 0.29·100 is 28.999999999999996."""
    for share, count in ((0.07, 7), (0.29, 29)):
        assert share * 100 != count
        for seed in range(5):
            rng = np.random.default_rng(seed)
            out = units([0.5, 0.5], 100, low=[share, 0], high=[share, 1], rng=rng)
            assert out.tolist() == [count, 100 - count]


@given(
    simplex(),
    st.integers(1, 10**7),
    st.sampled_from([1, 0.01, 0.1, 0.05, 0.25, 50, 1e-3, 1e-7, 0.3, 1 / 3, 1000.0]),
    st.integers(0, 1000),
)
@settings(deadline=None, max_examples=200)
def test_steps_are_decimal(shares, count, step, seed):
    """Each amount is the float nearest to a whole multiple of the step as written, and these add up."""
    written = Fraction(repr(step))
    budget = float(count * written)
    out = amounts(shares, budget, step=step, rng=np.random.default_rng(seed))
    multiples = [round(Fraction(repr(amount)) / written) for amount in out.tolist()]
    assert sum(multiples) == count
    assert out.tolist() == [float(n * written) for n in multiples]


def test_cents_read_as_cents():
    out = amounts([1 / 3, 1 / 3, 1 / 3], 5000, step=0.01, rng=np.random.default_rng(0))
    assert sorted(out.tolist()) == [1666.66, 1666.67, 1666.67]
    assert amounts([1.0], 0.1 + 0.2, step=0.1, rng=np.random.default_rng(0)).tolist() == [0.3]


# --- errors ------------------------------------------------------------------------------------------------

HALF, RNG = [0.5, 0.5], np.random.default_rng(0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: project(HALF, [0.6, 0.5], None, names=["a", "b"]),
            "The minimum shares of 'a' (0.6) and 'b' (0.5) add up to 1.1; they must add up to at most 1.",
        ),
        (
            lambda: amounts(HALF, 10.0, high=[0.3, 0.2], names=["a", "b"]),
            "The maximum shares of 'a' (0.3) and 'b' (0.2) add up to 0.5; they must add up to at least 1.",
        ),
        (
            lambda: project(HALF, [1.5, 0], [2, 1], names=["a", "b"]),
            "The minimum share of 'a' is 1.5; it must be at most 1.",
        ),
        (
            lambda: project(HALF, [0, 0.6], [1, 0.5]),
            "The minimum share of arm 1 (0.6) is above its maximum (0.5).",
        ),
        (
            lambda: project([0.1] * 10, 0.2, None, names="abcdefghij"),
            "The minimum shares of 'a' (0.2), 'b' (0.2), 'c' (0.2), 'd' (0.2), 'e' (0.2) and 5 more "
            "add up to 2; they must add up to at most 1.",
        ),
        (
            lambda: amounts([1 / 7] * 7, 5, low=0.1, step=1, rng=RNG, names="abcdefg"),
            "7 arms with a minimum ('a', 'b', 'c', 'd', 'e' and 2 more) need at least 7 whole units; "
            "the budget has 5.",
        ),
        (
            lambda: units([1 / 3] * 3, 10, high=0.39, rng=RNG, names="abc"),
            "The maximum shares of 'a', 'b' and 'c' admit at most 9 whole units; the budget has 10.",
        ),
    ],
)
def test_infeasible_bounds_name_the_arms(call, sentence):
    with pytest.raises(Infeasible) as error:
        call()
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: amounts(HALF, 0), "`budget` must be a number of at least 1e-290; got 0."),
        (lambda: amounts(HALF, -5.0), "`budget` must be a number of at least 1e-290; got -5.0."),
        (lambda: amounts(HALF, math.inf), "`budget` must be a number of at least 1e-290; got inf."),
        (lambda: amounts(HALF, "5"), "`budget` must be a number of at least 1e-290; got '5'."),
        (
            lambda: amounts(HALF, 10.005, step=0.01, rng=RNG),
            "`budget` must be a multiple of the step 0.01; got 10.005.",
        ),
        (lambda: amounts(HALF, 0.5, step=1, rng=RNG), "`budget` must be a multiple of the step 1; got 0.5."),
        (
            lambda: amounts(HALF, 1e15, step=0.01, rng=RNG),
            "`budget` must be at most 1e+15 steps of 0.01; got 1000000000000000.0.",
        ),
        (lambda: amounts(HALF, 10, step=0), "`step` must be a number of at least 1e-290; got 0."),
        (
            lambda: amounts(HALF, 10, step=1),
            "`rng` must be a numpy.random.Generator where whole units are given; got None.",
        ),
        (lambda: units(HALF, 1.5, rng=RNG), "`total` must be a whole number in [1, 1e+15]; got 1.5."),
        (lambda: project([0.5, 0.4], None, None), "`shares` must be numbers that add up to 1; got 0.9."),
        (lambda: project([1.5, -0.5], None, None), "`shares` must be non-negative numbers; got -0.5."),
        (lambda: project([math.nan, 1.0], None, None), "`shares` must be non-negative numbers; got nan."),
        (lambda: project([], None, None), "`shares` must be one share per arm, of shape (K,); got (0,)."),
        (lambda: project("ab", None, None), "`shares` must be numbers; got 'ab'."),
        (lambda: project(HALF, [0.1], None), "`low` must be one share per arm, of shape (2,); got (1,)."),
        (lambda: project(HALF, None, [-1, 1]), "`high` must be non-negative numbers; got -1.0."),
        (lambda: project(HALF, math.nan, None), "`low` must be non-negative numbers; got nan."),
        (
            lambda: project(HALF, 0.1, None, names=["a"]),
            "`names` must be one name for each of 2 arms; got ['a'].",
        ),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ApportionError) as error:
        call()
    assert isinstance(error.value, InvalidValue)
    assert str(error.value) == sentence

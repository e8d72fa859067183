"""The eight sums: exact whatever the order, forgetting by its definition, extremes, bad input, memory."""

import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.errors import IncompatibleState, InvalidValue
from apportion.model.exact_sums import Statistics
from apportion.model.sums import MANY_ARMS, Sums, outcome_terms, powers_of

ORDERS = (0.0, 0.3, 0.5, 0.75, 1.0)
# Twenty orders of magnitude and both signs: sums of such numbers in floating point depend on the order.
AMOUNT = st.one_of(st.just(0.0), st.floats(1e-10, 1e10))
OUTCOME = st.one_of(st.just(math.nan), st.floats(-1e10, 1e10))
OUTCOMES = st.lists(st.tuples(st.tuples(AMOUNT, AMOUNT), st.tuples(OUTCOME, OUTCOME)), min_size=1, max_size=12)
HALF_LIFE = st.one_of(st.none(), st.floats(0.3, 1000))


def bits(past):
    """Every sum, as it is in memory."""
    return [values.tobytes() for values in past.sums()]


def term_values(amount, outcome, b, c=1.0):
    """What one outcome adds; computed on arrays, as there the power is rounded otherwise than for a number."""
    with np.errstate(all="ignore"):
        found = outcome_terms(np.array([outcome]), powers_of(np.array([amount]), b, c))
    return [float(np.ravel(term)[0]) for term in found]


def filled(history, b=0.75, half_life=None, arms=2):
    past = Statistics(arms, b, half_life)
    for amounts, outcomes in history:
        past.update(amounts, outcomes)
        past.advance()
    return past


def replayed(history, b, half_life, order):
    """The same outcomes at the same periods, but all told at the end, in another order."""
    past = Statistics(2, b, half_life)
    past.advance(len(history))
    for place in order:
        past.update(*history[place], period=place)
    return past


# ---- exactness ----


@settings(deadline=None)
@given(OUTCOMES, st.sampled_from(ORDERS), HALF_LIFE, st.randoms(use_true_random=False))
def test_the_order_of_arrival_leaves_no_trace(history, b, half_life, random):
    order = list(range(len(history)))
    random.shuffle(order)
    assert bits(replayed(history, b, half_life, order)) == bits(filled(history, b, half_life))


@settings(deadline=None)
@given(OUTCOMES, OUTCOMES, st.sampled_from(ORDERS), HALF_LIFE)
def test_reverting_is_as_if_it_had_never_been(kept, taken_back, b, half_life):
    past = Statistics(2, b, half_life)
    for place, (amounts, outcomes) in enumerate(taken_back):
        past.update(amounts, outcomes, period=place)
    past.advance(len(kept))
    for place, (amounts, outcomes) in enumerate(kept):
        past.update(amounts, outcomes, period=place)
    for place, (amounts, outcomes) in enumerate(taken_back):
        past.revert(amounts, outcomes, period=place)
    assert bits(past) == bits(replayed(kept, b, half_life, range(len(kept))))


@settings(deadline=None)
@given(OUTCOMES, OUTCOMES, st.sampled_from(ORDERS), HALF_LIFE)
def test_merging_is_observing_both(first, second, b, half_life):
    periods = max(len(first), len(second))
    both = [Statistics(2, b, half_life) for _ in range(3)]
    for past in both:
        past.advance(periods)
    for history, targets in ((first, (0, 2)), (second, (1, 2))):
        for place, (amounts, outcomes) in enumerate(history):
            for target in targets:
                both[target].update(amounts, outcomes, period=place)
    left, right, together = both
    other_way = Statistics.from_dict(right.to_dict())
    other_way.merge(left)
    left.merge(right)
    assert bits(left) == bits(together) == bits(other_way)


@settings(deadline=None)
@given(OUTCOMES)
def test_every_sum_is_the_correctly_rounded_sum_of_its_terms(history):
    past = filled(history)
    for arm in range(2):
        exact = [Fraction(0)] * len(Sums._fields)
        for amounts, outcomes in history:
            if amounts[arm] > 0 and not math.isnan(outcomes[arm]):
                found = term_values(amounts[arm], outcomes[arm], 0.75)
                exact = [total + Fraction(term) for total, term in zip(exact, found)]
        assert [values[arm] for values in past.sums()] == [float(total) for total in exact]


def test_a_small_outcome_survives_beside_a_huge_one():
    past = Statistics(1, 0.5)
    past.update([1.0], [1e300])
    past.update([1.0], [1e-300])
    past.update([1.0], [3.0])
    past.revert([1.0], [1e300])
    past.revert([1.0], [3.0])
    assert past.sums().reward[0] == 1e-300


def test_statistics_that_were_advanced_in_other_steps_merge_exactly():
    history = [((1.0, 0.3), (2.0, -1.0)), ((0.1, 7.0), (5.0, 0.1))]
    leaping, walking = Statistics(2, 0.75, half_life=1.5), Statistics(2, 0.75, half_life=1.5)
    for past in (leaping, walking):
        for amounts, outcomes in history:
            past.update(amounts, outcomes)
    leaping.advance(301)
    for _ in range(301):
        walking.advance()
    assert bits(leaping) == bits(walking)
    leaping.merge(walking)
    assert leaping.sums().count.tolist() == pytest.approx((2 * walking.sums().count).tolist(), rel=1e-15, abs=0)


# ---- what is not observed ----


@pytest.mark.parametrize("b", ORDERS)
def test_nothing_spent_or_nothing_back_adds_nothing(b):
    past = Statistics(3, b)
    past.update([0.0, 1.0, 0.0], [5.0, math.nan, math.nan])
    assert all(values.tolist() == [0.0] * 3 for values in past.sums())
    past.update([0.0, 0.5, 0.25], [5.0, math.nan, 1.0])
    assert past.sums().count.tolist() == [0.0, 0.0, 1.0]


def test_new_arms_come_last_and_know_nothing():
    past = filled([((0.5, 0.25), (1.0, 2.0))])
    before = past.sums()
    past.add_arms(2)
    assert past.arms == 4
    for old, new in zip(before, past.sums()):
        assert new.tolist() == [*old.tolist(), 0.0, 0.0]
    past.update([0.0, 0.0, 1.0, 0.0], [math.nan, math.nan, 3.0, math.nan])
    assert past.sums().reward.tolist() == [1.0, 2.0, 3.0, 0.0]


def test_no_arms_at_all():
    past = Statistics(0, 0.5)
    past.update([], [])
    assert past.sums().count.size == 0
    past.add_arms()
    assert past.arms == 1


def test_sums_are_a_copy():
    past = filled([((0.5, 0.25), (1.0, 2.0))])
    past.sums().reward[:] = 99.0
    assert past.sums().reward.tolist() == [1.0, 2.0]


def test_taking_arms_keeps_the_order_asked_for():
    seen = filled([((0.5, 0.25), (1.0, 2.0))]).sums().take([1, 0])
    assert isinstance(seen, Sums)
    assert seen.reward.tolist() == [2.0, 1.0]


# ---- forgetting ----


@settings(deadline=None)
@given(OUTCOMES, st.sampled_from(ORDERS), st.floats(0.3, 1000), st.integers(0, 40))
def test_forgetting_is_its_definition(history, b, half_life, later):
    """Sum of 2^(-age/h) times the term, the age in periods."""
    past = filled(history, b, half_life)
    past.advance(later)
    now = len(history) + later
    for arm in range(2):
        direct, size = np.zeros(len(Sums._fields)), np.zeros(len(Sums._fields))
        for period, (amounts, outcomes) in enumerate(history):
            if amounts[arm] > 0 and not math.isnan(outcomes[arm]):
                found = np.array(term_values(amounts[arm], outcomes[arm], b))
                direct += 2.0 ** (-(now - period) / half_life) * found
                size += 2.0 ** (-(now - period) / half_life) * np.abs(found)
        found = np.array([values[arm] for values in past.sums()])
        # Below 2e-308 floating point itself keeps fewer digits.
        assert np.all(np.abs(found - direct) <= 1e-12 * size + 1e-307)


def test_thousands_of_half_lives_stay_finite_and_forget_all():
    past = Statistics(1, 0.75, half_life=0.5)
    for _ in range(3000):
        past.update([2.0], [3.0])
        past.advance()
    seen = past.sums()
    assert seen.count[0] == pytest.approx(1 / 4 / (1 - 1 / 4), rel=1e-14, abs=0)
    assert seen.reward[0] / seen.resource[0] == pytest.approx(1.5, rel=1e-14, abs=0)
    past.advance(10_000)
    assert all(values[0] == 0.0 for values in past.sums())
    past.update([2.0], [3.0])
    assert past.sums().reward[0] == 3.0


def test_time_without_forgetting_changes_nothing():
    past = filled([((0.5, 0.25), (1.0, 2.0))])
    before = bits(past)
    past.advance(10**9)
    assert bits(past) == before


def test_late_outcomes_weigh_what_they_would_have():
    early, late = Statistics(1, 0.75, half_life=7.3), Statistics(1, 0.75, half_life=7.3)
    early.update([0.3], [1.1])
    early.advance(500)
    late.advance(500)
    late.update([0.3], [1.1], period=0)
    assert bits(early) == bits(late)


@pytest.mark.parametrize("amount", [1e-300, 1e300])
def test_forgetting_extreme_amounts_stays_finite(amount):
    past = Statistics(1, 0.0, half_life=1.0)
    for _ in range(200):
        past.update([amount], [amount])
        past.advance()
    assert all(math.isfinite(values[0]) for values in past.sums())


# ---- saving ----


@settings(deadline=None)
@given(OUTCOMES, OUTCOMES, HALF_LIFE)
def test_json_brings_back_every_bit(history, more, half_life):
    past = filled(history, half_life=half_life)
    twin = Statistics.from_dict(json.loads(json.dumps(past.to_dict())))
    assert bits(twin) == bits(past)
    for amounts, outcomes in more:
        for one in (past, twin):
            one.update(amounts, outcomes)
            one.advance()
    assert bits(twin) == bits(past)
    assert twin.to_dict() == past.to_dict()


@pytest.mark.parametrize("limbs", [[[1.0]], [[[1.0]]], [[[math.nan]] * 8, [[0.0]] * 8]])
def test_damaged_state_is_refused(limbs):
    state = Statistics(1, 0.5).to_dict()
    with pytest.raises(IncompatibleState, match="damaged"):
        Statistics.from_dict({**state, "limbs": limbs})


# ---- many arms ----


@pytest.mark.parametrize("half_life", [None, 2.7])
def test_many_arms_take_the_compiled_path_to_the_same_bits(half_life):
    arms, rng = MANY_ARMS + 88, np.random.default_rng(6)
    whole = Statistics(arms, 0.75, half_life)
    parts = [Statistics(100, 0.75, half_life) for _ in range(arms // 100)]
    for period in range(30):
        amounts = 10.0 ** rng.uniform(-12, 12, arms) * (rng.random(arms) < 0.8)
        outcomes = np.where(rng.random(arms) < 0.9, rng.normal(size=arms) * 10.0 ** rng.uniform(-9, 9, arms), np.nan)
        for past, columns in [(whole, slice(None))] + [
            (part, slice(100 * i, 100 * (i + 1))) for i, part in enumerate(parts)
        ]:
            past.update(amounts[columns], outcomes[columns])
            if period == 20:
                past.revert(amounts[columns], outcomes[columns])
            past.advance()
    together = [np.concatenate(columns) for columns in zip(*(part.sums() for part in parts))]
    assert [values.tobytes() for values in whole.sums()] == [values.tobytes() for values in together]


# ---- the terms ----


@pytest.mark.parametrize("b", ORDERS)
@pytest.mark.parametrize("power", [-300, -200, -150, -77, -9, 0, 9, 77, 150, 200, 300])
@pytest.mark.parametrize("c", [1.0, 0.6])
def test_terms_are_their_powers_wherever_a_float_can_hold_them(power, b, c):
    """Against mpmath: A, A^c, A^(2b), Y/A^c, A^(2b-2c), A^(2c-2b), A^(c-2b) Y. Beyond the range: 0 or infinite."""
    if c < 1.0 and abs(power) == 300:
        power //= 2  # at b > c a power of such an amount is beyond a float where its product is not
    amount, outcome = 1.7 * 10.0**power, -0.3 * 10.0**power
    found = term_values(amount, outcome, b, c)
    with mpmath.workdps(50):
        a, y, order, bend = mpmath.mpf(amount), mpmath.mpf(outcome), mpmath.mpf(b), mpmath.mpf(c)
        exact = (
            1,
            a,
            a**bend,
            a ** (2 * order),
            y,
            y / a**bend,
            a ** (2 * order - 2 * bend),
            a ** (2 * bend - 2 * order),
            a ** (bend - 2 * order) * y,
        )
        for got, value in zip(found, exact):
            if mpmath.mpf("1e-300") < abs(value) < mpmath.mpf("1e300"):
                assert abs(float(mpmath.mpf(float(got)) / value - 1)) < 2e-13
            elif abs(value) >= mpmath.mpf("1e300"):
                assert abs(got) > 1e299
            else:
                assert abs(got) < 1e-299


@pytest.mark.parametrize("b", ORDERS)
@pytest.mark.parametrize("amount", [5e-324, 1e-300, 1e300, 1.7e308])
@pytest.mark.parametrize("outcome", [0.0, -1.0, 1e300])
def test_no_sum_is_ever_infinite_or_not_a_number(amount, outcome, b):
    past = Statistics(2, b)
    for _ in range(3):
        past.update([amount, 1.0], [outcome, 1.0])
    assert all(np.isfinite(values).all() for values in past.sums())
    past.revert([amount, 1.0], [outcome, 1.0])
    assert past.sums().count.tolist() == [2.0, 2.0]


# ---- bad input changes nothing ----


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda past: past.update([1.0], [1.0]), "`amounts` must be one number per arm (2); got 'shape (1,)'."),
        (lambda past: past.update([1.0, 1.0], 3.0), "`outcomes` must be one number per arm (2); got 'shape ()'."),
        (
            lambda past: past.update([1.0, -1.0], [1.0, 1.0]),
            "`amounts` must be finite numbers of at least 0; got array([-1.]).",
        ),
        (
            lambda past: past.update([1.0, math.nan], [1.0, 1.0]),
            "`amounts` must be finite numbers of at least 0; got array([nan]).",
        ),
        (
            lambda past: past.update([1.0, math.inf], [1.0, 1.0]),
            "`amounts` must be finite numbers of at least 0; got array([inf]).",
        ),
        (
            lambda past: past.update([1.0, 1.0], [1.0, math.inf]),
            "`outcomes` must be finite numbers, or NaN where nothing came back; got array([ 1., inf]).",
        ),
        (
            lambda past: past.revert([1.0, 1.0], [-math.inf, math.inf]),
            "`outcomes` must be finite numbers, or NaN where nothing came back; got array([-inf, inf]).",
        ),
        (lambda past: past.advance(-1), "`periods` must be a whole number of at least 0; got -1."),
        (lambda past: past.add_arms(0), "`arms` must be a whole number of at least 1; got 0."),
        (
            lambda past: past.merge(Statistics(3, 0.75)),
            "`other` must have the same arms, b, c, half-life and period (2, 0.75, 1.0, None, 1); "
            "got (3, 0.75, 1.0, None, 0).",
        ),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(call, sentence):
    past = filled([((0.5, 0.25), (1.0, 2.0))])
    before = past.to_dict()
    with pytest.raises(InvalidValue) as refusal:
        call(past)
    assert str(refusal.value) == sentence
    assert past.to_dict() == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((2, 1.2), "`b` must be a number in [0, 1]; got 1.2."),
        ((-1, 0.5), "`arms` must be a whole number of at least 0; got -1."),
        ((2, 0.5, 0.0), "`half_life` must be a number of at least 0.001; got 0.0."),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(InvalidValue) as refusal:
        Statistics(*arguments)
    assert str(refusal.value) == sentence


# ---- memory ----


def held_bytes(past):
    return sum(value.nbytes for value in vars(past).values() if isinstance(value, np.ndarray))


@pytest.mark.parametrize("half_life", [None, 3.0])
def test_memory_does_not_grow_with_the_number_of_updates(half_life):
    """Terms over 20 orders of magnitude need more than two floats a sum, but a number that settles."""
    rng = np.random.default_rng(12)
    past = Statistics(4, 0.75, half_life)
    sizes = {}
    for update in range(1, 10_001):
        past.update(10.0 ** rng.uniform(-10, 10, 4), rng.normal(size=4))
        past.advance()
        sizes[update] = held_bytes(past)
    assert sizes[10_000] == sizes[5000]
    # Arms, sums, bytes, and how many floats a sum: what was forgotten can still be taken back exactly until it
    # is below the smallest float, which is 1074 + 64 half-lives of 53 bits each.
    assert sizes[10_000] <= 4 * 9 * 8 * (8 if half_life is None else 24)


def test_memory_settles_also_where_outcomes_are_taken_back():
    rng = np.random.default_rng(13)
    past = Statistics(1, 0.75)
    for _ in range(2000):
        amounts, outcomes = 10.0 ** rng.uniform(-10, 10, 1), rng.normal(size=1)
        past.update(amounts, outcomes)
        past.update([1.0], [0.1])
        past.revert(amounts, outcomes)
    assert held_bytes(past) <= 8 * 8 * 8
    assert past.sums().count[0] == 2000.0


def test_at_c_one_the_saved_sums_are_those_of_before_c():
    past = Statistics(2, 0.75)
    past.update([0.5, 0.25], [2.0, 1.0])
    state = past.to_dict()
    assert "c" not in state
    assert len(state["limbs"][0]) == len(Sums._fields) - 1
    assert bits(Statistics.from_dict(state)) == bits(past)


def test_bent_sums_are_those_of_their_exponent_and_come_back():
    past = Statistics(1, 0.3, c=0.6)
    past.update([4.0], [5.0])
    assert past.sums().response.tolist() == pytest.approx([4.0**0.6])
    assert past.sums().information.tolist() == pytest.approx([4.0**0.6])
    assert past.sums().score.tolist() == pytest.approx([5.0])
    again = Statistics.from_dict(past.to_dict())
    assert bits(again) == bits(past)
    assert again.c == 0.6
    past.revert([4.0], [5.0])
    assert not np.stack(past.sums()).any()
    with pytest.raises(InvalidValue, match=r"`c` must be a number in \(0, 1\]; got 0"):
        Statistics(1, 0.3, c=0)

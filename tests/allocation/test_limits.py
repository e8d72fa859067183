"""Limits of a split: growth beyond what was tried, and change from one split to the next."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.allocation.test_feasible import bounded

import apportion as ap
from apportion.allocation import tickets
from apportion.allocation.feasible import project
from apportion.allocation.limits import Limits

SLACK = 1e-9


def limits_of(largest, previous, growth, change):
    state = {"growth": growth, "largest": list(largest), "change": change, "previous": list(previous)}
    return Limits.from_dict(state, len(largest))


@st.composite
def situations(draw):
    """Wanted shares, feasible bounds, limits, and a past of any kind."""
    wanted, low, high = draw(bounded())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, budget = wanted.size, draw(st.floats(1e-3, 1e6))
    largest = budget * rng.dirichlet(np.full(count, 0.3)) * draw(st.sampled_from([0.0, 0.1, 1.0, 30.0]))
    previous = rng.dirichlet(np.full(count, 0.3)) * draw(st.sampled_from([0.0, 0.4, 1.0]))
    growth = draw(st.none() | st.floats(1.0, 5.0))
    change = draw(st.none() | st.floats(1e-3, 1.0))
    return wanted, low, high, budget, limits_of(largest, previous, growth, change), largest, previous


@given(situations())
def test_bounds_hold_limits_hold_unless_widened_and_all_is_spent(situation):
    wanted, low, high, budget, limits, largest, previous = situation
    found = limits.shares(budget, None, low, high)
    if found is None:
        assert limits.growth is None
        assert limits.change is None
        return
    assert (found.low >= low - SLACK).all()
    assert (found.high <= high + SLACK).all()
    shares = project(wanted, found.low, found.high)
    assert shares.sum() == pytest.approx(1.0, abs=1e-9)
    assert ((shares >= low - SLACK) & (shares <= high + SLACK)).all()
    amounts = ap.allocation.feasible.amounts(shares, budget, low=low, high=high)
    assert math.fsum(amounts) == budget
    if limits.growth is not None:
        allowed = np.maximum(limits.growth * largest / budget, 1.0 / wanted.size)
        possible = np.clip(allowed, low, high).sum() >= 1.0 - SLACK
        assert not possible or (shares <= np.maximum(allowed, low) + SLACK).all()
        if not possible:  # widened evenly: each as far as the factor or its own maximum lets it
            factors = (shares / allowed)[(shares < high - SLACK) & (shares > low + SLACK)]
            assert factors.size == 0 or factors.max() - factors.min() <= 1e-6 * factors.max()
    if limits.change is not None and previous.sum() > 0.0:
        moved = np.abs(shares - previous / previous.sum())
        forced = np.maximum(low - previous / previous.sum(), previous / previous.sum() - high)
        assert found.change >= limits.change
        assert (moved <= np.maximum(found.change, forced) + SLACK).all() or limits.growth is not None


@given(situations())
def test_a_limit_is_widened_no_further_than_needed(situation):
    _, low, high, budget, limits, _, previous = situation
    limits.growth = None
    found = limits.shares(budget, None, low, high)
    if found is not None and previous.sum() > 0.0 and found.change > limits.change + 1e-6:
        centre, less = previous / previous.sum(), found.change - 1e-6
        least, most = np.clip(centre - less, low, high).sum(), np.clip(centre + less, low, high).sum()
        assert least > 1.0 or most < 1.0


@given(situations())
def test_the_order_of_the_arms_plays_no_part(situation):
    wanted, low, high, budget, limits, largest, previous = situation
    turn = np.arange(wanted.size)[::-1]
    other = limits_of(largest[turn], previous[turn], limits.growth, limits.change)
    found, turned = limits.shares(budget, None, low, high), other.shares(budget, None, low[turn], high[turn])
    if found is not None:
        assert found.low[turn] == pytest.approx(turned.low, abs=1e-12)
        assert found.high[turn] == pytest.approx(turned.high, abs=1e-12)


def allocator(policy=None, arms=("x", "y", "z"), **options):
    return ap.Allocator(policy or ap.FollowTheLeader(), arms, seed=1, **options)


def play(own, budget=300.0, **returns):
    split = own.ask(budget)
    own.tell(split.ticket, {name: returns[name] * amount for name, amount in split.amounts.items()})
    return split


def largest_of(own):
    return json.loads(own.to_json())["limits"]["largest"]


def test_an_arm_doubles_at_most_and_a_new_one_begins_with_an_even_share():
    own = allocator(growth=2)
    shares = [play(own, x=1.0, y=0.1, z=0.2).shares["x"] for _ in range(3)]
    assert shares == pytest.approx([1 / 3, 2 / 3, 1.0])
    own.add_arm("new")
    split = own.ask(300)
    assert split.amounts["new"] <= 75.0
    assert own.ask(3000).amounts["x"] == pytest.approx(750.0)  # 600 is less than an even share


def test_growth_of_one_leaves_the_largest_amounts_as_they_are():
    own = allocator(growth=1)
    for _ in range(4):
        assert play(own, x=1.0, y=0.1, z=0.2).shares["x"] == pytest.approx(1 / 3)


def test_an_amended_maximum_is_found_again_and_no_data_does_not_count():
    own = allocator(growth=2)
    for amounts in ({"x": 10.0}, {"x": 70.0}, {"x": 40.0}):
        split = own.ask(90)
        own.tell(split.ticket, {"x": 1.0, "y": 1.0, "z": 1.0}, {**split.amounts, **amounts})
    assert largest_of(own)[0] == 70.0
    own.amend(2, {"x": 2.0})
    assert largest_of(own)[0] == 70.0
    own.amend(2, {"x": 2.0}, {"x": 7.0})
    assert largest_of(own)[0] == 40.0
    own.amend(3, {"x": None})
    assert largest_of(own)[0] == 10.0
    own.amend(2, {"x": 2.0}, {"x": 700.0})
    assert largest_of(own)[0] == 700.0
    ticket = own.ask(5000).ticket
    own.tell(ticket, {"x": None}, {"x": 5000.0})
    assert largest_of(own)[0] == 700.0


def test_what_is_forgotten_does_not_count_after_a_correction(monkeypatch):
    monkeypatch.setattr(tickets, "MOST_COMPLETED_NUMBERS", 1)
    monkeypatch.setattr(tickets, "FEWEST_COMPLETED", 2)
    own = allocator(growth=2)
    for amount in (50.0, 20.0, 60.0):
        split = own.ask(90)
        own.tell(split.ticket, {"x": 1.0, "y": 1.0, "z": 1.0}, {**split.amounts, "x": amount})
    assert largest_of(own)[0] == 60.0
    own.amend(3, {"x": 1.0}, {"x": 30.0})
    assert largest_of(own)[0] == 30.0  # not 50: that ticket is forgotten, and the narrower limit is the safe one


def test_a_share_moves_by_at_most_the_change_also_after_a_restart():
    own = allocator(change=0.05)
    shares = [play(own, x=1.0, y=0.1, z=0.2).shares["x"] for _ in range(3)]
    assert shares == pytest.approx([1 / 3, 1 / 3 + 0.05, 1 / 3 + 0.1])
    restored = ap.Allocator.from_json(own.to_json())
    assert restored.ask(300).shares["x"] == pytest.approx(1 / 3 + 0.15)
    own.bound_arm("z", 0.9)  # the bounds of a person are hard
    assert own.ask(300).shares["z"] == pytest.approx(0.9)


def test_shares_of_paused_arms_are_divided_before_anything_moves():
    own = allocator(ap.Uniform(), change=0.1, pinned={"x": 0.5})
    own.ask(10)
    own.pause_arm("x")
    assert own.ask(10).shares == pytest.approx({"y": 0.5, "z": 0.5})


def test_limits_give_way_where_bounds_leave_no_other_split():
    own = allocator(growth=2, maximum={"y": 0.1, "z": 0.1})
    assert play(own, x=1.0, y=0.1, z=0.2).shares == pytest.approx({"x": 0.8, "y": 0.1, "z": 0.1})


def test_whole_units_go_beyond_a_limit_by_less_than_one():
    own = allocator(growth=1, whole=True)
    for _ in range(20):
        split = play(own, 10, x=1.0, y=0.1, z=0.2)
        assert sum(split.amounts.values()) == 10


def test_limits_set_later_know_what_was_tried_before():
    own, other = allocator(growth=2, change=0.1), allocator()
    for each in (own, other):
        split = each.ask(90)
        each.tell(split.ticket, {"x": 9.0, "y": 1.0, "z": 1.0}, {"x": 45.0, "y": 30.0, "z": 15.0})
    for name, value in (("growth", 2.0), ("change", 0.1)):
        other.set_option(name, value)
    assert json.loads(other.to_json())["limits"]["largest"] == largest_of(own) == [45.0, 30.0, 15.0]
    assert json.loads(other.to_json())["limits"]["previous"] == pytest.approx(
        [1 / 2, 1 / 3, 1 / 6]
    )  # as it was spent
    fresh = allocator()
    fresh.set_option("change", 0.1)
    assert fresh.ask(3).shares == pytest.approx(dict.fromkeys("xyz", 1 / 3))


def test_a_state_without_limits_is_as_before_and_a_damaged_one_is_refused():
    plain = allocator()
    play(plain, x=1.0, y=0.1, z=0.2)
    assert "limits" not in json.loads(plain.to_json())
    own = allocator(growth=2)
    play(own, x=1.0, y=0.1, z=0.2)
    state = json.loads(own.to_json())
    for largest in ([1.0], [1.0, 2.0, -3.0], None):
        with pytest.raises(ap.IncompatibleState):
            ap.Allocator.from_json(json.dumps({**state, "limits": {"growth": 2.0, "largest": largest}}))


def test_reasons_say_which_limit_holds_an_arm():
    def reasons(own, rounds=2, budget=300.0, **returns):
        for _ in range(rounds - 1):
            play(own, budget, **returns)
        return own.ask(budget).reasons

    paid = {"x": 1.0, "y": 0.1, "z": 0.2}
    said = reasons(allocator(growth=2), **paid)
    assert said["x"].endswith("%: held at twice the most it ever got (100); more next period if it keeps up.")
    assert said["y"].endswith("%, as x is held back.")
    assert "held at 1.5 times the most it ever got (100)" in reasons(allocator(growth=1.5), **paid)["x"]
    said = reasons(allocator(change=0.1), **paid)
    assert said["x"].endswith("%: a share moves by at most 10.0% of the budget this time.")
    said = reasons(allocator(growth=2, maximum={"x": 0.5}), **paid)
    assert said["x"].endswith("% by the bounds.")
    assert said["y"].endswith("% by the bounds.")  # no limit holds anything
    tight = allocator(growth=2, maximum={"y": 0.1})
    play(tight, **paid)
    wider = tight.ask(3000)
    assert wider.shares == pytest.approx({"x": 0.45, "y": 0.1, "z": 0.45})
    assert wider.reasons["x"].endswith(
        "%; more than twice the most it ever got (135), as the bounds leave no other way."
    )
    first = allocator(ap.UCB(), growth=2).ask(300).reasons
    assert "held at an even share until it has an outcome" in " ".join(first.values())
    poor = allocator(growth=2)
    play(poor, 30, **paid)
    assert "held at an even share, as it never got more than 10" in poor.ask(300).reasons["x"]


@pytest.mark.parametrize(("option", "value"), [("growth", 0.9), ("growth", "2"), ("change", 0.0), ("change", 1.1)])
def test_what_is_no_limit_is_refused(option, value):
    with pytest.raises(ap.InvalidValue, match=f"`{option}` must be a number "):
        allocator(**{option: value})


def leading(seed=3, **options):
    """Auto that is sure of `a`, then `b`, `c` and `d`, in this order."""
    allocator = ap.Allocator(ap.Auto(), tuple("abcd"), seed=1, **options)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        split = allocator.ask(1000.0)
        rates = dict(zip("abcd", (2.0, 1.5, 1.0, 0.5)))
        allocator.tell(
            split.ticket,
            {arm: rates[arm] * x + 0.3 * x**0.5 * rng.standard_normal() for arm, x in split.amounts.items() if x > 0},
        )
    return allocator


def test_what_a_maximum_takes_from_the_leader_goes_to_the_next_best_arm():
    allocator = leading()
    free = allocator.ask(1000.0)
    assert free.shares["a"] > 0.9
    assert max(free.shares[arm] for arm in "bcd") < 0.02
    allocator.bound_arm("a", maximum=0.4)
    held = allocator.ask(1000.0)
    assert held.shares["a"] == pytest.approx(0.4)
    assert held.shares["b"] > 0.55
    for arm in "cd":
        assert free.shares[arm] * 0.9 <= held.shares[arm] < 0.02
    assert "as a is held back" in held.reasons["b"] or "by the bounds" in held.reasons["b"]
    allocator.bound_arm("b", maximum=0.3)
    both = allocator.ask(1000.0)
    assert both.shares["b"] == pytest.approx(0.3)
    assert both.shares["c"] > 0.25
    assert both.shares["d"] < 0.02


def test_what_a_rule_takes_goes_to_the_best_arm_that_it_leaves_room_for():
    split = leading(rules=["a + b <= 50%"]).ask(1000.0)
    assert split.shares["a"] > 0.4
    assert split.shares["a"] + split.shares["b"] == pytest.approx(0.5)
    assert split.shares["c"] > 0.45
    assert split.shares["d"] < 0.03


def test_even_shares_of_many_arms_are_no_little_shares():
    allocator = ap.Allocator(ap.Uniform(), [f"arm {index}" for index in range(100)], b=0.5, sigma=1.0)
    split = allocator.ask(1000.0)
    allocator.tell(split.ticket, {arm: 10.0 + index for index, arm in enumerate(split.amounts)})
    allocator.bound_arm("arm 0", maximum=0.001)
    assert len({round(share, 9) for arm, share in allocator.ask(1000.0).shares.items() if arm != "arm 0"}) == 1


def test_a_law_that_is_held_stays_and_returns_are_still_followed():
    free, held = leading(), leading()
    held.hold_law()
    before, mean = held.learned, held.beliefs()["a"].mean
    assert before == free.learned
    for period in range(20):
        for allocator in (free, held):
            split = allocator.ask(1000.0)
            noise = np.random.default_rng([8, period]).standard_normal(4)
            told = {arm: 0.5 * x + 9.0 * z * x**0.5 for (arm, x), z in zip(split.amounts.items(), noise) if x > 0}
            allocator.tell(split.ticket, told)
    assert (held.learned.c, held.learned.b) == (before.c, before.b)
    assert held.beliefs()["a"].mean < mean - 0.2
    assert (free.learned.c, free.learned.b) != (before.c, before.b)

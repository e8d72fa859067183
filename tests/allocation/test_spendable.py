"""Amounts that can be spent: cents where the unit is money, and a crumb is kept on average or not at all."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.allocation.test_feasible import bounded

import apportion as ap
from apportion._common.currencies import smallest_payment
from apportion.allocation.spendable import SMALLEST_SHARE, spendable_amounts, without_crumbs

budgets = st.floats(0.01, 1e7).map(lambda value: round(value, 2)) | st.floats(0.01, 1e7)


@given(bounded(), budgets, st.sampled_from([0.0, 0.01, 1.0]), st.integers(0, 1000))
def test_amounts_add_up_keep_the_bounds_and_hold_no_crumb(situation, budget, resolution, seed):
    shares, low, high = situation
    shares = ap.allocation.feasible.project(shares, low, high)
    rng = np.random.default_rng(seed)
    found = spendable_amounts(shares, budget, resolution, low=low, high=high, rng=rng)
    assert math.fsum(found) == pytest.approx(budget, rel=1e-13)
    if resolution == 0.0:
        assert math.fsum(found) == budget
    elif math.fsum(found) != budget:  # the floats of cents may miss by a bit; the cents do not
        assert sum(Decimal(repr(amount)) for amount in found.tolist()) == Decimal(repr(budget))
    assert (found >= 0.0).all()
    slack = resolution + 1e-9 * budget
    assert (found >= low * budget - slack).all()
    assert (found <= high * budget + slack).all()
    smallest = min(SMALLEST_SHARE, 0.01 / shares.size)
    kept = without_crumbs(shares, low, high, np.random.default_rng(seed))
    assert kept.sum() == pytest.approx(1.0)
    crumbs = (kept > 0.0) & (kept < smallest * (1 - 1e-9)) & (low == 0.0) & (high >= smallest)
    assert not crumbs.any() or kept is shares


def test_crumbs_are_kept_on_average():
    """4σ of 20,000 draws: a chance of 6e-5 for each of the two arms."""
    shares, rng = np.array([1.0 - 7e-5, 5e-5, 2e-5]), np.random.default_rng(5)
    drawn = np.array([without_crumbs(shares, None, None, rng) for _ in range(20_000)])
    assert set(drawn[:, 1]) == {0.0, SMALLEST_SHARE}
    for arm in (1, 2):
        rate = shares[arm] / SMALLEST_SHARE
        assert (drawn[:, arm] > 0.0).mean() == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / 20_000))
    assert drawn.sum(axis=1) == pytest.approx(1.0)


def test_where_nothing_is_tested_crumbs_are_taken_away():
    shares = np.array([0.75 - 5e-5, 0.25, 5e-5])
    assert without_crumbs(shares, None, None, None) == pytest.approx([0.75, 0.25, 0.0], abs=5e-5)
    found = spendable_amounts(shares, 1000.0, 0.01, low=None, high=None, rng=np.random.default_rng(0), testing=False)
    assert found.tolist() == [749.99, 250.01, 0.0]


def test_with_very_many_arms_an_even_share_is_no_crumb():
    even = np.full(50_000, 1.0 / 50_000)
    assert without_crumbs(even, None, None, np.random.default_rng(0)) is even


def test_where_bounds_leave_no_room_nothing_is_rounded():
    shares, rng = np.array([0.5, 0.49995, 0.00005]), np.random.default_rng(0)
    fixed = np.array([0.5, 0.49995, 0.0])
    assert without_crumbs(shares, fixed, np.array([0.5, 0.49995, 1.0]), rng) is shares


@pytest.mark.parametrize(
    ("unit", "size"),
    [("EUR", 0.01), ("€", 0.01), ("USD", 0.01), ("JPY", 1.0), ("KWD", 0.001), ("hours", None), ("gel", None),
     ("kits", None), (None, None), ("EUR USD", None), ("", None)],
)  # fmt: skip
def test_currencies_have_a_smallest_payment(unit, size):
    assert smallest_payment(unit) == size


def allocator(**options):
    return ap.Allocator(ap.FollowTheLeader(), ("x", "y", "z"), seed=1, **options)


def watched(own, periods=40):
    """Splits of an allocator that is nearly sure."""
    splits = []
    for _ in range(periods):
        splits.append(own.ask(100))
        own.tell(splits[-1].ticket, {n: v * {"x": 1, "y": 0.1, "z": 0.2}[n] for n, v in splits[-1].amounts.items()})
    return splits


def test_an_allocator_gives_the_last_bit_unless_it_has_a_resolution():
    assert min(watched(allocator())[-1].amounts.values()) < 0.01
    for plain in ({"step": 0}, {"step": 0, "resolution": 0.01}):
        assert watched(allocator(**plain))[-1].amounts == watched(allocator())[-1].amounts
    for split in watched(allocator(resolution=0.01)):
        assert all(round(amount, 2) == amount for amount in split.amounts.values())
        assert all(amount == 0.0 or amount >= 0.01 for amount in split.amounts.values())
    own = allocator(resolution=0.01)
    assert sum(own.ask(100 / 3).amounts.values()) == 100 / 3  # no multiple of a cent: nobody asked for one
    again = ap.Allocator.from_json(own.to_json())
    assert again.resolution == 0.01
    assert again.to_json() == own.to_json()


def test_what_gets_nothing_is_not_said_to_be_watched():
    split = watched(allocator(whole=True))[-1]
    assert split.amounts == {"x": 100.0, "y": 0.0, "z": 0.0}
    assert split.shares["y"] > 0.0
    assert split.reasons["y"].endswith(": nothing this time.")
    assert split.to_pandas()["share"].tolist()[1:] == [0.0, 0.0]

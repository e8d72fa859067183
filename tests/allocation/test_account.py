"""What came back: told in parts, late, twice, wrongly; corrected without a trace."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from allocators import ARMS, Refused, learned, make, same

import apportion as ap


def test_outcomes_come_in_parts_late_and_out_of_order():
    orderly, messy = make(), make()
    budgets = (10.0, 17.0, 3.0)
    outcomes = [{"search": 1.1, "social": 2.7, "video": 0.3 * n} for n in range(3)]
    for budget, outcome in zip(budgets, outcomes):
        orderly.tell(orderly.ask(budget).ticket, outcome)
    # The same amounts, asked for before anything was told.
    for budget, ticket in zip(budgets, (1, 2, 3)):
        amounts = orderly_amounts(budgets, outcomes)[ticket - 1]
        messy.ask(budget)
        messy.tell(ticket, {"social": None}, amounts=amounts)
    for ticket, arm in ((3, "video"), (1, "search"), (2, "video"), (2, "search"), (1, "video"), (3, "search")):
        messy.tell(ticket, {arm: outcomes[ticket - 1][arm]})
    for ticket in (2, 3, 1):
        messy.amend(ticket, {"social": outcomes[ticket - 1]["social"]})
    assert same(learned(orderly), learned(messy))
    assert messy.open_tickets == ()


def orderly_amounts(budgets, outcomes):
    allocator, amounts = make(), []
    for budget, outcome in zip(budgets, outcomes):
        split = allocator.ask(budget)
        amounts.append(split.amounts)
        allocator.tell(split.ticket, outcome)
    return amounts


def test_the_same_outcome_twice_is_harmless():
    allocator = make()
    split = allocator.ask(10)
    for part in ({"search": 4.0}, {"video": None}):
        allocator.tell(1, part)
        before = allocator.to_json()
        allocator.tell(1, part)
        assert allocator.to_json() == before
    allocator.tell(1, {"search": 4.0, "social": 1.0, "video": None})
    assert learned(allocator).count.tolist() == [1.0, 1.0, 0.0]
    allocator.tell(1, {"search": 4.0}, amounts={"search": split.amounts["search"]})


@pytest.mark.parametrize("other", [{"search": 5.0}, {"search": None}, {"video": 1.0}, {"social": 1, "search": 4.5}])
def test_a_different_outcome_is_refused(other):
    allocator = make()
    allocator.ask(9)
    allocator.tell(1, {"search": 4.0, "video": None})
    with Refused(allocator, ap.Conflict) as refusal:
        allocator.tell(1, other)
    arm, has = ("video", "no data") if "video" in other else ("search", "an outcome of 4")
    assert refusal.sentence == (
        f"Ticket 1 already has {has} from an amount of 3 for '{arm}'; use `amend` to correct it."
    )


def test_another_actual_amount_is_refused_also_on_a_ticket_older_than_an_arm():
    allocator = make()
    allocator.ask(9)
    allocator.tell(1, {"video": 4.0})
    allocator.add_arm("radio")
    with Refused(allocator, ap.Conflict) as refusal:
        allocator.tell(1, {"search": 1.0}, amounts={"video": 2.0})
    assert "from an amount of 3 for 'video'" in refusal.sentence


@pytest.mark.parametrize("ticket", [0, 2, -1, 1.0, "1", None, True, [1]])
def test_an_unknown_ticket_is_refused(ticket):
    allocator = make()
    allocator.ask()
    with Refused(allocator, ap.UnknownName) as refusal:
        allocator.tell(ticket, {"search": 1.0})
    assert refusal.sentence == f"Ticket {ticket!r} is not known; open are 1."
    with Refused(allocator, ap.UnknownName):
        allocator.amend(ticket, {"search": 1.0})


@pytest.mark.parametrize("arm", ["radio", "", None, 3, ("search",)])
def test_an_unknown_arm_is_refused_and_the_known_ones_beside_it_are_not_taken(arm):
    allocator = make()
    allocator.ask()
    with Refused(allocator, ap.UnknownName) as refusal:
        allocator.tell(1, {"search": 1.0, arm: 2.0})
    assert refusal.sentence == f"Arm {arm!r} is not known; the arms are search, social, video."
    with Refused(allocator, ap.UnknownName):
        allocator.tell(1, {"search": 1.0}, amounts={arm: 1.0})


def test_an_arm_that_came_after_the_ticket_has_no_part_in_it():
    allocator = make()
    allocator.ask()
    allocator.add_arm("radio")
    for amounts in (None, {"radio": 1.0}):
        with Refused(allocator, ap.UnknownName) as refusal:
            allocator.tell(1, {"search": 1.0} if amounts else {"radio": 1.0}, amounts)
        assert refusal.sentence == "Arm 'radio' came after ticket 1 and has no part in it."


def test_no_data_closes_an_arm_without_a_trace():
    allocator = make()
    empty = learned(allocator)
    allocator.ask()
    allocator.tell(1, dict.fromkeys(ARMS))
    assert same(learned(allocator), empty)
    assert allocator.open_tickets == ()


def test_actual_amounts_take_the_place_of_the_advice():
    allocator = make()
    allocator.ask(9)
    allocator.tell(1, {"search": 4.0}, amounts={"search": 8.0, "video": 0.0})
    assert allocator.beliefs()["search"].mean == 0.5
    assert allocator.beliefs()["search"].resource == 8.0
    allocator.tell(1, {"social": 1.0})
    assert allocator.open_tickets == ()  # nothing was spent on video: nothing is awaited


def test_nothing_comes_back_from_nothing():
    allocator = make(maximum={"video": 0.0})
    allocator.ask(10)
    with Refused(allocator, ap.InvalidValue) as refusal:
        allocator.tell(1, {"search": 1.0, "video": 2.0})
    assert refusal.sentence == ("`outcome of 'video'` must be 0 or left out, as nothing was spent on it; got 2.0.")
    allocator.tell(1, {"search": 1.0, "social": 1.0, "video": 0.0})
    assert learned(allocator).count.tolist() == [1.0, 1.0, 0.0]


def test_a_completed_ticket_opens_again_when_more_was_spent_than_advised():
    allocator = make(maximum={"video": 0.0})
    allocator.ask(10)
    allocator.tell(1, {"search": 1.0, "social": 1.0})
    assert allocator.open_tickets == ()
    allocator.tell(1, {"search": 1.0}, amounts={"video": 2.0})
    assert allocator.open_tickets == (1,)
    allocator.tell(1, {"video": 3.0})
    assert allocator.open_tickets == ()
    assert allocator.beliefs()["video"].mean == 1.5


def test_a_ticket_completed_long_ago_says_so():
    allocator = make(ap.Uniform(), arms=[f"arm {n}" for n in range(20_000)])
    for _ in range(12):
        split = allocator.ask(20_000)
        allocator.tell(split.ticket, split.amounts)
    with Refused(allocator, ap.UnknownName) as refusal:
        allocator.tell(2, {"arm 0": 1.0})
    assert refusal.sentence == "Ticket 2 was completed too long ago to be recorded or amended again."
    allocator.tell(3, {"arm 0": 1.0})


@pytest.mark.parametrize("number", [float, int, np.float64, np.float32, np.int64, np.uint8, Fraction])
def test_numbers_of_all_kinds_are_welcome(number):
    allocator = make()
    split = allocator.ask(number(9))
    allocator.tell(np.int64(split.ticket), {arm: number(4) for arm in ARMS}, amounts={"video": number(2)})
    assert allocator.beliefs()["search"].mean == pytest.approx(4 / 3)
    assert allocator.beliefs()["video"].mean == 2.0


def test_series_are_welcome():
    allocator = make(minimum=pd.Series({"video": 0.2}), maximum=pd.Series({"search": 0.5}))
    split = allocator.ask(10)
    outcomes = split.to_pandas()["amount"] * 2
    allocator.tell(split.ticket, outcomes, amounts=split.to_pandas()["amount"])
    assert allocator.beliefs()["video"].mean == pytest.approx(2.0)
    with Refused(allocator, ap.InvalidValue):
        allocator.tell(1, pd.Series([1.0, 2.0], index=["search", "search"]))


def test_an_amendment_leaves_no_trace_of_what_was_wrong():
    right, wrong = make(), make()
    for allocator, first in ((right, 4.0), (wrong, 1e15)):
        allocator.ask(9)
        allocator.tell(1, {"search": first, "social": 0.1, "video": 1 / 3})
    wrong.amend(1, {"search": 4.0})
    assert wrong.ask(5).amounts == right.ask(5).amounts
    assert same(learned(wrong), learned(right))


def test_an_amendment_may_bring_data_take_it_away_and_correct_the_amount():
    allocator = make()
    allocator.ask(9)
    allocator.tell(1, {"search": 4.0, "social": None, "video": 1.0})
    allocator.amend(1, {"search": None, "social": 6.0}, amounts={"video": 4.0})
    beliefs = allocator.beliefs()
    assert math.isnan(beliefs["search"].mean)
    assert beliefs["search"].information == 0.0
    assert beliefs["social"].mean == pytest.approx(2.0)
    assert beliefs["video"].mean == 0.25
    allocator.tell(1, {"social": 6.0, "video": 1.0}, amounts={"video": 4.0})  # what holds now may be repeated
    with Refused(allocator, ap.Conflict):
        allocator.tell(1, {"search": 4.0})


def test_what_was_not_told_cannot_be_amended():
    allocator = make()
    allocator.ask()
    allocator.tell(1, {"search": 1.0})
    with Refused(allocator, ap.Conflict) as refusal:
        allocator.amend(1, {"search": 2.0, "video": 3.0})
    assert refusal.sentence == "Ticket 1 has no outcome for 'video' yet: there is nothing to amend."
    with Refused(allocator, ap.Conflict):
        allocator.amend(1, {"search": 2.0}, amounts={"video": 3.0})
    with Refused(allocator, ap.InvalidValue):  # an outcome from nothing
        allocator.amend(1, {"search": 2.0}, amounts={"search": 0.0})

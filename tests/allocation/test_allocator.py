"""Ask and tell: each sentence of what the allocator promises is a test. Random interleavings: see the machine."""

import copy
import json
import math
import os
import pickle
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import apportion as ap
from apportion.allocation.beliefs import Beliefs
from apportion.inference import best_probabilities
from apportion.model import exact_sums
from apportion.model.sums import Sums, no_sums
from apportion.policies import contract

SOAK = bool(os.environ.get("APPORTION_SOAK"))
ARMS = ("search", "social", "video")


def make(policy=None, arms=ARMS, **settings):
    return ap.Allocator(policy or ap.Odds(b=0.75), arms, **{"seed": 7, **settings})


def played(allocator, periods=5, budget=100.0, seed=3):
    """The same allocator after some periods of noisy returns."""
    rng = np.random.default_rng(seed)
    for _ in range(periods):
        split = allocator.ask(budget)
        allocator.tell(split.ticket, {arm: amount * (1 + rng.random()) for arm, amount in split.amounts.items()})
    return allocator


def learned(allocator):
    """All eight sums of every arm, as saved."""
    return exact_sums.Statistics.from_dict(json.loads(allocator.to_json())["statistics"]).sums()


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second))


class Refused:
    """`with Refused(allocator, kind) as refusal`: the call fails with one sentence, and changes nothing."""

    def __init__(self, allocator, kind=ap.ApportionError):
        self.allocator, self.kind = allocator, kind

    def __enter__(self):
        self.before = self.allocator.to_json()
        return self

    def __exit__(self, kind, error, traceback):
        assert kind is not None, "nothing was raised"
        if not issubclass(kind, self.kind):
            return False
        self.sentence = str(error)
        assert isinstance(error, ap.ApportionError)
        assert "\n" not in self.sentence
        assert self.sentence.endswith(".")
        assert self.allocator.to_json() == self.before
        return True


# --- ask ---------------------------------------------------------------------------------------------------


def test_a_split_has_a_ticket_shares_amounts_and_a_reason_for_every_arm():
    split = make().ask(5000)
    assert split.ticket == 1
    assert split.budget == 5000.0
    for by_arm in (split.shares, split.amounts, split.reasons):
        assert tuple(by_arm) == ARMS
    assert sum(split.shares.values()) == pytest.approx(1.0, abs=1e-12)
    assert all(reason.endswith(".") for reason in split.reasons.values())


@pytest.mark.parametrize("budget", [0.1, 1 / 3, 99.99, 1e6, 12345.678, 1e-100, 1e100])
def test_amounts_add_up_to_the_budget_to_the_last_bit(budget):
    allocator = make(arms=tuple("abcdefg"))
    for _ in range(4):
        split = allocator.ask(budget)
        assert sum(split.amounts.values()) == math.fsum(split.amounts.values()) == budget
        allocator.tell(split.ticket, {arm: amount / (1 + ord(arm)) for arm, amount in split.amounts.items()})


def test_a_split_cannot_be_changed_by_its_reader():
    split = make().ask()
    with pytest.raises(TypeError):
        split.amounts["search"] = 1.0


def test_tickets_count_from_one_and_splits_may_be_asked_while_others_are_open():
    allocator = make()
    assert [allocator.ask().ticket for _ in range(3)] == [1, 2, 3]
    assert allocator.open_tickets == (1, 2, 3)
    assert allocator.period == 3


def test_the_decision_uses_what_was_told_and_nothing_else():
    told, untold = make(), make()
    for allocator in (told, untold):
        allocator.ask(10)
    told.tell(1, {"search": 30, "social": 1, "video": 1})
    assert untold.ask(10).shares == make().ask(10).shares
    assert told.ask(10).shares["search"] > 0.5


def test_the_same_seed_gives_the_same_run_and_the_seed_used_is_known():
    fresh = ap.Allocator(ap.Thompson(b=0.25), ARMS)
    again = ap.Allocator(ap.Thompson(b=0.25), ARMS, seed=fresh.seed)
    assert [fresh.ask().amounts for _ in range(5)] == [again.ask().amounts for _ in range(5)]


def test_an_earlier_split_keeps_its_reasons():
    allocator = make(ap.SuccessiveElimination(b=0.75, sigma=1e-3, horizon=50))
    allocator.tell(allocator.ask().ticket, {"search": 0.3, "social": 0.1, "video": 0.3})
    allocator.pause_arm("video")
    late = allocator.ask()
    allocator.resume_arm("video")
    second = allocator.ask()
    allocator.tell(second.ticket, {"search": 9, "video": 0})
    allocator.pause_arm("search")
    allocator.ask()
    assert late.reasons["social"] == second.reasons["social"]
    assert late.reasons["social"].startswith("Ruled out after period 1")
    assert "Ruled out" not in second.reasons["video"]


def test_reasons_speak_of_beginnings_leaders_rivals_and_bounds():
    allocator = make(minimum={"video": 0.2}, maximum={"search": 0.5})
    assert set(allocator.ask(9).reasons.values()) == {"No outcomes yet: all arms start alike."}
    allocator.tell(1, {"search": 9.0, "video": 0.0})
    reasons = allocator.ask(9).reasons
    assert re.fullmatch(r"Leads with .* per unit, .*% likely to be the best\. Lowered from .* by the bounds\.",
                        reasons["search"])  # fmt: skip
    assert reasons["social"].startswith("No outcome yet: it gets a share to be tried.")
    assert "behind search" in reasons["video"]
    assert "Raised from" in reasons["video"]
    without_sigma = make(ap.Uniform())
    without_sigma.tell(without_sigma.ask().ticket, {"search": 1})
    assert re.fullmatch(r"Leads with 3(\.000)? per unit\.", without_sigma.ask().reasons["search"])


def test_an_arm_that_returns_about_as_much_as_the_leader_is_level_with_it():
    allocator = make(ap.Uniform(), sigma=1.0)
    allocator.tell(allocator.ask(3.0).ticket, {"search": 1.0, "social": 0.99, "video": 0.9})
    reasons = allocator.ask(3.0).reasons
    assert "per unit, about level with search, " in reasons["social"]
    assert "per unit, 0.100 behind search, " in reasons["video"]


def test_what_a_bound_gives_is_not_taken_for_the_policys_opinion():
    allocator = make(minimum={"video": 0.2})
    for _ in range(40):
        split = allocator.ask(1.0)
        allocator.tell(
            split.ticket, {name: (0.0 if name == "video" else 9.0) * x for name, x in split.amounts.items()}
        )
    split = allocator.ask(1.0)
    assert split.amounts["video"] == pytest.approx(0.2)
    assert re.search(r" likely to be the best\. Raised from \S+% by the bounds\.$", split.reasons["video"])


def test_a_policy_that_fails_leaves_the_generator_where_it_was():
    class Fails(ap.Policy):
        def allocate(self, period, sums, memory, rng, shares):
            rng.random()
            memory[0] = 5.0
            if period.number == 2:
                raise RuntimeError("out of order")
            shares[:] = 1.0 / len(shares)

    allocator = make(Fails())
    allocator.ask()
    before = allocator.to_json()
    with pytest.raises(RuntimeError, match="out of order"):
        allocator.ask()
    assert allocator.to_json() == before


# --- tell --------------------------------------------------------------------------------------------------


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


# --- amend -------------------------------------------------------------------------------------------------


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


# --- beliefs -----------------------------------------------------------------------------------------------


def test_beliefs_are_the_estimators_and_intervals_of_the_library():
    allocator = played(make(sigma=2.0, level=0.9), periods=6, budget=10.0)
    seen = learned(allocator)
    estimate = ap.estimators.information_weighted(seen)
    beliefs = allocator.beliefs()
    rho = ap.confidence.anytime_rho(20 * (10 / 3) ** 0.5, math.log(10.0))
    chances = ap.best_probabilities(estimate.mean, 2.0 / np.sqrt(seen.information))
    for place, arm in enumerate(ARMS):
        belief = beliefs[arm]
        low, high = ap.confidence.anytime_interval(
            estimate.mean[place], seen.information[place], sigma=2.0, delta=0.1, rho=rho
        )
        assert (belief.low, belief.high) == pytest.approx((low, high), rel=1e-12)
        assert belief.mean == estimate.mean[place]
        assert belief.probability_best == chances[place]
        assert belief.resource == seen.resource[place]
        assert belief.information == seen.information[place]


def test_an_arm_without_outcomes_is_unknown():
    allocator = make()
    allocator.tell(allocator.ask().ticket, {"search": 1.0})
    belief = allocator.beliefs()["video"]
    assert math.isnan(belief.mean)
    assert (belief.low, belief.high, belief.resource, belief.information) == (-math.inf, math.inf, 0.0, 0.0)
    assert belief.probability_best == 0.375


def test_without_sigma_there_are_means_but_no_intervals():
    allocator = played(make(ap.Uniform()))
    assert allocator.sigma is None
    assert all(belief.mean > 0 and math.isnan(belief.low) for belief in allocator.beliefs().values())
    assert all(math.isnan(belief.probability_best) for belief in allocator.beliefs().values())
    assert not math.isnan(played(make(ap.Uniform(), sigma=1.0)).beliefs()["search"].low)


def test_beliefs_are_a_mapping():
    beliefs = make().beliefs()
    assert list(beliefs) == list(ARMS)
    assert "radio" not in beliefs
    assert beliefs.get("radio") is None
    assert beliefs.get("video").information == 0.0
    with pytest.raises(ap.UnknownName, match="Arm 'radio' is not known; the arms are search, social, video"):
        beliefs["radio"]


def test_beliefs_without_any_arm_are_an_empty_table():
    allocator = make()
    for arm in ARMS:
        allocator.remove_arm(arm)
    assert str(allocator.beliefs()).startswith("arm  mean  low")
    assert len(allocator.beliefs().to_pandas()) == 0
    assert allocator.beliefs().leader is None
    with Refused(allocator, ap.Conflict) as refusal:
        allocator.ask()
    assert refusal.sentence == "No arm is active: resume or add one before asking for a split."


def test_forgetting_lets_old_outcomes_count_less():
    allocator = make(ap.Odds(b=0.5), half_life=1.0)
    for outcome in (1.0, 0.0, 0.0):
        allocator.tell(allocator.ask(3).ticket, dict.fromkeys(ARMS, outcome), amounts=dict.fromkeys(ARMS, 1.0))
    # The first outcome is two periods old and weighs 1/4, the second 1/2.
    assert allocator.beliefs()["search"].mean == pytest.approx(0.25 / 1.75)


# --- the arms ----------------------------------------------------------------------------------------------


def test_a_paused_arm_gets_nothing_and_nothing_is_forgotten():
    allocator = played(make())
    before = allocator.beliefs()["video"]
    allocator.pause_arm("video")
    assert tuple(allocator.ask(10).amounts) == ("search", "social")
    assert allocator.beliefs()["video"][4:] == before[4:]
    assert allocator.arms == ARMS
    allocator.resume_arm("video")
    assert tuple(allocator.ask(10).amounts) == ARMS


LEARNING = {"b and σ": ap.Auto(), "σ, dividing": ap.Auto(b=0.75), "σ, pooling": ap.Auto(b=0.25)}


# Each kind of `Auto` is compiled by itself, which takes ten seconds: one of them but in a soak.
@pytest.mark.parametrize(
    ("name", "many"),
    [*((name, False) for name in LEARNING), *((name, True) for name in (LEARNING if SOAK else ["b and σ"]))],
)
def test_what_paused_arms_told_of_the_noise_still_counts(name, many, monkeypatch):
    allocator = played(make(LEARNING[name]), periods=12)
    whole = allocator.learned
    best = allocator.beliefs().leader
    monkeypatch.setattr(contract, "MANY_ARMS", 1 if many else 512)
    for away in (allocator.pause_arm, allocator.remove_arm):
        away(best)
        assert allocator.learned == whole
        split, now = allocator.ask(100.0), allocator.beliefs()
        assert split.beliefs.learned == whole
        assert best not in split.amounts
        assert sum(split.amounts.values()) == pytest.approx(100.0)
        for arm in split.amounts:
            assert split.beliefs[arm] == now[arm]  # the split and the status say the same
        assert now.leader == split.beliefs.leader != best


def test_a_paused_arm_has_no_chance_of_being_the_best_of_those_in_play():
    allocator = played(make())
    everyone = allocator.beliefs()
    best = everyone.leader
    allocator.pause_arm(best)
    now = allocator.beliefs()
    assert math.isnan(now[best].probability_best)
    assert now[best]._replace(probability_best=0.5) == everyone[best]._replace(probability_best=0.5)
    assert np.nansum(now.probability_best) == pytest.approx(1.0)
    assert now.leader != best
    for arm in ARMS:
        allocator.pause_arm(arm)
    assert allocator.beliefs().leader == best  # none is in play: as if all were
    assert allocator.beliefs().probability_best.sum() == pytest.approx(1.0)


def test_a_removed_arm_may_come_back_with_all_that_was_learned():
    allocator = played(make())
    before = allocator.beliefs()["video"]
    split = allocator.ask(10)
    allocator.remove_arm("video")
    assert allocator.arms == ("search", "social")
    assert "video" not in allocator.beliefs()
    with Refused(allocator, ap.Conflict) as refusal:
        allocator.pause_arm("video")
    assert refusal.sentence == "Arm 'video' was removed; add it again first."
    allocator.tell(split.ticket, {"video": 5.0})  # on its way when the arm was removed
    allocator.add_arm("video", minimum=0.1)
    after = allocator.beliefs()["video"]
    assert after.resource == pytest.approx(before.resource + split.amounts["video"])
    assert allocator.ask(10).amounts["video"] >= 1.0 - 1e-12


def test_a_new_arm_gets_an_even_share_until_it_is_known():
    allocator = played(make())
    allocator.add_arm("radio")
    split = allocator.ask(100)
    assert split.amounts["radio"] == 25.0
    with Refused(allocator, ap.Conflict) as refusal:
        allocator.add_arm("radio")
    assert refusal.sentence == "Arm 'radio' is there already (active)."


def test_a_policy_made_for_so_many_arms_refuses_another_and_nothing_changes():
    allocator = make(ap.Oracle(means=(1.0, 2.0, 3.0)))
    with Refused(allocator, ap.InvalidValue) as refusal:
        allocator.add_arm("radio")
    assert refusal.sentence == "`means` must be one number per arm (4); got (1.0, 2.0, 3.0)."
    allocator.pause_arm("video")
    assert allocator.ask(10).amounts == {"search": 0.0, "social": 10.0}


@pytest.mark.parametrize("whole", [False, True])
def test_bounds_hold_in_every_split(whole):
    allocator = make(
        ap.Odds(b=0.75),
        ("a", "b", "c", "d"),
        minimum={"a": 0.1},
        maximum={"b": 0.3},
        pinned={"c": 0.25},
        whole=whole,
    )
    rng = np.random.default_rng(1)
    for _ in range(30):
        split = allocator.ask(40)
        amounts = split.amounts
        assert sum(amounts.values()) == 40.0
        assert amounts["a"] >= 4.0 - 1e-12
        assert amounts["b"] <= 12.0 + 1e-12
        assert amounts["c"] == 10.0
        if whole:
            assert all(amount.is_integer() for amount in amounts.values())
        allocator.tell(split.ticket, {arm: amount * rng.random() for arm, amount in amounts.items()})
    allocator.bound_arm("c", 0.5, 0.5)
    allocator.bound_arm("a", minimum=0.0)
    assert allocator.ask(40).amounts["c"] == 20.0


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"minimum": {"search": 0.6, "video": 0.5}}, ("search", "video")),
        ({"maximum": {"search": 0.3, "social": 0.3, "video": 0.3}}, ARMS),
        ({"pinned": {"search": 0.7, "video": 0.4}}, ("search", "video")),
        ({"minimum": {"video": 0.5}, "maximum": {"video": 0.4}}, ("video",)),
    ],
)
def test_bounds_that_cannot_hold_name_the_arms(settings, names):
    with pytest.raises(ap.Infeasible) as caught:
        make(**settings)
    assert all(f"'{name}'" in str(caught.value) for name in names)


def test_a_change_that_no_split_could_satisfy_is_refused():
    allocator = make(maximum={"search": 0.4, "social": 0.4}, minimum={"video": 0.3})
    for change in (
        lambda: allocator.pause_arm("video"),
        lambda: allocator.remove_arm("video"),
        lambda: allocator.bound_arm("video", maximum=0.1),
        lambda: allocator.bound_arm("search", minimum=0.4, maximum=0.2),
        lambda: allocator.add_arm("radio", minimum=0.8),
    ):
        with Refused(allocator, ap.Infeasible) as refusal:
            change()
        assert "'" in refusal.sentence
    few = make(whole=True, minimum=dict.fromkeys(ARMS, 0.01))
    with Refused(few, ap.Infeasible) as refusal:
        few.ask(2)
    assert "'search', 'social' and 'video'" in refusal.sentence


# --- whole units -------------------------------------------------------------------------------------------


def test_expected_units_are_the_shares_so_that_small_ones_are_not_rounded_away():
    """Error budget: four means at five standard errors, below 3e-6 in all; seeded."""
    pinned = {"a": 0.013, "b": 0.2, "c": 0.337}
    allocator = make(ap.Uniform(), ("a", "b", "c", "d"), pinned=pinned, whole=True, seed=5)
    asks = 4000
    amounts = np.array([list(allocator.ask(7).amounts.values()) for _ in range(asks)])
    assert (amounts.sum(axis=1) == 7.0).all()
    assert (amounts == amounts.round()).all()
    expected = 7 * np.array([0.013, 0.2, 0.337, 0.45])
    assert ((amounts >= np.floor(expected)) & (amounts <= np.ceil(expected))).all()
    error = np.sqrt((expected % 1) * (1 - expected % 1) / asks)
    assert (np.abs(amounts.mean(axis=0) - expected) < 5 * error).all()
    assert amounts[:, 0].any()


def test_amounts_in_cents():
    allocator = make(step=0.01)
    split = allocator.ask(100.0)
    cents = [Fraction(str(amount)) * 100 for amount in split.amounts.values()]
    assert all(cent.denominator == 1 for cent in cents)
    assert sum(cents) == 10_000
    with Refused(allocator, ap.InvalidValue) as refusal:
        allocator.ask(0.005)
    assert refusal.sentence == "`budget` must be a multiple of the step 0.01; got 0.005."


def test_a_refused_budget_does_not_move_the_generator():
    allocator, twin = (make(ap.Thompson(b=0.25), whole=True) for _ in range(2))
    with Refused(allocator, ap.InvalidValue):
        allocator.ask(2.5)
    assert [allocator.ask(9).amounts for _ in range(4)] == [twin.ask(9).amounts for _ in range(4)]


# --- JSON --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        ap.Thompson(b=0.25),
        ap.Odds(b=0.75),
        ap.SuccessiveElimination(b=0.75, horizon=99),
        ap.Oracle(means=(1, 2, 3)),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_restored_allocator_goes_on_exactly_as_the_original_would(policy):
    allocator = make(policy, whole=True, half_life=4.0, level=0.8)
    first = allocator.ask(31)
    allocator.tell(1, first.amounts)
    played(allocator, budget=31)
    allocator.ask(12)
    allocator.tell(7, {"search": None})
    allocator.pause_arm("social")
    restored = ap.Allocator.from_json(allocator.to_json())
    assert restored.to_json() == allocator.to_json()
    for allocator_ in (allocator, restored):
        allocator_.amend(1, {arm: 3.0 for arm, amount in first.amounts.items() if amount > 0})
        allocator_.resume_arm("social")
        played(allocator_, budget=17)
    assert restored.to_json() == allocator.to_json()
    assert str(restored.beliefs()) == str(allocator.beliefs())


def test_the_state_survives_readers_that_keep_53_bits():
    """JavaScript reads every number as a double and writes 1.0 as 1."""
    allocator = played(make())
    state = json.loads(allocator.to_json(), parse_int=lambda text: int(float(text)))
    assert played(ap.Allocator.from_json(json.dumps(state))).to_json() == played(allocator).to_json()


def test_a_policy_may_remember_infinity():
    class Remembers(ap.Policy):
        def initial_memory(self, arms):
            return np.full(arms, math.inf)

        def allocate(self, period, sums, memory, rng, shares):
            for arm in range(len(shares)):
                shares[arm] = 1.0 / len(shares) if memory[arm] == math.inf else 0.0

    restored = ap.Allocator.from_json(make(Remembers()).to_json())
    assert restored.ask(3).amounts == dict.fromkeys(ARMS, 1.0)


def test_numpy_parameters_of_ones_own_policy_are_saved():
    class Counts(ap.Policy):
        count: int = 3

        def allocate(self, period, sums, memory, rng, shares):
            shares[:] = 1.0 / len(shares)

    restored = ap.Allocator.from_json(make(Counts(np.int64(5))).to_json())
    assert restored.policy == Counts(5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The saved state is damaged: Expecting value: line 1 column 1 (char 0)."),
        ("[1, 2]", "This is not the saved state of an Allocator."),
        ('{"format": "something else"}', "This is not the saved state of an Allocator."),
        ('{"format": "apportion.allocator", "version": 1}', "The saved state is damaged: 'arms' is missing."),
        (
            '{"format": "apportion.allocator", "version": 2}',
            "`version` of the saved state must be 1; got 2. Load it with the release of apportion that wrote it.",
        ),
    ],
)
def test_state_that_is_none_of_ours(text, sentence):
    with pytest.raises(ap.IncompatibleState) as caught:
        ap.Allocator.from_json(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("text", [None, 5, b"\xff", "[" * 100_000, '{"format": NaN}'])
def test_what_is_not_even_json(text):
    with pytest.raises(ap.IncompatibleState):
        ap.Allocator.from_json(text)


def test_a_policy_that_is_not_there_says_how_to_bring_it():
    state = json.loads(make().to_json())
    state["policy"]["name"] = "Homemade"
    with pytest.raises(ap.IncompatibleState, match="import the module that defines it first"):
        ap.Allocator.from_json(json.dumps(state))


def places_in(value, path=()):
    """Every place in the state, down to the first entries of its lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places_in(inner, (*path, key))


def saved_with_everything():
    allocator = played(make(whole=True, half_life=5.0, horizon=40, minimum={"video": 0.1}), budget=20, periods=3)
    allocator.ask(20)
    allocator.tell(4, {"search": None})
    return json.loads(allocator.to_json())


STATE = saved_with_everything()
JUNK = (None, True, -1, 0, 2.5, 10**400, math.inf, math.nan, "", "x", "9", [], {}, [[]], [None] * 3, {"x": 1})


def altered(path, change):
    state = copy.deepcopy(STATE)
    *way, last = path
    inner = state
    for key in way:
        inner = inner[key]
    change(inner, last)
    return json.dumps(state)


@pytest.mark.parametrize("path", list(places_in(STATE)), ids=lambda path: ".".join(map(str, path)))
def test_damaged_state_is_refused_or_harmless(path):
    """No other exception than ours at any time: what loads must also work."""
    # Older releases did not write c.
    optional = path == ("statistics", "c") or (path[:2] == ("policy", "parameters") and path[-1] != "b")
    if isinstance(path[-1], str) and not optional:
        with pytest.raises(ap.IncompatibleState):
            ap.Allocator.from_json(altered(path, lambda inner, key: inner.pop(key)))
    for junk in JUNK:

        def spoil(inner, key, junk=junk):
            inner[key] = junk

        try:
            allocator = ap.Allocator.from_json(altered(path, spoil))
        except ap.IncompatibleState:
            continue
        try:
            allocator.tell(4, {"social": 1.0})
            split = allocator.ask(20)
            str(split), str(allocator.beliefs())
            json.loads(allocator.to_json())
        except ap.ApportionError:
            pass


# --- bad input ---------------------------------------------------------------------------------------------

BAD_SETTINGS = {
    "`b` must be a number in [0, 1]; got 1.3.": lambda: make(b=1.3),
    "`b` must be a number in [0, 1]; got -0.1.": lambda: make(ap.Uniform(), b=-0.1),
    "`b` must be a number in [0, 1]; got nan.": lambda: make(b=math.nan),
    "`sigma` must be a number above 0; got 0.": lambda: make(sigma=0),
    "`sigma` must be a number above 0; got -2.0.": lambda: make(sigma=-2.0),
    "`sigma` must be a number above 0; got inf.": lambda: make(sigma=math.inf),
    "`horizon` must be a whole number of at least 1; got 0.": lambda: make(horizon=0),
    "`horizon` must be a whole number of at least 1; got 2.5.": lambda: make(horizon=2.5),
    "`level` must be a number in (0, 1); got 1.": lambda: make(level=1),
    "`seed` must be a whole number of at least 0; got -1.": lambda: make(seed=-1),
    "`step` must be a number of at least 0; got -1.": lambda: make(step=-1),
    "`step` must be left out where `whole` is True; got 2.": lambda: make(whole=True, step=2),
    "`whole` must be True or False; got 'yes'.": lambda: make(whole="yes"),
    "`half_life` must be a number of at least 0.001; got 0.": lambda: make(half_life=0),
    "`arms` must be a list with at least one name; got ().": lambda: make(arms=[]),
    "`arms` must be a list of names; got 'search'.": lambda: make(arms="search"),
    "`arms` must be names that are all different; got 'a'.": lambda: make(arms=["a", "b", "a"]),
    "`arms` must be printable names without blanks at either end, none empty; got ''.": lambda: make(arms=["a", ""]),
    "`arms` must be printable names without blanks at either end, none empty; got 3.": lambda: make(arms=["a", 3]),
    "`minimum share of 'video'` must be a number in [0, 1]; got 1.5.": lambda: make(minimum={"video": 1.5}),
    "`maximum share of 'video'` must be a number in [0, 1]; got nan.": lambda: make(maximum={"video": math.nan}),
    "`minimum` must be a mapping from arm names to numbers, each name once; got 0.1.": lambda: make(minimum=0.1),
    "`minimum` names 'radio', which is not one of the arms search, social, video.": lambda: make(
        minimum={"radio": 0}
    ),
    "`pinned['video']` must be left out where a minimum or maximum is given; got 0.1.": lambda: make(
        pinned={"video": 0.1}, minimum={"video": 0.1}
    ),
    "`policy` must be a policy such as apportion.Odds(b=0.75); got 'odds'.": lambda: make("odds"),
    "`horizon` must be given to SuccessiveElimination, the number of periods to come; got None.": lambda: make(
        ap.SuccessiveElimination(b=0.75)
    ),
}


@pytest.mark.parametrize("sentence", BAD_SETTINGS)
def test_a_bad_setting_gets_one_sentence(sentence):
    with pytest.raises(ap.ApportionError) as caught:
        BAD_SETTINGS[sentence]()
    assert str(caught.value) == sentence


NOT_MAPPING = "must be a mapping from arm names to numbers, each name once; got"
BAD_CALLS = {
    "`budget` must be a number above 0; got 0.": lambda a: a.ask(0),
    "`budget` must be a number above 0; got -5.": lambda a: a.ask(-5),
    "`budget` must be a number above 0; got nan.": lambda a: a.ask(math.nan),
    "`budget` must be a number above 0; got inf.": lambda a: a.ask(math.inf),
    "`budget` must be a number above 0; got '12'.": lambda a: a.ask("12"),
    "`budget` must be a number above 0; got True.": lambda a: a.ask(True),
    "`budget` must be a number in [1e-100, 1e+100]; got 1e+200.": lambda a: a.ask(1e200),
    "`outcome of 'search'` must be a number, finite; got nan.": lambda a: a.tell(1, {"search": math.nan}),
    "`outcome of 'video'` must be a number, finite; got inf.": lambda a: a.tell(1, {"search": 1, "video": math.inf}),
    "`outcome of 'search'` must be a number, finite; got '3.5'.": lambda a: a.tell(1, {"search": "3.5"}),
    "`outcome of 'search'` must be a number, finite; got True.": lambda a: a.tell(1, {"search": True}),
    "`outcome of 'search'` must be a number, finite; got [1.0].": lambda a: a.tell(1, {"search": [1.0]}),
    "`outcome of 'search'` must be a number, finite; got (1+0j).": lambda a: a.tell(1, {"search": 1 + 0j}),
    "`outcome of 'search'` must be a number in [-1e+100, 1e+100]; got 1e+101.": lambda a: a.tell(
        1, {"search": 1e101}
    ),
    f"`outcomes` {NOT_MAPPING} [1, 2, 3].": lambda a: a.tell(1, [1, 2, 3]),
    f"`outcomes` {NOT_MAPPING} None.": lambda a: a.tell(1, None),
    "`outcomes` must be a mapping with at least one arm; got {}.": lambda a: a.tell(1, {}),
    f"`amounts` {NOT_MAPPING} [1].": lambda a: a.tell(1, {"search": 1.0}, amounts=[1]),
    "`amount of 'search'` must be a number in [0, 1e+100]; got -1.": lambda a: a.tell(
        1, {"search": 1.0}, amounts={"search": -1}
    ),
    "`outcome of 'video'` must be a number, finite; got -inf.": lambda a: a.amend(1, {"video": -math.inf}),
    "`name` must be printable names without blanks at either end, none empty; got ' x'.": lambda a: a.add_arm(" x"),
    "`minimum share of 'video'` must be a number in [0, 1]; got 2.": lambda a: a.bound_arm("video", 2),
    "Arm 'radio' is not known; the arms are search, social, video.": lambda a: a.pause_arm("radio"),
    "Arm ['x'] is not known; the arms are search, social, video.": lambda a: a.remove_arm(["x"]),
}


@pytest.mark.parametrize("sentence", BAD_CALLS)
def test_a_bad_call_gets_one_sentence_and_changes_nothing(sentence):
    allocator = make()
    allocator.ask(10)
    with Refused(allocator) as refusal:
        BAD_CALLS[sentence](allocator)
    assert refusal.sentence == sentence


@pytest.mark.parametrize("b", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("budget", [1e-100, 1e100])
def test_extreme_budgets_and_outcomes_stay_in_range(b, budget):
    for policy in (ap.Odds(b=b), ap.SuccessiveElimination(b=b, horizon=9, radius="anytime"), ap.UCB()):
        allocator = make(policy, b=b)
        for outcome in (0.0, 1e100, -1e100):
            split = allocator.ask(budget)
            told = {arm: outcome for arm, amount in split.amounts.items() if amount > 0}
            allocator.tell(split.ticket, told)
        assert str(allocator.ask(budget))
        assert str(allocator.beliefs())
        ap.Allocator.from_json(allocator.to_json())


# --- very many arms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        ap.Odds(b=0.75),
        ap.Maillard(b=0.9),
        ap.EpsilonGreedy(b=0.75),
        ap.SuccessiveElimination(b=0.75, sigma=0.05, horizon=50),
        ap.Thompson(b=0.25),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_the_compiled_path_of_many_arms_decides_as_the_plain_one(policy, monkeypatch):
    arms = [f"arm {n}" for n in range(600)]

    def run():
        allocator, rng = make(policy, arms), np.random.default_rng(8)
        splits = []
        for _ in range(4):
            split = allocator.ask(600.0)
            outcomes = (rng.random(600) * np.array(list(split.amounts.values()))).tolist()
            allocator.tell(split.ticket, dict(zip(arms, outcomes)))
            splits.append(list(split.amounts.values()))
        return np.array(splits), allocator.beliefs().to_pandas().to_numpy()

    assert len(arms) >= exact_sums.MANY_ARMS
    compiled = run()
    for module in (contract, exact_sums, best_probabilities):
        monkeypatch.setattr(module, "MANY_ARMS", 10**9)
    # One accurate quadrature over 600 arms in plain Python would take longer than all other tests together.
    monkeypatch.setattr(best_probabilities, "MANY_ARMS", 512)
    for fast, plain in zip(compiled, run()):
        np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12)


def test_memory_grows_with_the_arms_and_not_with_the_periods():
    """Tickets are kept while they hold 100,000 numbers, at least ten: from then on the state stays as it is."""
    arms = [f"arm {n}" for n in range(10_000)]
    allocator = make(ap.Uniform(), arms)
    outcomes = dict.fromkeys(arms, 0.5)

    def size_after(periods):
        for _ in range(periods):
            allocator.tell(allocator.ask(10_000.0).ticket, outcomes)
        return len(allocator.to_json())

    assert size_after(12) == pytest.approx(size_after(24), rel=0.02)


# --- tables ------------------------------------------------------------------------------------------------


def test_splits_and_beliefs_print_as_tables():
    allocator = make(sigma=1.0)
    lines = str(allocator.ask(5000)).splitlines()
    assert lines[0] == "Split 1: 5,000 over 3 arms"
    assert lines[1].split() == ["arm", "amount", "share", "why"]
    assert lines[2] == "search  1,666.67  33.3%  No outcomes yet: all arms start alike."
    assert lines[-1] == "Odds gives each arm a share that grows with its chance of being the best."
    text = repr(allocator.beliefs())
    assert text.splitlines()[0].split() == [
        "arm", "mean", "low", "high", "probability_best", "resource", "information",
    ]  # fmt: skip
    assert text.splitlines()[1].split() == ["search", "–", "−∞", "∞", "33.3%", "0", "0"]
    assert "95% interval, valid at any time" in text


def test_notebooks_get_html_in_which_names_are_only_names():
    allocator = make(arms=("<b>bold</b>", "a & b", '"quoted"'))
    allocator.tell(allocator.ask().ticket, {"<b>bold</b>": 1.0, "a & b": 0.0})
    for table in (allocator.ask(), allocator.beliefs()):
        page = table._repr_html_()
        assert "<b>" not in page
        assert "&lt;b&gt;bold&lt;/b&gt;" in page
        assert "a &amp; b" in page
        assert page.startswith("<table>")


def test_tables_convert_to_pandas():
    allocator = played(make())
    split = allocator.ask(10)
    frame = split.to_pandas()
    assert list(frame.index) == list(ARMS)
    assert frame["amount"].to_dict() == dict(split.amounts)
    assert list(frame.columns) == ["amount", "share", "why"]
    beliefs = allocator.beliefs().to_pandas()
    assert beliefs.loc["video", "mean"] == allocator.beliefs()["video"].mean
    assert beliefs.dtypes.eq(float).all()


def test_a_long_table_leaves_its_middle_out():
    allocator = make(arms=[f"arm {n}" for n in range(200)])
    text = str(allocator.ask())
    assert len(text.splitlines()) == 64
    assert "…" in text
    assert "arm 199" in text
    assert len(allocator.beliefs().to_pandas()) == 200


def test_a_split_that_was_read_can_be_pickled_and_copied():
    allocator = make()
    for _ in range(2):
        split = allocator.ask(100.0)
        read = (dict(split.amounts), dict(split.shares), dict(split.reasons), str(split))
        for twin in (pickle.loads(pickle.dumps(split)), copy.deepcopy(split), copy.copy(split)):
            assert (twin.ticket, twin.budget, twin.beliefs.leader) == (split.ticket, 100.0, split.beliefs.leader)
            assert (dict(twin.amounts), dict(twin.shares), dict(twin.reasons), str(twin)) == read
        allocator.tell(split.ticket, dict(split.amounts))


@pytest.mark.parametrize("information", [math.inf, math.nan, 0.0])
def test_numbers_beyond_all_bounds_say_nothing(information):
    """A split is stored before it is shown: what is believed can be read whatever the outcomes were."""
    sums = no_sums(Sums, 2)
    sums.count[:] = 3.0
    sums.information[:] = [1.0, information]
    sums.score[:] = [1.0, math.nan]
    beliefs = Beliefs(("a", "b"), sums, sigma=1.0, rho=1.0, level=0.95)
    assert beliefs.spread[1] == math.inf
    assert beliefs.probability_best.sum() == pytest.approx(1.0)
    assert beliefs["b"].probability_best == pytest.approx(0.5)


def test_little_for_an_arm_that_may_well_be_the_best_is_explained_where_little_tells_enough():
    """At b = 0.9 four percent of the budget tell half as much as all of it: 0.04^0.2 = 0.53."""
    allocator = ap.Allocator(ap.Recommended(b=0.9, sigma=0.3), ("a", "b", "c"), b=0.9)
    for _ in range(4):
        split = allocator.ask(1000)
        rates = {"a": 1.02, "b": 1.0, "c": 0.1}
        allocator.tell(split.ticket, {arm: rates[arm] * amount for arm, amount in split.amounts.items()})
    split = allocator.ask(1000)
    share, chance = split.shares["b"], split.beliefs["b"].probability_best
    assert share < 0.5 * chance
    assert chance > 0.3
    tells = f"{share:.1%} of the budget tells about {share**0.2:.0%} as much about it as all would, enough to keep"
    assert split.reasons["b"].endswith(f"likely to be the best: {tells} testing it.")
    assert split.brief_reasons["b"] == f"{tells} testing it."
    assert split.brief_reasons["a"] == (
        "Leads. It gets most of the budget, as small amounts are enough to go on comparing the others with it."
    )
    assert "of the budget tells" not in split.reasons["c"]  # it is hardly the best


def test_nothing_of_that_is_said_where_little_tells_little():
    allocator = ap.Allocator(ap.Recommended(b=0.3, sigma=30.0, horizon=50), ("a", "b"), b=0.3)
    for _ in range(5):
        split = allocator.ask(1000)
        allocator.tell(split.ticket, {arm: 1.01 * amount for arm, amount in split.amounts.items() if amount > 0})
    split = allocator.ask(1000)
    assert not any("of the budget" in reason for reason in split.reasons.values())


def test_brief_reasons_are_the_ends_of_the_whole_ones():
    allocator = ap.Allocator(ap.Recommended(b=0.6, c=0.7, sigma=1.0), ("a", "b", "c"), b=0.6, c=0.7)
    assert set(allocator.ask(100).brief_reasons.values()) == {"All arms start alike."}
    allocator.tell(1, {"a": 30.0, "b": 20.0, "c": 2.0})
    split = allocator.ask(100)
    for arm, brief in split.brief_reasons.items():
        assert brief
        assert split.reasons[arm].endswith(brief[1:])
        assert "(" not in brief

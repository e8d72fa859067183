"""Ask and tell: each sentence of what the allocator promises is a test. Random interleavings: see the machine."""

import math
import os
import re
from fractions import Fraction

import numpy as np
import pytest
from allocators import ARMS, Refused, make, played

import apportion as ap
from apportion.inference import best_probabilities
from apportion.model import exact_sums
from apportion.policies import contract

SOAK = bool(os.environ.get("APPORTION_SOAK"))


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

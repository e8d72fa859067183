"""Returns that diminish and a noise level per arm, through ask and tell: c and σ_i stay with the right arm."""

import json
import math

import numpy as np
import pytest

import apportion as ap
from apportion._common.formatting import readable
from apportion.allocation.beliefs import interval, per_unit
from apportion.inference.best_probabilities import best_probabilities
from apportion.model.confidence import anytime_interval, anytime_rho
from apportion.model.exact_sums import Statistics

ARMS = ("search", "social", "video")
SIGMA = {"search": 2.0, "social": 0.2, "video": 5.0}
MEANS = {"search": 2.0, "social": 1.0, "video": 1.5}
B, C = 0.4, 0.6


def make(arms=ARMS, c=C, sigma=None, **settings):
    levels = tuple(SIGMA[name] for name in arms) if sigma is None else sigma
    return ap.Allocator(ap.Matching(b=B, c=c, sigma=levels), arms, **{"seed": 7, **settings})


def played(allocator, periods=4, seed=3, c=C):
    rng = np.random.default_rng(seed)
    sign = -1.0 if allocator.minimise else 1.0
    for period in range(periods):
        split = allocator.ask(100.0 + 10 * period)
        outcomes = {
            name: sign * MEANS[name] * amount**c + SIGMA[name] * amount**B * rng.standard_normal()
            for name, amount in split.amounts.items()
            if amount > 0.0
        }
        allocator.tell(split.ticket, outcomes)
    return allocator


def sums_of(allocator):
    return Statistics.from_dict(json.loads(allocator.to_json())["statistics"]).sums()


@pytest.mark.parametrize("c", [0.5, 0.8, 1.0])
def test_beliefs_stand_on_the_sums_at_b_and_c_and_on_each_arms_own_sigma(c):
    allocator = played(make(c=c), c=c)
    beliefs, sums = allocator.beliefs(), sums_of(allocator)
    past = Statistics(3, B, c=c)
    for ticket in json.loads(allocator.to_json())["tickets"]["completed"]:
        past.update(ticket["amounts"], ticket["outcomes"])
    assert all(np.array_equal(a, b) for a, b in zip(sums, past.sums()))
    rho = anytime_rho(20.0 * (100.0 / 3) ** (2 * c - 2 * B), -math.log(0.05))
    for index, (name, sigma) in enumerate(SIGMA.items()):
        belief, mean, known = beliefs[name], sums.score[index] / sums.information[index], sums.information[index]
        assert belief.mean == mean
        assert (belief.low, belief.high) == pytest.approx(anytime_interval(mean, known, sigma, 0.05, rho))
    spread = np.array(list(SIGMA.values())) / np.sqrt(sums.information)
    assert [row.probability_best for row in beliefs.values()] == pytest.approx(
        best_probabilities(beliefs.mean, spread)
    )
    assert beliefs.sigma == SIGMA
    assert beliefs.leader == max(ARMS, key=lambda name: beliefs[name].mean)


@pytest.mark.parametrize("minimise", [False, True])
def test_the_marginal_return_is_that_of_the_last_amount(minimise):
    allocator = make(minimise=minimise)
    assert all(math.isnan(belief.marginal) for belief in allocator.beliefs().values())
    split = played(allocator).ask(250.0)
    for beliefs, asked in ((split.beliefs, True), (allocator.beliefs(), True)):
        for name, amount in split.amounts.items():
            belief = beliefs[name]
            assert amount > 0.0
            assert belief.marginal == pytest.approx(C * belief.mean * amount ** (C - 1.0)), asked
    assert split.columns()["marginal"] == [split.beliefs[name].marginal for name in ARMS]
    assert "marginal" in allocator.beliefs().columns()
    allocator.pause_arm("video")
    allocator.ask(100.0)
    assert math.isnan(allocator.beliefs()["video"].marginal)
    allocator.add_arm("radio", sigma=1.0)
    assert math.isnan(allocator.beliefs()["radio"].marginal)


def test_returns_in_proportion_have_the_mean_for_a_marginal_return():
    allocator = played(make(c=1.0), c=1.0)
    assert all(belief.marginal == belief.mean for belief in allocator.beliefs().values())
    assert "marginal" not in allocator.beliefs().columns()
    assert "marginal" not in allocator.ask(10.0).columns()


def test_reasons_speak_of_the_next_unit_and_of_no_winner_that_takes_all():
    split = played(make(), periods=30).ask(100.0)
    for name, reason in split.reasons.items():
        belief, amount = split.beliefs[name], split.amounts[name]
        own = per_unit(belief, amount, C)
        assert own.mean == pytest.approx(belief.mean * amount ** (C - 1.0)) == pytest.approx(belief.marginal / C)
        opening = f"{interval(own)} per unit at this amount; the next unit returns {readable(belief.marginal)}"
        assert reason.startswith(opening)
        assert not any(words in reason for words in ("watching", "closer look", "behind", "likely"))
    assert split.reasons["search"].endswith("Returns most for the same amount.")
    assert split.note == "Matching makes the split that is best on average over what the arms may return."
    costs = played(make(minimise=True), periods=30).ask(100.0)
    assert any("the next unit costs" in reason for reason in costs.reasons.values())
    assert not any("elsewhere" in reason for reason in costs.reasons.values())  # costs are least on one arm alone


def test_reasons_say_where_more_is_given_than_looks_best():
    """In the best split the next unit returns the same everywhere: an even split takes from some, for others."""

    def split(means):
        allocator = ap.Allocator(ap.Oracle(means=means, c=C), ARMS)
        asked = allocator.ask(100.0)
        allocator.tell(asked.ticket, {name: MEANS[name] * amount**C for name, amount in asked.amounts.items()})
        return allocator.ask(100.0)

    best = split(tuple(MEANS.values())).reasons
    assert all("about as much as elsewhere." in reason for reason in best.values())
    even = split((1.0, 1.0, 1.0)).reasons
    assert "more than elsewhere: less than looks best, while others are tested. Returns most" in even["search"]
    assert even["social"].endswith("less than elsewhere: more than looks best, as a test.")


def test_nothing_returns_most_while_an_arm_is_unknown():
    allocator = played(make())
    allocator.add_arm("radio", sigma=1.0)
    reasons = allocator.ask(100.0).reasons.values()
    assert not any("Returns most" in reason or "elsewhere" in reason for reason in reasons)


def test_what_bounds_took_is_no_test():
    allocator = played(make(), periods=40)
    allocator.bound_arm("search", maximum=0.2)
    reason = allocator.ask(100.0).reasons["search"]
    assert "more than elsewhere. Returns most for the same amount. Lowered from" in reason


def test_sigma_by_name_in_order_or_from_the_policy_is_the_same():
    policy = ap.Matching(b=B, c=C)
    by_name = dict(reversed(SIGMA.items()))
    for given in (by_name, list(SIGMA.values()), np.array(list(SIGMA.values()))):
        assert ap.Allocator(policy, ARMS, sigma=given).sigma == SIGMA
    assert make().sigma == SIGMA
    assert ap.Allocator(policy, ARMS).sigma == 1.0


def test_saved_state_goes_on_exactly():
    allocator = played(make())
    restored = ap.Allocator.from_json(allocator.to_json())
    assert (restored.c, restored.sigma, restored.policy) == (C, SIGMA, allocator.policy)
    assert restored.to_json() == allocator.to_json()
    assert dict(restored.ask(50.0).amounts) == dict(allocator.ask(50.0).amounts)


def test_a_state_from_before_returns_could_bend_loads():
    allocator = played(ap.Allocator(ap.Odds(b=0.75), ARMS, seed=7), c=1.0)
    state = json.loads(allocator.to_json())
    assert "c" not in state["statistics"]  # at c = 1 the state is what it was
    state["policy"]["parameters"] = {"b": 0.75, "sigma": 1.0}
    restored = ap.Allocator.from_json(json.dumps(state))
    assert (restored.c, restored.sigma) == (1.0, 1.0)
    assert restored.beliefs().columns() == allocator.beliefs().columns()


def test_a_state_whose_parts_speak_of_different_c_is_refused():
    state = json.loads(played(make()).to_json())
    state["policy"]["parameters"]["c"] = 0.9
    with pytest.raises(ap.IncompatibleState, match="`c` must be given to the policy"):
        ap.Allocator.from_json(json.dumps(state))


def test_each_arm_keeps_its_sigma_while_others_come_and_go():
    """With an arm aside, the split is that of an allocator that never had it."""
    whole, rest = make(), make(arms=("search", "video"))
    for allocator in (whole, rest):
        split = allocator.ask(100.0)
        given = {"search": 40.0, "video": 60.0}
        allocator.tell(split.ticket, {name: MEANS[name] * given[name] ** C + 1.0 for name in given}, given)
    for away in (whole.pause_arm, whole.remove_arm):
        away("social")
        assert dict(whole.decide(80.0).to_payload()["amounts"]) == dict(rest.decide(80.0).to_payload()["amounts"])
    whole.add_arm("social")
    assert whole.sigma == SIGMA
    whole.remove_arm("search")
    whole.add_arm("radio", sigma=3.0)
    assert whole.sigma == {**SIGMA, "radio": 3.0}
    assert whole.policy.sigma == (*SIGMA.values(), 3.0)
    assert whole.beliefs().sigma == {"social": 0.2, "video": 5.0, "radio": 3.0}
    whole.add_arm("search", sigma=9.0)  # back, and told anew
    assert whole.policy.sigma == (9.0, 0.2, 5.0, 3.0)
    restored = ap.Allocator.from_json(whole.to_json())
    assert dict(restored.ask(10.0).amounts) == dict(whole.ask(10.0).amounts)


def test_the_larger_sigma_has_the_wider_interval_after_arms_moved():
    allocator = played(make())
    allocator.remove_arm("search")
    beliefs = allocator.beliefs()
    for name in ("social", "video"):
        radius = beliefs[name].high - beliefs[name].mean
        alone = ap.Allocator(ap.Uniform(), (name,), b=B, c=C, sigma=SIGMA[name]).beliefs()
        assert alone.sigma == SIGMA[name]
        assert radius / SIGMA[name] < 10.0
    assert beliefs["video"].high - beliefs["video"].low > 5 * (beliefs["social"].high - beliefs["social"].low)


def test_an_arm_without_its_sigma_is_refused_and_changes_nothing():
    allocator = played(make())
    before = allocator.to_json()
    with pytest.raises(ap.InvalidValue, match=r"^`sigma` must be given for 'radio', as every arm has its own\.$"):
        allocator.add_arm("radio")
    with pytest.raises(ap.InvalidValue, match=r"^`sigma` must be a number above 0; got 0\.$"):
        allocator.add_arm("radio", sigma=0)
    assert allocator.to_json() == before
    common = ap.Allocator(ap.Odds(b=0.5), ARMS, seed=1)
    before = common.to_json()
    with pytest.raises(ap.InvalidValue, match="left out where the arms do not have one each"):
        common.add_arm("radio", sigma=2.0)
    assert common.to_json() == before


BAD = {
    "`c` must be a number in (0, 1]; got 0.": {"c": 0},
    "`c` must be a number in (0, 1]; got 1.2.": {"c": 1.2},
    "`c` must be a number in (0, 1]; got 'half'.": {"c": "half"},
    "`c` must be given to the policy, as Matching(c=0.5); got 0.5.": {"c": 0.5},
    "`sigma` must be a number, or one per arm (3); got (1.0, 2.0).": {"sigma": (1, 2)},
    "`sigma[1]` must be a number above 0; got -2.": {"sigma": (1, -2, 3)},
    "`sigma` must be a number above 0; got 'x'.": {"sigma": "x"},
    "`sigma of 'social'` must be a number above 0; got 0.": {"sigma": {**SIGMA, "social": 0}},
    "`sigma` must be a number, or one for each arm; got none for 'video'.": {"sigma": {"search": 1, "social": 1}},
    "`sigma` names 'radio', which is not one of the arms search, social, video.": {"sigma": {**SIGMA, "radio": 1}},
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_c_and_sigma_get_one_sentence(sentence):
    with pytest.raises(ap.ApportionError) as refusal:
        ap.Allocator(ap.Matching(b=B, c=C), ARMS, **BAD[sentence])
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("policy", [ap.Odds(b=0.5), ap.UCB(), ap.AdaptiveElimination(b=0.5)])
def test_a_policy_that_knows_returns_in_proportion_only_says_who_knows_others(policy):
    with pytest.raises(ap.InvalidValue, match=r"^`c` must be 1, .*Recommended.* know others\); got 0\.5\.$"):
        ap.Allocator(policy, ARMS, c=0.5)


def test_one_that_needs_no_law_takes_any():
    allocator = ap.Allocator(ap.Uniform(), ARMS, b=B, c=C, sigma=SIGMA, seed=1)
    assert played(allocator).c == C
    assert np.isfinite(allocator.beliefs().marginal).all()


def test_learning_takes_a_sigma_of_each_arm_as_given():
    allocator = played(ap.Allocator(ap.Auto(), ARMS, sigma=SIGMA, seed=1))
    assert allocator.learned.sigma_given
    assert allocator.beliefs().sigma == dict(zip(ARMS, SIGMA)) or allocator.beliefs().sigma == SIGMA
    with pytest.raises(ap.InvalidValue, match=r"`c` must be given to the policy, as Auto\(c=0.5\)"):
        ap.Allocator(ap.Auto(), ARMS, c=0.5)


def test_counted_again_for_another_c_the_sums_are_those_of_a_new_count():
    allocator = played(ap.Allocator(ap.Uniform(), ARMS, b=B, c=1.0, sigma=SIGMA, seed=1))
    allocator.recount(B, C, half_life=None, window=None, robust=False)
    other = played(ap.Allocator(ap.Uniform(), ARMS, b=B, c=C, sigma=SIGMA, seed=1))
    assert allocator.c == C
    assert all(np.array_equal(a, b) for a, b in zip(sums_of(allocator), sums_of(other)))
    assert allocator.beliefs().columns() == other.beliefs().columns()


def test_outcomes_are_taken_back_exactly_also_where_returns_bend():
    allocator, other = make(robust=True, half_life=3.0), make(robust=True, half_life=3.0)
    for each, first in ((allocator, 7.0), (other, 9.0)):
        each.tell(each.ask(90.0).ticket, {"search": first, "social": 2.0, "video": 3.0})
    allocator.amend(1, {"search": 9.0})
    assert json.loads(allocator.to_json())["statistics"] == json.loads(other.to_json())["statistics"]

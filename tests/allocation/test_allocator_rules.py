"""Rules in an allocator: amounts add up and keep them, whole units too; what contradicts itself; reasons; arms."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import apportion as ap
from apportion.allocation.feasible import units
from apportion.allocation.rules import Rules
from apportion.errors import Conflict, Infeasible, UnknownName

ARMS = ("search", "social", "video", "print")


def make(*rules, arms=ARMS, **options):
    return ap.Allocator(
        options.pop("policy", ap.Uniform()), arms, rules=rules, seed=options.pop("seed", 1), **options
    )


def told(allocator, periods, rng, budget=1000.0):
    for _ in range(periods):
        split = allocator.ask(budget)
        allocator.tell(
            split.ticket, {name: float(amount * rng.uniform(0.5, 1.5)) for name, amount in split.amounts.items()}
        )


@st.composite
def campaigns(draw):
    """Rules that a split drawn at random keeps, so that some split does."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arms = [f"arm {number}" for number in range(draw(st.integers(2, 9)))]
    inside = rng.dirichlet(np.ones(len(arms)))
    rules = []
    for _ in range(draw(st.integers(1, 5))):
        size = int(rng.integers(1, len(arms) + 1))
        chosen = rng.choice(len(arms), size, replace=False)
        share, names = float(inside[chosen].sum()), " + ".join(arms[arm] for arm in chosen)
        kind = rng.integers(3)
        if kind == 0:
            rules.append(f"{names} <= {math.ceil(100 * share) + 1}%")
        elif kind == 1:
            rules.append(f"{names} >= {max(math.floor(100 * share) - 1, 0)}%")
        elif len(arms) > 1:
            one, other = rng.choice(len(arms), 2, replace=False)
            factor = float(f"{0.9 * inside[one] / inside[other]:.3g}")
            rules.append(f"{arms[one]} >= {factor:.10f} * {arms[other]}")
    return arms, rules, rng


@settings(max_examples=60, deadline=None)
@given(campaign=campaigns(), budget=st.sampled_from([1000.0, 5000.0, 123.45, 1e-3, 7e12]))
def test_amounts_add_up_exactly_and_keep_every_rule(campaign, budget):
    arms, rules, rng = campaign
    policy = ap.Odds(b=0.75, sigma=1.0)
    for options in ({}, {"resolution": 0.01}):
        allocator = make(*rules, arms=arms, policy=policy, **options)
        told(allocator, 2, rng, budget)
        split = allocator.ask(budget)
        amounts = np.array(list(split.amounts.values()))
        if options:
            assert sum(Fraction(repr(amount)) for amount in amounts.tolist()) == pytest.approx(budget, rel=1e-15)
        else:
            assert amounts.sum() == math.fsum(amounts) == budget
        assert (amounts >= 0.0).all()
        held = Rules(rules, arms).active(tuple(arms), budget).rows
        assert held.kept(amounts / budget, 1e-9 + (0.02 * len(arms) / budget if options else 0.0))


@settings(max_examples=60, deadline=None)
@given(campaign=campaigns(), total=st.sampled_from([1000, 250, 20_000]), seed=st.integers(0, 99))
def test_whole_units_add_up_and_keep_every_rule_that_whole_units_can_keep(campaign, total, seed):
    arms, rules, rng = campaign
    active = Rules(rules, arms).active(tuple(arms), float(total))
    shares = rng.dirichlet(np.ones(len(arms)))
    try:
        found = units(shares, total, rng=np.random.default_rng(seed), names=arms, rules=active)
    except Infeasible:  # a share that is no whole number was rounded inwards, and nothing is left
        return
    assert found.sum() == total
    assert (found >= 0).all()
    assert active.rows.kept(found / total, 1.5 / total)
    sums = ((active.rows.matrix == 0.0) | (active.rows.matrix == 1.0)).all(axis=1)
    missed = active.rows.missed(found / total)[sums]
    gaps = np.ceil(active.rows.least[sums] * total - 1e-6) > np.floor(active.rows.most[sums] * total + 1e-6)
    assert (missed[~gaps] <= 1e-9).all()


def test_whole_units_of_nested_groups_are_right_on_average():
    rules = Rules(["a + b + c <= 55%", "a + b <= 30%", "d + e >= 20%"], tuple("abcdef"))
    active, shares = rules.active(tuple("abcdef"), 20.0), np.array([0.33, 0.22, 0.2, 0.05, 0.05, 0.15])
    rng = np.random.default_rng(3)
    drawn = np.array([units(shares, 20, rng=rng, names="abcdef", rules=active) for _ in range(1000)])
    assert (drawn.sum(axis=1) == 20).all()
    assert (drawn[:, :2].sum(axis=1) <= 6).all()
    assert (drawn[:, :3].sum(axis=1) <= 11).all()
    assert (drawn[:, 3:5].sum(axis=1) >= 4).all()
    exact = 20.0 * np.array([0.18, 0.12, 0.2375, 0.10, 0.10, 0.2625])
    wanted = drawn.mean(axis=0)
    np.testing.assert_allclose(wanted[:2], exact[:2], atol=0.08)  # over 4 standard errors of a mean of 1,000
    np.testing.assert_allclose(wanted[3:5], exact[3:5], atol=0.08)


def test_amounts_and_ratios_and_arms_that_move_together():
    allocator = make("print >= 200", "social = video", "search >= 2 * social", whole=True)
    amounts = allocator.ask(1000).amounts
    assert sum(amounts.values()) == 1000
    assert amounts["print"] >= 200
    assert amounts["social"] == amounts["video"]
    assert amounts["search"] >= 2 * amounts["social"]
    assert allocator.ask(500).amounts["print"] >= 200  # an amount, not a share


def test_rules_that_no_split_keeps_are_refused_and_the_smallest_set_is_named():
    rules = ["social + video <= 40%", "search <= 30%", "print <= 20%", "social >= 5%", "video >= social"]
    with pytest.raises(Infeasible) as refused:
        make(*rules)
    assert str(refused.value) == (
        "No split of the budget keeps all of these at once: social + video ≤ 40%; search ≤ 30%; print ≤ 20%. "
        "Change or drop one of them."
    )
    with pytest.raises(Infeasible, match=r"at once: social ≥ 60%; search at least 50%\. Change"):
        make("social >= 60%", "video <= 90%", minimum={"search": 0.5, "print": 0.01})
    with pytest.raises(Infeasible, match=r"No split of the budget keeps social \+ video ≥ 120%: change or drop it\."):
        make("social + video >= 120%")


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_each_rule_that_is_named_is_needed_for_the_conflict(seed):
    rng = np.random.default_rng(seed)
    arms = tuple("abcde")
    rules = []
    for _ in range(8):
        chosen = rng.choice(5, int(rng.integers(1, 4)), replace=False)
        sign = "<=" if rng.random() < 0.6 else ">="
        rules.append(f"{' + '.join(arms[arm] for arm in chosen)} {sign} {int(rng.integers(1, 60))}%")

    def possible(texts):
        try:
            make(*texts, arms=arms)
        except Infeasible as refused:
            return str(refused)
        return ""

    said = possible(rules)
    if said:
        listed = re.search(r"at once: (.*)\. Change|keeps (.*): change", said)
        named = [text.replace("≤", "<=").replace("≥", ">=") for text in (listed[1] or listed[2]).split("; ")]
        assert possible(named)
        for fewer in itertools.combinations(named, len(named) - 1):
            assert not possible(fewer)


def test_a_split_whose_amounts_contradict_is_refused_and_nothing_changes():
    allocator = make("social >= 500", "social <= 40%")
    allocator.ask(5000)
    before = allocator.to_json()
    with pytest.raises(Infeasible, match=r"No split of 1,000 keeps all of these at once: social ≥ 500; social ≤ 40%"):
        allocator.ask(1000)
    assert allocator.to_json() == before
    allocator.ask(1250)


def test_the_reason_names_the_rule_that_binds_and_no_other():
    allocator = make("social + video <= 40%", "search + print >= 10%", arms=ARMS)
    reasons = allocator.ask(100).reasons
    assert reasons["social"].endswith("Would get 25.0%: limited by social + video ≤ 40%.")
    assert reasons["search"].endswith("Raised from 25.0%, as others are held by social + video ≤ 40%.")
    raised = make("video + print >= 60%", maximum={"print": 0.26}).ask(100).reasons
    assert raised["video"].endswith("Would get 25.0%: raised by video + print ≥ 60%.")
    assert raised["search"].endswith("Lowered from 25.0%, as others are held by video + print ≥ 60%.")
    long = ("an arm with a long name", "another one of them", "search", "print")
    held = make(" + ".join(long[:2]) + " <= 40%", arms=long).ask(100).reasons
    assert "Would get 25.0%: limited by an arm with a long name + " in held[long[0]]
    assert held["search"].endswith("Raised from 25.0%, as others are held by a rule.")
    free = make("social + video <= 90%").ask(100).reasons
    assert set(free.values()) == {"No outcomes yet: all arms start alike."}


def test_an_arm_at_its_own_bound_says_that_and_not_the_rule():
    reasons = make("social + video <= 40%", maximum={"social": 0.05}).ask(100).reasons
    assert reasons["social"].endswith("Lowered from 25.0% by the bounds.")


def test_paused_and_removed_arms_count_as_nothing_and_rules_rest_where_a_side_is_gone():
    allocator = make("social + video <= 40%", "social = video", "video + print >= 30%")
    allocator.pause_arm("video")
    split = allocator.ask(100)
    assert split.shares["social"] > 0.3  # "social = video" rests
    assert split.shares["print"] >= 0.3
    allocator.remove_arm("print")
    assert allocator.ask(100).shares["search"] == pytest.approx(0.6)  # a region without arms asks for nothing
    with pytest.raises(Infeasible, match="social = video; video"):
        allocator.resume_arm("video")
    allocator.add_arm("print")
    allocator.resume_arm("video")
    shares = allocator.ask(100).shares
    assert shares["social"] == pytest.approx(shares["video"])
    assert shares["video"] + shares["print"] >= 0.3 - 1e-9


def test_an_arm_cannot_go_or_come_where_the_rules_then_leave_no_split():
    allocator = make("social + video <= 40%", "print <= 30%")
    before = allocator.to_json()
    with pytest.raises(Infeasible, match=r"at once: social \+ video ≤ 40%; print ≤ 30%\."):
        allocator.pause_arm("search")
    with pytest.raises(Infeasible, match="social at least 50%"):
        allocator.bound_arm("social", minimum=0.5)
    with pytest.raises(UnknownName, match="names 'radio'"):
        allocator.set_option("rules", ["radio <= 40%"])
    assert allocator.to_json() == before
    allocator.set_option("rules", ["social <= 500 EUR"])
    with pytest.raises(Conflict, match="Arm 'EUR' cannot be added under this name"):
        allocator.add_arm("EUR")
    allocator.add_arm("radio", minimum=0.2)
    assert allocator.ask(100).shares["radio"] >= 0.2


def test_rules_about_change_hold_from_split_to_split_and_give_way_where_they_must():
    rng = np.random.default_rng(2)
    allocator = make("change of social + video <= 5%", policy=ap.FollowTheLeader(b=0.5))
    before = allocator.ask(100).shares
    allocator.tell(1, {"search": 90.0, "social": 10.0, "video": 5.0, "print": 1.0})
    split = allocator.ask(100)
    moved = sum(split.shares[arm] - before[arm] for arm in ("social", "video"))
    assert moved == pytest.approx(-0.05)
    assert "raised by change of social + video ≤ 5%" in split.reasons["social"]
    again = ap.Allocator.from_json(allocator.to_json())
    assert again.to_json() == allocator.to_json()
    assert dict(again.ask(100).amounts) == dict(allocator.ask(100).amounts)
    allocator.bound_arm("search", minimum=0.9)
    assert allocator.ask(100).shares["search"] >= 0.9
    told(allocator, 1, rng)
    allocator.cancel(allocator.period)
    assert ap.Allocator.from_json(allocator.to_json()).to_json() == allocator.to_json()


def test_rules_come_before_the_limits_on_growth_and_change():
    allocator = make(growth=1.0, change=0.02)
    split = allocator.ask(100)
    allocator.tell(split.ticket, dict.fromkeys(ARMS, 1.0))
    allocator.set_option("rules", ["social + video >= 70%"])
    shares = allocator.ask(100).shares
    assert shares["social"] + shares["video"] == pytest.approx(0.7)
    assert shares["search"] == pytest.approx(shares["print"])


def test_state_keeps_the_rules_and_older_states_have_none():
    allocator = make("social + video <= 40%", "print >= 100")
    allocator.ask(1000)
    again = ap.Allocator.from_json(allocator.to_json())
    assert again.rules == ("social + video <= 40%", "print >= 100")
    assert dict(again.ask(1000).amounts) == dict(allocator.ask(1000).amounts)
    plain = make()
    assert '"rules"' not in plain.to_json()
    assert ap.Allocator.from_json(plain.to_json()).rules == ()
    broken = allocator.to_json().replace("social + video <= 40%", "social + radio <= 40%")
    with pytest.raises(ap.ApportionError, match="cannot be used: Rule 'social"):
        ap.Allocator.from_json(broken)


def test_the_same_rule_twice_is_one():
    assert make("social <= 40%", "social at most 40 %").rules == ("social <= 40%",)


def test_a_leader_that_gets_little_says_why():
    rng = np.random.default_rng(0)
    allocator = make(policy=ap.Odds(b=0.75, sigma=30.0), arms=("old", "new"), maximum=None)
    told(allocator, 3, rng)
    split = allocator.ask(1000)
    leader = split.beliefs.leader
    assert split.reasons[leader].startswith("Leads with")
    assert "gets little" not in split.reasons[leader] or split.shares[leader] < 0.45
    decision = allocator.decide(1000)
    at = decision.arms.index(leader)
    wanted = np.where(np.arange(2) == at, 0.01, 0.99)
    said = allocator.explain(decision._replace(wanted=wanted, shares=wanted)).reasons
    other = decision.arms[1 - at]
    assert said[leader].endswith(f"It gets little this time, as {other} is being tested.")

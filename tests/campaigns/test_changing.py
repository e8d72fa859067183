"""Arms and settings of a campaign, changed while it runs."""

from fractions import Fraction

import numpy as np
import pytest

import apportion as ap

ARMS = ("a", "b")


@pytest.fixture
def campaign(sqlite):
    return ap.Campaign.create("c", ARMS, budget=100, b=0.75, sigma=1, seed=1, db=sqlite)


def test_a_changed_b_counts_everything_anew(campaign, sqlite):
    other = ap.Campaign.create("other", ARMS, budget=100, b=0.4, sigma=1, seed=1, db=sqlite)
    for budget in (100, 50, 75):
        ticket = campaign.split(budget).ticket
        amounts = {"a": budget * 0.7, "b": budget * 0.3}
        campaign.record(ticket, {"a": budget * 1.1, "b": budget * 0.9}, amounts=amounts)
        other.record(other.split(budget).ticket, {"a": budget * 1.1, "b": budget * 0.9}, amounts={**amounts})
    campaign.change(b=0.4)
    ours, theirs = campaign.beliefs(), other.beliefs()
    for name in ARMS:
        assert ours[name].mean == pytest.approx(theirs[name].mean, rel=1e-14)
        assert ours[name].information == pytest.approx(theirs[name].information, rel=1e-14)
    assert campaign.settings.parameters["b"] == 0.4
    assert campaign.check().exact


def test_settings_change_all_or_none(campaign):
    state = campaign.state()
    with pytest.raises(ap.InvalidValue, match="`level`"):
        campaign.change(budget=7, level=1.5)
    with pytest.raises(ap.InvalidValue, match="`setting`"):
        campaign.change(budget=7, seed=3)
    with pytest.raises(ap.InvalidValue, match="horizon"):
        campaign.change(policy="SuccessiveElimination")
    assert campaign.state() == state
    campaign.change(policy="SuccessiveElimination", horizon=100)
    assert campaign.settings.policy == "SuccessiveElimination"
    assert campaign.events()[-1].payload["old"]["policy"]["name"] == "Auto"
    campaign.split()
    assert campaign.check().exact


def test_what_is_assumed_is_said_until_it_is_given(sqlite):
    campaign = ap.Campaign.create("c", ARMS, budget=100, db=sqlite)
    assert set(campaign.settings.assumed) <= {"b", "sigma"}
    campaign.change(b=0.5, sigma=2.0)
    assert campaign.settings.assumed == ()


@pytest.mark.parametrize(
    ("changes", "noted"),
    [
        ({"budget": np.float32(50)}, {"budget": 50.0}),
        ({"budget": Fraction(101, 2)}, {"budget": 50.5}),
        ({"b": np.float32(0.5)}, {"b": 0.5}),
        ({"b": Fraction(1, 4)}, {"b": 0.25}),
        ({"b": None}, {"b": None}),
        ({"sigma": np.float32(2.5)}, {"sigma": 2.5}),
        ({"sigma": None}, {"sigma": None}),
        ({"level": Fraction(9, 10)}, {"level": 0.9}),
        ({"step": np.int64(5)}, {"step": 5.0}),
        ({"horizon": np.int64(50)}, {"horizon": 50}),
        ({"window": np.int64(5)}, {"window": 5}),
        ({"half_life": np.float32(2.5), "unit": " EUR "}, {"half_life": 2.5, "unit": "EUR"}),
    ],
)
def test_settings_take_any_kind_of_number(campaign, changes, noted):
    campaign.record(campaign.split().ticket, {"a": 1.0, "b": 2.0})
    settings = campaign.change(**changes)
    written = campaign.events()[-1].payload["changes"]
    assert {name: written[name] for name in changes} == noted
    assert {name: type(written[name]) for name in changes} == {name: type(value) for name, value in noted.items()}
    assert campaign.settings == settings
    campaign.split()
    assert campaign.check().exact


def test_the_parameters_of_a_policy_may_be_any_kind_of_number(sqlite):
    class Weighed(ap.Policy):
        weight: float

        def allocate(self, period, sums, memory, rng, shares):
            shares[0], shares[1] = self.weight, 1.0 - self.weight

    campaign = ap.Campaign.create("c", ARMS, budget=100, policy=Weighed(Fraction(1, 4)), growth=None, db=sqlite)
    assert dict(campaign.split().amounts) == {"a": 25.0, "b": 75.0}
    campaign.change(policy=Weighed(np.float32(0.5)))
    assert dict(campaign.split().amounts) == {"a": 50.0, "b": 50.0}
    assert campaign.check().exact


def test_a_budget_that_no_step_divides_is_refused_at_once(sqlite):
    for options in ({"whole": True}, {"step": 1}):
        with pytest.raises(ap.InvalidValue) as caught:
            ap.Campaign.create("c", ARMS, budget=100.5, db=sqlite, **options)
        assert str(caught.value) == "`budget` must be a multiple of the step 1; got 100.5."
    assert ap.Campaign.names(sqlite) == ()
    campaign = ap.Campaign.create("c", ARMS, budget=5000, b=0.75, sigma=1, seed=1, db=sqlite)
    state = campaign.state()
    with pytest.raises(ap.InvalidValue) as caught:
        campaign.change(step=7)
    assert str(caught.value) == "`budget` must be a multiple of the step 7; got 5000.0."
    with pytest.raises(ap.InvalidValue, match=r"`step` must be a number of at least 0; got -1\."):
        campaign.change(step=-1)
    assert (campaign.state(), campaign.version) == (state, 1)
    campaign.change(step=7, budget=70)
    with pytest.raises(ap.InvalidValue, match=r"`budget` must be a multiple of the step 7; got 71\."):
        campaign.change(budget=71)
    campaign.change(level=0.9)
    assert sum(campaign.split().amounts.values()) == 70.0
    campaign.change(step=None, budget=71)
    assert campaign.check().exact


def test_a_new_arm_has_a_name_of_readable_length(campaign, sqlite):
    longest, longer = "x" * 200, "x" * 201
    with pytest.raises(ap.InvalidValue, match="`arms` must be names of at most 200 characters; got 'xxx"):
        ap.Campaign.create("d", (longer, "b"), budget=1, db=sqlite)
    with pytest.raises(ap.InvalidValue, match="`name` must be names of at most 200 characters; got 'xxx"):
        campaign.add_arm(longer)
    campaign.add_arm(longest)
    assert campaign.names(sqlite) == ("c",)
    assert [arm.name for arm in campaign.arms] == ["a", "b", longest]

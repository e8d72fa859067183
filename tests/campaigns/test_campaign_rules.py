"""Rules of a campaign: kept with all that happened, changed like any setting, in what is restored and cloned."""

import pytest

import apportion as ap
from apportion.campaigns.files import restore_json, restore_log
from apportion.campaigns.storage.store import open_store
from apportion.errors import Conflict, Infeasible, InvalidValue, UnknownName

ARMS = ("search", "social", "video")
RULES = ("social + video <= 40%", "video >= 200")


@pytest.fixture(params=["sqlite", "postgres"])
def db(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def ads(db):
    return ap.Campaign.create(
        "ads", ARMS, budget=5000, unit="EUR", policy="odds", sigma=40, rules=RULES, seed=3, db=db
    )


def played(campaign, periods=2):
    for _ in range(periods):
        split = campaign.split()
        campaign.record(split.ticket, {name: 0.3 * amount for name, amount in split.amounts.items()})
    return campaign


def test_rules_hold_travel_and_are_proven(ads, db):
    played(ads)
    split = ads.split()
    assert split.amounts["social"] + split.amounts["video"] <= 2000 + 1e-9
    assert sum(split.amounts.values()) == 5000
    created, first = ads.events()[:2]
    assert created.payload["options"]["rules"] == list(RULES)
    assert list(first.payload["rules"]) == ["social + video <= 40%"]
    assert ads.check().ok
    again = ap.Campaign.open("ads", db)
    assert again.settings.rules == RULES
    assert dict(again.explain(split.ticket).reasons) == dict(split.reasons)
    assert "limited by social + video ≤ 40%." in split.reasons["social"]
    assert " per EUR" in split.reasons["social"]


def test_rules_are_changed_like_any_setting_and_each_split_keeps_its_own_reason(ads):
    played(ads, 1)
    assert ads.change(rules=["social = video"], key="k").rules == ("social = video",)
    ads.change(rules=["social = video"], key="k")
    event = ads.events()[-1]
    assert event.payload == {"changes": {"rules": ["social = video"]}, "old": {"rules": list(RULES)}}
    assert ads.change(rules=["social  =  video"]).rules == ("social = video",)
    assert len(ads.events()) == event.number  # the same in other words is no change
    split = ads.split()
    assert split.amounts["social"] == pytest.approx(split.amounts["video"], abs=0.011)
    assert "limited by social + video ≤ 40%" in ads.explain(1).reasons["social"]
    assert ads.change(rules=[]).rules == ()
    assert ads.check().ok


def test_what_no_split_of_the_budget_keeps_is_refused_and_nothing_changes(ads, db):
    before = ads.state()
    with pytest.raises(Infeasible, match=r"No split of 5,000 keeps all of these at once: social ≤ 10%; social ≥ 900"):
        ads.change(rules=["social <= 10%", "social >= 900", "video <= 50%"])
    with pytest.raises(Infeasible, match=r"No split of 400 keeps all of these at once: social \+ video ≤ 40%"):
        ads.change(budget=400)
    with pytest.raises(Infeasible, match="search at most 10%"):
        ads.bound_arm("search", 0.0, 0.1)
    with pytest.raises(UnknownName, match="names 'radio'"):
        ads.change(rules=["radio <= 5%"])
    with pytest.raises(InvalidValue, match="`rules` must be a list of texts"):
        ads.change(rules="social <= 5%")
    with pytest.raises(Infeasible, match="No split of 400 keeps"):
        ads.split(400)
    assert (ads.state(), len(ads.events())) == (before, 1)
    assert ap.Campaign.open("ads", db).settings.rules == RULES
    with pytest.raises(Infeasible, match="No split of 100 keeps"):
        ap.Campaign.create("small", ARMS, budget=100, rules=RULES, db=db)
    assert ap.Campaign.names(db) == ("ads",)


def test_rules_in_exports_restored_and_cloned_campaigns_and_with_corrections(ads, db):
    played(ads)
    ads.amend(1, {"social": 800.0})
    ads.cancel(ads.split().ticket)
    for restored in (
        restore_json(ads.export("json"), name="again", db=db),
        restore_log(ads.export("log"), name="log", db=db),
    ):
        assert restored.settings.rules == RULES
        assert dict(restored.explain(2).reasons) == dict(ads.explain(2).reasons)
        assert restored.check().ok
    for name, history in (("with", True), ("without", False)):
        copy = ads.clone(name, history=history)
        assert copy.settings.rules == RULES
        assert copy.check().ok
        assert copy.split().amounts["video"] >= 200
    assert ads.check().ok


def test_arms_come_and_go(ads):
    played(ads, 1)
    ads.add_arm("radio")
    ads.change(rules=[*RULES, "radio <= 500 EUR"])
    with pytest.raises(Conflict, match="Arm 'EUR' cannot be added"):
        ads.add_arm("EUR")
    ads.remove_arm("video")
    split = ads.split()
    assert "video" not in split.amounts
    assert split.shares["social"] <= 0.4 + 1e-9
    assert split.amounts["radio"] <= 500
    ads.add_arm("video")
    assert ads.split().amounts["video"] >= 200
    assert ads.check().ok


def test_a_campaign_from_before_there_were_rules_goes_on(sqlite):
    ads = ap.Campaign.create("ads", ARMS, budget=5000, policy="uniform", seed=1, db=sqlite)
    events = ads.events()
    payload = events[0].payload
    options = {name: value for name, value in payload["options"].items() if name != "rules"}
    older = events[0]._replace(payload={**payload, "options": options}, key=None)
    old = ap.Campaign._begin(open_store(sqlite), "old", [older])
    assert old.settings.rules == ()
    old.split()
    assert old.change(rules=["social <= 10%"]).rules == ("social <= 10%",)
    assert old.split().amounts["social"] <= 500
    assert old.check().ok


def test_several_rules_in_one_write_with_other_settings(ads):
    with ads.together():
        ads.change(budget=1000, rules=["video >= 900"])
        ads.change(rules=["video >= 100", "social <= 50%"])
    assert ads.settings.rules == ("video >= 100", "social <= 50%")
    assert ads.split().amounts["video"] >= 100
    assert ads.check().ok


def test_what_a_rule_costs_is_no_cost_of_not_being_sure(sqlite):
    """Whoever knows the best arm for sure loses nothing by doubt, however little of it is allowed.

    What a rule takes from the best arm goes to the next best one.
    """
    for number, limits in enumerate(({}, {"rules": ["a <= 10%"]}, {"rules": ["a + b <= 30%", "c <= 80%"]})):
        for c in (1.0, 0.7):
            campaign = ap.Campaign.create(
                f"sure {number} {c}", ("a", "b", "c"), budget=1000, policy="recommended", b=0.5, c=c, sigma=0.001,
                growth=None, seed=1, db=sqlite, **limits,
            )  # fmt: skip
            for _ in range(4):
                split = campaign.split()
                back = {arm: {"a": 3.0, "b": 2.0, "c": 1.0}[arm] * x**c for arm, x in split.amounts.items()}
                campaign.record(split.ticket, back)
            assert campaign.expected_regret() < 0.02 * sum(back.values())
    assert split.amounts["c"] == pytest.approx(700, abs=1)
    rest = ap.Campaign.open("sure 1 1.0", sqlite).split().amounts
    assert (rest["a"], rest["b"]) == (pytest.approx(100, abs=1), pytest.approx(900, abs=1))

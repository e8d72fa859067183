"""The thirteen things that users of such tools ask for, in the order of their list."""

import json

import pytest

import apportion as ap
from apportion.campaigns.forecast import forecast
from apportion.campaigns.storage.store import open_store

ARMS = ("search", "social", "video")


@pytest.fixture
def ads(sqlite):
    return ap.Campaign.create("ads", ARMS, budget=5000, unit="EUR", b=0.75, sigma=40, seed=7, db=sqlite)


def rounds(campaign, count, outcomes):
    for _ in range(count):
        split = campaign.split()
        campaign.record(split.ticket, {name: outcomes[name] * amount for name, amount in split.amounts.items()})


def test_1_a_minimum_or_a_fixed_share_per_arm(sqlite):
    campaign = ap.Campaign.create(
        "ads", ARMS, budget=1000, minimum={"video": 0.1}, pinned={"social": 0.3}, b=0.75, sigma=1, db=sqlite
    )
    rounds(campaign, 20, {"search": 9.0, "social": 0.1, "video": 0.1})
    shares = campaign.split().shares
    assert shares["social"] == pytest.approx(0.3)
    assert shares["video"] >= 0.1
    campaign.bound_arm("social", 0.0, 1.0)  # let it go again
    assert campaign.split().shares["social"] < 0.3


def test_2_add_pause_or_remove_an_arm_without_losing_what_was_learned(ads):
    rounds(ads, 5, {"search": 2.0, "social": 1.0, "video": 1.0})
    before = ads.beliefs()["social"]
    ads.pause_arm("social")
    assert "social" not in ads.split().amounts
    ads.resume_arm("social")
    ads.remove_arm("social")
    assert "social" not in ads.beliefs()
    ads.add_arm("radio")
    ads.add_arm("social")
    assert ads.beliefs()["social"].mean == before.mean
    assert set(ads.split().amounts) == {*ARMS, "radio"}
    assert [arm.state for arm in ads.arms] == ["active"] * 4


@pytest.mark.parametrize("budget", [5000, 4999.99, 0.1 + 0.2, 1e-9, 123456789.123])
def test_3_the_split_adds_up_to_the_budget(ads, budget):
    rounds(ads, 3, {"search": 2.0, "social": 1.0, "video": 1.5})
    assert sum(ads.split(budget).amounts.values()) == pytest.approx(budget, rel=1e-15, abs=0)


def test_3_whole_units_add_up_too(sqlite):
    kits = ap.Campaign.create("kits", ARMS, budget=343, whole=True, b=0.6, sigma=1, db=sqlite)
    for budget in (343, 1, 7, 1000):
        amounts = kits.split(budget).amounts.values()
        assert sum(amounts) == budget
        assert all(amount == int(amount) for amount in amounts)


def test_4_nothing_is_matched_by_order(sqlite):
    campaign = ap.Campaign.create("ads", ARMS, budget=100, maximum={"video": 0.2}, b=0.75, sigma=1, db=sqlite)
    split = campaign.split()
    campaign.record(split.ticket, {"video": 1.0, "search": 90.0, "social": 5.0})  # another order than the arms'
    assert campaign.beliefs().leader == "search"
    assert campaign.split().shares["video"] <= 0.2 + 1e-12
    with pytest.raises(ap.UnknownName, match="vdieo"):
        campaign.record(split.ticket, {"vdieo": 1.0})


def test_5_the_next_split_and_not_an_analysis_of_the_past(ads):
    split = ads.split(budget=6000)
    assert sum(split.amounts.values()) == pytest.approx(6000)
    assert forecast(ads_with_outcomes(ads), periods=5, worlds=5).policies  # and what may come


def ads_with_outcomes(campaign):
    rounds(campaign, 2, {"search": 2.0, "social": 1.0, "video": 1.0})
    return campaign


def test_6_correct_a_bad_observation(ads):
    ticket = ads.split().ticket
    ads.record(ticket, dict.fromkeys(ARMS, 8120.0))
    ads.amend(ticket, {"search": 812.0})
    ads.amend(ticket, {"video": None})  # and delete one: no data after all
    lines = {line.arm: line for line in ads.history()}
    assert lines["search"].outcome == 812.0
    assert [old["outcome"] for old in lines["search"].corrections] == [8120.0]
    assert lines["video"].outcome is None
    assert ads.beliefs()["video"].resource == 0.0


def test_7_a_reader_does_not_break_a_running_campaign(ads, sqlite):
    with open_store(sqlite).reading() as session:
        events = session.events(ads._id)  # a dashboard in the middle of its reading
        next(events)
        rounds(ads, 3, {"search": 2.0, "social": 1.0, "video": 1.0})
        list(events)
    assert ads.period == 3


def test_8_outcomes_by_ticket_and_as_they_accrue(ads):
    first, second = ads.split(), ads.split()
    ads.record(second.ticket, {"search": 3.0})
    ads.record(first.ticket, {"search": 5.0})
    ads.record(first.ticket, {"social": 2.0, "video": 1.0})
    assert ads.open_tickets == (second.ticket,)


def test_9_a_board_over_time_and_an_explanation(ads):
    rounds(ads, 6, {"search": 2.0, "social": 1.0, "video": 1.0})
    board = ads.beliefs_over_time(every=2)
    assert [period for period, _ in board] == [2, 4, 6]
    assert board[-1][1]["search"] == ads.beliefs()["search"]
    split = ads.split()
    assert "Leads with" in split.reasons["search"]
    assert dict(ads.explain(split.ticket).reasons) == dict(split.reasons)  # also later
    assert dict(ads.explain(2).amounts) == {line.arm: line.advised for line in ads.history(2, 2)}


def test_10_regret_of_the_live_campaign(ads):
    assert ads.expected_regret() != ads.expected_regret()  # nothing is known yet
    rounds(ads, 30, {"search": 2.0, "social": 1.0, "video": 1.0})
    early = ads.expected_regret()
    rounds(ads, 200, {"search": 2.0, "social": 1.0, "video": 1.0})
    assert 0 <= ads.expected_regret() < early


def test_11_saved_state_loads_with_the_generator_where_it_was(sqlite):
    free = {"growth": None, "step": 0}
    campaign = ap.Campaign.create("dice", ARMS, budget=1, policy="odds", b=0.2, sigma=1, seed=3, db=sqlite, **free)
    for _ in range(70):
        campaign.split()
    position = json.loads(campaign.state().partition("\n")[2])["generator"]
    open_store(sqlite).shared.clear()
    again = ap.Campaign.open("dice", db=sqlite)
    assert json.loads(again.state().partition("\n")[2])["generator"] == position
    twin = ap.Allocator(ap.Odds(b=0.2), ARMS, seed=3)
    theirs = [dict(twin.ask(1).amounts) for _ in range(75)][70:]
    assert [dict(again.split().amounts) for _ in range(5)] == theirs


def test_12_a_split_does_not_take_longer_as_the_campaign_ages(sqlite):
    campaign = ap.Campaign.create("old", ARMS, budget=100, b=0.75, sigma=1, db=sqlite)
    sizes = []
    for count in (900, 300, 300):  # the last 768 periods are kept one by one
        with campaign.together():
            rounds(campaign, count, {"search": 2.0, "social": 1.0, "video": 1.0})
        sizes.append(len(campaign.state()))
    assert sizes[-1] < sizes[0] * 1.2  # what a split reads is of one size
    with open_store(sqlite).reading() as session:
        number, _ = session.snapshot(campaign._id)
        assert session.last_number(campaign._id) - number < 64  # and so is what is read to open it


def test_13_outcomes_that_never_come_back(ads):
    tickets = [ads.split().ticket for _ in range(3)]
    ads.record(tickets[0], {"search": None, "social": 4.0, "video": None})
    ads.close(tickets[1])
    assert ads.open_tickets == (tickets[2],)
    assert ads.beliefs()["social"].resource > 0
    assert ads.beliefs()["search"].resource == 0
    ads.amend(tickets[1], {"search": 7.0})  # it came after all
    assert ads.beliefs()["search"].resource > 0

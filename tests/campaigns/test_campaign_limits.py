"""Limits on growth and change in campaigns: by default, by every verb, in files and forecasts, in older campaigns."""

import json

import pytest
from tests.cli.commands import run

import apportion as ap
from apportion.campaigns.backtest import backtest
from apportion.campaigns.files import restore_json
from apportion.inference.history import Observation

ARMS = ("search", "social", "video")
PAID = {"search": 1.0, "social": 0.1, "video": 0.2}


def begin(db, name="ads", **options):
    return ap.Campaign.create(
        name, ARMS, db=db, **{"budget": 300, "policy": ap.FollowTheLeader(), "seed": 1, **options}
    )


def play(campaign, periods=1, **options):
    for _ in range(periods):
        split = campaign.split(**options)
        campaign.record(split.ticket, {arm: PAID[arm] * amount for arm, amount in split.amounts.items()})
    return split


def older(campaign, db, name="older"):
    """The same campaign as a release without limits had it."""
    content = json.loads(campaign.export())
    for option in ("growth", "change"):
        del content["events"][0]["payload"]["options"][option]
    return restore_json(json.dumps(content), db=db, name=name)


def test_a_campaign_doubles_what_was_tried_unless_told_otherwise(sqlite):
    campaign = begin(sqlite)
    assert (campaign.settings.growth, campaign.settings.change) == (2.0, None)
    assert [play(campaign).shares["search"] for _ in range(3)] == pytest.approx([1 / 3, 2 / 3, 1.0], abs=1e-3)
    assert (
        "held at twice the most it ever got (100); more next period if it keeps up"
        in campaign.explain(2).reasons["search"]
    )
    free = begin(sqlite, "free", growth=None)
    play(free)
    assert free.split().shares["search"] > 0.9


def test_the_change_of_a_share_is_limited(sqlite):
    campaign = begin(sqlite, growth=None, change=0.05)
    shares = [play(campaign).shares["search"] for _ in range(4)]
    assert shares == pytest.approx([1 / 3, 1 / 3 + 0.05, 1 / 3 + 0.1, 1 / 3 + 0.15])
    campaign.change(change=None)
    assert campaign.split().shares["search"] > 0.9


def test_a_long_campaign_with_corrections_is_rebuilt_bit_for_bit(sqlite):
    campaign = begin(sqlite, change=0.2)
    play(campaign, 40)
    campaign.amend(30, {"search": 5.0}, {"search": 3000.0}, confirm=True)
    assert campaign.split(900).shares["search"] == pytest.approx(1.0, abs=1e-3)
    play(campaign, 20, budget=900)
    campaign.amend(30, {"search": 5.0}, {"search": 3.0}, confirm=True)
    state = json.loads(campaign.state().partition("\n")[2])["limits"]
    assert state["largest"][0] == max(
        line.amount for line in campaign.history() if line.arm == "search" and line.outcome
    )
    found = campaign.check()
    assert (found.ok, found.exact) == (True, True)
    assert found.snapshots == 1
    assert restore_json(campaign.export(), db=sqlite, name="again").state() == campaign.state()


def test_imported_history_is_what_was_tried(sqlite, tmp_path):
    file = tmp_path / "history.csv"
    file.write_text(
        "date,arm,amount,outcome\n2026-01-01,search,140,150\n2026-01-01,social,10,1\n2026-01-01,video,5,1\n"
    )
    campaign = begin(sqlite)
    campaign.import_history(file)
    assert campaign.split().amounts["search"] == pytest.approx(280.0)
    assert "twice the most it ever got (140)" in campaign.explain(2).reasons["search"]
    assert campaign.explain(1).reasons  # also of a split that nobody decided


def test_a_campaign_from_before_has_no_limit_until_it_is_set(sqlite):
    campaign = begin(sqlite, growth=None)
    play(campaign, 3, budget=90)
    old = older(campaign, sqlite)
    assert (old.settings.growth, old.settings.change) == (None, None)
    assert old.state() == campaign.state()
    assert old.split(9000).shares["search"] > 0.9
    old.change(growth=2, change=0.5)
    assert old.settings.growth == 2.0
    assert old.split(9000).shares["search"] == pytest.approx(1 / 3)  # 90 is the most it ever got with a result
    assert old.check().exact
    assert old.change(growth=None).growth is None


def test_a_forecast_keeps_to_the_limits(sqlite):
    campaign = begin(sqlite, b=0.5, sigma=1.0, growth=1)
    play(campaign, 2)
    bound, even = campaign.forecast(periods=10, worlds=3, policies=["followtheleader", "uniform"]).policies
    assert bound.earned == pytest.approx(even.earned)  # at 1 no arm gets more than its even share
    campaign.change(growth=None)
    free, even = campaign.forecast(periods=10, worlds=3, policies=["followtheleader", "uniform"]).policies
    assert free.earned > 1.5 * even.earned


def test_a_backtest_keeps_to_the_limits():
    rows = [
        Observation(row, f"day {row // 2}", "ab"[row % 2], 50.0, 50.0 * (1 + row % 2) + row % 3) for row in range(40)
    ]
    law = {"worlds": 3, "b": 0.5, "c": 1, "sigma": 0.1, "reach": None}
    bound, even, _ = backtest(rows, growth=1, policies=["odds", "uniform"], **law).policies
    assert bound.earned == pytest.approx(even.earned)
    slow = backtest(rows, growth=None, change=0.001, policies=["odds"], **law).policies[0]
    free = backtest(rows, growth=None, policies=["odds"], **law).policies[0]
    assert even.earned < slow.earned < free.earned


def test_the_command_line_takes_zero_for_no_limit(sqlite):
    begun = ("new", "ads", "--arms", "a,b", "--budget", "10", "--json", "--db", sqlite)
    assert json.loads(run(*begun, "--growth", "0", "--change", "0").out)["settings"]["growth"] is None
    change = ("settings", "ads", "--json", "--db", sqlite)
    now = json.loads(run(*change, "--growth", "3", "--change", "0.2").out)
    assert (now["growth"], now["change"]) == (3.0, 0.2)
    now = json.loads(run(*change, "--growth", "0", "--unset", "change").out)
    assert (now["growth"], now["change"]) == (None, None)
    assert run(*change, "--growth", "0.5").err == "`growth` must be a number of at least 1; got 0.5.\n"

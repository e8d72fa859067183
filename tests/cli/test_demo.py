"""The demo's seasons: a real campaign each, equal to what the averages are made of, and nothing left behind."""

import json
import os
import re
import tempfile

import numpy as np
import pytest
import typer

import apportion as ap
from apportion.cli import demo
from apportion.model.response import best_value
from apportion.studies.scenarios import HALF_YEAR, SCENARIOS, play_season


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of temporary files, our own; and a home in which no database may appear."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize("scenario", demo.SHOWN, ids=lambda scenario: scenario.title)
def test_a_season_in_the_database_is_the_season_of_the_averages(scenario, folder):
    policy = demo._ours(scenario)[demo._shown(scenario)]
    season, found = demo.play_campaign(scenario, policy, seed=11)
    alone = play_season(scenario, policy, seed=11)
    assert np.array_equal(season.played.amounts, alone.played.amounts)
    assert np.array_equal(season.played.outcomes, alone.played.outcomes, equal_nan=True)
    # By their texts: the return of the next unit is NaN where an arm got nothing.
    assert repr(dict(season.beliefs)) == repr(dict(alone.beliefs))
    assert (found.ok, found.exact, found.tickets) == (True, True, scenario.periods)
    assert found.events == 1 + 2 * scenario.periods  # its creation; then a split and its outcomes every period
    assert os.listdir(folder) == []


def test_the_default_is_what_a_campaign_takes_that_is_told_b_and_sigma(sqlite):
    scenario = SCENARIOS[0]
    campaign = ap.Campaign.create("x", ("a", "b"), budget=1, b=scenario.b, sigma=scenario.sigma, db=sqlite)
    default = demo._ours(scenario)[demo.DEFAULT]
    assert (campaign.settings.policy, campaign.settings.parameters) == (type(default).__name__, default.parameters)


def test_half_a_year_has_bent_returns_and_an_optimum_beside_it(folder, capsys):
    world, played = HALF_YEAR.world, HALF_YEAR.played_evenly
    assert played.expected[0] == pytest.approx(1000 / 6 * sum(HALF_YEAR.rates[0]))  # rates hold at an even share
    reference = (1000 / 6) ** 0.2
    assert played.best[119] == pytest.approx(best_value(HALF_YEAR.means, 0.8, 1000.0) * reference)
    best = ap.Course(world, np.random.default_rng(1)).play([HALF_YEAR.best_split] * 120)
    assert best.expected[-1] == pytest.approx(best.best[-1])
    assert HALF_YEAR.possible == pytest.approx(played.best.sum())
    assert 0.7 < played.expected.sum() / HALF_YEAR.possible < 0.95
    text = str(demo._splits(HALF_YEAR, play_season(HALF_YEAR, ap.Uniform(), 1)).columns[0]._cells)
    assert "'even split', 'optimum, day 120'" in text


def test_each_section_ends_with_a_check(folder, capsys):
    demo.show_demo(seed=3, repeats=1)
    out = " ".join(capsys.readouterr().out.split())
    said = re.findall(r"(\d+) events stored in a throw-away database, rebuilt bit for bit: ok\.", out)
    assert list(map(int, said)) == [1 + 2 * scenario.periods for scenario in demo.SHOWN]
    assert out.count("by day, by apportion (Auto, default)") == 2
    assert out.count("by month, by apportion (Auto, default)") == 1
    assert out.count("by day, by apportion (Odds)") == 1
    assert os.listdir(folder) == []


def test_a_campaign_that_does_not_agree_with_its_events_is_told_with_exit_code_1(folder, capsys, monkeypatch):
    check = ap.Campaign.check

    def spoiled(campaign):
        with campaign._store.writing(campaign._id) as session:
            number, state = session.snapshot(campaign._id)
            session.save_snapshot(campaign._id, number, state.replace('"issued": ', '"issued": 5'))
        return check(campaign)

    monkeypatch.setattr(ap.Campaign, "check", spoiled)
    with pytest.raises(typer.Exit) as stop:
        demo.show_demo(seed=3, repeats=1)
    assert stop.value.exit_code == 1
    assert capsys.readouterr().out.count("does not agree with the events.") == len(demo.SHOWN)


def test_the_demo_for_machines(folder, capsys):
    demo.show_demo(seed=3, repeats=2, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert [each["title"] for each in found] == [scenario.title for scenario in demo.SHOWN]
    for each, scenario in zip(found, demo.SHOWN):
        assert (each["ok"], each["rebuilt"], len(each["splits"])) == (True, True, scenario.periods)
        assert all(sum(split.values()) == pytest.approx(scenario.budget) for split in each["splits"])
        assert each["earned"][0] == {"policy": "knowing the best split", "mean": scenario.possible, "error": None}

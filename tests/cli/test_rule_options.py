"""Rules on the command line: given, shown, replaced, dropped, and refused in one sentence."""

import json

from typer.testing import CliRunner

from apportion.cli.app import app

NEW = ("new", "ads", "--arms", "search,social,video", "--budget", "1000", "--policy", "uniform", "--unit", "EUR")


def told(db, *typed, code=0):
    done = CliRunner().invoke(app, [*typed, "--db", str(db)])
    assert done.exit_code == code, done.output
    return done.output


def test_rules_are_given_replaced_and_dropped(tmp_path):
    db = tmp_path / "campaigns.db"
    told(db, *NEW, "--rule", "social + video at most 40%", "--rule", "video >= 50", "--json")
    split = json.loads(told(db, "split", "ads", "--json"))
    amounts = {arm["arm"]: arm["amount"] for arm in split["arms"]}
    assert amounts["social"] + amounts["video"] <= 400
    assert "limited by social + video ≤ 40%." in split["arms"][1]["reason"]
    now = json.loads(told(db, "settings", "ads", "--rule", "social = video", "--json"))
    assert now["rules"] == ["social = video"]
    assert json.loads(told(db, "settings", "ads", "--budget", "900", "--json"))["rules"] == ["social = video"]
    assert json.loads(told(db, "settings", "ads", "--rule", "", "--json"))["rules"] == []


def test_a_campaign_without_rules_has_an_empty_list(tmp_path):
    made = json.loads(told(tmp_path / "c.db", *NEW, "--json"))
    assert made["settings"]["rules"] == []

"""Bounds in percent or in units: read alike on the command line, in Python, over HTTP and on the pages."""

import json

import pytest
from fastapi.testclient import TestClient

import apportion as ap
from apportion.campaigns.bounds import share_of
from apportion.web.app import create_app
from cli.commands import run

WAYS = {"5%": 0.05, "5 %": 0.05, "12,5%": 0.125, "0.05": 0.05, "250 EUR": 0.05, "250EUR": 0.05, "€ 250": 0.05,
        "250 units": 0.05, "1,250.50 EUR": 0.2501, "0": 0.0, "1": 1.0, "100%": 1.0}  # fmt: skip


@pytest.fixture
def ads(sqlite):
    return ap.Campaign.create("ads", ("a", "b"), budget=5000, unit="EUR", policy="Uniform", seed=1, db=sqlite)


@pytest.mark.parametrize("text", WAYS)
def test_every_way_at_every_door(ads, sqlite, text):
    share = WAYS[text]
    ads.bound_arm("a", text)
    assert ads.arms[0].minimum == pytest.approx(share, abs=1e-15)
    made = ap.Campaign.create("two", ("a", "b"), budget=5000, unit="EUR", minimum={"a": text}, db=sqlite)
    assert made.arms[0].minimum == ads.arms[0].minimum
    done = run("arms", "ads", "bound", "b", "--max", text, "--json", "--db", str(sqlite)) if share else None
    assert done is None or json.loads(done.out)[1]["maximum"] == ads.arms[1].maximum == ads.arms[0].minimum
    line = ("new", "line", "--arms", "a,b", "--budget", "5000", "--unit", "EUR", "--min", f"a={text}")
    assert run(*line, "--json", "--db", str(sqlite)).code == 0
    assert ap.Campaign.open("line", sqlite).arms[0].minimum == ads.arms[0].minimum
    with TestClient(create_app(sqlite), base_url="http://127.0.0.1:8000") as client:
        body = {"name": "sent", "arms": ["a", "b"], "budget": 5000, "unit": "EUR", "minimum": {"a": text}}
        assert client.post("/api/v1/campaigns", json=body).status_code == 201
        changed = client.patch("/api/v1/campaigns/two/arms/a", json={"action": "bound", "minimum": text})
        assert (changed.status_code, made.arms[0].minimum) == (200, ads.arms[0].minimum)
        typed = {"0.05": "5", "0": "0", "1": "100"}.get(text, text)  # on a page a bare number is a percentage
        form = {"arm": "a", "action": "bound", "minimum": typed, "maximum": "100"}
        origin = {"origin": "http://127.0.0.1:8000"}
        assert client.post("/campaigns/sent/arms", data=form, headers=origin).status_code == 200
    assert ap.Campaign.open("sent", sqlite).arms[0].minimum == pytest.approx(share, abs=1e-15)
    assert ads.check().exact


@pytest.mark.parametrize(
    "text", ["", "x", "40", "250 USD", "$ 250", "-5%", "120%", "5 % EUR", "% 5", "1,250 EUR", "5 of"]
)
def test_what_is_no_bound_changes_nothing(ads, sqlite, text):
    version = ads.version
    with pytest.raises(ap.InvalidValue, match="The smallest share of 'a'"):
        ads.bound_arm("a", text)
    refused = run("arms", "ads", "bound", "a", f"--min={text}", "--db", str(sqlite))
    assert (refused.code, refused.out) == (2, "")
    with TestClient(create_app(sqlite), base_url="http://127.0.0.1:8000") as client:
        sent = client.patch("/api/v1/campaigns/ads/arms/a", json={"action": "bound", "minimum": text})
        assert sent.status_code == 422
    assert ads.version == version


def test_an_amount_above_the_budget():
    assert share_of("6000 EUR", "the largest share of 'a'", 5000, "EUR") == 1.0
    with pytest.raises(ap.InvalidValue) as error:
        share_of("6000 EUR", "the smallest share of 'a'", 5000, "EUR")
    assert str(error.value) == "The smallest share of 'a' must be at most the budget of 5,000 EUR; got '6000 EUR'."


def test_bounds_of_a_campaign_without_a_unit_and_of_kits(sqlite):
    plain = ap.Campaign.create("plain", ("a", "b"), budget=400, maximum={"a": "100 units"}, db=sqlite)
    kits = ap.Campaign.create("kits", ("a", "b"), budget=400, unit="kits", pinned={"a": "1 kit"}, db=sqlite)
    assert (plain.arms[0].maximum, kits.arms[0].minimum, kits.arms[0].maximum) == (0.25, 0.0025, 0.0025)
    plain.add_arm("c", "10%", "40 units")
    assert (plain.arms[2].minimum, plain.arms[2].maximum) == (0.1, 0.1)

"""Rules on the page of a campaign and over HTTP: ticking arms, words, what is wrong, and one less."""

import html

import pytest
from fastapi.testclient import TestClient

from apportion.campaigns.campaign import Campaign
from apportion.web.app import create_app

HEADERS = {"accept": "text/html", "Origin": "http://127.0.0.1"}


@pytest.fixture
def ads(sqlite):
    return Campaign.create("ads", ("search", "social", "A+B"), budget=1000, unit="EUR", policy="uniform", db=sqlite)


@pytest.fixture
def client(sqlite, ads):
    with TestClient(create_app(sqlite), base_url="http://127.0.0.1", headers=HEADERS) as found:
        yield found


def shown(answer):
    return html.unescape(answer.text)


def test_a_rule_is_made_by_ticking_arms_and_dropped_again(client, ads):
    form = {"arm": ["social", "A+B"], "kind": "<=", "value": "40 %", "of": "share", "action": "add"}
    page = shown(client.post("/campaigns/ads/rules", data=form))
    assert 'Holds from the next split on: social + "A+B" ≤ 40%.' in page
    assert ads.settings.rules == ('social + "A+B" <= 40%',)
    client.post(
        "/campaigns/ads/rules", data={**form, "arm": ["search"], "kind": ">=", "value": "0.5", "of": "amount"}
    )
    assert ads.settings.rules[1] == "search >= 0.5 EUR"
    client.post("/campaigns/ads/rules", data={**form, "kind": "each", "value": ""})
    assert ads.settings.rules[2] == 'social = "A+B"'
    client.post("/campaigns/ads/rules", data={**form, "kind": "change", "value": "10"})
    assert ads.settings.rules[3] == 'change of social + "A+B" <= 10%'
    split = ads.split()
    assert split.amounts["social"] == split.amounts["A+B"] == 200
    page = shown(client.post("/campaigns/ads/rules", data={"action": "drop", "rule": 'social = "A+B"'}))
    assert 'No longer holds: social = "A+B".' in page
    assert len(ads.settings.rules) == 3


def test_a_rule_in_words_and_what_is_wrong_with_one_stays_typed(client, ads):
    client.post("/campaigns/ads/rules", data={"words": "search at most 50%", "action": "add"})
    assert ads.settings.rules == ("search <= 50%",)
    wrong = client.post("/campaigns/ads/rules", data={"words": "search + radio <= 5%", "action": "add"})
    assert wrong.status_code in (404, 422, 400)
    assert "Rule 'search + radio <= 5%' names 'radio'" in shown(wrong)
    assert 'value="search + radio <= 5%"' in shown(wrong)
    form = {"arm": ["social", "A+B"], "kind": "<=", "value": "20", "of": "share", "action": "add"}
    refused = client.post("/campaigns/ads/rules", data=form)
    assert 'keeps all of these at once: search ≤ 50%; social + "A+B" ≤ 20%' in shown(refused)
    assert 'value="social" checked' in refused.text
    for bad, says in (
        ({**form, "arm": []}, "Tick the arms that the rule is about"),
        ({**form, "value": "140"}, "must be a percentage from 0 to 100"),
        ({**form, "value": ""}, "must be a number such as"),
        ({**form, "kind": "each", "arm": ["social"]}, "at least two"),
        ({**form, "words": "social <= 5%"}, "not both"),
    ):
        assert says in shown(client.post("/campaigns/ads/rules", data=bad))
    assert ads.settings.rules == ("search <= 50%",)


def test_the_settings_form_and_the_wizard_have_them_one_per_line(client, ads, sqlite):
    client.post("/campaigns/ads/settings", data={"rules": "search <= 50%\r\nsocial = A+B"})
    assert ads.settings.rules == ("search <= 50%", 'social = "A+B"')
    assert "Nothing was changed." in shown(
        client.post("/campaigns/ads/settings", data={"rules": 'search <= 50%\r\nsocial = "A+B"'})
    )
    form = {
        "action": "create",
        "name": "new one",
        "budget": "10",
        "choice": "unsure",
        "rules": "a <= 30%\r\nb >= 10%",
    }
    rows = {"arm": ["a", "b"], "minimum": ["", ""], "maximum": ["", ""]}
    assert client.post("/new", data={**form, **rows}).status_code == 200
    assert Campaign.open("new one", sqlite).settings.rules == ("a <= 30%", "b >= 10%")
    client.post("/campaigns/ads/settings", data={"rules": ""})
    assert ads.settings.rules == ()


def test_rules_over_http(client):
    path = "/api/v1/campaigns/ads/settings"
    changed = client.patch(path, json={"rules": ["search <= 50%"]})
    assert changed.json()["rules"] == ["search <= 50%"]
    assert client.patch(path, json={"rules": "search <= 50%"}).status_code == 422
    refused = client.patch(path, json={"rules": ["search <= 10%", "social <= 10%", "A+B <= 10%"]})
    assert 'search ≤ 10%; social ≤ 10%; "A+B" ≤ 10%' in refused.json()["detail"]
    body = {"name": "sent", "arms": ["a", "b"], "budget": 10, "rules": ["a <= 30%"]}
    assert client.post("/api/v1/campaigns", json=body).json()["settings"]["rules"] == ["a <= 30%"]
    assert client.post("/api/v1/campaigns", json={**body, "name": "two", "rules": []}).status_code == 201

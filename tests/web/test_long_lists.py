"""Many campaigns and many arms: searched, added up, a page at a time; no page grows with what it does not show."""

import json
import re

import numpy as np
import pytest
from fastapi.testclient import TestClient

from apportion.campaigns.campaign import Campaign
from apportion.campaigns.cost_of_doubt import expected_regret
from apportion.web.app import create_app
from apportion.web.pages.over_time import ARMS_DRAWN
from apportion.web.pages.paging import ARMS_PER_PAGE
from apportion.web.pages.tickets import PARTS_OF_A_BAR, share_bar

MANY = 300


@pytest.fixture
def db(tmp_path):
    return tmp_path / "campaigns.db"


@pytest.fixture
def client(db):
    headers = {"accept": "text/html", "Origin": "http://127.0.0.1"}
    with TestClient(create_app(db), base_url="http://127.0.0.1", headers=headers) as found:
        yield found


def made(name, db, arms=("a", "b"), **more):
    return Campaign.create(name, arms, budget=100, b=0.75, sigma=4, seed=1, db=db, **more)


def names(page):
    return re.findall(r'data-testid="campaign-row" data-campaign="([^"]*)"', page)


def count(page, name):
    return page.count(f'data-testid="{name}"')


# The list of campaigns


def test_campaigns_are_found_by_words_of_their_name(client, db):
    for name in ("Spring ads", "Autumn ads", "Test kits"):
        made(name, db)
    Campaign.open("Autumn ads", db=db).archive()
    assert names(client.get("/").text) == ["Spring ads", "Test kits"]
    assert names(client.get("/?q=ADS+spring").text) == ["Spring ads"]
    assert names(client.get("/?q=ads&archived=1").text) == ["Autumn ads", "Spring ads"]
    nothing = client.get("/?q=autumn").text
    assert not names(nothing)
    assert "No campaign has “autumn” in its name" in nothing
    assert 'href="/?q=autumn&amp;archived=1"' in nothing
    assert names(client.get("/?q=autumn&archived=1").text) == ["Autumn ads"]
    odd = client.get("/", params={"q": '"><script>x</script>'}).text
    assert "<script>x" not in odd


def test_a_campaign_is_archived_and_taken_out_from_the_list(client, db):
    made("ads", db)
    answer = client.post("/campaigns/ads/archive", data={"back": "list"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    page = client.get("/").text
    assert "All campaigns are archived" in page
    assert count(page, "new-campaign") == 1
    assert count(client.get("/?archived=1").text, "list-unarchive") == 1
    client.post("/campaigns/ads/unarchive", data={"back": "list"})
    assert names(client.get("/").text) == ["ads"]


def test_totals_are_by_unit(client, db):
    for name, unit in (("ads", "EUR"), ("fairs", "EUR"), ("kits", "kits"), ("loose", None)):
        campaign = made(name, db, unit=unit)
        split = campaign.split()
        if name != "fairs":
            campaign.record(split.ticket, {"a": 70, "b": 30}, {"a": 40, "b": 50})
    rows = dict(re.findall(r'data-testid="total-row" data-unit="(.*?)">(.*?)</tr>', client.get("/").text, re.S))
    told = {unit: re.findall(r'data-label="[^"]*">(.*?)</td>', row) for unit, row in rows.items()}
    assert told == {"EUR": ["2", "200", "90", "1"], "kits": ["1", "100", "90", "0"], "": ["1", "100", "90", "0"]}


def test_pages_of_the_list_keep_what_is_looked_for(client, db, monkeypatch):
    monkeypatch.setattr("apportion.web.pages.overview.CAMPAIGNS_PER_PAGE", 2)
    for number in range(5):
        made(f"ads {number}", db)
    made("other", db)
    page = client.get("/?q=ads").text
    assert 'href="/?q=ads&amp;page=2#campaigns"' in page
    assert "In all on this page" in page
    assert names(client.get("/?q=ads&page=3").text) == ["ads 4"]
    assert names(client.get("/?q=ads&page=99999999999999999999").text) == ["ads 0", "ads 1"]


# The arms of a campaign


@pytest.fixture
def many(client, db):
    """A campaign of many arms: one period recorded, one open."""
    campaign = made("many", db, [f"arm {number}" for number in range(MANY)], unit="EUR")
    split = campaign.split(10_000)
    rng = np.random.default_rng(1)
    campaign.record(
        split.ticket, {arm: amount * rng.uniform(0.5, 2) for arm, amount in split.amounts.items() if amount}
    )
    campaign.split(10_000)
    return campaign


def test_a_page_shows_so_many_arms_and_no_more(client, db, many):
    page = client.get("/campaigns/many").text
    for row in ("board-row", "arm-row", "split-row"):
        assert count(page, row) == ARMS_PER_PAGE, row
    assert len(page) < 400_000  # it was 1.2 MB for these, and 40 MB for 10,000
    assert "page 1 of 6, 300 arms" in page
    assert count(client.get("/campaigns/many?board=6").text, "board-row") == MANY - 5 * ARMS_PER_PAGE
    assert 'href="/campaigns/many?board=2&amp;arms=4#arms"' in client.get("/campaigns/many?board=2&arms=3").text


def test_every_arm_is_on_one_page_of_the_leaderboard_the_best_first(client, many):
    seen = []
    for number in range(1, 7):
        page = client.get(f"/campaigns/many?board={number}").text
        seen += re.findall(r'data-testid="board-row" data-arm="([^"]*)"', page)
    beliefs = many.beliefs()
    assert sorted(seen) == sorted(beliefs)
    means = [beliefs[arm].mean for arm in seen]
    assert means == sorted(means, reverse=True)


def test_an_arm_is_found_by_its_name_wherever_arms_are_listed(client, many):
    page = client.get("/campaigns/many?find=arm+299").text
    for row in ("board-row", "arm-row", "split-row"):
        assert re.findall(rf'data-testid="{row}" data-arm="([^"]*)"', page) == ["arm 299"], row
    assert 'value="arm 299"' in page
    ticket = client.get("/campaigns/many/tickets/2?find=299").text
    assert count(ticket, "split-row") == 1


def test_the_outcomes_of_a_long_ticket_are_recorded_page_by_page(client, many):
    for number in range(1, 7):
        page = client.get(f"/campaigns/many/tickets/2?rows={number}").text
        fields = re.findall(r'name="(outcome:[^"]*)"', page)
        assert 0 < len(fields) <= ARMS_PER_PAGE
        action = re.search(r'action="(/campaigns/many/tickets/2/record[^"]*)"', page)[1].replace("&amp;", "&")
        assert many.open_tickets == (2,)
        answer = client.post(action, data={**dict.fromkeys(fields, "30"), "back": "ticket"}, follow_redirects=False)
        assert answer.status_code == 303
    assert many.open_tickets == ()
    refused = client.post("/campaigns/many/tickets/1/amend?rows=6", data={"outcome:arm 3": "no number"})
    assert refused.status_code == 422


def test_bars_and_charts_show_the_largest_and_the_others_as_one(client, many):
    data = json.loads(client.get("/campaigns/many/over-time").text)
    assert len(data["arms"]) == len(data["indices"]) == ARMS_DRAWN
    assert [data["arms"][n] for n in (0, -1)] == [f"arm {data['indices'][n]}" for n in (0, -1)]
    assert data["others"] == f"{MANY - ARMS_DRAWN} other arms"
    for at in range(2):
        assert sum(shares[at] for shares in data["shares"].values()) == pytest.approx(1.0)
    best = max(many.beliefs().values(), key=lambda belief: belief.probability_best)
    assert best.mean in [values["mean"][-1] for values in data["beliefs"].values()]
    amounts = {f"arm {number}": float(number) for number in range(MANY)}
    bar = share_bar(amounts, {name: number for number, name in enumerate(amounts)})
    assert len(bar) == PARTS_OF_A_BAR
    assert bar[-1][:2] == (f"{MANY - PARTS_OF_A_BAR + 1} others", None)
    assert sum(part[2] for part in bar) == pytest.approx(100.0, abs=0.05)


def test_the_cost_of_doubt_of_very_many_arms_is_drawn_in_bounded_room(monkeypatch, many):
    beliefs = many.beliefs()
    amounts = dict.fromkeys(beliefs, 1.0)
    whole = expected_regret(beliefs, amounts)
    monkeypatch.setattr("apportion.campaigns.cost_of_doubt._MOST_NUMBERS", 256 * MANY)
    fewer = expected_regret(beliefs, amounts)
    assert fewer != whole
    assert fewer == pytest.approx(whole, rel=0.05)


def test_a_rule_is_written_in_words_where_there_are_too_many_arms_to_choose_from(client, db):
    arms = [f"arm {index}" for index in range(300)]
    Campaign.create("many", arms, budget=1000, db=db)
    page = client.get("/campaigns/many").text
    assert "300 arms are too many to choose from" in page
    assert '<input type="checkbox" name="arm"' not in page

"""Undo in the dashboard and over HTTP: cancel, undo an import, confirm a slip, rename, archive, copy, delete."""

import re

import pytest
from fastapi.testclient import TestClient
from tests.web.test_pages import post, words

from apportion.campaigns.campaign import Campaign
from apportion.web.app import create_app

ADS = "/api/v1/campaigns/ads"
PAST = b"date,arm,amount,outcome\n2026-01-01,search,60,30\n2026-01-01,radio,40,90\n"


@pytest.fixture
def client(sqlite):
    with TestClient(create_app(sqlite), base_url="http://127.0.0.1:8000") as made:
        yield made


@pytest.fixture
def ads(sqlite):
    made = Campaign.create("ads", ("search", "social"), budget=100, unit="EUR", policy="uniform", seed=7, db=sqlite)
    for back in (30.0, 40.0, 35.0, 33.0, 38.0):
        made.record(made.split().ticket, {"search": back, "social": back + 100.0})
    return made


def test_a_split_is_cancelled_on_its_page(client, ads):
    post(client, "/campaigns/ads/split")
    page = post(client, "/campaigns/ads/split")
    assert "Ticket 6 has no results yet: if this split takes its place, cancel it." in words(page)
    assert "Cancel ticket 6" in page.text
    page = post(client, "/campaigns/ads/tickets/6/cancel")
    assert "Ticket 6 is cancelled: it was not spent." in words(page)
    assert 'data-ticket="6"' in page.text  # in the history
    assert ads.open_tickets == (7,)
    assert "Splits so far 6 and 1 cancelled" in words(page)
    assert "6 splits" in words(client.get("/"))
    found = client.get(ADS).json()
    assert (found["period"], found["cancelled"]) == (7, 1)
    (row,) = client.get("/api/v1/campaigns").json()["campaigns"]
    assert (row["period"], row["cancelled"]) == (7, 1)
    alone = client.get("/campaigns/ads/tickets/6")
    assert "cancelled" in words(alone)
    assert "amend-form" not in alone.text
    post(client, "/campaigns/ads/tickets/7/record", **{"outcome:search": "31"})
    assert "Cancel ticket 7" not in client.get("/campaigns/ads").text
    assert (
        client.post("/campaigns/ads/tickets/7/cancel", headers={"origin": "http://127.0.0.1:8000"}).status_code == 409
    )


def test_a_slip_needs_a_tick(client, ads):
    post(client, "/campaigns/ads/split")
    typed = {"outcome:search": "4000", "outcome:social": "130"}
    page = post(client, "/campaigns/ads/tickets/6/record", **typed)
    assert page.status_code == 409
    assert "Ten times off: 4,000 for 'search', where at most 40 was ever seen. Nothing was changed." in words(page)
    assert "--yes" not in page.text
    assert "These numbers are right" in page.text
    assert 'value="4000"' in page.text
    assert ads.open_tickets == (6,)
    post(client, "/campaigns/ads/tickets/6/record", confirm="1", **typed)
    assert ads.open_tickets == ()
    page = post(client, "/campaigns/ads/tickets/6/amend", **{"outcome:search": "400000"})
    assert (page.status_code, "These numbers are right" in page.text) == (409, True)
    post(client, "/campaigns/ads/tickets/6/amend", **{"outcome:search": "40"})
    assert ads.history(6, 6)[0].outcome == 40.0


def test_an_import_is_undone_on_the_page(client, ads, tmp_path):
    file = tmp_path / "past.csv"
    file.write_bytes(PAST)
    assert "Files that were imported" not in client.get("/campaigns/ads").text
    ads.import_history(file, add_arms=True)
    page = client.get("/campaigns/ads")
    event = re.search(r'data-testid="import-row" data-event="(\d+)"', page.text)[1]
    page = post(client, f"/campaigns/ads/imports/{event}/undo")
    assert "The import of past.csv is undone. radio went with it." in words(page)
    assert "undone" in words(page)
    assert ads.status().spent == 500.0


def test_a_campaign_is_renamed_archived_copied_and_deleted_on_its_page(client, ads):
    Campaign.create("taken", ("a", "b"), budget=1, db=ads._store.url.database)
    refused = post(client, "/campaigns/ads/rename", name="taken")
    assert (refused.status_code, "Campaign 'taken' is there already" in words(refused)) == (409, True)
    page = post(client, "/campaigns/ads/rename", name="ads 2026")
    assert "Renamed: ads is ads 2026 now." in words(page)
    assert client.get("/campaigns/ads", headers={"accept": "text/html"}).status_code == 404
    path = "/campaigns/ads%202026"
    page = post(client, f"{path}/archive")
    assert "This campaign is archived" in words(page)
    assert 'data-testid="ask"' not in page.text
    listed = client.get("/")
    assert "ads 2026" not in listed.text
    assert "Show 1 archived" in words(listed)
    assert "ads 2026" in client.get("/?archived=1").text
    assert "ads 2026 is in use again." in words(post(client, f"{path}/unarchive"))
    page = post(client, f"{path}/clone", name="spring", fresh="1")
    assert "This is the copy of ads 2026" in words(page)
    assert client.get("/api/v1/campaigns/spring").json()["period"] == 0
    page = post(client, "/campaigns/spring/delete", confirm="sprin")
    assert page.status_code == 422
    assert "must be the name of the campaign to delete, 'spring'" in words(page)
    assert "Export everything (JSON)" in words(page)
    page = post(client, "/campaigns/spring/delete", confirm="spring")
    assert "spring is deleted." in words(page)
    assert client.get("/campaigns/spring", headers={"accept": "text/html"}).status_code == 404


def test_another_program_renames_and_deletes_while_the_service_runs(client, ads, sqlite):
    assert client.get(ADS).status_code == 200
    other = Campaign.open("ads", sqlite)
    other.rename("ads 2")
    client.get(ADS)
    assert client.get(ADS).status_code == 404
    assert client.get("/api/v1/campaigns/ads%202").json()["campaign"] == "ads 2"
    new = Campaign.create("ads", ("x", "y"), budget=7, db=sqlite)
    assert client.get(ADS).json()["settings"]["budget"] == 7
    new.delete("ads")
    assert client.get(ADS).status_code == 404
    Campaign.create("ads", ("x", "y"), budget=8, db=sqlite)
    assert client.get(ADS).json()["settings"]["budget"] == 8


def test_over_http(client, ads):
    refused = client.post(f"{ADS}/splits/1/cancel")
    assert (refused.status_code, refused.json()["error"]) == (409, "Conflict")
    ticket = client.post(f"{ADS}/splits").json()["ticket"]
    assert client.post(f"{ADS}/splits").json()["unspent"] == [ticket]
    assert client.post(f"{ADS}/splits/{ticket}/cancel").json()["open"] is False
    slip = client.post(f"{ADS}/splits/7/outcomes", json={"outcomes": {"search": 4000}})
    assert (slip.status_code, slip.json()["error"]) == (409, "Unconfirmed")
    assert client.get(ADS).json()["events"] == 14
    body = {"outcomes": {"search": 4000}, "confirm": True}
    assert client.post(f"{ADS}/splits/7/outcomes", json=body).status_code == 200
    client.post(f"{ADS}/import?add_arms=true&file=past.csv", content=PAST, headers={"content-type": "text/csv"})
    (made,) = client.get(f"{ADS}/imports").json()["imports"]
    undone = client.post(f"{ADS}/imports/{made['event']}/undo").json()
    assert (undone["file"], undone["arms_removed"]) == ("past.csv", ["radio"])
    assert client.post(f"{ADS}/imports/undo").status_code == 409
    key = {"idempotency-key": "rename"}
    for _ in range(2):  # sent again, it is done once, although nothing is found under the old name any more
        renamed = client.post(f"{ADS}/rename", json={"name": "ads 2"}, headers=key)
        assert (renamed.status_code, renamed.json()["campaign"]) == (200, "ads 2")
    two = "/api/v1/campaigns/ads%202"
    assert client.post(f"{two}/clone", json={"name": "copy"}).status_code == 201
    assert client.post(f"{two}/archive").json()["archived"] is True
    assert [row["campaign"] for row in client.get("/api/v1/campaigns").json()["campaigns"]] == ["copy"]
    both = client.get("/api/v1/campaigns?archived=true").json()["campaigns"]
    assert [(row["campaign"], row["archived"]) for row in both] == [("ads 2", True), ("copy", False)]
    assert client.post(f"{two}/splits").status_code == 409
    assert client.post(f"{two}/unarchive").json()["archived"] is False
    assert client.delete(f"{two}?confirm=ads").status_code == 422
    assert client.delete(f"{two}?confirm=ads%202").json()["campaign"] == "ads 2"
    assert client.get(two).status_code == 404

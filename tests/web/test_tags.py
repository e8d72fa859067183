"""ETags that name a state of one campaign, writes that expect it, streams that end, memory that does not grow."""

import gc
import json
import os
import threading

import pytest
from running import PATIENCE, Service
from starlette.testclient import TestClient

import apportion as ap
from apportion.campaigns.storage import database
from apportion.campaigns.storage import store as stores
from apportion.web import shared
from apportion.web.app import create_app

ADS = "/api/v1/campaigns/ads"
NEW = {"name": "ads", "arms": ["a", "b"], "budget": 10, "seed": 1}


def test_another_campaign_of_the_same_name_has_another_tag(client, sqlite):
    client.post("/api/v1/campaigns", json=NEW)
    first, listed = client.get(ADS), client.get("/api/v1/campaigns")
    ap.Campaign.open("ads", db=sqlite).delete("ads")
    client.post("/api/v1/campaigns", json={**NEW, "budget": 20})
    again = client.get(ADS, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.json()["settings"]["budget"]) == (200, 20)
    rows = client.get("/api/v1/campaigns", headers={"If-None-Match": listed.headers["etag"]}).json()["campaigns"]
    assert rows[0]["budget"] == 20
    assert client.get(ADS, headers={"If-None-Match": again.headers["etag"]}).status_code == 304


def test_a_write_that_expects_what_is_no_more_is_refused(client):
    client.post("/api/v1/campaigns", json=NEW)
    tag = client.get(ADS).headers["etag"]
    assert client.post(f"{ADS}/splits", headers={"If-Match": tag, "Idempotency-Key": "k"}).status_code == 201
    before = client.get(ADS).headers["etag"]
    for method, where, body in (
        ("POST", f"{ADS}/splits", {}),
        ("PATCH", f"{ADS}/settings", {"budget": 11}),
        ("POST", f"{ADS}/splits/1/outcomes", {"outcomes": {"a": 1.0}}),
        ("POST", f"{ADS}/clone", {"name": "copy"}),
    ):
        answer = client.request(method, where, json=body, headers={"If-Match": tag})
        assert (answer.status_code, answer.json()["error"]) == (412, "ChangedSince")
    assert client.get(ADS).headers["etag"] == before
    assert client.get(ADS).json()["settings"]["budget"] == 10
    assert client.get("/api/v1/campaigns/copy").status_code == 404
    for form in ("{}", "*", '"other", {}'):
        before = client.get(ADS).headers["etag"]
        assert client.post(f"{ADS}/splits", headers={"If-Match": form.format(before)}).status_code == 201
    done = client.post(f"{ADS}/splits", headers={"If-Match": tag, "Idempotency-Key": "k"})
    assert done.json()["ticket"] == 1  # it was done when that was so
    for expected in (client.get(ADS).headers["etag"], tag):  # and so is a copy that is asked for again
        copied = client.post(
            f"{ADS}/clone", json={"name": "copy"}, headers={"If-Match": expected, "Idempotency-Key": "c"}
        )
        assert (copied.status_code, copied.json()["campaign"]) == (201, "copy")


@pytest.mark.parametrize("seed", [2**53 + 1, 2**63])
def test_seeds_that_not_every_reader_keeps_are_refused(client, sqlite, seed):
    assert client.post("/api/v1/campaigns", json={**NEW, "seed": seed}).status_code == 422
    with pytest.raises(ap.InvalidValue, match="seed"):
        ap.Campaign.create("x", ("a", "b"), budget=1, seed=seed, db=sqlite)
    assert ap.Campaign.create("y", ("a", "b"), budget=1, db=sqlite).settings.seed < 2**53


def test_a_stream_ends_with_its_token(sqlite):
    from apportion.campaigns.storage.tokens import Tokens

    ap.Campaign.create("ads", ("a", "b"), budget=1, db=sqlite)
    tokens = Tokens(sqlite)
    secret = tokens.create("anna", scope="read")
    running = Service(sqlite)
    try:
        running.ask("/healthz")  # it may still be starting
        ended = threading.Event()

        def follow():
            assert b"event: version" in running.ask(f"{ADS}/stream", Authorization=f"Bearer {secret}")[2]
            ended.set()

        thread = threading.Thread(target=follow)
        thread.start()
        assert not ended.wait(2.5)
        tokens.revoke("anna")
        assert ended.wait(PATIENCE)
        thread.join()
    finally:
        running.end()


def test_what_a_server_holds_of_campaigns_is_bounded(sqlite, monkeypatch):
    monkeypatch.setattr(shared, "MOST_REMEMBERED", 5)
    monkeypatch.setattr(stores, "MOST_SHARED", 5)
    for number in range(12):
        ap.Campaign.create(f"c{number}", ("a", "b"), budget=1, db=sqlite)
    app = create_app(sqlite)
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as client:
        for _ in range(2):
            assert len(client.get("/api/v1/campaigns").json()["campaigns"]) == 12
            for number in range(12):
                assert client.post(f"/api/v1/campaigns/c{number}/splits").status_code == 201
    assert len(app.state.summaries) <= 5
    assert len(stores.open_store(sqlite).shared) <= 5


def test_campaigns_in_use_stay_in_memory_while_others_pass(sqlite, monkeypatch):
    """Whatever is held, the one goes that was used longest ago, not the one that came first."""
    monkeypatch.setattr(stores, "MOST_SHARED", 3)
    campaigns = [ap.Campaign.create(f"c{n}", ("a", "b"), budget=1, b=0.75, sigma=1, db=sqlite) for n in range(8)]
    busy = campaigns[0].transactions.shared
    for other in campaigns[1:]:
        assert other.period == 0
        assert campaigns[0].period == 0
    assert campaigns[0].transactions.shared is busy
    assert busy.state is not None


def test_databases_that_nobody_uses_are_closed(tmp_path):
    files = [tmp_path / f"{number}.db" for number in range(stores.STORES_KEPT + 8)]
    kept = ap.Campaign.create("kept", ("a", "b"), budget=1, db=tmp_path / "kept.db")
    for file in files:
        ap.Campaign.create("ads", ("a", "b"), budget=1, db=file)
    gc.collect()
    mine = [name for name in database._engines if str(tmp_path) in name]
    assert len(mine) <= stores.STORES_KEPT + 1
    open_files = [os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if each.isdigit()
                  and os.path.islink(f"/proc/self/fd/{each}")]  # fmt: skip
    assert not any(f"{files[0]}" in name for name in open_files)
    assert kept.split().ticket == 1
    assert json.dumps(ap.Campaign.names(files[0])) == '["ads"]'

"""Who did it, over HTTP: events carry the token's name and the id of the request; so does the log."""

import logging

ADS = "/api/v1/campaigns/ads"


def test_events_carry_the_token_and_the_request(guarded):
    made = guarded.writer.post(
        "/api/v1/campaigns", json={"name": "ads", "arms": ["a", "b"], "budget": 10}, headers={"X-Request-ID": "r-1"}
    )
    assert made.headers["x-request-id"] == "r-1"
    split = guarded.writer.post(f"{ADS}/splits", json={}, headers={"X-Request-ID": "not plain: <b>"})
    given = split.headers["x-request-id"]
    assert given != "not plain: <b>"
    events = guarded.reader.get(f"{ADS}/events").json()["events"]
    who = "token writeer"
    assert [(event["actor"], event["request"]) for event in events] == [(who, "r-1"), (who, given)]
    assert {line["by"] for line in guarded.reader.get(f"{ADS}/history").json()["lines"]} == {who}


def test_a_browser_without_tokens_is_local(client):
    client.post("/api/v1/campaigns", json={"name": "ads", "arms": ["a", "b"], "budget": 10})
    assert client.get(f"{ADS}/events").json()["events"][0]["actor"] == "local"


def test_the_log_has_the_address_and_the_request(client, caplog):
    with caplog.at_level(logging.INFO, logger="apportion.requests"):
        client.get("/healthz", headers={"X-Request-ID": "r-2"})
    (record,) = [record for record in caplog.records if record.name == "apportion.requests"]
    assert record.fields["request"] == "r-2"
    assert record.fields["client"] == "127.0.0.1"

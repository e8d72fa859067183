"""The API: what the command line does, with the same sentences; keys, tags, pages, files, live updates."""

import json
import threading
import urllib.request

import pytest
from running import PATIENCE, Service

from apportion.campaigns.campaign import Campaign
from apportion.campaigns.files import export_json

ADS = "/api/v1/campaigns/ads"
HISTORY = "date,arm,amount,outcome\n2026-01-01,search,10,5\n2026-01-01,social,20,7\n2026-01-02,search,30,no data\n"
AS_CSV = {"Content-Type": "text/csv"}


def problem(answer, status, kind):
    """The sentence of a refusal, after a look at its shape."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json()
    assert content["type"] == f"/api/reference#{kind}"
    assert content["status"] == status
    assert content["title"]
    return content["detail"]


# Verbs


def test_a_campaign_from_its_beginning_to_a_correction(ads, sqlite):
    split = ads.post(f"{ADS}/splits", json={"budget": 6000}).json()
    assert split["ticket"] == 3
    assert sum(arm["amount"] for arm in split["arms"]) == 6000
    assert all(arm["reason"] for arm in split["arms"])
    told = ads.post(f"{ADS}/splits/3/outcomes", json={"outcomes": {"search": 900.0}, "amounts": {"search": 2900.0}})
    assert told.json() == {"campaign": "ads", "ticket": 3, "open": True, "open_tickets": 2}
    assert ads.post(f"{ADS}/splits/3/outcomes", json={"outcomes": {"social": None}}).json()["open"] is False
    assert ads.patch(f"{ADS}/splits/3/outcomes", json={"outcomes": {"search": 950.0}}).status_code == 200
    assert ads.post(f"{ADS}/splits/2/close").json()["open_tickets"] == 0
    lines = {(line["ticket"], line["arm"]): line for line in ads.get(f"{ADS}/history").json()["lines"]}
    assert lines[3, "search"]["outcome"] == 950.0
    assert lines[3, "search"]["corrections"][0]["outcome"] == 900.0
    assert lines[2, "search"]["state"] == "no data"
    assert ads.get(f"{ADS}/splits/3").json()["arms"] == split["arms"]
    # The same database, seen by the library.
    campaign = Campaign.open("ads", sqlite)
    assert campaign.period == 3
    assert campaign.check().ok
    assert ads.get(f"{ADS}/check").json()["ok"] is True
    assert ads.post(f"{ADS}/repair").json()["ok"] is True


def test_returns_that_diminish_and_a_noise_level_per_arm(ads, sqlite):
    body = {"name": "bent", "arms": ["search", "social"], "budget": 100, "seed": 7, "b": 0.5, "c": 0.6,
            "sigma": {"social": 1, "search": 4.5}, "policy": "recommended"}  # fmt: skip
    made = ads.post("/api/v1/campaigns", json=body).json()
    assert (made["settings"]["c"], made["settings"]["sigma"]) == (0.6, {"search": 4.5, "social": 1})
    where = "/api/v1/campaigns/bent"
    first = ads.post(f"{where}/splits").json()
    assert (first["c"], first["sigma"], first["arms"][0]["marginal"]) == (0.6, {"search": 4.5, "social": 1}, None)
    ads.post(f"{where}/splits/1/outcomes", json={"outcomes": {"search": 60.0, "social": 20.0}})
    (search, _) = ads.get(f"{where}/beliefs").json()["arms"]
    assert search["marginal"] == Campaign.open("bent", sqlite).beliefs()["search"].marginal
    refusals = {
        "got none for 'social'": {"sigma": {"search": 1}},
        "`sigma of 'social'` must be a number above 0; got 'x'.": {"sigma": {"search": 1, "social": "x"}},
        "`sigma` names 'radio', which is not one": {"sigma": {"search": 1, "social": 1, "radio": 1}},
        "`sigma` must be a number above 0; got [1, 2].": {"sigma": [1, 2]},
        "`c` must be a number in (0, 1]; got 0.": {"c": 0},
        "(Recommended, Matching and Thompson know others); got 0.6.": {"policy": "odds"},
    }
    for sentence, change in refusals.items():
        answer = ads.patch(f"{where}/settings", json=change)
        assert sentence in problem(answer, 404 if "names" in sentence else 422, answer.json()["type"].split("#")[1])
    assert "`sigma` must be given for 'radio'" in problem(
        ads.post(f"{where}/arms", json={"name": "radio"}), 422, "invalid-value"
    )
    assert ads.get(where).json()["events"] == 3
    assert ads.post(f"{where}/arms", json={"name": "radio", "sigma": 2}).status_code == 201
    assert ads.get(f"{where}/settings").json()["sigma"] == {"search": 4.5, "social": 1, "radio": 2}
    assert ads.get(f"{where}/forecast?periods=2&worlds=2").json()["c"] == 0.6


def test_a_status_says_what_the_library_says(ads, sqlite):
    status, expected = ads.get(ADS).json(), Campaign.open("ads", sqlite).status()
    assert status["leader"] == expected.leader == "search"
    assert status["expected_regret_per_period"] == expected.expected_regret
    assert status["arms"][0]["mean"] == expected.arms[0].belief.mean
    assert status["open_tickets"] == [2]
    assert status["events"] == expected.version
    (row,) = ads.get("/api/v1/campaigns").json()["campaigns"]
    assert (row["campaign"], row["leader"], row["open_tickets"]) == ("ads", "search", 1)


def test_what_is_not_known_is_null(client):
    answer = client.post("/api/v1/campaigns", json={"name": "new", "arms": ["a", "b"], "budget": 1, "policy": "odds"})
    assert answer.status_code == 201
    assert answer.headers["location"] == "/api/v1/campaigns/new"
    assert answer.json()["arms"][0]["mean"] is None
    assert answer.json()["expected_regret_per_period"] is None
    assert "were assumed" in answer.json()["notes"][0]


def test_arms_are_added_bounded_paused_removed_and_brought_back(ads):
    added = ads.post(f"{ADS}/arms", json={"name": "TV / radio", "minimum": 0.1})
    assert added.status_code == 201
    where = added.headers["location"]
    assert where == f"{ADS}/arms/TV%20%2F%20radio"
    assert ads.patch(where, json={"action": "pause"}).json()["state"] == "paused"
    assert ads.patch(where, json={"action": "resume"}).json()["state"] == "active"
    assert ads.patch(where, json={"action": "bound", "maximum": 0.2}).json()["maximum"] == 0.2
    assert ads.delete(where).json()["state"] == "removed"
    assert ads.post(f"{ADS}/arms", json={"name": "TV / radio"}).json()["state"] == "active"
    sentence = problem(ads.patch(where, json={"action": "pause", "minimum": 0.1}), 422, "invalid-value")
    assert sentence == "`minimum` and `maximum` go with bound, not with pause."
    assert [arm["name"] for arm in ads.get(f"{ADS}/arms").json()["arms"]] == ["search", "social", "TV / radio"]


def test_settings_change_and_what_is_left_out_stays(ads):
    before = ads.get(f"{ADS}/settings").json()
    after = ads.patch(f"{ADS}/settings", json={"budget": 6000, "half_life": 10}).json()
    assert after == {**before, "budget": 6000.0, "half_life": 10.0}
    assert ads.patch(f"{ADS}/settings", json={"half_life": None}).json()["half_life"] is None
    assert ads.patch(f"{ADS}/settings", json={}).json()["budget"] == 6000.0


def test_beliefs_now_then_and_over_time(ads):
    now = ads.get(f"{ADS}/beliefs").json()
    assert now["leader"] == "search"
    assert [arm["arm"] for arm in now["arms"]] == ["search", "social"]
    assert ads.get(f"{ADS}/beliefs", params={"at": 1}).json()["leader"] is None
    moments = ads.get(f"{ADS}/beliefs/over-time").json()["moments"]
    assert moments[-1] == {"period": 2, **{part: now[part] for part in now if part != "campaign"}}
    assert (now["sigma"], now["level"], now["minimise"]) == (40.0, 0.95, False)
    assert (now["learned"]["sigma_given"], now["learned"]["b"], now["learned"]["learns_motion"]) == (True, 0.75, True)


def test_beliefs_and_splits_stand_on_what_held_in_their_time(ads):
    given = ads.post(f"{ADS}/splits").json()
    assert (given["sigma"], given["level"]) == (40.0, 0.95)
    events = ads.get(ADS).json()["events"]
    ads.patch(f"{ADS}/settings", json={"sigma": 30, "level": 0.9})
    assert ads.get(f"{ADS}/splits/3").json() == given
    then, now = (ads.get(f"{ADS}/beliefs", params=asked).json() for asked in ({"at": events}, {}))
    assert (then["sigma"], then["level"], now["sigma"], now["level"]) == (40.0, 0.95, 30.0, 0.9)
    assert ads.get(f"{ADS}/beliefs/over-time").json()["moments"][0]["level"] == 0.95


def test_without_b_and_sigma_they_are_learned_and_every_answer_says_what(client, sqlite):
    begun = client.post(
        "/api/v1/campaigns", json={"name": "ads", "arms": ["a", "b"], "budget": 100, "seed": 1}
    ).json()
    assert (begun["settings"]["policy"], begun["settings"]["assumed"]) == ("Auto", ["b", "sigma"])
    assert begun["learned"]["sigma"] is None
    assert begun["notes"][0] == begun["learned"]["sentence"]
    assert begun["learned"]["sentence"].startswith("Nothing is known of the noise yet")
    for outcomes in ({"a": 60.0, "b": 30.0}, {"a": 55.0, "b": 41.0}, {"a": 70.0, "b": 35.0}):
        given = client.post(f"{ADS}/splits").json()
        client.post(f"{ADS}/splits/{given['ticket']}/outcomes", json={"outcomes": outcomes})
    campaign = Campaign.open("ads", sqlite)
    expected = campaign.beliefs().learned
    status, held = client.get(ADS).json(), client.get(f"{ADS}/beliefs").json()
    assert status["learned"] == {**expected._asdict(), "sentence": expected.sentence} == held["learned"]
    assert held["sigma"] == status["sigma"] == campaign.beliefs().sigma
    assert status["settings"]["sigma"] == expected.sigma
    assert expected.sentence in status["notes"]
    moments = client.get(f"{ADS}/beliefs/over-time").json()["moments"]
    assert moments[-1]["learned"] == held["learned"] != moments[0]["learned"]
    again = client.get(f"{ADS}/splits/{given['ticket']}").json()
    assert again == given
    assert given["note"].endswith(given["learned"]["sentence"])
    assert given["learned"]["b"] == campaign.explain(given["ticket"]).beliefs.learned.b
    # What is known is told, and taken back again.
    known = client.patch(f"{ADS}/settings", json={"b": 0.75, "sigma": 4}).json()
    assert (known["b"], known["sigma"], known["assumed"]) == (0.75, 4.0, [])
    assert client.get(ADS).json()["learned"]["sigma_given"]
    forgotten = client.patch(f"{ADS}/settings", json={"b": None, "sigma": None}).json()
    assert forgotten["assumed"] == ["b", "sigma"]
    assert client.get(ADS).json()["learned"] == status["learned"]
    assert client.patch(f"{ADS}/settings", json={"policy": "uniform"}).json()["sigma"] is None
    assert client.get(ADS).json()["notes"][0].startswith("b = 0.5 was assumed")
    assert client.get(f"{ADS}/check").json()["ok"] is True


def test_a_policy_comes_by_name_or_with_its_parameters(ads):
    odds = {"name": "odds", "parameters": {"b": 0.6, "floor": 0.01}}
    body = {"name": "own", "arms": ["a", "b"], "budget": 1, "policy": odds}
    made = ads.post("/api/v1/campaigns", json=body).json()["settings"]
    assert (made["policy"], made["parameters"]["floor"], made["b"]) == ("Odds", 0.01, 0.6)
    changed = ads.patch(f"{ADS}/settings", json={"policy": {"name": "Uniform"}}).json()
    assert (changed["policy"], changed["parameters"]) == ("Uniform", {})
    window = ads.patch(f"{ADS}/settings", json={"window": 5, "robust": True}).json()
    assert (window["window"], window["robust"]) == (5, True)
    assert ads.post("/api/v1/campaigns", json={**body, "name": "w", "window": 3, "robust": True}).status_code == 201
    before = ads.get(ADS).json()
    for policy, status, kind, sentence in (
        ("nonsense", 404, "unknown-name", "Policy 'nonsense' is not known; known are "),
        ({"name": "nonsense"}, 404, "unknown-name", "Policy 'nonsense' is not known; known are "),
        ({"name": "Odds", "parameters": {"colour": 1}}, 422, "invalid-value",
         "Policy Odds does not take these parameters: {'colour': 1}."),
        ({"name": "Odds", "parameters": {"b": 7}}, 422, "invalid-value", "`b` must be a number in [0, 1]; got 7."),
        ({"name": "Odds", "parameters": {"b": {}}}, 422, "invalid-value", "`b` must be a number in [0, 1]; got {}."),
        ({"name": "Odds", "parameters": [1]}, 422, "invalid-value", "`policy` must be a name, or an object"),
        ({"name": "Odds", "b": 1}, 422, "invalid-value", "`policy` must be a name, or an object"),
        ({"parameters": {}}, 422, "invalid-value", "`policy` must be a name, or an object"),
        (7, 422, "invalid-value", "`policy` must be a policy or the name of one; got 7."),
        (None, 422, "invalid-value", "`policy` must be a policy or the name of one; got None."),
    ):  # fmt: skip
        assert problem(ads.patch(f"{ADS}/settings", json={"policy": policy}), status, kind).startswith(sentence)
        refused = ads.post("/api/v1/campaigns", json={**body, "name": "no", "policy": policy})
        assert problem(refused, status, kind).startswith(sentence)
    assert ads.get(ADS).json() == before
    assert ads.get("/api/v1/campaigns/no").status_code == 404


def test_a_forecast_is_the_same_for_the_same_seed_and_refuses_what_takes_too_long(ads):
    asked = {"periods": 3, "worlds": 4, "policies": "odds,uniform", "seed": 5}
    found = ads.get(f"{ADS}/forecast", params=asked).json()
    assert [row["policy"] for row in found["prospects"]] == ["odds", "uniform"]
    assert ads.get(f"{ADS}/forecast", params=asked).json() == found
    sentence = problem(ads.get(f"{ADS}/forecast", params={"periods": 1000, "worlds": 1000}), 422, "invalid-value")
    assert sentence == "`periods × worlds × policies` must be at most 10,000; got 2000000."


def test_a_plan_answers_what_is_asked(ads):
    found = ads.get(f"{ADS}/plan", params={"budget": 200, "target": 0.5, "goal": 30}).json()
    assert (found["budget"], found["target"]["asked"], found["goal"]["asked"]) == (200, 0.5, 30)
    assert sum(arm["amount"] for arm in found["arms"]) == pytest.approx(200)
    assert found["sentences"]
    sentence = problem(ads.get(f"{ADS}/plan", params={"goal": -1}), 422, "invalid-value")
    assert sentence == "`goal` must be a number above 0; got -1.0."


def test_a_forecast_is_kept_once_and_held_against_what_comes(ads):
    body = {"budgets": [{"date": "2027-01-04", "budget": 100}, {"date": "2027-01-11", "budget": 50}], "worlds": 2}
    events = ads.get(ADS).json()["events"]
    made = ads.post(f"{ADS}/forecasts", json=body, headers={"Idempotency-Key": "january"})
    assert made.status_code == 201
    assert ads.post(f"{ADS}/forecasts", json=body, headers={"Idempotency-Key": "january"}).json() == made.json()
    assert ads.get(ADS).json()["events"] == events + 1
    assert [period["date"] for period in made.json()["calendar"]] == ["2027-01-04", "2027-01-11"]
    (past,) = ads.get(f"{ADS}/forecasts").json()["forecasts"]
    assert [(period["state"], period["inside"]) for period in past["periods"]] == [("waiting", None)] * 2
    sentence = problem(ads.post(f"{ADS}/forecasts", json={**body, "periods": 3}), 422, "invalid-value")
    assert sentence == "`periods` must be left out where `budgets` says how many there are; got 3."


# Refusals


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind", "sentence"),
    [
        ("GET", "/api/v1/campaigns/adds", None, 404, "unknown-name", "Campaign 'adds' is not known; there are: ads."),
        ("POST", "/api/v1/campaigns", {"name": "ads", "arms": ["a"], "budget": 1, "b": 0.5}, 409, "conflict",
         "Campaign 'ads' is there already; choose another name."),
        ("POST", "/api/v1/campaigns", {"name": "x", "arms": ["a", "b"], "budget": 1, "b": 1.3}, 422, "invalid-value",
         "`b` must be a number in [0, 1]; got 1.3."),
        ("POST", "/api/v1/campaigns", {"name": "x", "arms": ["a"]}, 422, "invalid-value", "`budget` must be given."),
        ("POST", "/api/v1/campaigns", {"name": "x", "arms": "ab", "budget": 1}, 422, "invalid-value",
         "`arms` must be a list; got 'ab'."),
        ("POST", "/api/v1/campaigns", {"name": "x", "arms": ["a"], "budget": 1, "colour": 2}, 422, "invalid-value",
         "`colour` is not known here; leave it out."),
        ("POST", "/api/v1/campaigns",
         {"name": "x", "arms": ["a", "b"], "budget": 1, "minimum": {"a": 0.7, "b": 0.7}}, 422, "infeasible", None),
        ("POST", f"{ADS}/splits", {"budget": "much"}, 422, "invalid-value", "`budget` must be a number; got 'much'."),
        ("POST", f"{ADS}/splits", {"budget": -3}, 422, "invalid-value",
         "`budget` must be a number above 0; got -3."),
        ("POST", f"{ADS}/splits/9/outcomes", {"outcomes": {"search": 1}}, 404, "unknown-name",
         "Ticket 9 is not known; there are 1 to 2 (open: 2)."),
        ("POST", f"{ADS}/splits/two/outcomes", {"outcomes": {"search": 1}}, 422, "invalid-value",
         "`ticket` must be a whole number; got 'two'."),
        ("POST", f"{ADS}/splits/1/outcomes", {"outcomes": {"search": 1}}, 409, "conflict",
         "Ticket 1 already has an outcome of 812 from an amount of 2,500 for 'search'; use `amend` to correct it."),
        ("POST", f"{ADS}/splits/2/outcomes", {"outcomes": {"search": "x"}}, 422, "invalid-value",
         "`outcome of 'search'` must be a number; got 'x'."),
        ("PATCH", f"{ADS}/arms/search", {"action": "fly"}, 422, "invalid-value",
         "`action` must be one of 'pause', 'resume', 'bound'; got 'fly'."),
        ("GET", f"{ADS}/history?limit=0", None, 422, "invalid-value",
         "`limit` must be a number of at least 1; got '0'."),
        ("GET", "/api/v1/nothing", None, 404, "not-found",
         "There is nothing at '/api/v1/nothing'; the API is described at /api/reference."),
        ("PUT", f"{ADS}/settings", {}, 405, "method-not-allowed",
         "Method PUT is not allowed here; allowed: GET, PATCH."),
    ],
)  # fmt: skip
def test_every_refusal_is_one_sentence_in_one_shape_and_changes_nothing(
    ads, method, path, body, status, kind, sentence
):
    before = ads.get(ADS).json()
    said = problem(ads.request(method, path, json=body), status, kind)
    assert sentence is None or said == sentence
    assert ads.get(ADS).json() == before


def test_what_is_no_json_is_refused(ads):
    sentence = problem(
        ads.post(f"{ADS}/splits", content="{bad", headers={"Content-Type": "application/json"}), 400, "bad-request"
    )
    assert sentence.startswith("The body is not JSON: ")
    sentence = problem(ads.post("/api/v1/campaigns", content="{}", headers={"Content-Type": "text/plain"}), 415,
                       "unsupported-media-type")  # fmt: skip
    assert sentence == "The body must be JSON, sent with `Content-Type: application/json`; got text/plain."
    nan = ads.post(f"{ADS}/splits", content='{"budget": NaN}', headers={"Content-Type": "application/json"})
    assert problem(nan, 422, "invalid-value") == "`budget` must be a number above 0; got nan."


def test_all_faults_of_a_request_are_listed(client):
    answer = client.post("/api/v1/campaigns", json={"name": 1, "arms": ["a", 2], "budget": True})
    pointers = [fault["pointer"] for fault in answer.json()["errors"]]
    assert pointers == ["/name", "/arms/1", "/budget"]
    assert answer.json()["error"] == "InvalidValue"


# Twice is once


def test_a_write_with_a_key_is_done_once_and_answers_the_same(ads):
    key = {"Idempotency-Key": "monday"}
    first, again = (ads.post(f"{ADS}/splits", headers=key) for _ in range(2))
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert ads.get(ADS).json()["period"] == 3
    sentence = problem(ads.post(f"{ADS}/arms", json={"name": "tv"}, headers=key), 409, "conflict")
    assert sentence == "The key 'monday' was used before for something else."
    body, key = {"name": "shop", "arms": ["a", "b"], "budget": 10, "b": 0.5}, {"Idempotency-Key": "begin"}
    made, again = (ads.post("/api/v1/campaigns", json=body, headers=key) for _ in range(2))
    assert made.json() == again.json()
    assert again.status_code == 201
    assert ads.post("/api/v1/campaigns", json=body, headers={"Idempotency-Key": "other"}).status_code == 409
    for send in (
        lambda: ads.post(f"{ADS}/splits/2/outcomes", json={"outcomes": {"search": 5.0}},
                         headers={"Idempotency-Key": "1"}),
        lambda: ads.patch(f"{ADS}/splits/2/outcomes", json={"outcomes": {"search": 6.0}},
                          headers={"Idempotency-Key": "2"}),
        lambda: ads.post(f"{ADS}/arms", json={"name": "tv"}, headers={"Idempotency-Key": "3"}),
        lambda: ads.patch(f"{ADS}/settings", json={"budget": 7}, headers={"Idempotency-Key": "4"}),
        lambda: ads.delete(f"{ADS}/arms/tv", headers={"Idempotency-Key": "5"}),
        lambda: ads.post(f"{ADS}/import", content=HISTORY, headers={**AS_CSV, "Idempotency-Key": "6"}),
    ):  # fmt: skip
        answers = [send()]
        events = ads.get(ADS).json()["events"]
        answers.append(send())
        assert [answer.status_code for answer in answers] in ([200, 200], [201, 201]), answers[-1].text
        assert answers[0].json() == answers[1].json()
        assert ads.get(ADS).json()["events"] == events
    other = HISTORY.replace("2026-01-02,search,30", "2026-01-02,search,31")
    again = ads.post(f"{ADS}/import", content=other, headers={**AS_CSV, "Idempotency-Key": "6"})
    assert problem(again, 409, "conflict") == "The key '6' was used before for something else."


# Nothing new


@pytest.mark.parametrize(
    "path",
    ["", "/settings", "/arms", "/history", "/events", "/beliefs", "/beliefs/over-time", "/splits/1", "/export",
     "/export?format=csv", "/forecast?periods=1&worlds=1",
     "/forecasts", "/plan"],
)  # fmt: skip
def test_a_read_carries_a_tag_that_changes_with_the_campaign(ads, path):
    tag = ads.get(ADS + path).headers["etag"]
    same = ads.get(ADS + path, headers={"If-None-Match": f'"other", {tag}'})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    ads.post(f"{ADS}/splits")
    changed = ads.get(ADS + path, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_the_list_has_a_tag_of_its_own(ads):
    tag = ads.get("/api/v1/campaigns").headers["etag"]
    assert ads.get("/api/v1/campaigns", headers={"If-None-Match": tag}).status_code == 304
    ads.post(f"{ADS}/splits")
    assert ads.get("/api/v1/campaigns", headers={"If-None-Match": tag}).status_code == 200


# Pages


@pytest.mark.parametrize(("path", "what", "number"), [("history", "lines", "ticket"), ("events", "events", "number")])
def test_pages_put_together_are_the_whole(ads, path, what, number):
    for _ in range(5):
        ads.post(f"{ADS}/splits")
    whole, found, after = ads.get(f"{ADS}/{path}").json()[what], [], 0
    while after is not None:
        page = ads.get(f"{ADS}/{path}", params={"after": after, "limit": 2}).json()
        assert page[what]
        assert all(row[number] > after for row in page[what])
        found, after = found + page[what], page["next"]
    assert found == whole
    assert ads.get(f"{ADS}/{path}", params={"after": 2**53}).json()[what] == []


def test_the_list_comes_in_pages(client):
    for name in ("a", "b", "ü", "<b>&'\"#?"):
        assert (
            client.post("/api/v1/campaigns", json={"name": name, "arms": ["x"], "budget": 1, "b": 0.5}).status_code
            == 201
        )
    names, after = [], ""
    while after is not None:
        page = client.get("/api/v1/campaigns", params={"after": after, "limit": 1}).json()
        names, after = names + [row["campaign"] for row in page["campaigns"]], page["next"]
    assert names == sorted(names) == ["<b>&'\"#?", "a", "b", "ü"]
    assert client.get("/api/v1/campaigns/%3Cb%3E%26'%22%23%3F").json()["campaign"] == "<b>&'\"#?"


# Files


def test_an_export_restores_to_the_same_state(ads, sqlite):
    exported = ads.get(f"{ADS}/export")
    assert exported.text == export_json(Campaign.open("ads", sqlite))
    assert exported.headers["content-disposition"] == "attachment; filename*=UTF-8''ads.json"
    restored = ads.post("/api/v1/restore", params={"name": "again"}, content=exported.content)
    assert (restored.status_code, restored.json()["campaign"]) == (201, "again")
    assert Campaign.open("again", sqlite).state() == Campaign.open("ads", sqlite).state()
    log = ads.get(f"{ADS}/export", params={"format": "log"}).content
    assert ads.post("/api/v1/restore", params={"name": "third"}, content=log, headers=AS_CSV).status_code == 201
    assert problem(ads.post("/api/v1/restore", content=exported.content), 409, "conflict")
    assert (
        problem(ads.post("/api/v1/restore", content="{}"), 422, "invalid-value")
        == "This is not an exported campaign."
    )
    assert problem(ads.post("/api/v1/restore", content=b"\xff"), 422, "invalid-value")


@pytest.mark.parametrize("kind", ["json", "log"])
def test_a_campaign_is_restored_once_under_a_key(ads, sqlite, kind):
    content = ads.get(f"{ADS}/export", params={"format": kind}).content

    def restore(key, name="again", what=content):
        return ads.post("/api/v1/restore", params={"name": name}, content=what, headers={"Idempotency-Key": key})

    first, second = restore("tuesday"), restore("tuesday")
    assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert first.status_code == 201
    assert Campaign.open("again", sqlite).state() == Campaign.open("ads", sqlite).state()
    assert Campaign.open("again", sqlite).check().ok
    taken = "Campaign 'again' is there already; choose another name."
    assert problem(restore("wednesday"), 409, "conflict") == taken
    ads.post(f"{ADS}/splits", headers={"Idempotency-Key": "friday"})
    other = ads.get(f"{ADS}/export", params={"format": kind}).content
    assert problem(restore("tuesday", what=other), 409, "conflict") == taken
    used = "The key 'friday' was used before for something else."
    assert problem(restore("friday", "fourth", other), 409, "conflict") == used
    assert problem(restore("tuesday", "ads"), 409, "conflict") == taken.replace("again", "ads")


def test_a_history_is_imported_whole_or_not_at_all(ads):
    done = ads.post(f"{ADS}/import", content=HISTORY, headers=AS_CSV)
    assert done.json()["rows"] == 3
    assert done.json()["tickets"] == 2
    sentence = problem(ads.post(f"{ADS}/import", content=HISTORY, headers=AS_CSV), 409, "conflict")
    assert sentence.startswith("The file 'history.csv' was imported before")
    events = ads.get(ADS).json()["events"]
    for content, options, said in (
        ("date,arm,amount,outcome\nd,tv,1,1\n", {}, "Row 2: arm 'tv' is not known; the arms are search, social."),
        ("date,arm,amount,outcome\nd,search,x,1\n", {}, "Row 2: the amount must be a number; got 'x'."),
        (
            b"\x81\x8d",
            {},
            "The file 'history.csv' is not a text file, a workbook (.xlsx) or a Parquet file.",
        ),
        (
            HISTORY,
            {"date_column": "day"},
            "Row 1: one column named 'day' is needed, or say which one is the date (`--date-column` on the command "
            "line, `date_column` over HTTP, `date` in Python); found are date, arm, amount, outcome. Perhaps the "
            "date is 'date'.",
        ),
        (HISTORY, {"file": "../x"}, "`file` must be the printable name of a file, without folders; got '../x'."),
    ):
        assert problem(ads.post(f"{ADS}/import", params=options, content=content, headers=AS_CSV), 422,
                       "invalid-value") == said  # fmt: skip
    assert ads.get(ADS).json()["events"] == events
    thousands = "date,arm,amount,outcome\nd,search,3.530,1\n"
    refused = ads.post(f"{ADS}/import", content=thousands, headers=AS_CSV)
    assert "or say whether `decimal` is comma or point" in problem(refused, 422, "invalid-value")
    assert (
        ads.post(f"{ADS}/import", params={"decimal": "comma"}, content=thousands, headers=AS_CSV).json()["rows"] == 1
    )
    assert ads.get(f"{ADS}/history").json()["lines"][-1]["amount"] == 3530
    added = ads.post(f"{ADS}/import", params={"add_arms": True}, content="date,arm,amount,outcome\nd,tv,1,1\n",
                     headers=AS_CSV)  # fmt: skip
    assert added.json()["arms_added"] == ["tv"]


# Looking


def test_the_reference_shows_every_route_and_every_problem(client):
    page = client.get("/api/reference").text
    described = client.get("/api/v1/openapi.json").json()
    for path, operations in described["paths"].items():
        for operation in operations.values():
            assert f'id="{operation["operationId"]}"' in page, path
    assert 'id="invalid-value"' in page
    assert "https://" not in page
    assert "<style" not in page
    assert "<script>" not in page


def test_a_stream_tells_of_changes_whoever_wrote_and_ends_with_the_server(sqlite):
    campaign = Campaign.create("ads", ("a", "b"), budget=1, b=0.5, db=sqlite)
    service = Service(sqlite)
    try:
        heard, ended = [], threading.Event()

        def listen():
            with urllib.request.urlopen(f"{service.url}{ADS}/stream", timeout=PATIENCE) as stream:
                for line in stream:
                    if line.startswith(b"data:"):
                        heard.append(json.loads(line[5:]))
                        if len(heard) == 1:
                            campaign.split()  # by another process than the one that tells of it
                        else:
                            service.process.terminate()
            ended.set()

        thread = threading.Thread(target=listen)
        thread.start()
        thread.join(PATIENCE)
        assert ended.is_set()
        assert heard == [{"version": 1}, {"version": 2}]
    finally:
        service.end()

"""Exports that somebody changed: refused with a sentence, or harmless. Never a page that fails for everybody."""

import copy
import json
import os
import random
import sqlite3
from contextlib import closing

import pytest
from starlette.testclient import TestClient

import apportion as ap
from apportion.campaigns.files import export_json, export_log, restore_json
from apportion.campaigns.storage.store import open_store
from apportion.testing.stores import use_every_verb
from apportion.web.app import create_app

HOST, HERE = "http://127.0.0.1:8000", ("127.0.0.1", 50000)
CASES = 5_000 if os.environ.get("APPORTION_SOAK") == "1" else 120
JUNK = (
    None, True, False, 0, 1, -1, 2, 10**400, 2**63, 1e308, -1e-320, 0.5, "", "x", "inf", "nan", "1", "é\u202e",
    "\x00",
    "=1+1", "a" * 5000, [], {}, [None], ["x"], {"x": 1}, {"a": None}, [[[]]], {"limbs": []},
)  # fmt: skip


@pytest.fixture
def source(tmp_path):
    """A campaign with every kind of event."""
    campaign = ap.Campaign.create(
        "ads", ("a", "b"), budget=100, unit="EUR", b=0.75, sigma=1, seed=1, db=tmp_path / "source.db"
    )
    campaign.record(campaign.split(key="k").ticket, {"a": 1.0, "b": None}, {"a": 60.0})
    campaign.amend(1, {"a": 2.0})
    campaign.add_arm("c", 0.1, 0.5)
    campaign.pause_arm("b")
    campaign.change(budget=120, half_life=10)
    campaign.change(policy="thompson", b=0.5, sigma=2)
    campaign.cancel(campaign.split(date="2026-01-31").ticket)
    table = tmp_path / "history.csv"
    table.write_text("date,arm,amount,outcome\n2026-01-01,a,10,5\n2026-01-02,d,20,no data\n")
    campaign.import_history(table, add_arms=True)
    campaign.undo_import()
    campaign.change(sigma={"a": 1, "b": 2, "c": 3, "d": 4}, rules=["a >= 10%"])
    campaign.forecast(periods=2, worlds=4)
    campaign.archive()
    campaign.unarchive()
    campaign.rename("ads 2")
    clone = campaign.clone("ads 3")
    yield clone
    open_store(tmp_path / "source.db").close()


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def mutated(content, rng):
    """The content with one to three places changed, dropped, doubled or swapped."""
    content = copy.deepcopy(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice([path for path in places(content) if path])
        holder = content
        for part in path[:-1]:
            holder = holder[part]
        last, act = path[-1], rng.random()
        if act < 0.6:
            holder[last] = rng.choice(JUNK)
        elif act < 0.75:
            del holder[last]
        elif act < 0.85 and isinstance(holder, list):
            holder.insert(last, copy.deepcopy(holder[last]))
        elif isinstance(holder[last], (int, float)) and not isinstance(holder[last], bool):
            holder[last] = holder[last] * rng.choice((-1, 2, 1.5, 1e-9, 1e30))
        elif isinstance(holder, dict):
            holder[rng.choice(("more", "name", "budget", "archived"))] = rng.choice(JUNK)
    return content


def require_harmless(client, name):
    """Every page and read of a campaign that was taken answers, and it can be used."""
    one = f"/api/v1/campaigns/{name}"
    for where in (f"/campaigns/{name}", f"/campaigns/{name}/report", one, f"{one}/history", f"{one}/events",
                  f"{one}/export?format=json", f"{one}/export?format=csv", f"{one}/beliefs/over-time",
                  f"{one}/splits/1", f"{one}/forecasts", f"/campaigns/{name}/forecast",
                  f"/campaigns/{name}/tickets/1"):  # fmt: skip
        answer = client.get(where, headers={"Accept": "text/html" if where[:5] == "/camp" else "*/*"})
        assert answer.status_code < 500, (where, answer.text)
    assert client.get(f"{one}/check").json()["ok"]
    assert client.post(f"{one}/splits", json={}).status_code in (201, 409, 422)


def require_lists(client):
    for where in ("/", "/api/v1/campaigns"):
        answer = client.get(where, headers={"Accept": "text/html" if where == "/" else "*/*"})
        assert answer.status_code == 200, answer.text
        assert "again" not in answer.text


@pytest.mark.parametrize("kind", ["json", "log"])
def test_mutated_exports_are_refused_or_harmless(source, sqlite, kind):
    rng, content = random.Random(17), json.loads(export_json(source))
    lines = export_log(source).splitlines()
    refused = 0
    with TestClient(create_app(sqlite), base_url=HOST, client=HERE, follow_redirects=False) as client:
        for case in range(CASES // 2):
            if kind == "json":
                text = json.dumps(mutated(content, rng))
            else:
                row = rng.randrange(1, len(lines))
                cells = lines[row].split(",")
                cells[rng.randrange(len(cells))] = str(rng.choice(JUNK))[:100]
                text = "\n".join((*lines[:row], ",".join(cells), *lines[row + 1 :]))
            answer = client.post("/api/v1/restore", params={"name": "again"}, content=text.encode("utf-8", "replace"))
            assert answer.status_code in (201, 422), (case, text, answer.text)
            if answer.status_code == 422:
                refused += 1
            else:
                require_harmless(client, "again")
                ap.Campaign.open("again", db=sqlite).delete("again")
        require_lists(client)
    assert refused > CASES / 4


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("settings.budget", "x"),
        ("settings.unit", 5),
        ("settings.archived", True),
        ("options.seed", None),
        ("options.seed", "7"),
        ("settings.assumed", ["everything"]),
    ],
)
def test_a_beginning_that_no_verb_would_take_is_refused(source, sqlite, path, value):
    content = json.loads(export_json(source))
    part, name = path.split(".")
    content["events"][0]["payload"][part][name] = value
    with pytest.raises(ap.IncompatibleState, match="at event 1: "):
        restore_json(json.dumps(content), db=sqlite)
    assert ap.Campaign.names(sqlite) == ()


@pytest.mark.parametrize("damage", ["no policy", "an arm less", "an arm that is not there"])
def test_a_forecast_that_no_page_could_show_is_refused(source, sqlite, damage):
    content = json.loads(export_json(source))
    made = next(event for event in content["events"] if event["kind"] == "forecast")["payload"]
    if damage == "no policy":
        made["prospects"] = []
    elif damage == "an arm less":
        made["calendar"][1]["arms"].pop()
    else:
        for period in made["calendar"]:
            period["arms"][0]["arm"] = "else"
    with pytest.raises(ap.IncompatibleState, match=r"its `prospects`|its `calendar`"):
        restore_json(json.dumps(content), db=sqlite)


def test_a_forecast_that_does_not_say_where_it_begins_is_shown(source, sqlite):
    content = json.loads(export_json(source))
    made = next(event for event in content["events"] if event["kind"] == "forecast")["payload"]
    del made["first"]
    made["calendar"] = [{**period, "date": None} for period in made["calendar"]]
    restore_json(json.dumps(content), db=sqlite, name="again")
    with TestClient(create_app(sqlite), base_url=HOST, client=HERE, follow_redirects=False) as client:
        assert client.get("/campaigns/again/forecast", headers={"Accept": "text/html"}).status_code == 200


def test_what_was_not_changed_is_restored(source, sqlite):
    campaign = restore_json(export_json(source), db=sqlite)
    assert campaign.state() == source.state()
    assert campaign.forecasts() == source.forecasts()
    assert campaign.check(full=True).ok


@pytest.mark.parametrize("name", ["budget", "unit", "assumed"])
def test_a_beginning_without_a_setting_that_every_release_wrote_is_refused(source, sqlite, name):
    content = json.loads(export_json(source))
    del content["events"][0]["payload"]["settings"][name]
    with pytest.raises(ap.IncompatibleState, match=f"at event 1: .*{name}"):
        restore_json(json.dumps(content), db=sqlite)
    assert ap.Campaign.names(sqlite) == ()


def test_one_broken_campaign_breaks_no_list(sqlite, capsys):
    for name in ("good", "bad"):
        use_every_verb(
            ap.Campaign.create(name, ("search", "social", "video"), budget=1, b=0.5, sigma=1, db=sqlite), rounds=3
        )
    open_store(sqlite).close()
    with closing(sqlite3.connect(sqlite)) as plain:
        (identity,) = plain.execute("SELECT id FROM campaigns WHERE name = 'bad'").fetchone()
        plain.execute(
            "UPDATE events SET payload = replace(payload, '\"budget\":1.0', '\"budget\":\"x\"') WHERE campaign = ? "
            "AND number = 1", (identity,),
        )  # fmt: skip
        plain.execute("DELETE FROM snapshots")
        plain.commit()
    with TestClient(create_app(sqlite), base_url=HOST, client=HERE, follow_redirects=False) as client:
        rows = {row["campaign"]: row for row in client.get("/api/v1/campaigns").json()["campaigns"]}
        assert rows["good"]["broken"] is None
        assert rows["good"]["budget"] == 1.0
        assert rows["bad"]["broken"]
        assert rows["bad"]["budget"] is None
        page = client.get("/", headers={"Accept": "text/html"})
        assert page.status_code == 200
        assert "cannot be read" in page.text
        assert not client.get("/api/v1/campaigns/bad/check").json()["ok"]
    from apportion.cli.app import app

    app(["campaigns", "--db", sqlite], standalone_mode=False)
    assert "bad cannot be read" in capsys.readouterr().out

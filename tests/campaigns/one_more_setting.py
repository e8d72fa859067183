"""Run by `test_settings.py` where the declaration has one setting more, `patience`: it must be at every door.

python one_more_setting.py DATABASE DOCS_TOOLS     with `old`, a campaign from before, in the database
"""

import inspect
import json
import sys

import pytest
import typer
from typer.testing import CliRunner

import apportion as ap
from apportion.cli.app import app as commands
from apportion.client import rebuild
from apportion.web.api import requests, responses
from apportion.web.app import create_app

DB, TOOLS = sys.argv[1:3] if __name__ == "__main__" else ("", "")


def python():
    for create in (ap.Campaign.create, ap.Client.create):
        assert inspect.signature(create).parameters["patience"].default is None
    campaign = ap.Campaign.create("python", ("a", "b"), budget=10, patience=14.0, db=DB)
    assert campaign.settings.patience == 14
    assert campaign.change(patience=None).patience is None
    assert campaign.change(patience=7).patience == 7
    with pytest.raises(ap.ApportionError, match=r"`patience` must be a whole number of at least 1; got 0\."):
        campaign.change(patience=0)
    assert ap.Campaign.open("python", DB).settings.patience == 7
    assert campaign.check().ok


def events():
    created, removed, set_again = ap.Campaign.open("python", DB).events()
    assert created.payload["settings"]["patience"] == 14
    assert (removed.payload["changes"], removed.payload["old"]) == ({"patience": None}, {"patience": 14})
    assert set_again.payload["changes"] == {"patience": 7}


def older_campaigns():
    old = ap.Campaign.open("old", DB)
    assert old.settings.patience is None
    assert old.change(patience=3).patience == 3
    assert old.check().ok


def command_line():
    root = typer.main.get_command(commands)
    for name in ("new", "settings"):
        (option,) = (each for each in root.commands[name].params if each.name == "patience")
        assert option.opts == ["--patience"]
        assert option.help.startswith("Days to wait for an outcome.")
    run = CliRunner()

    def told(*typed):
        done = run.invoke(commands, [*typed, "--db", DB, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    made = told("new", "typed", "--arms", "a,b", "--budget", "10", "--patience", "5")
    assert made["settings"]["patience"] == 5
    assert told("settings", "typed", "--patience", "6")["patience"] == 6
    assert told("settings", "typed", "--unset", "patience")["patience"] is None


def http_and_pages():
    from fastapi.testclient import TestClient

    for model in (requests.NewCampaign, requests.ChangeSettings):
        field = model.model_json_schema()["properties"]["patience"]
        assert (field["minimum"], field["examples"]) == (1, [14])
        assert field["description"].startswith("Days to wait for an outcome.")
    assert "patience" in responses.Settings.model_json_schema()["required"]
    with TestClient(create_app(DB), base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as client:
        body = {"name": "sent", "arms": ["a", "b"], "budget": 10, "patience": 8}
        made = client.post("/api/v1/campaigns", json=body)
        assert made.json()["settings"]["patience"] == 8
        changed = client.patch("/api/v1/campaigns/sent/settings", json={"patience": 9})
        assert rebuild.settings(changed.json()).patience == 9
        origin = {"Origin": "http://127.0.0.1"}
        assert 'name="patience"' in client.get("/new").text
        form = {"action": "create", "name": "filled in", "budget": "10", "choice": "unsure", "patience": "4"}
        done = client.post("/new", data={**form, "arm": ["a", "b"], "minimum": ["", ""], "maximum": ["", ""]},
                           headers=origin)  # fmt: skip
        assert done.status_code == 200
        assert ap.Campaign.open("filled in", DB).settings.patience == 4
        assert 'name="patience" value="4"' in client.get("/campaigns/filled%20in").text
        client.post("/campaigns/filled%20in/settings", data={"patience": ""}, headers=origin)
        assert ap.Campaign.open("filled in", DB).settings.patience is None


def reference():
    sys.path.insert(0, TOOLS)
    import generate

    says = "`patience`\n:   Days to wait for an outcome. A whole number from 1. Left out: as long as it takes. Can be"
    assert says in generate.settings_page()


if __name__ == "__main__":
    for door in (python, events, older_campaigns, command_line, http_and_pages, reference):
        door()
        sys.stdout.write(f"{door.__name__}\n")

"""A client that others generate from the OpenAPI description: it is made here, and used against a real service."""

import importlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from generator import FOLDER, generator
from tests.web.running import Service

import apportion as ap
from apportion.campaigns.storage.tokens import Tokens
from apportion.web.api.operations import OPERATION_IDS
from apportion.web.app import create_app

HISTORY = b"date,arm,amount,outcome\n2026-01-01,search,60,90\n2026-01-01,social,40,50\n2026-01-02,search,50,80\n"


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The package of the generated client, by the name of its module."""
    folder = tmp_path_factory.mktemp("generated")
    description = folder / "openapi.json"
    description.write_text(json.dumps(create_app(folder / "campaigns.db").openapi()))
    options = ("--path", description, "--output-path", folder / "made_client", "--meta", "none")
    done = subprocess.run(
        [generator(), "generate", *options], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": os.pathsep.join((str(FOLDER), os.environ.get("PATH", "")))},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # It knows CSV as bytes, which it says; nothing else is left out.
    warnings = [line for line in done.stdout.splitlines() if line.startswith(("WARNING", "Unsupported"))]
    assert set(warnings[1::2]) <= {"Unsupported content type text/csv"}, warnings
    sys.path.insert(0, str(folder))
    try:
        yield lambda name: importlib.import_module(f"made_client.{name}")
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == "made_client"]:
            del sys.modules[name]


@pytest.fixture
def calls(generated, sqlite):
    """A client of a running service, and its functions by the ids of operations."""
    secret, running = Tokens(sqlite).create("robot"), Service(sqlite)
    client = generated("client").AuthenticatedClient(running.url, secret)

    def call(group, operation, *arguments, **options):
        done = generated(f"api.{group}.{operation}").sync_detailed(*arguments, client=client, **options)
        return done.status_code.value, done.parsed

    try:
        yield call
    finally:
        client.get_httpx_client().close()
        running.end()


def test_every_operation_has_a_function_of_its_name(generated):
    (root,) = map(Path, generated("api").__path__)
    assert {path.stem for path in root.rglob("*.py")} - {"__init__"} == set(OPERATION_IDS.values())


def test_a_campaign_is_run_by_a_generated_client(generated, calls, sqlite):
    models, types = generated("models"), generated("types")
    begun = models.NewCampaign(name="ads", arms=["search", "social"], budget=100.0, b=0.75, sigma=1.0)
    assert calls("campaigns", "create_campaign", body=begun)[0] == 201
    status, split = calls("splits", "split", "ads", body=models.AskSplit(budget=50.0), idempotency_key="monday")
    assert (status, split.ticket) == (201, 1)
    assert {row.arm: row.amount for row in split.arms} == {"search": 25.0, "social": 25.0}
    again = calls("splits", "split", "ads", body=models.AskSplit(budget=50.0), idempotency_key="monday")[1]
    assert again.ticket == 1
    told = models.Outcomes(outcomes=models.OutcomesOutcomes.from_dict({"search": 40.0, "social": 30.0}))
    assert calls("splits", "record_outcomes", "ads", 1, body=told)[0] in (200, 201)
    status, refused = calls("splits", "explain_split", "ads", 7)
    assert (status, refused.error) == (404, "UnknownName")
    # Files: a history in, everything out, and everything back under another name.
    file = types.File(io.BytesIO(HISTORY), "history.csv", "text/csv")
    status, imported = calls("files", "import_history", "ads", body=file)
    assert (status, imported.tickets) == (200, 2)
    _, lines = calls("history", "history", "ads")
    assert len(lines.lines) == 5
    whole = models.RestoreCampaignJsonBody.from_dict(json.loads(ap.Campaign.open("ads", db=sqlite).export("json")))
    assert calls("files", "restore_campaign", body=whole, name="copy")[0] == 201
    _, found = calls("campaigns", "check_campaign", "copy")
    assert (found.ok, found.exact) == (True, True)
    assert {row.campaign for row in calls("campaigns", "list_campaigns")[1].campaigns} == {"ads", "copy"}

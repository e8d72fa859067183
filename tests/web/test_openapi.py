"""Schemathesis over the OpenAPI description, in process: no 5xx, the schema respected, whatever is sent.

Every operation gets its part of 2,000 cases (APPORTION_SOAK=1), or of a tenth of them, half of them within the
schema and half not. The cases are the same every time.
"""

import os
import warnings

import jsonschema_rs
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from apportion.campaigns.settings import Settings
from apportion.web import api, pages
from apportion.web.api import requests, responses
from apportion.web.api.describe import describe
from apportion.web.api.operations import OPERATION_IDS
from apportion.web.app import create_app
from apportion.web.guard.credentials import Access

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as openapi_checks

CASES = 2_000 if os.environ.get("APPORTION_SOAK") else 200

CHECKS = [
    not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
]


def description():
    app = FastAPI()
    for router in (*api.ROUTERS, *pages.ROUTERS):
        app.include_router(router)
    return describe(app)


FOUND = description()
# Streams never end by themselves: `test_api.py` reads them over a real connection.
OPERATIONS = [
    (method, path)
    for path, operations in FOUND["paths"].items()
    for method in operations
    if not path.endswith("/stream")
]


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda value: str(value))
def test_nothing_that_is_sent_breaks_the_service(sqlite, client_of, method, path):
    app = create_app(sqlite, access=Access(False, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    begin(client_of(app))
    operation = schema[path][method.upper()]
    cases = st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )
    known = {"name": "ads", "ticket": 1, "arm": "search"}

    @given(case=cases, at_home=st.booleans())
    @settings(
        max_examples=-(-CASES // len(OPERATIONS)), deadline=None, derandomize=True, database=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    def holds(case, at_home):
        if at_home:  # random names are seldom those of something that is there
            case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
        keep_short(case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.call_and_validate(checks=CHECKS)

    holds()


def keep_short(case):
    """What is simulated may be as large as it likes elsewhere; here the request counts, not the simulation."""
    if case.path.endswith("/forecast") and isinstance(case.query, dict):
        for name in ("periods", "worlds"):
            value = case.query.get(name, 3)
            case.query[name] = min(value, 3) if isinstance(value, int) else value
    if case.path.endswith("/forecasts") and isinstance(case.body, dict):
        for name in ("periods", "worlds"):
            value = case.body.get(name, 3)
            case.body[name] = min(value, 3) if isinstance(value, int) and not isinstance(value, bool) else value
    if "/laboratory/" in case.path and isinstance(case.body, dict):
        for name, most in (("horizon", 50), ("replications", 2)):
            value = case.body.get(name, most)
            case.body[name] = min(value, most) if isinstance(value, int) else value


def begin(client):
    body = {"name": "ads", "arms": ["search", "social"], "budget": 100, "b": 0.75, "sigma": 2, "seed": 1}
    assert client.post("/api/v1/campaigns", json=body).status_code == 201
    client.post("/api/v1/campaigns/ads/splits")
    client.post("/api/v1/campaigns/ads/splits/1/outcomes", json={"outcomes": {"search": 1.0, "social": 2.0}})


# The description itself


@pytest.mark.parametrize(("method", "path"), [(m, p) for p, ms in FOUND["paths"].items() for m in ms], ids=str)
def test_every_route_has_an_example_that_fits_its_schema(method, path):
    operation = FOUND["paths"][path][method]
    assert operation["summary"]
    assert operation["description"]
    for parameter in operation.get("parameters", []):
        assert parameter["description"]
    good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    for media_type, content in good.get("content", {}).items():
        assert "example" in content, f"{method} {path} has no example of {media_type}"
        check(content["schema"], content["example"])
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        if media_type == "application/json" and "example" not in content:
            check_fields(content["schema"], f"{method} {path}")
    for status, answer in operation["responses"].items():
        if status[0] in "45" or status == "default":
            (content,) = answer["content"].values()
            check(content["schema"], content["example"])


def check_fields(schema, where):
    for name, field in fields(schema).items():
        if "$ref" in field:
            check_fields(field, where)
            continue
        assert field.get("examples"), f"{where}: {name} has no example"
        check(field, field["examples"][0])


def check(schema, example):
    jsonschema_rs.validate({**schema, "components": FOUND["components"]}, example)


def fields(schema):
    references = [part["$ref"] for part in (schema, *schema.get("anyOf", ())) if "$ref" in part]
    return FOUND["components"]["schemas"][references[0].rpartition("/")[2]]["properties"]


def test_every_route_has_a_name_of_its_own_and_no_name_is_left_over():
    found = [operation["operationId"] for operations in FOUND["paths"].values() for operation in operations.values()]
    assert sorted(found) == sorted(OPERATION_IDS.values())
    assert len(set(found)) == len(found)
    assert all(name.isidentifier() for name in found)


def test_the_settings_are_those_of_the_library():
    assert set(responses.Settings.model_fields) == set(Settings._fields)
    fixed = {"parameters", "minimise", "seed", "assumed"}
    assert set(requests.ChangeSettings.model_fields) == set(Settings._fields) - fixed


def test_everything_the_command_line_does_with_campaigns_has_a_route():
    done = {operation["summary"] for operations in FOUND["paths"].values() for operation in operations.values()}
    assert done >= {
        "Begin a campaign", "All campaigns", "Where a campaign stands", "The next split", "A split explained",
        "Record outcomes", "Correct outcomes", "Close a split", "All arms", "Add an arm",
        "Pause, resume or bound an arm", "Remove an arm", "Settings", "Change settings", "History",
        "Everything that happened", "Beliefs", "Beliefs over time", "Export a campaign", "Import a history",
        "Restore a campaign", "Check a campaign", "Check and repair a campaign", "Forecast",
    }  # fmt: skip

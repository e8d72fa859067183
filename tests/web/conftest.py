"""The service for the tests: on a fresh SQLite file, as it is on loopback, or so that it needs tokens."""

from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from apportion.campaigns.storage.tokens import Tokens
from apportion.web.app import create_app
from apportion.web.guard.credentials import Access

# As a program on this machine: by default the client says that it is "testclient".
TestClient.__init__.__defaults__ = (*TestClient.__init__.__defaults__[:-1], ("127.0.0.1", 50000))

HOST = "http://127.0.0.1:8000"


def _client(app, **headers):
    return TestClient(app, base_url=HOST, headers=headers, follow_redirects=False)


class Guarded(NamedTuple):
    """A service that needs tokens: nobody's client, and those of two tokens."""

    app: object
    tokens: Tokens
    nobody: TestClient
    reader: TestClient
    writer: TestClient
    secrets: dict


@pytest.fixture
def client_of():
    """Makes a program that talks to an app: `client_of(app, Header=…)`."""
    return _client


@pytest.fixture
def app(sqlite):
    """The service as on loopback, without tokens."""
    return create_app(sqlite)


@pytest.fixture
def client(app):
    """A program on the same machine."""
    return _client(app)


@pytest.fixture
def ads(client):
    """A program, and a campaign `ads` with one split recorded and one open."""
    body = {"name": "ads", "arms": ["search", "social"], "budget": 5000, "unit": "EUR", "b": 0.75, "sigma": 40,
            "seed": 1}  # fmt: skip
    assert client.post("/api/v1/campaigns", json=body).status_code == 201
    for _ in range(2):
        assert client.post("/api/v1/campaigns/ads/splits").status_code == 201
    outcomes = {"outcomes": {"search": 812.0, "social": 410.5}}
    assert client.post("/api/v1/campaigns/ads/splits/1/outcomes", json=outcomes).status_code == 200
    return client


@pytest.fixture
def guarded(sqlite):
    """The service as it is bound to any other address."""
    tokens = Tokens(sqlite)
    secrets = {scope: tokens.create(f"{scope}er", scope=scope) for scope in ("read", "write")}
    app = create_app(sqlite, access=Access(True, None))
    reader, writer = (_client(app, Authorization=f"Bearer {secrets[scope]}") for scope in ("read", "write"))
    return Guarded(app, tokens, _client(app), reader, writer, secrets)

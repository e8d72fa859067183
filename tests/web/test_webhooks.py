"""Webhooks against a real receiver on loopback: signed, in order, tried again, and never led astray."""

import contextlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import sqlalchemy as sa
from standardwebhooks.webhooks import Webhook as Verifier
from tests.cli.commands import run
from tests.web.running import service, until

import apportion as ap
from apportion.campaigns.storage import webhooks as storage
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import engine_for
from apportion.campaigns.storage.webhooks import Webhooks
from apportion.web import webhooks
from apportion.web.webhooks import NotTaken, Sender, checked_address


class Receiver:
    """Takes messages; `statuses` are its next answers, 204 afterwards."""

    def __init__(self):
        self.got, self.statuses, self.location, self.refused = [], [], None, 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path.endswith("/dead"):
                    owner.refused += 1
                    return  # the connection ends without an answer
                owner.got.append((dict(self.headers.items()), body))
                self.send_response(owner.statuses.pop(0) if owner.statuses else 204)
                if owner.location:
                    self.send_header("Location", owner.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    @property
    def messages(self):
        return [json.loads(body) for _, body in self.got]


@pytest.fixture
def receiver():
    made = Receiver()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def ads(db):
    return ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=db)


def verified(secret, headers, body):
    """What a receiver reads, by the library of the specification; it raises where the signature is wrong."""
    names = {name.lower(): value for name, value in headers.items()}
    return Verifier(secret).verify(body, {name: names[name] for name in names if name.startswith("webhook-")})


def test_splits_and_outcomes_are_told_in_order_and_signed(ads, db, receiver):
    ads.split()  # before there was a webhook: not told
    secret = Webhooks(db).create("ledger", receiver.url, topics=("split", "record"), internal=True)
    ads.record(1, {"a": 3.0})
    ads.split(key="k")
    ads.change(budget=20)  # of no topic
    ads.amend(1, {"a": 4.0})
    sender = Sender(db)
    assert sender.deliver() == 3
    assert sender.deliver() == 0
    told = [(message["type"], message["event"], message["ticket"]) for message in receiver.messages]
    assert told == [("record", 3, 1), ("split", 4, 2), ("record", 6, 1)]
    assert receiver.messages[0]["outcomes"] == {"a": 3.0}
    assert receiver.messages[1]["amounts"]
    assert receiver.messages[0]["actor"] == ads.events()[2].actor
    for headers, body in receiver.got:
        assert verified(secret, headers, body) == json.loads(body)
    forged = receiver.got[0][1].replace(b"3.0", b"9.0")
    with pytest.raises(Exception, match="No matching signature"):
        verified(secret, receiver.got[0][0], forged)


def test_what_is_not_taken_is_tried_again_later_and_later_and_nothing_is_left_out(ads, db, receiver, monkeypatch):
    known = Webhooks(db)
    known.create("ledger", receiver.url, topics=("split",), internal=True)
    receiver.statuses = [500, 429]
    for _ in range(3):
        ads.split()
    waits = []
    failed = Webhooks.failed
    monkeypatch.setattr(Webhooks, "failed", lambda self, *given: (waits.append(given[-1]), failed(self, *given)))
    sender = Sender(db)
    assert sender.deliver() == 0
    (row,) = known.deliveries()
    assert (row.tries, row.error) == (1, "it answered with status 500")
    assert sender.deliver() == 0  # not yet
    assert len(receiver.got) == 1
    assert "did not take event 2 of 'ads', 1 times" in " ".join(run("webhook", "list", "--db", db).out.split())
    later = "9999"
    monkeypatch.setattr(storage, "now", lambda: later)
    sender.deliver()
    monkeypatch.undo()
    assert waits == [5.0, 10.0]
    assert known.deliveries()[0].tries == 2
    monkeypatch.setattr(storage, "now", lambda: later)
    assert Sender(db).deliver() == 3  # another worker goes on where it was
    assert [message["event"] for message in receiver.messages] == [2, 2, 2, 3, 4]
    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert ids[0] == ids[1] == ids[2] != ids[3]


def test_two_workers_do_not_tell_the_same(ads, db, receiver):
    known = Webhooks(db)
    known.create("ledger", receiver.url, topics=("split",), internal=True)
    ads.split()
    (due,) = known.due()
    assert known.claim(due, 60.0)
    assert not Webhooks(db).claim(due, 60.0)
    ap.Campaign.create("new", ("a", "b"), budget=1, db=db).split()
    (new,) = [each for each in known.due() if each.campaign == "new"]  # one that began since is told from its start
    assert known.claim(new, 60.0)
    assert not Webhooks(db).claim(new, 60.0)


def test_what_is_due_is_found_in_as_many_questions_however_many_campaigns_there_are(ads, db, receiver):
    Webhooks(db).create("ledger", receiver.url, internal=True)
    asked = []
    engine = engine_for(database_url(db))
    sa.event.listen(engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    Webhooks(db).due()
    once = len(asked)
    for number in range(5):
        ap.Campaign.create(f"more {number}", ("a", "b"), budget=1, db=db)
    asked.clear()
    assert len(Webhooks(db).due()) == 5
    assert len(asked) == once


def test_a_campaign_that_is_damaged_keeps_no_other_from_being_told(ads, db, receiver, monkeypatch):
    known = Webhooks(db)
    known.create("ledger", receiver.url, topics=("split", "health"), internal=True)
    other = ap.Campaign.create("other", ("a", "b"), budget=1, db=db)
    ads.split()
    other.split()

    def status(campaign, **_):
        raise KeyError(campaign.name)

    monkeypatch.setattr(ap.Campaign, "status", status)
    Sender(db).deliver()
    assert {message["campaign"] for message in receiver.messages} == {"ads", "other"}
    assert all(row.error for row in known.deliveries())


def test_what_is_due_is_of_the_campaign_that_had_the_name(ads, db, receiver, monkeypatch):
    """While a slow address keeps the others waiting, a campaign may be renamed, and another one have its name."""
    Webhooks(db).create("ledger", receiver.url, campaign="ads", topics=("split",), internal=True)
    ads.split()
    due = Webhooks.due

    def renamed_since(known):
        found = due(known)
        if ads.name == "ads":
            ads.rename("private")
            ap.Campaign.create("ads", ("c", "d"), budget=20, b=0.75, sigma=1, seed=1, db=db).split()
        return found

    monkeypatch.setattr(Webhooks, "due", renamed_since)
    assert Sender(db).deliver() == 1
    assert set(receiver.messages[0]["amounts"]) == {"a", "b"}


def test_an_address_that_is_slow_does_not_keep_the_others_waiting(ads, db, receiver, monkeypatch):
    """Each has its turn; what is left is told in the next, in order."""
    known, moment = Webhooks(db), [0.0]
    for name in ("a", "z"):
        known.create(name, f"{receiver.url}/{name}", topics=("split",), internal=True)
    more = ap.Campaign.create("more", ("a", "b"), budget=10, b=0.75, sigma=1, seed=1, db=db)
    for campaign in (ads, ads, ads, more):
        campaign.split()
    told = []

    def slow(due, identity, message):
        told.append((due.webhook.name, message["campaign"], message["ticket"]))
        moment[0] += 6.0 if due.webhook.name == "a" else 0.1

    monkeypatch.setattr(webhooks, "send", slow)
    monkeypatch.setattr(webhooks.time, "monotonic", lambda: moment[0])
    sender = Sender(db)
    assert sender.deliver() == 6
    assert [name for name, *_ in told].count("z") == 4
    while sender.deliver():
        pass
    for name in ("a", "z"):
        own = [(campaign, ticket) for each, campaign, ticket in told if each == name]
        assert sorted(own) == [("ads", 1), ("ads", 2), ("ads", 3), ("more", 1)]
        assert [ticket for campaign, ticket in own if campaign == "ads"] == [1, 2, 3]


def test_a_change_of_health_is_told_once(ads, db, receiver):
    Webhooks(db).create("ledger", receiver.url, topics=("health",), internal=True)
    sender = Sender(db)
    for period in range(24):
        split = ads.split()
        slip = 100.0 if period == 20 else 1.0
        ads.record(split.ticket, {arm: slip * amount for arm, amount in split.amounts.items()}, confirm=True)
    while sender.deliver():
        pass
    kinds = {finding.kind for finding in ads.status().health.findings}
    assert kinds
    (message,) = receiver.messages
    assert (message["type"], set(message["findings"]), set(message["new"])) == ("health", kinds, kinds)
    ads.change(budget=11)
    sender.deliver()
    assert len(receiver.got) == 1


def test_a_redirect_is_not_followed(ads, db, receiver):
    Webhooks(db).create("ledger", receiver.url, topics=("split",), internal=True)
    receiver.statuses, receiver.location = [302], receiver.url.replace("/hook", "/elsewhere")
    ads.split()
    assert Sender(db).deliver() == 0
    assert len(receiver.got) == 1
    assert "a redirect, which is not followed" in Webhooks(db).deliveries()[0].error


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.5", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1", "0.0.0.0", "fe80::1%eth0",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::", "::127.0.0.1", "::ffff:0:10.0.0.5", "fec0::1",
        "2001::1", "ff0e::1",
    ],
)  # fmt: skip
def test_a_name_that_leads_inside_is_refused(address, monkeypatch):
    """Also where only one of several addresses does, and whatever the name says at another time."""
    given = [(None, None, None, "", (text, 443)) for text in ("93.184.215.14", address)]
    monkeypatch.setattr(webhooks.socket, "getaddrinfo", lambda *_, **__: given)
    with pytest.raises(NotTaken, match="no public address"):
        checked_address("hooks.example.org", 443, internal=False)
    assert checked_address("hooks.example.org", 443, internal=True) == "93.184.215.14"


def test_addresses_that_lead_outside_are_taken(monkeypatch):
    for text in (
        "93.184.215.14",
        "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
        "64:ff9b::5db8:d70e",
        "2002:5db8:d70e::1",
    ):
        monkeypatch.setattr(
            webhooks.socket, "getaddrinfo", lambda *_, text=text, **__: [(None, None, None, "", (text, 443))]
        )
        assert checked_address("hooks.example.org", 443, internal=False) == text


def test_an_answer_byte_by_byte_is_cut_off(ads, db, monkeypatch):
    monkeypatch.setattr(webhooks, "ANSWER_SECONDS", 0.5)
    ended = threading.Event()

    def drip(listener):
        asked, _ = listener.accept()
        with asked, contextlib.suppress(OSError):
            while not ended.wait(0.1):
                asked.sendall(b"H")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            Webhooks(db).create("slow", url, topics=("split",), internal=True)
            ads.split()
            began = time.monotonic()
            assert Sender(db).deliver() == 0
            assert time.monotonic() - began < 10.0
        finally:
            ended.set()
            thread.join()
    assert Webhooks(db).deliveries()[0].error.startswith("no whole answer came within")


def test_an_address_that_fails_does_not_keep_the_others_waiting(ads, db, receiver):
    for name, url in (("first", receiver.url + "/dead"), ("second", receiver.url)):
        Webhooks(db).create(name, url, topics=("split",), internal=True)
    for number in range(5):
        ap.Campaign.create(f"campaign {number}", ("a", "b"), budget=10, db=db).split()
    assert Sender(db).deliver() == 5
    assert receiver.refused == 1


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://hooks.example.org", "`url` must begin with https"),
        ("ftp://hooks.example.org", "`url` must be an address"),
        ("https://me:secret@hooks.example.org", "`url` must be an address"),
        ("https://", "`url` must be an address"),
        ("https://a b", "`url` must be an address"),
        (None, "`url` must be an address"),
    ],
)
def test_what_is_no_address_is_refused(ads, db, url, sentence):
    with pytest.raises(ap.InvalidValue, match=sentence):
        Webhooks(db).create("ledger", url)
    assert Webhooks(db).list() == ()


def test_the_commands_of_webhooks(ads, db):
    made = run("webhook", "create", "ledger", "https://hooks.example.org/x", "--campaign", "ads", "--db", db)
    assert made.out.startswith("whsec_")
    assert made.out.strip() not in run("webhook", "list", "--db", db).out
    again = run("webhook", "create", "ledger", "https://hooks.example.org/x", "--db", db)
    assert (again.code, "is there already" in again.err) == (2, True)
    assert (
        "`topic` must be one of" in run("webhook", "create", "x", "https://a.org", "--topics", "all", "--db", db).err
    )
    ads.rename("adverts")
    assert Webhooks(db).list()[0].campaign == "adverts"
    ads.delete("adverts")
    assert Webhooks(db).list() == ()
    assert "not known; there are: none" in run("webhook", "remove", "ledger", "--db", db).err


def test_a_running_service_tells(sqlite, receiver):
    ap.Campaign.create("ads", ("a", "b"), budget=10, db=sqlite)
    Webhooks(sqlite).create("ledger", receiver.url, topics=("split",), internal=True)
    with service(sqlite, "--log-level", "warning") as running, contextlib.closing(ap.Client(running.url)) as client:
        client.open("ads").split()
        until(lambda: receiver.got, "the message")
    assert receiver.messages[0]["campaign"] == "ads"

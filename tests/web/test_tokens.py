"""Tokens: kept hashed, with scopes, revoked at once; the commands; and what an upgrade keeps."""

import json
import shutil
import sqlite3
import threading
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.cli.commands import run

import apportion as ap
from apportion.campaigns.storage import database, tokens
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import engine_for
from apportion.campaigns.storage.schema import REVISION
from apportion.campaigns.storage.tokens import Tokens

FROZEN = Path(__file__).parent.parent / "campaigns" / "storage" / "frozen"


def contents(db):
    """Every value in both tables, as one text."""
    with engine_for(database_url(db)).connect() as connection:
        rows = [connection.execute(sa.text(f"SELECT * FROM {name}")).all() for name in ("tokens", "sessions")]
    return repr(rows)


def test_a_token_opens_by_its_secret_only(db):
    known = Tokens(db)
    assert not known.any()
    assert not known.usable()
    secret = known.create("anna", scope="read")
    assert secret.startswith("apt_")
    assert len(secret) == 4 + 43
    row = known.check(secret)
    assert (row.name, row.scope, row.revoked) == ("anna", "read", None)
    for wrong in (secret[:-1], secret + "x", secret.swapcase(), "apt_", "", "apt_\ud800", None, 7, secret.encode()):
        assert known.check(wrong) is None
    assert known.any()
    assert known.usable()


def test_secrets_are_not_in_the_database(db):
    known = Tokens(db)
    secret = known.create("anna")
    session = known.begin_session(secret)
    kept = contents(db)
    assert "anna" in kept
    assert secret not in kept
    assert secret[4:] not in kept
    assert session.value not in kept


def test_a_revoked_token_ends_at_once_with_its_browsers(db):
    known = Tokens(db)
    secret, other = known.create("anna"), known.create("otto", "read")
    session, stays = known.begin_session(secret), known.begin_session(other)
    assert known.session(session.value).token.name == "anna"
    Tokens(db).revoke("anna")
    assert known.check(secret) is None
    assert known.session(session.value) is None
    assert known.begin_session(secret) is None
    assert known.session(stays.value).expires == stays.expires
    again = known.create("anna", scope="read")  # the name is free again, the old secret stays dead
    assert known.check(again).scope == "read"
    assert known.check(secret) is None
    assert [(row.name, row.revoked is None) for row in known.list()] == [
        ("anna", False),
        ("otto", True),
        ("anna", True),
    ]


def test_a_service_once_guarded_stays_guarded(sqlite):
    known = Tokens(sqlite)
    known.create("only")
    known.revoke("only")
    assert known.any()
    assert not known.usable()


def test_sessions_end_when_signed_out_or_old(db, monkeypatch):
    known = Tokens(db)
    secret = known.create("anna")
    first, second = known.begin_session(secret), known.begin_session(secret)
    assert first.value != second.value
    known.end_session(first.value)
    known.end_session("never there")
    assert known.session(first.value) is None
    assert known.session(second.value).expires == second.expires
    monkeypatch.setattr(tokens, "SESSION_LENGTH", timedelta(seconds=-1))
    old = known.begin_session(secret)
    assert known.session(old.value) is None
    monkeypatch.undo()
    known.begin_session(secret)  # sweeps what has expired
    assert tokens._hash(old.value) not in contents(db)
    assert known.session(second.value) is not None


def test_last_used_is_noted_now_and_then(sqlite, monkeypatch):
    known = Tokens(sqlite)
    secret = known.create("anna")
    assert known.list()[0].last_used is None
    known.check(secret)
    first = known.list()[0].last_used
    assert first is not None
    known.check(secret)
    assert known.list()[0].last_used == first
    monkeypatch.setattr(tokens, "LAST_USED_EVERY_SECONDS", 0.0)
    known.check(secret)
    assert known.list()[0].last_used > first


def test_a_database_that_cannot_be_written_lets_readers_in(sqlite, monkeypatch):
    secret = Tokens(sqlite).create("anna")
    monkeypatch.setattr(database, "LOCK_TIMEOUT_SECONDS", 0.05)
    database.close_engine(database_url(sqlite))
    with closing(sqlite3.connect(sqlite, isolation_level=None)) as busy:
        busy.execute("BEGIN IMMEDIATE")
        assert Tokens(sqlite).check(secret).name == "anna"
        busy.execute("ROLLBACK")
    assert Tokens(sqlite).list()[0].last_used is None


def test_one_of_many_who_take_a_name_at_once_gets_it(db):
    done = []

    def take():
        try:
            done.append(Tokens(db).create("same"))
        except ap.Conflict:
            done.append(None)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 8
    (secret,) = [one for one in done if one]
    assert Tokens(db).check(secret).name == "same"


@pytest.mark.parametrize(
    ("name", "scope", "sentence"),
    [
        ("", "write", "`name` must be printable text of at most 100 characters"),
        (" a", "write", "`name` must be printable text"),
        ("a\nb", "write", "`name` must be printable text"),
        ("a" * 101, "write", "`name` must be printable text"),
        (None, "write", "`name` must be printable text"),
        ("a", "admin", "`scope` must be one of 'none', 'read', 'record', 'write'; got 'admin'."),
    ],
)
def test_what_cannot_be_a_token_is_refused(sqlite, name, scope, sentence):
    with pytest.raises(ap.InvalidValue, match=sentence):
        Tokens(sqlite).create(name, scope)
    assert not Tokens(sqlite).any()


# The commands


def test_the_commands(sqlite):
    made = run("token", "create", "anna", "--scope", "read", "--db", sqlite)
    assert made.code == 0
    secret = made.out.strip()
    assert Tokens(sqlite).check(secret).scope == "read"
    assert made.err == "Token 'anna' may read. Copy it now: it is not shown again.\n"
    plain = json.loads(run("token", "create", "otto", "--db", sqlite, "--json").out)
    assert (plain["name"], plain["scope"]) == ("otto", "write")
    assert Tokens(sqlite).check(plain["token"]).name == "otto"
    listed = run("token", "list", "--db", sqlite)
    assert "anna" in listed.out
    assert "in use" in listed.out
    assert secret not in listed.out
    assert run("token", "revoke", "anna", "--db", sqlite).out == "Revoked: anna.\n"
    rows = json.loads(run("token", "list", "--db", sqlite, "--json").out)
    assert [(row["name"], row["revoked"] is None) for row in rows] == [("anna", False), ("otto", True)]
    assert "revoked 20" in run("token", "list", "--db", sqlite).out
    assert json.loads(run("token", "revoke", "otto", "--db", sqlite, "--json").out) == {
        "name": "otto",
        "revoked": True,
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("create", "anna"), "Token 'anna' is there already; revoke it first or choose another name."),
        (("create", "x", "--scope", "all"), "`scope` must be one of 'none', 'read', 'record', 'write'; got 'all'."),
        (("revoke", "nobody"), "Token 'nobody' is not in use; in use are: anna."),
    ],
)
def test_bad_input_gets_one_sentence(sqlite, arguments, sentence):
    Tokens(sqlite).create("anna")
    done = run("token", *arguments, "--db", sqlite)
    assert (done.code, done.out, done.err) == (2, "", sentence + "\n")
    assert len(Tokens(sqlite).list()) == 1


@pytest.mark.parametrize("command", ["create", "list", "revoke"])
def test_each_command_has_help_with_an_example(command):
    done = run("token", command, "--help")
    assert done.code == 0
    assert f"Example: apportion token {command}" in done.out
    assert "--json" in done.out
    assert "--db" in done.out


def test_no_tokens_yet_says_what_to_do(sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=1, db=sqlite)
    assert run("token", "list", "--db", sqlite).out == "No tokens yet. Make one: apportion token create NAME\n"


# From schema 0001


def rows(path):
    with closing(sqlite3.connect(path)) as plain:
        return {
            name: [row[:7] for row in plain.execute(f"SELECT * FROM {name} ORDER BY 1, 2")]  # columns may be added
            for name in ("campaigns", "events", "snapshots")
        }


def test_the_upgrade_from_0001_keeps_every_event_and_brings_tokens(sqlite):
    shutil.copy(FROZEN / "schema-0001.sqlite", sqlite)
    before = rows(sqlite)
    assert len(before["events"]) > 20
    with pytest.raises(ap.IncompatibleState, match=r"older release \(schema 0001\); .* run `apportion upgrade --db"):
        Tokens(sqlite)
    with pytest.raises(ap.IncompatibleState, match="older release"):
        ap.Campaign.names(sqlite)
    done = run("upgrade", "--db", sqlite)
    assert (done.code, f"from schema 0001 to {REVISION}" in done.out) == (0, True)
    assert rows(sqlite) == before
    secret = Tokens(sqlite).create("anna")
    assert Tokens(sqlite).check(secret).name == "anna"


def test_a_token_ends_when_its_time_is_over(sqlite, monkeypatch):
    known = Tokens(sqlite)
    secret = known.create("anna", days=2)
    (row,) = known.list()
    assert row.expires > row.created
    assert known.check(secret) is not None
    session = known.begin_session(secret)
    assert known.session(session.value) is not None
    monkeypatch.setattr(tokens, "now", lambda: row.expires)
    assert known.list()[0].expired
    assert known.check(secret) is None
    assert known.session(session.value) is None
    assert not known.usable()
    assert known.any()  # the service stays guarded
    for days in (0, -1, "x", 1e9):
        with pytest.raises(ap.InvalidValue, match="days"):
            known.create("bert", days=days)


def test_a_rotated_token_has_another_secret_and_the_same_name(sqlite):
    known = Tokens(sqlite)
    secret = known.create("anna", scope="read", days=30)
    session = known.begin_session(secret)
    new = known.rotate("anna")
    assert known.check(secret) is None
    assert known.session(session.value) is None
    assert (known.check(new).name, known.check(new).scope) == ("anna", "read")
    (row,) = known.list()
    length = datetime.fromisoformat(row.expires) - datetime.fromisoformat(row.created)
    assert timedelta(days=29.99) < length < timedelta(days=30.01)
    with pytest.raises(ap.UnknownName, match="in use are: anna"):
        known.rotate("bert")

"""The chain of digests over events: what was changed behind our back is named. And who did what."""

import getpass
import json
import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.cli.commands import run

import apportion as ap
from apportion.campaigns import check, transactions
from apportion.campaigns.actor import acting
from apportion.campaigns.files import export_json, export_log, restore_json, restore_log
from apportion.campaigns.storage import database, session
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.store import open_store

FROZEN = Path(__file__).parent / "storage" / "frozen"


def change(db, statement):
    """Something done to the database by somebody else."""
    with database.engine_for(database_url(db)).connect() as connection, connection.begin():
        connection.execute(sa.text(statement))
    open_store(db).shared.clear()


@pytest.fixture
def campaign(db):
    made = ap.Campaign.create("ads", ("a", "b"), budget=100, b=0.75, sigma=1, seed=1, db=db)
    for _ in range(3):
        made.record(made.split().ticket, {"a": 10.0, "b": 20.0})
    return made


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("UPDATE events SET payload = replace(payload, '10.0', '11.0') WHERE number = 3", 3),
        ("UPDATE events SET at = '2020-01-01T00:00:00.000000+00:00' WHERE number = 4", 4),
        ("UPDATE events SET actor = 'somebody else' WHERE number = 5", 5),
        ("UPDATE events SET key = 'another' WHERE number = 2", 2),
        ("UPDATE events SET digest = NULL", 1),
        ("UPDATE events SET digest = 'aa' WHERE number = 6", 6),
    ],
)
def test_an_event_that_was_changed_is_named(campaign, db, statement, number):
    assert campaign.check().ok
    change(db, statement)
    change(db, "DELETE FROM snapshots")
    found = campaign.check()
    assert not found.ok
    assert found.message.startswith(f"Event {number} is not as it was written")


@pytest.mark.parametrize("column", ["at", "kind", "key", "payload", "actor", "request", "digest"])
def test_a_bit_that_makes_a_text_no_text_is_found_and_named(sqlite, column):
    for name in ("ads", "good"):
        with acting("nightly import", "r-17"):
            made = ap.Campaign.create(name, ("a", "b"), budget=100, b=0.75, sigma=1, seed=1, db=sqlite)
            for key in ("k1", "k2"):
                made.split(key=key)
    (ours,) = (row.id for row in rows_of(sqlite) if row.name == "ads")
    flipped = f"CAST(x'ff' || CAST(substr({column}, 2) AS BLOB) AS TEXT)"
    change(sqlite, f"UPDATE events SET {column} = {flipped} WHERE number = 3 AND campaign = {ours}")
    change(sqlite, "DELETE FROM snapshots")
    open_store(sqlite).close()
    assert run("check", "good", "--db", sqlite).code == 0
    broken = run("check", "ads", "--db", sqlite)
    assert broken.code == 1
    assert "Event 3 is not as it was written" in " ".join((broken.out + broken.err).split())
    listed = run("campaigns", "--db", sqlite)
    assert listed.code == 0
    assert "good" in listed.out


def rows_of(db):
    with open_store(db).reading() as session:
        return session.campaigns()


def test_without_snapshots_the_digests_are_compared(campaign, db):
    change(db, "DELETE FROM snapshots")
    found = campaign.check()
    assert (found.ok, found.snapshots) == (True, 0)
    assert "no snapshot to compare with" in found.message
    before = found.digest
    campaign.split()
    assert campaign.check().digest not in (before, None)


def test_events_that_are_missing_at_the_end_are_noticed(campaign, db):
    with campaign.together():
        for _ in range(64):
            campaign.split()
    change(db, "DELETE FROM events WHERE number > 60")
    assert "Events after 60 are missing" in campaign.check().message


def test_a_database_of_before_gets_its_chain(sqlite):
    shutil.copy(FROZEN / "schema-0002.sqlite", sqlite)
    database.upgrade(sqlite)
    campaign = ap.Campaign.open("every verb", db=sqlite)
    assert campaign.check().ok
    assert campaign.events()[0].actor is None
    campaign.split()
    number = next(event.number for event in campaign.events(8) if event.kind == "split")
    change(sqlite, f"UPDATE events SET payload = payload || ' ' WHERE number = {number}")
    assert f"Event {number} is not as it was written" in campaign.check().message


def test_events_say_who_did_it(campaign, db):
    mine = f"user {getpass.getuser()}"
    assert {event.actor for event in campaign.events()} == {mine}
    with acting("nightly import", "r-17"):
        campaign.amend(1, {"a": 12.0})
        copy = campaign.clone("copy")
    last = campaign.events()[-1]
    assert (last.actor, last.request) == ("nightly import", "r-17")
    assert copy.events()[-1].actor == "nightly import"
    lines = {(line.ticket, line.arm): line.by for line in campaign.history()}
    assert (lines[1, "a"], lines[1, "b"]) == ("nightly import", mine)
    assert campaign.export("csv").splitlines()[0].endswith(",by")
    assert "nightly import" in campaign.export("csv")
    assert json.loads(export_json(campaign))["events"][-1]["request"] == "r-17"
    for twin in (
        restore_json(export_json(campaign), name="one", db=db),
        restore_log(export_log(campaign), name="two", db=db),
    ):
        assert twin.events() == campaign.events()
        assert twin.check().ok


def test_a_log_of_before_is_restored(campaign, db):
    lines = [line.split(",") for line in export_log(campaign).splitlines()]
    assert lines[0][-2:] == ["actor", "request"]
    text = "\n".join(",".join(cells[:-2]) for cells in lines)
    twin = restore_log(text, name="of before", db=db)
    assert twin.state() == campaign.state()
    assert {event.actor for event in twin.events()} == {None}


# Long campaigns: rebuilt from a sealed snapshot on


@pytest.fixture
def long(db, monkeypatch):
    monkeypatch.setattr(transactions, "SNAPSHOT_EVERY", 4)
    monkeypatch.setattr(session, "SNAPSHOT_KEPT_EVERY", 8)
    monkeypatch.setattr(check, "REBUILT", 10)
    made = ap.Campaign.create("ads", ("a", "b"), budget=100, b=0.75, sigma=1, seed=1, db=db)
    for _ in range(20):
        made.record(made.split().ticket, {"a": 10.0, "b": 20.0})
    return made


def test_a_long_campaign_is_rebuilt_from_a_sealed_snapshot_on(long, db):
    found = long.check()
    assert (found.ok, found.exact, found.events, found.tickets) == (True, True, 41, 20)
    assert found.sealed == 28
    assert "the last 13 of them rebuilt; 2 snapshots agree bit for bit, 4 before are as sealed." in found.message
    full = long.check(full=True)
    assert (full.ok, full.exact, full.sealed, full.digest) == (True, True, 0, found.digest)
    assert full.snapshots > found.snapshots > 0
    change(db, "UPDATE snapshots SET state = replace(state, 'sealed', 'nothing')")
    assert long.check().sealed == 0  # as of a release that did not seal


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE events SET payload = replace(payload, '10.0', '11.0') WHERE number = 3", "Event 3 is not as it was"),
        ("UPDATE events SET actor = 'somebody else' WHERE number = 28", "Event 28 is not as it was"),
        ("UPDATE events SET actor = 'somebody else' WHERE number = 41", "Event 41 is not as it was"),
        ("DELETE FROM events WHERE number = 5", "Event 6 is not as it was"),
        (
            "UPDATE snapshots SET state = replace(state, '\"issued\": 6', '\"issued\": 7') WHERE number = 12",
            "The snapshot after event 12 does not agree",
        ),
        (
            "UPDATE snapshots SET state = replace(state, '\"issued\"', '\"was issued\"') WHERE number = 28",
            "The snapshot after event 28 does not agree",
        ),
    ],
)
def test_what_was_changed_in_a_long_campaign_is_named(long, db, statement, sentence):
    change(db, statement)
    found = long.check()
    assert not found.ok
    assert sentence in found.message
    if "snapshots" in statement:
        long.check(repair=True)
        assert long.check().ok

"""Ctrl-C at the worst moments of a write, and databases that go back: the log and the memory stay one."""

import itertools
import sys
import threading

import pytest
import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.pool import QueuePool

import apportion as ap
from apportion.allocation.allocator import Allocator
from apportion.campaigns.state import CampaignState
from apportion.campaigns.storage import session, store
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import engine_for
from apportion.campaigns.storage.fair_lock import FairLock
from apportion.campaigns.storage.group_commit import WriteGroup
from apportion.campaigns.storage.store import open_store
from apportion.campaigns.transactions import Transaction, Transactions
from rechain import rechain

ARMS = ("a", "b")

# Where a write may be interrupted, in the order in which it comes by.
MOMENTS = [
    (FairLock, "wait"), (store.Store, "_join"), (store.Store, "_begin"), (Transactions, "_catch_up"),
    (Allocator, "decide"), (Allocator, "_believe"), (Allocator, "commit"), (Transaction, "append"),
    (Transactions, "_flush"), (session.Session, "append"), (CampaignState, "text"),
    (session.Session, "save_snapshot"), (store.Lane, "finish"),
    (WriteGroup, "finish"), (sa.Connection, "commit"), (sa.Connection, "close"),
]  # fmt: skip


@pytest.fixture
def campaign(db):
    """One whose next split writes a snapshot, too."""
    campaign = ap.Campaign.create("c", ARMS, budget=100, policy="odds", b=0.75, sigma=1, seed=1, db=db)
    with campaign.together():
        for _ in range(62):
            campaign.split()
    return campaign


def interrupt(patch, owner, name, after):
    """Let the next call be interrupted, before or after its work; no other."""
    real, left = getattr(owner, name), [True]

    def once(*given, **named):
        if left and not after:
            left.clear()
            raise KeyboardInterrupt
        answer = real(*given, **named)
        if left:
            left.clear()
            raise KeyboardInterrupt
        return answer

    patch.setattr(owner, name, once)


def sound(campaign, db):
    """The log has no gap, and what is in memory is what another process finds."""
    ours = campaign.state()
    assert campaign.check().exact
    open_store(db).shared.clear()
    return ap.Campaign.open("c", db=db).state() == ours


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), MOMENTS, ids=[f"{owner.__name__}.{name}" for owner, name in MOMENTS])
def test_an_interrupted_split_is_there_or_not(campaign, db, monkeypatch, owner, name, after):
    with monkeypatch.context() as patch:
        interrupt(patch, owner, name, after)
        with pytest.raises(KeyboardInterrupt):
            campaign.split()
    assert campaign.period in (62, 63)
    kept = campaign.period
    assert campaign.split().ticket == kept + 1
    campaign.record(kept + 1, {"a": 1.0})
    assert sound(campaign, db)


def test_an_interrupted_statement_does_not_block_the_next_write(sqlite, monkeypatch):
    campaign = ap.Campaign.create("c", ARMS, budget=100, db=sqlite)
    held = []
    for mark in ("BEGIN IMMEDIATE", "max(events", "INSERT INTO events", "ROLLBACK"):
        real, left = DefaultDialect.do_execute, [True]

        def once(self, cursor, statement, *rest, mark=mark, real=real, left=left):
            real(self, cursor, statement, *rest)
            if left and mark in statement:
                left.clear()
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(DefaultDialect, "do_execute", once)
            try:
                campaign.split()
            except KeyboardInterrupt as error:
                held.append(error)  # as an interactive session holds the last one
        with engine_for(database_url(sqlite)).connect() as other:
            other.exec_driver_sql("PRAGMA busy_timeout = 0")
            other.exec_driver_sql("ROLLBACK")
            other.exec_driver_sql("BEGIN IMMEDIATE")
            other.exec_driver_sql("ROLLBACK")
            other.exec_driver_sql("PRAGMA busy_timeout = 60000")
        campaign.split()
    assert len(held) == 3  # no statement says ROLLBACK here
    assert sound(campaign, sqlite)


def test_connections_that_were_lost_to_interrupts_are_not_waited_for(sqlite, monkeypatch):
    campaign = ap.Campaign.create("c", ARMS, budget=100, db=sqlite)
    for _ in range(40):
        with monkeypatch.context() as patch:
            interrupt(patch, QueuePool, "_do_get", True)
            with pytest.raises(KeyboardInterrupt):
                campaign.split()
    assert campaign.split().ticket == 1


def interrupted_at(step, files, act):
    """Whether Ctrl-C came, at that step of the code in these files."""
    steps = itertools.count()

    def follow(frame, event, argument):
        if event in ("line", "return") and next(steps) == step:
            sys.settrace(None)
            raise KeyboardInterrupt
        return follow

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: follow if frame.f_code.co_filename.endswith(files) else None)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_in_the_queue_of_connections_leaves_it_usable(sqlite):
    engine = engine_for(database_url(sqlite))
    files = ("storage/database.py", "sqlalchemy/util/queue.py", "threading.py")
    for step in itertools.count():
        came = interrupted_at(step, files, lambda: engine.connect().close())
        other = threading.Thread(target=lambda: engine.connect().close(), daemon=True)
        other.start()
        other.join(60)
        assert not other.is_alive()
        if not came:
            break
    assert step > 3


def test_who_catches_an_interrupt_within_a_block_goes_on_without_the_verb(campaign, db, monkeypatch):
    with campaign.together():
        campaign.split()
        with monkeypatch.context() as patch:
            interrupt(patch, Allocator, "commit", True)
            with pytest.raises(KeyboardInterrupt):
                campaign.split()
        assert campaign.split().ticket == 64
        campaign.record(63, {"a": 1.0})
    assert [event.ticket for event in campaign.events()[-3:]] == [63, 64, 63]
    with campaign.together(), monkeypatch.context() as patch:
        interrupt(patch, Allocator, "commit", True)
        with pytest.raises(KeyboardInterrupt):
            campaign.split()
    assert campaign.period == 64
    assert sound(campaign, db)


def half(campaign):
    with campaign.together():
        campaign.split()
        campaign.record(99, {"a": 1.0})


def test_a_block_within_a_block_is_kept_as_a_whole_or_not(campaign, db):
    with campaign.together():
        campaign.split()
        with pytest.raises(ap.UnknownName):
            half(campaign)
        assert campaign.period == 63
    assert campaign.period == 63
    assert sound(campaign, db)


@pytest.mark.parametrize("moved_on", [False, True], ids=["shorter", "moved on"])
def test_a_database_that_went_back_is_read_again(campaign, db, moved_on):
    """A copy was put in its place, or a server took over that had not got the last commits."""
    for _ in range(4):
        campaign.split()
    with engine_for(database_url(db)).connect().execution_options(apportion_writing=True) as connection:
        connection.execute(sa.text("DELETE FROM events WHERE number > 65"))
        connection.execute(sa.text("DELETE FROM snapshots WHERE number > 65"))
        if moved_on:  # and others have written as much since
            for ticket in (1, 2):
                connection.execute(
                    sa.text(
                        "INSERT INTO events (campaign, number, at, kind, ticket, payload) "
                        "VALUES (:campaign, :number, 'later', 'outcome', :ticket, :payload)"
                    ),
                    {
                        "campaign": campaign._id,
                        "number": 65 + ticket,
                        "ticket": ticket,
                        "payload": '{"outcomes":{"a":1.0}}',
                    },
                )
            rechain(connection, campaign._id)
        connection.commit()
    assert campaign.period == 64
    assert (campaign.split().ticket, campaign.version) == (65, 68 if moved_on else 66)
    assert sound(campaign, db)

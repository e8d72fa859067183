"""Threads that wait for their turn share a commit; what fails, fails for all who shared it, and leaves no trace."""

import contextlib
import sqlite3
import threading
import time

import pytest

import apportion as ap
from apportion.campaigns.storage.group_commit import WriteGroup
from apportion.campaigns.storage.store import open_store
from apportion.errors import StoreUnavailable

ARMS = ("a", "b")


@pytest.fixture
def campaign(db):
    campaign = ap.Campaign.create("c", ARMS, budget=100, b=0.75, sigma=1, seed=1, db=db)
    campaign.record(campaign.split().ticket, {"a": 1.0})
    return campaign


@pytest.fixture
def finished(monkeypatch):
    """The sizes of the groups that were committed."""
    sizes, finish = [], WriteGroup.finish

    def counted(group, error=None):
        sizes.append(group.writes)
        finish(group, error)

    monkeypatch.setattr(WriteGroup, "finish", counted)
    return sizes


def at_once(db, campaign, *works):
    """Let threads queue up behind a write, and then go; gives what each returned or raised."""
    answers = [None] * len(works)

    def run(index, work):
        try:
            answers[index] = work(ap.Campaign.open("c", db=db))
        except Exception as error:
            answers[index] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    store = open_store(db)
    with contextlib.suppress(StoreUnavailable), store.writing(campaign._id):
        for thread in threads:
            thread.start()
        # Until each waits, or is done: on a server other campaigns have a queue of their own.
        while sum(lane.lock.waiting for lane in store.lanes) + sum(not each.is_alive() for each in threads) < len(
            works
        ):
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    return answers


def test_those_who_wait_share_a_commit(db, campaign, finished):
    tickets = at_once(db, campaign, *[lambda mine: mine.split().ticket] * 6)
    assert sorted(tickets) == [2, 3, 4, 5, 6, 7]
    assert len(finished) < 6
    assert sum(finished) == 7
    assert campaign.check().exact


def test_a_refusal_leaves_the_others_alone(db, campaign):
    def wrong(mine):
        mine.record(1, {"a": 99.0})

    def half(mine):
        with mine.together():
            mine.split()
            mine.record(1, {"a": 99.0})

    answers = at_once(db, campaign, *[lambda mine: mine.split().ticket] * 4, wrong, half)
    assert sorted(answers[:4]) == [2, 3, 4, 5]
    assert all(isinstance(answer, ap.Conflict) for answer in answers[4:])
    assert campaign.period == 5
    assert campaign.check().exact


def test_a_commit_that_fails_fails_for_all_who_shared_it(db, campaign, monkeypatch):
    state, finish = campaign.state(), WriteGroup.finish

    def fail(group, error=None):
        finish(group, error or sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(WriteGroup, "finish", fail)
    answers = at_once(db, campaign, *[lambda mine: mine.split()] * 4)
    assert all(isinstance(answer, StoreUnavailable) for answer in answers)
    with pytest.raises(StoreUnavailable):
        campaign.split()
    monkeypatch.undo()
    assert campaign.state() == state
    assert campaign.split().ticket == 2
    assert campaign.check().exact


def test_campaigns_side_by_side(db, campaign):
    other = ap.Campaign.create("d", ARMS, budget=1, db=db)
    works = [lambda mine: mine.split().ticket, lambda mine: other.split().ticket] * 3
    answers = at_once(db, campaign, *works)
    assert sorted(answers[::2]) == [2, 3, 4]
    assert sorted(answers[1::2]) == [1, 2, 3]
    assert campaign.check().exact
    assert other.check().exact


def test_a_write_that_cannot_be_kept_leaves_the_others_alone(db, campaign):
    """Neither one that cannot be written down, nor one that the database refuses half-way."""

    def unwritable(mine):
        with mine.transactions.write() as transaction:
            transaction.append("setting", {"changes": object()})

    def taken(mine):
        with mine.transactions.write() as transaction:
            transaction.session.append(mine._id, mine.events(limit=1))

    works = [lambda mine: mine.split().ticket, unwritable, taken] * 3
    answers = at_once(db, campaign, *works)
    assert sorted(answers[::3]) == [2, 3, 4]
    assert all(type(answer) is TypeError for answer in answers[1::3])
    assert all(type(answer) is ap.Conflict for answer in answers[2::3])
    assert len(set(map(id, answers[1::3] + answers[2::3]))) == 6
    assert campaign.period == 4
    assert campaign.check().exact


def test_each_who_shared_a_failed_commit_has_an_error_of_its_own(db, campaign, monkeypatch):
    finish = WriteGroup.finish

    def fail(group, error=None):
        finish(group, error or KeyboardInterrupt())

    monkeypatch.setattr(WriteGroup, "finish", fail)
    answers = at_once(db, campaign, *[lambda mine: mine.split()] * 4)
    monkeypatch.undo()
    assert all("was interrupted by another write" in str(answer) for answer in answers)
    assert all(type(answer) is StoreUnavailable for answer in answers)
    assert len(set(map(id, answers))) == 4
    assert campaign.period == 1


def test_a_reader_does_not_wait_for_a_block_of_another_thread(db, campaign):
    inside, seen = threading.Event(), threading.Event()

    def block():
        with campaign.together():
            campaign.split()
            inside.set()
            assert seen.wait(60)

    writer = threading.Thread(target=block)
    writer.start()
    assert inside.wait(60)
    found = (campaign.period, campaign.status().period, campaign.version, ap.Campaign.open("c", db=db).open_tickets)
    still = writer.is_alive()
    seen.set()
    writer.join()
    assert still  # all of this was answered while the block was open
    assert found == (1, 1, 3, (1,))
    assert campaign.period == 2
    assert campaign.check().exact

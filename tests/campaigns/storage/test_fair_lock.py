"""The lock of the writers of one process: handed over in the order of asking, and never lost."""

import random
import threading
import time
from contextlib import contextmanager

import pytest

import apportion as ap
from apportion.campaigns.storage.fair_lock import FairLock, Latch, Waiter


def until(condition):
    ends = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < ends, "this did not come about within a minute"
        time.sleep(0.001)


@contextmanager
def taken(lock):
    """As a write takes the lock."""
    waiter = Waiter()
    with waiter.lock:
        try:
            lock.wait(waiter)
            yield
        finally:
            waiter.leave()


def is_free(lock):
    return lock.holder.thread == 0 and not lock.holder.lock.locked()


def test_the_lock_comes_in_the_order_of_asking():
    lock, order = FairLock(), []

    def work(number):
        with taken(lock):
            order.append(number)

    crew = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    with taken(lock):
        assert lock.waiting == 0
        for number, thread in enumerate(crew, start=1):
            thread.start()
            until(lambda number=number: lock.waiting == number)
        assert order == []
    for thread in crew:
        thread.join()
    assert order == list(range(20))
    assert lock.waiting == 0
    assert is_free(lock)


def test_one_at_a_time_however_many_ask():
    lock, inside, most, done = FairLock(), [0], [0], [0]

    def work(seed):
        chance = random.Random(seed)
        for _ in range(200):
            with taken(lock):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                if chance.random() < 0.1:
                    time.sleep(0.0001)
                done[0] += 1
                inside[0] -= 1

    crew = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert (most[0], done[0], is_free(lock)) == (1, 1600, True)


class Interrupted(Exception):
    pass


class Impatient:
    """A lock whose first waiter is interrupted, as by Ctrl-C; the others wait as ever."""

    def __init__(self, lock):
        self._lock = lock
        self._asked = 0

    def __enter__(self):
        self._asked += 1
        if self._asked == 1:
            raise Interrupted
        return self._lock.__enter__()

    def __exit__(self, *error):
        self._lock.release()

    def locked(self):
        return self._lock.locked()


def test_whoever_is_interrupted_leaves_the_queue():
    """The next in the queue waits for the one before, and not for the one that has gone."""
    lock, order = FairLock(), []

    def work(name):
        try:
            with taken(lock):
                order.append(name)
        except Interrupted:
            order.append(f"{name} left")

    first, second = (threading.Thread(target=work, args=(name,)) for name in ("first", "second"))
    with taken(lock):
        lock.holder.lock = Impatient(lock.holder.lock)
        first.start()
        first.join()
        assert lock.waiting == 0
        second.start()
        until(lambda: lock.waiting == 1)
        assert order == ["first left"]
        order.append("main")
    second.join()
    assert order == ["first left", "main", "second"]
    assert lock.waiting == 0
    with taken(lock):  # it can be taken again
        assert lock.waiting == 0
    assert is_free(lock)


def test_a_latch_is_seen_by_all_who_wait_for_it_and_may_be_given_twice():
    latch, seen = Latch(), []
    assert (latch.is_set(), latch.wait(0.0)) == (False, False)
    waiting = [threading.Thread(target=lambda: seen.append(latch.wait(60.0))) for _ in range(4)]
    for thread in waiting:
        thread.start()
    latch.set()
    latch.set()
    for thread in waiting:
        thread.join()
    assert seen == [True] * 4
    assert (latch.is_set(), latch.wait(0.0)) == (True, True)


def within(one, two, act):
    with one.together():
        one.split()
        assert two.period == 0  # reading is no writing
        act()


@pytest.mark.parametrize("other", ["another campaign", "another object of the same"])
def test_a_thread_does_not_wait_for_itself(db, other):
    names = ("x", "y")
    one = ap.Campaign.create("one", names, budget=1, db=db)
    two = ap.Campaign.create("two", names, budget=1, db=db) if other == "another campaign" else one.open("one", db=db)
    state = one.state()
    for act in (two.split, lambda: ap.Campaign.create("three", names, budget=1, db=db)):
        with pytest.raises(ap.Conflict, match="A write of this thread is not finished"):
            within(one, two, act)
    assert one.state() == state
    assert (two.split().ticket, one.check().exact, two.check().exact) == (1, True, True)
    assert ap.Campaign.create("three", names, budget=1, db=db).split().ticket == 1

"""`kill -9` of a service under load: what was acknowledged is there once, what is sent again is not done again."""

import os
import random
import signal
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import pytest
from tests.web.running import PATIENCE, Service, until

import apportion as ap
from apportion.client import ServiceUnavailable
from apportion.web.serve import UNRESPONSIVE_SECONDS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL and /proc are of POSIX systems")

SOAK = os.environ.get("APPORTION_SOAK") == "1"
# Two workers: when two are killed, one that came later answers.
KILLS, KILLS_OF_ALL = (20, 20) if SOAK else (2, 1)
CLIENTS = 4
ARMS = ("a", "b", "c")


# A worker that dies while it is asked for its pulse is missed only after this long.
REPLACED = PATIENCE + UNRESPONSIVE_SECONDS


class Crowd:
    """Clients that record as fast as they are answered, and send again under the same key until they are."""

    def __init__(self, url):
        self.acknowledged = []
        """(key of the split, ticket, key of the outcomes, outcomes), one for each round trip."""
        self.errors = []
        self.sent_again = 0
        self._stop = threading.Event()
        self._url = url
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(CLIENTS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def moves_on(self, trips=CLIENTS):
        """Wait until so many more round trips were acknowledged, or a client gave up."""
        wanted = len(self.acknowledged) + trips
        until(lambda: len(self.acknowledged) >= wanted or self.errors, "clients to be answered again")

    def _work(self, number):
        try:
            with ap.Client(self._url, retries=0, timeout=PATIENCE) as client:
                campaign = client.campaign("ads")
                trip = 0
                while not self._stop.is_set():
                    trip += 1
                    first, second = f"{number} split {trip}", f"{number} record {trip}"
                    split = self._insist(campaign.split, key=first)
                    told = {arm: float(split.ticket) for arm, amount in split.amounts.items() if amount > 0}
                    self._insist(campaign.record, split.ticket, told, key=second)
                    self.acknowledged.append((first, split.ticket, second, told))
        except Exception as error:
            self.errors.append(error)

    def _insist(self, verb, *given, key):
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                return verb(*given, key=key)
            except ServiceUnavailable:
                if time.monotonic() > ends:
                    raise
                self.sent_again += 1
                time.sleep(0.02)


def started(db, port="0"):
    """A service of two workers that are ready."""
    running = Service(db, "--workers", "2", "--log-level", "info", "--port", port)
    try:
        ready(running, 2)
    except BaseException:
        running.end()
        raise
    return running


def ready(running, count):
    """Wait for the start of so many workers, those that were killed since among them."""
    ends = time.monotonic() + REPLACED
    while running.text.count("Application startup complete") < count:
        assert time.monotonic() < ends, f"worker {count} did not start: {running.text[-2000:]}"
        time.sleep(0.05)


def busy(running, before):
    """The workers that answered something after so many lines of the log."""
    answered = {line["worker"] for line in running.lines[before:] if line["event"] == "request"}
    return sorted(answered & set(running.children()))


def kill_all(running):
    """The whole service at once: the workers first, so that none is replaced, then the one that watches them."""
    os.kill(running.process.pid, signal.SIGSTOP)
    for worker in running.children():
        os.kill(worker, signal.SIGKILL)
    running.process.kill()
    running.end()


def inspect(db, crowd):
    """Each acknowledged write is in the log once, under its key, and nothing else is."""
    assert crowd.errors == []
    campaign = ap.Campaign.open("ads", db=db)
    events = campaign.events()
    assert all(count == 1 for count in Counter(event.key for event in events if event.key is not None).values())
    splits = {event.key: event.ticket for event in events if event.kind == "split"}
    outcomes = {event.key: (event.ticket, event.payload["outcomes"]) for event in events if event.kind == "outcome"}
    assert splits == {first: ticket for first, ticket, _, _ in crowd.acknowledged}
    assert outcomes == {second: (ticket, told) for _, ticket, second, told in crowd.acknowledged}
    assert sorted(splits.values()) == list(range(1, len(crowd.acknowledged) + 1))
    assert campaign.open_tickets == ()
    found = campaign.check()
    assert found.ok
    assert found.exact


@pytest.fixture
def ads(db):
    """Each database in turn, with a campaign."""
    ap.Campaign.create("ads", ARMS, budget=90, b=0.75, sigma=5.0, db=db, seed=1)
    return db


def test_a_worker_is_killed(ads):
    rng = random.Random(7)
    running = started(ads)
    try:
        with Crowd(running.url) as crowd:
            for number in range(KILLS):
                before = len(running.lines)
                crowd.moves_on()
                time.sleep(rng.uniform(0.0, 0.3))
                # One that has clients: all of them may be with one worker, and nobody would miss the other.
                workers = until(lambda before=before: busy(running, before), "a busy worker")
                os.kill(rng.choice(workers), signal.SIGKILL)
                ready(running, 3 + number)
            crowd.moves_on()
        answered = {line["worker"] for line in running.lines if line["event"] == "request"}
    finally:
        running.end()
    assert len(answered) >= 3  # also one that took the place of another
    inspect(ads, crowd)


def test_the_whole_service_is_killed_and_started_again_at_its_place(ads):
    rng = random.Random(8)
    running = started(ads)
    try:
        with Crowd(running.url) as crowd:
            for _ in range(KILLS_OF_ALL):
                crowd.moves_on()
                time.sleep(rng.uniform(0.0, 0.3))
                kill_all(running)
                running = started(ads, str(urlsplit(running.url).port))
            crowd.moves_on()
    finally:
        running.end()
    assert crowd.sent_again > 0
    inspect(ads, crowd)

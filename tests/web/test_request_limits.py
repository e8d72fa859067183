"""Limits: heavy reads of one caller keep nobody waiting; half a request does not hold the server; health answers."""

import asyncio
import contextlib
import socket
import sqlite3
import threading
import time
from urllib.parse import urlsplit

import pytest
from running import Service

import apportion as ap
from apportion.campaigns.storage.store import Store
from apportion.web.guard import limits, protocol
from apportion.web.guard.users import Refused
from apportion.web.observability import metrics


def test_heavy_reads_wait_in_line_and_are_refused_when_there_are_many(monkeypatch):
    monkeypatch.setattr(limits, "HEAVY_WAIT_SECONDS", 0.05)

    async def story():
        reads = limits.HeavyReads()
        await reads.acquire("anna")
        with pytest.raises(Refused, match="come back in a moment"):
            await reads.acquire("anna")  # one at a time
        await reads.acquire("bert")  # another caller has a place of their own
        with pytest.raises(Refused, match="come back in a moment"):
            await reads.acquire("carl")  # two in all
        reads.release("anna")
        await reads.acquire("carl")
        waiting = [asyncio.create_task(reads.acquire("carl")) for _ in range(limits.HEAVY_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="At most 9 such requests"):
            await reads.acquire("carl")
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(each, Refused) and each.status == 429 for each in found)
        reads.release("carl")
        reads.release("bert")
        await reads.acquire("carl")
        reads.release("carl")
        assert not reads._callers
        assert not reads._count

    asyncio.run(story())


def test_many_checks_at_once_are_answered_or_refused(ads, monkeypatch):
    monkeypatch.setattr(limits, "HEAVY_WAITING", 2)
    found = []

    def ask():
        found.append(ads.get("/api/v1/campaigns/ads/check").status_code)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    with ads:  # one event loop for all
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(found) <= {200, 429}
    assert 200 in found
    assert ads.get("/api/v1/campaigns/ads/check").status_code == 200


def test_health_answers_while_the_database_does_not(client, monkeypatch):
    monkeypatch.setattr(metrics, "PULSE_SECONDS", 0.2)
    assert client.get("/healthz").json()["status"] == "ok"
    stuck = threading.Event()
    reading = Store.reading

    @contextlib.contextmanager
    def slow(self):
        stuck.wait()
        with reading(self) as session:
            yield session

    monkeypatch.setattr(Store, "reading", slow)
    with client:  # one event loop for all
        for _ in range(3):
            assert client.get("/healthz").json() == {"status": "database unavailable"}
        assert [thread.name for thread in threading.enumerate()].count("pulse") == 1  # one asks for all
        stuck.set()
    monkeypatch.setattr(Store, "reading", reading)
    assert client.get("/healthz").status_code in (200, 503)


def test_half_a_request_is_cut_off_and_others_are_answered(sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=1, db=sqlite)
    running = Service(sqlite)
    try:
        where = urlsplit(running.url)
        halves = [socket.create_connection((where.hostname, where.port)) for _ in range(300)]
        for half in halves:
            half.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        began = time.monotonic()
        assert running.ask("/healthz")[0] == 200
        halves[0].settimeout(10 * protocol.HEADER_SECONDS)
        assert halves[0].recv(1000) == b""  # closed by the server
        assert time.monotonic() - began >= protocol.HEADER_SECONDS / 2
        for half in halves:
            half.close()
        assert running.ask("/api/v1/campaigns")[0] == 200
    finally:
        running.end()


def test_health_is_answered_while_the_file_is_locked(sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=1, db=sqlite)
    running = Service(sqlite)
    try:
        with contextlib.closing(sqlite3.connect(sqlite, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert running.ask("/healthz")[0] == 200
            assert running.ask("/api/v1/campaigns/ads")[0] == 200
    finally:
        running.end()

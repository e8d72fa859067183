"""Limits: heavy reads of one caller keep nobody waiting; half a request does not hold the server; health answers."""

import asyncio
import contextlib
import socket
import sqlite3
import threading
import time
from urllib.parse import urlsplit

import psycopg
import pytest
from running import Service

import apportion as ap
from apportion.campaigns.storage.store import Store
from apportion.campaigns.storage.tokens import Tokens
from apportion.web import api, pages
from apportion.web.guard import limits, middleware, places, protocol
from apportion.web.guard.users import Refused
from apportion.web.observability import metrics


def test_heavy_reads_wait_in_line_and_are_refused_when_there_are_many(monkeypatch):
    monkeypatch.setattr(limits, "HEAVY_WAIT_SECONDS", 0.5)
    monkeypatch.setattr(limits, "REFUSAL_SECONDS", 0.2)

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
        began = time.monotonic()
        with pytest.raises(Refused, match="At most 9 such requests"):
            await reads.acquire("carl")
        assert time.monotonic() - began >= limits.REFUSAL_SECONDS / 2  # held back: to refuse is work, too
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
    monkeypatch.setattr(metrics, "PULSE_SECONDS", 0.5)
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
        assert client.get("/healthz").json()["status"] == "ok"  # known from just before
        time.sleep(metrics.PULSE_SECONDS)
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
        began = time.monotonic()  # before the first of them: all may take long where others are at work
        halves = [socket.create_connection((where.hostname, where.port)) for _ in range(300)]
        for half in halves:
            half.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert running.ask("/healthz")[0] == 200
        halves[0].settimeout(10 * protocol.HEADER_SECONDS)
        assert halves[0].recv(1000) == b""  # closed by the server
        assert time.monotonic() - began >= protocol.HEADER_SECONDS / 2
        for half in halves:
            half.close()
        assert running.ask("/api/v1/campaigns")[0] == 200
    finally:
        running.end()


def test_whoever_reads_is_answered_while_more_writers_than_threads_wait_for_the_file(sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=1, db=sqlite)
    secret = Tokens(sqlite).create("all")
    running, sure, found = Service(sqlite), {"Authorization": f"Bearer {secret}"}, []

    def write():
        found.append(running.ask("/api/v1/campaigns/ads/splits", "POST", **sure)[0])

    writers = [threading.Thread(target=write) for _ in range(60)]
    try:
        with contextlib.closing(sqlite3.connect(sqlite, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for writer in writers:
                writer.start()
            time.sleep(1.0)
            # Also by a token, whose use is written down once a minute.
            assert running.ask("/healthz")[0] == 200
            assert running.ask("/api/v1/campaigns/ads", **sure)[0] == 200
            assert running.ask("/", Accept="text/html", **sure)[0] == 200
            assert found == []  # nobody could write
            other.execute("ROLLBACK")
        for writer in writers:
            writer.join()
        assert found == [201] * 60
        assert ap.Campaign.open("ads", db=sqlite).period == 60
    finally:
        running.end()


def test_files_that_come_slowly_take_no_place_of_those_who_write(sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=1, db=sqlite)
    running = Service(sqlite)
    uploads = []
    try:
        where = urlsplit(running.url)
        for path in ("campaigns/ads/import", "restore") * places.WRITES_AT_ONCE:
            upload = socket.create_connection((where.hostname, where.port))
            uploads.append(upload)
            head = f"POST /api/v1/{path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: text/csv\r\n"
            upload.sendall(f"{head}Content-Length: 1000\r\n\r\ndate,arm".encode())
        time.sleep(1.0)
        began = time.monotonic()
        assert running.ask("/api/v1/campaigns/ads/splits", "POST")[0] == 201
        assert time.monotonic() - began < middleware.BODY_SECONDS / 2
    finally:
        for upload in uploads:
            upload.close()
        running.end()


def test_writes_that_wait_too_long_are_told_to_come_back(monkeypatch):
    monkeypatch.setattr(places, "WRITE_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(places, "WRITES_AT_ONCE", 3)
    monkeypatch.setattr(places, "WRITES_PER_CAMPAIGN", 2)

    async def story():
        writes = places.WritePlaces()
        await writes.acquire("ads")
        await writes.acquire("ads")
        with pytest.raises(ap.StoreUnavailable, match="Nothing was changed"):
            await writes.acquire("ads")  # two in a campaign
        await writes.acquire("mail")
        with pytest.raises(ap.StoreUnavailable, match="come back in a moment"):
            await writes.acquire("web")  # three in all
        writes.release("ads")
        await writes.acquire("web")
        for name in ("ads", "mail", "web"):
            writes.release(name)
        assert not writes._campaigns

    asyncio.run(story())


def test_a_campaign_that_is_locked_elsewhere_keeps_no_other_waiting(postgres):
    one, two = (ap.Campaign.create(name, ("a", "b"), budget=1, db=postgres) for name in ("one", "two"))
    waiting = threading.Thread(target=one.split)
    with psycopg.connect(postgres) as other:
        other.execute("SELECT id FROM campaigns WHERE name = 'one' FOR UPDATE")
        waiting.start()
        while not one._store.lanes[one._id % len(one._store.lanes)].lock.holder.lock.locked():
            time.sleep(0.01)
        assert two.split().ticket == 1
        assert waiting.is_alive()
        other.rollback()
    waiting.join()
    assert one.period == 1


def test_a_body_that_stops_is_given_up(ads, monkeypatch):
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.2)

    async def story():
        begun = {"type": "http.request", "body": b"{", "more_body": True}
        pieces, said = [begun], []

        async def receive():
            if not pieces:
                await asyncio.sleep(30)
            return pieces.pop()

        async def send(message):
            said.append(message)

        scope = {
            "type": "http", "method": "POST", "path": "/api/v1/campaigns/ads/splits", "query_string": b"",
            "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"content-length", b"9")],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000), "scheme": "http", "http_version": "1.1",
            "root_path": "", "raw_path": b"",
        }  # fmt: skip
        await ads.app(scope, receive, send)
        return said

    said = asyncio.run(story())
    assert said[0]["status"] == 408
    assert (b"connection", b"close") in [(name.lower(), value) for name, value in said[0]["headers"]]
    assert ads.get("/api/v1/campaigns/ads").json()["period"] == 2


def routes_of(routers):
    for router in routers:
        for route in router.routes:
            inner = getattr(route, "original_router", None)
            yield from routes_of([inner]) if inner is not None else [route]


def test_every_door_to_a_heavy_read_has_the_limit():
    doors = {"check", "export", "export.csv", "export.json", "report", "over-time", "plan", "data", "forecast",
             "forecasts"}  # fmt: skip
    found = {
        route.path: {each.call for each in route.dependant.dependencies}
        for route in routes_of((*api.ROUTERS, *pages.ROUTERS))
        if "GET" in route.methods and route.path.rpartition("/")[2] in doors
    }
    assert len(found) >= 10
    for path, calls in found.items():
        assert calls & {limits.heavy_read, limits.chart_read}, path

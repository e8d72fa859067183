"""Speed bars of the dashboard: the page of a long campaign, as the service times it, and its size with many arms.

The CPU time is that of the whole request inside of the service: reading, working out, rendering. A
page is worked out anew after every write, and is quicker while nothing changes; both are measured, and the first look
at a campaign by a service that has looked at others.
"""

from __future__ import annotations

import datetime
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import apportion as ap
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import close_engine
from benchmarks.table import Row

PERIODS, ARMS, MANY_ARMS = 1_000, 20, 10_000
BAR = 0.3
LARGEST_PAGE = 1.0
BUDGET = 5_000.0
LOOKS, REPEATS = 3, 7


def rows() -> Iterator[Row]:
    """Every bar with what was measured; times are the least of some repeats."""
    from apportion.web.app import create_app

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient
    with tempfile.TemporaryDirectory() as folder:
        db = str(Path(folder) / "pages.db")
        campaign, *others = (_long_campaign(db, f"long {number}", Path(folder)) for number in range(LOOKS + 1))
        _many_arms(db, Path(folder))
        try:
            client = TestClient(
                create_app(db), base_url="http://127.0.0.1:8000", headers={"accept": "text/html"},
                client=("127.0.0.1", 50_000), follow_redirects=False,  # as on this machine: no page to sign in
            )  # fmt: skip

            def page(path: str) -> float:
                return _seconds(lambda: client.get(path))

            path = f"/campaigns/{campaign.name}"
            page(path)  # every import is done, every template compiled
            first = min(page(f"/campaigns/{other.name}") for other in others)
            yield Row(f"page of {PERIODS:,} periods × {ARMS} arms: first look", first, BAR, "s")
            yield Row("  nothing changed", min(page(path) for _ in range(REPEATS)), BAR, "s")
            yield Row("  after a split", min(_after(campaign, page, path, record=False)), BAR, "s")
            yield Row("  after a split and its results", min(_after(campaign, page, path, record=True)), BAR, "s")
            chart = f"{path}/over-time"
            yield Row("  its chart, first look", page(chart), None, "s")
            yield Row("  its chart, nothing changed", min(page(chart) for _ in range(REPEATS)), BAR, "s")
            many = "/campaigns/many"
            page(many)
            yield Row(f"page of {MANY_ARMS:,} arms", min(page(many) for _ in range(3)), None, "s")
            yield Row("  its size", len(client.get(many).content) / 1e6, LARGEST_PAGE, "MB")
        finally:
            close_engine(database_url(db))


def _seconds(request: Callable[[], Any]) -> float:
    began = time.process_time()
    answer = request()
    taken = time.process_time() - began
    if answer.status_code != 200:
        raise RuntimeError(f"The service answered {answer.status_code}.")
    return taken


def _after(campaign: ap.Campaign, page: Callable[[str], float], path: str, *, record: bool) -> Iterator[float]:
    for _ in range(REPEATS):
        split = campaign.split()
        if record:
            campaign.record(split.ticket, {arm: 1.1 * amount for arm, amount in split.amounts.items() if amount > 0})
        yield page(path)
        if not record:
            campaign.cancel(split.ticket)


def _long_campaign(db: str, name: str, folder: Path) -> ap.Campaign:
    rng = np.random.default_rng(1)
    arms = [f"arm {index}" for index in range(ARMS)]
    means, start = rng.uniform(0.8, 1.2, ARMS), datetime.date(2020, 1, 1)
    lines = ["date,arm,amount,outcome"]
    for period in range(PERIODS):
        amounts = BUDGET * rng.dirichlet(np.full(ARMS, 5.0)) + 1.0
        outcomes = means * amounts + 2.0 * amounts**0.75 * rng.standard_normal(ARMS)
        date = start + datetime.timedelta(days=period)
        lines += [f"{date},{arm},{x:.2f},{y:.2f}" for arm, x, y in zip(arms, amounts, outcomes)]
    file = folder / f"{name}.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    campaign = ap.Campaign.create(name, arms, budget=BUDGET, unit="EUR", seed=1, db=db)
    campaign.import_history(file)
    return campaign


def _many_arms(db: str, folder: Path) -> None:
    arms = [f"arm {index}" for index in range(MANY_ARMS)]
    campaign = ap.Campaign.create("many", arms, budget=10.0 * MANY_ARMS, unit="EUR", seed=1, db=db)
    file = folder / "many.csv"
    lines = (f"2020-01-0{day},{arm},10,{10 + index % 7}" for day in (1, 2) for index, arm in enumerate(arms))
    file.write_text("\n".join(("date,arm,amount,outcome", *lines)), encoding="utf-8")
    campaign.import_history(file)

"""Spent, came back and return so far: what a spreadsheet of the same numbers has."""

import contextlib
import math
import sqlite3

import numpy as np
import pytest

import apportion as ap
from apportion.campaigns.storage.session import Session
from apportion.campaigns.storage.store import open_store
from apportion.campaigns.tables import history_rows, status_rows

ARMS = ("search", "social", "video")


@pytest.fixture
def ads(sqlite):
    return ap.Campaign.create("ads", ARMS, budget=90, unit="EUR", policy="Uniform", seed=7, db=sqlite)


def totals(campaign):
    status = campaign.status(health=False)
    return {arm.name: (arm.spent, arm.returned) for arm in status.arms} | {"all": (status.spent, status.returned)}


def test_only_what_was_spent_counts(ads, tmp_path):
    """Not advice that waits, nor that of a ticket which was closed; what somebody says was spent does."""
    assert totals(ads) == dict.fromkeys((*ARMS, "all"), (0.0, 0.0))
    assert math.isnan(ads.status().return_so_far)
    ads.split()
    assert totals(ads)["all"] == (0.0, 0.0)
    ads.record(1, {"search": 12.0})
    assert totals(ads) == {"search": (30.0, 12.0), "social": (0.0, 0.0), "video": (0.0, 0.0), "all": (30.0, 12.0)}
    ads.record(1, {"search": 12.0, "social": 3.0}, {"social": 20.0, "video": 5.0})
    assert totals(ads)["video"] == (5.0, 0.0)
    ads.close(1)
    ads.split()
    ads.close(2)
    assert totals(ads)["all"] == (55.0, 15.0)
    ads.amend(1, {"search": 10.0}, {"search": 25.0})
    assert totals(ads)["all"] == (50.0, 13.0)
    file = tmp_path / "past.csv"
    file.write_text("date,arm,amount,outcome\n2026-01-01,search,100,40\n2026-01-01,video,50,\n")
    ads.import_history(file)
    assert totals(ads)["all"] == (200.0, 53.0)
    status = ads.status()
    assert status.return_so_far == 53.0 / 200.0
    assert status.arms[0].return_so_far == 50.0 / 125.0
    assert status.to_dict()["return_so_far"] == 53.0 / 200.0
    assert status.to_dict()["arms"][0]["spent"] == 125.0
    assert status_rows(status).rows[-1][:4] == ("all", "200", "53", "0.265")
    lines = ads.history()
    assert math.fsum(line.spent or 0.0 for line in lines) == 200.0
    imported = [line for line in lines if line.ticket == 3]
    assert [(line.advised, line.spent) for line in imported] == [(None, 100.0), (None, 50.0)]
    assert [row[3:6] for row in history_rows(imported).rows] == [("–", "100", "40"), ("–", "50", "–")]
    closed = [line for line in lines if line.ticket == 2]
    assert {(line.advised, line.spent) for line in closed} == {(30.0, None)}


def test_totals_are_the_same_however_they_came_about(ads, sqlite):
    """Event by event, in one pass, by another process, in a write under way: exact, and equal to fsum."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        ticket = ads.split().ticket
        for arm in rng.permutation(ARMS):
            ads.status(health=False)
            ads.record(ticket, {str(arm): float(rng.normal(10, 3))}, {str(arm): float(rng.uniform(1, 40))})
    ads.amend(3, {"search": 0.1, "video": None}, confirm=True)
    live = totals(ads)
    ads.transactions.shared.forget()
    assert totals(ads) == live
    lines = list(ads.history())
    assert live["all"][0] == pytest.approx(math.fsum(line.spent for line in lines), rel=1e-15)
    for arm in ARMS:
        own = [line for line in lines if line.arm == arm]
        assert live[arm] == (math.fsum(line.spent for line in own), math.fsum(line.outcome or 0.0 for line in own))
    with ads.together():
        ticket = ads.split().ticket
        ads.record(ticket, {"search": 5.0})
        assert totals(ads)["search"][1] == pytest.approx(live["search"][1] + 5.0)
    assert totals(ads)["search"][1] == pytest.approx(live["search"][1] + 5.0)
    ads.remove_arm("search")
    assert totals(ads)["search"][1] == pytest.approx(live["search"][1] + 5.0)


def test_a_status_reads_no_old_ticket(ads, sqlite, monkeypatch):
    """Totals are in the snapshots: however long a campaign, its first status adds up what came since the last one."""
    rng = np.random.default_rng(6)
    for _ in range(40):
        split = ads.split()
        ads.record(split.ticket, {arm: float(rng.normal(10, 3)) for arm in ARMS}, confirm=True)
    ads.split()
    ads.amend(2, {"search": 1e-300, "social": -5e-324, "video": 0.1}, confirm=True)
    live = totals(ads)

    def refuse(*given):
        raise AssertionError("all tickets are read")

    monkeypatch.setattr(Session, "events_by_ticket", refuse)
    open_store(sqlite).close()
    again = ap.Campaign.open("ads", db=sqlite)
    assert totals(again) == live
    # A ticket that was open in the snapshot, and one that was done with.
    again.record(41, dict.fromkeys(ARMS, 7.0), confirm=True)
    again.amend(3, {"search": 3.25}, confirm=True)
    lines = list(again.history())
    for arm in ARMS:
        own = [line for line in lines if line.arm == arm]
        assert totals(again)[arm] == (
            math.fsum(line.spent or 0.0 for line in own), math.fsum(line.outcome or 0.0 for line in own)
        )  # fmt: skip
    assert again.check().exact


def test_totals_that_somebody_changed_in_a_snapshot_are_found(ads, sqlite):
    for _ in range(33):
        ads.record(ads.split().ticket, dict.fromkeys(ARMS, 5.0))
    open_store(sqlite).close()
    with contextlib.closing(sqlite3.connect(sqlite)) as plain:
        (number, state) = plain.execute("SELECT number, state FROM snapshots ORDER BY number DESC").fetchone()
        head, body, sums, seal = state.split("\n")
        plain.execute("UPDATE snapshots SET state = ?", (f"{head}\n{body}\n{sums.replace('0x', '0x1')}\n{seal}",))
        plain.commit()
    found = ap.Campaign.open("ads", db=sqlite).check()
    assert not found.ok
    assert f"The totals in the snapshot after event {number}" in found.message

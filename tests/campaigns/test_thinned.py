"""A long campaign in few looks: pictures of it read snapshots and some tickets, and never repeat all events."""

import math

import numpy as np
import pytest
from starlette.testclient import TestClient

import apportion as ap
from apportion.campaigns import thinned
from apportion.campaigns.replay import Replay
from apportion.campaigns.report import campaign_page
from apportion.web.api import history
from apportion.web.app import create_app
from apportion.web.pages.over_time import Chart, spacing

PERIODS = 2_100
ARMS = ("search", "social", "video")


@pytest.fixture
def long(sqlite, monkeypatch):
    """More than two stretches of snapshots, with a change of budget, a correction and a ticket that was cancelled."""
    rng = np.random.default_rng(7)
    campaign = ap.Campaign.create("ads", ARMS, budget=90, unit="EUR", policy="Uniform", b=0.75, seed=7, db=sqlite)
    for first in range(0, PERIODS, 50):
        with campaign.together():
            for period in range(first, first + 50):
                date = str(np.datetime64("2020-01-01") + period)
                ticket = campaign.split(date=date).ticket
                campaign.record(ticket, {arm: float(rng.normal(10, 1)) for arm in ARMS}, confirm=True)
        if first == 1_000:
            campaign.change(budget=120)
            campaign.amend(900, {"search": 11.0})
            campaign.cancel(campaign.split(date="2022-11-16").ticket)
    monkeypatch.setattr(thinned, "LONG", 1_000)
    return campaign


def test_a_chart_and_a_report_repeat_no_events(long, monkeypatch):
    def refuse(*given, **more):
        raise AssertionError("all events are repeated")

    monkeypatch.setattr(type(long), "beliefs_over_time", refuse)
    monkeypatch.setattr(type(long), "replay", lambda self: Checked(self._store, self._id))
    chart = Chart(long)
    data = chart.data()
    assert len(data["periods"]) >= 3
    assert data["periods"][-1] == long.period
    assert data["tickets"] == list(range(1, long.period + 1, spacing(long.period, 400)))
    assert all(math.fsum(shares) == pytest.approx(1.0) for shares in zip(*data["shares"].values()))
    kinds = {mark["kind"]: mark["period"] for mark in data["marks"]}
    assert kinds["setting"] == pytest.approx(1_050, abs=spacing(long.period, 400))
    assert kinds["amended"] in (900, 1_051)
    assert data["dates"][long.period] == "2025-09-30 00:00:00"
    # It goes on from there, event by event.
    ticket = long.split(date="2025-10-01").ticket
    long.record(ticket, dict.fromkeys(ARMS, 10.0))
    assert chart.data()["last"] == ticket
    text = campaign_page(long).html()
    assert "Shares over time" in text or "<img" in text or "<svg" in text


class Checked(Replay):
    """A replay that may go on from the present, and not begin at the beginning."""

    def steps(self, upto=None):
        assert self.number > 0
        return super().steps(upto)


def test_moments_are_what_was_believed_then(long):
    found = thinned.moments_of(long)
    assert len(found) >= 3
    every = dict(long.beliefs_over_time())
    for period, beliefs in found[:-1]:
        # At the snapshot the last split may be without its outcomes, or have them: near what was believed after it.
        assert beliefs["search"].mean == pytest.approx(every[period]["search"].mean, rel=1e-3)
    assert found[-1][1]["search"].mean == long.beliefs()["search"].mean


def test_over_time_is_bounded_for_whoever_asks(long, sqlite, monkeypatch):
    monkeypatch.setattr(history, "MOST_BELIEFS", 900)
    client = TestClient(create_app(sqlite), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1))
    where = "/api/v1/campaigns/ads/beliefs/over-time"
    assert client.get(where).json()["moments"][-1]["period"] == long.period
    refused = client.get(where, params={"every": 2})
    assert refused.status_code == 422
    assert "`every` must be at least 8 for 2,101 periods of 3 arms" in refused.json()["detail"]
    assert len(client.get(where, params={"every": 500}).json()["moments"]) == 5

"""Campaigns to look at: fixed seeds and fixed dates, so that pages and their pictures stay the same."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from apportion.campaigns.campaign import Campaign

ADS = {"search": 1.32, "social": 1.23, "video": 0.94, "newsletter": 1.05}
B, SIGMA = 0.75, 2.0


class Calendar(datetime):
    """A clock that stands still until `wait`."""

    at = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)

    @classmethod
    def now(cls, tz=None):
        return cls.at.astimezone(tz)

    @classmethod
    def wait(cls, **time):
        cls.at += timedelta(**time)


def outcomes(split, truth, rng, b, sigma):
    """What a world with these means would send back, to the cent."""
    return {
        arm: round(float(truth[arm] * amount + sigma * amount**b * rng.standard_normal()), 2)
        for arm, amount in split.amounts.items()
        if amount > 0
    }


def seed(db):
    """Three campaigns: one with a story, one of costs in whole units, one that has just begun."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apportion.campaigns.events.datetime", Calendar)
        rng = np.random.default_rng(20270301)
        spring = Campaign.create("spring ads", ADS, budget=5_000, unit="EUR", b=B, sigma=SIGMA, seed=7,
                                 minimum={"newsletter": 0.05}, db=db)  # fmt: skip
        for period in range(1, 25):
            Calendar.wait(days=7)
            if period == 9:
                spring.change(budget=6_000)
            if period == 16:
                spring.pause_arm("video")
            split = spring.split(8_000 if period == 13 else None)
            if period < 24:
                Calendar.wait(days=6, hours=3)
                spring.record(split.ticket, outcomes(split, ADS, rng, B, SIGMA))
                Calendar.wait(days=-6, hours=-3)
            if period == 12:
                wrong = spring.history(11, 11)
                spring.amend(11, {wrong[0].arm: round(wrong[0].outcome + 120.0, 2)})
        kits = Campaign.create(
            "test kits per region", ("north", "east", "south"), budget=400, unit="kits", whole=True, minimise=True,
            b=0.5, sigma=1.5, seed=3, db=db,
        )  # fmt: skip
        for _ in range(6):
            Calendar.wait(days=1)
            split = kits.split()
            kits.record(split.ticket, outcomes(split, {"north": 3.1, "east": 2.4, "south": 2.9}, rng, 0.5, 1.5))
        Campaign.create(
            "autumn suppliers", ("Adler", "Birch & Sons", "Çelik"), budget=120, unit="hours", db=db, seed=5
        )

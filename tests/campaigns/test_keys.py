"""A key names one request: sent again it gives the first answer; another request is refused, never dropped."""

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import apportion as ap
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import engine_for
from apportion.campaigns.storage.store import open_store

ARMS = ("a", "b")


@pytest.fixture
def campaign(db):
    campaign = ap.Campaign.create("c", ARMS, budget=100, b=0.75, sigma=1, seed=1, db=db)
    for _ in range(3):
        campaign.split()
    campaign.record(3, {"a": 1.0, "b": 2.0})
    return campaign


def again(db):
    """As another process finds it."""
    open_store(db).shared.clear()
    return ap.Campaign.open("c", db=db)


# A request, and others that are not it.
REQUESTS = {
    "split": (
        lambda c: c.split(key="k"),
        [lambda c: c.split(200, key="k"), lambda c: c.record(1, {"a": 1}, key="k")],
    ),
    "split of so much": (
        lambda c: c.split(50, key="k"),
        [lambda c: c.split(51, key="k"), lambda c: c.split(key="k")],
    ),
    "record": (
        lambda c: c.record(1, {"a": 1.0}, key="k"),
        [
            lambda c: c.record(2, {"a": 1.0}, key="k"),
            lambda c: c.record(1, {"a": 2.0}, key="k"),
            lambda c: c.record(1, {"b": 1.0}, key="k"),
            lambda c: c.record(1, {"a": 1.0}, {"a": 7.0}, key="k"),
            lambda c: c.close(1, key="k"),
        ],
    ),
    "record with amounts": (
        lambda c: c.record(1, {"a": 1.0, "b": None}, {"a": 7.0}, key="k"),
        [
            lambda c: c.record(1, {"a": 1.0, "b": None}, key="k"),
            lambda c: c.amend(1, {"a": 1.0}, {"a": 7.0}, key="k"),
        ],
    ),
    "amend": (
        lambda c: c.amend(3, {"a": 5.0}, key="k"),
        [lambda c: c.amend(3, {"a": 6.0}, key="k"), lambda c: c.amend(3, {"b": 5.0}, key="k")],
    ),
    "close": (
        lambda c: c.close(1, key="k"),
        [lambda c: c.close(2, key="k"), lambda c: c.record(1, {"a": None}, key="k")],
    ),
    "arm": (
        lambda c: c.add_arm("n", key="k"),
        [
            lambda c: c.pause_arm("a", key="k"),
            lambda c: c.add_arm("m", key="k"),
            lambda c: c.add_arm("n", 0.1, key="k"),
        ],
    ),
    "setting": (
        lambda c: c.change(budget=20, policy="odds", key="k"),
        [
            lambda c: c.change(budget=30, policy="odds", key="k"),
            lambda c: c.change(budget=20, policy="uniform", key="k"),
            lambda c: c.change(budget=20, key="k"),
        ],
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_key_is_for_one_request(campaign, db, name):
    request, others = REQUESTS[name]
    request(campaign)
    log = campaign.events()
    for asked in (campaign, again(db)):
        request(asked)
        for other in others:
            with pytest.raises(ap.Conflict, match="The key 'k' was used before for something else"):
                other(asked)
        assert asked.events() == log
    assert campaign.check().exact


def test_what_is_told_in_another_form_is_the_same_request(campaign):
    campaign.record(1, {"a": 1, "b": 2.5}, key="k")
    campaign.record(np.int64(1), pd.Series({"b": 2.5, "a": np.float64(1)}), key="k")
    campaign.bound_arm("a", 0, 0.5, key="m")
    campaign.bound_arm("a", np.float64(0.0), maximum=0.5, key="m")
    campaign.change(policy=ap.Odds(b=0.5), key="s")
    campaign.change(policy=ap.Odds(b=0.5), key="s")
    assert campaign.version == 8


def test_a_split_sent_again_is_the_first_also_after_another_default_budget(campaign, db):
    first = campaign.split(key="k")
    campaign.change(budget=7)
    assert dict(again(db).split(key="k").amounts) == dict(first.amounts)


def test_a_campaign_is_begun_once_under_a_key(db):
    def begin(arms=ARMS, **options):
        return ap.Campaign.create("new", arms, db=db, key="k", **{"budget": 5, **options})

    first = begin()
    assert begin().events() == first.events()  # also with a seed that is drawn
    assert begin(iter(ARMS)).events() == first.events()
    for other in ({"budget": 6}, {"arms": ("a", "c")}, {"seed": 4}, {"policy": "odds"}):
        with pytest.raises(ap.Conflict, match="used before for something else"):
            begin(**other)


def test_keys_of_older_releases_are_compared_as_far_as_they_can_be(campaign, db):
    campaign.record(1, {"a": 1.0}, key="k")
    campaign.split(50, key="s")
    campaign.add_arm("n", key="n")
    with engine_for(database_url(db)).connect().execution_options(apportion_writing=True) as connection:
        for event in campaign.events():
            if event.key is not None:
                assert "asked" not in event.payload
                text = ap.campaigns.events.payload_text(event.payload)
                given = {"text": text, "number": event.number}
                connection.execute(sa.text("UPDATE events SET payload = :text WHERE number = :number"), given)
        connection.commit()
    old = again(db)
    old.record(1, {"a": 1.0}, key="k")
    assert old.split(50, key="s").ticket == old.split(key="s").ticket == 4
    old.add_arm("n", key="n")
    for other in (
        lambda: old.record(2, {"a": 1.0}, key="k"),
        lambda: old.record(1, {"a": 2.0}, key="k"),
        lambda: old.split(60, key="s"),
        lambda: old.pause_arm("a", key="n"),
    ):
        with pytest.raises(ap.Conflict, match="used before for something else"):
            other()

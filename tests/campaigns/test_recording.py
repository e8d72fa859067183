"""Outcomes in a campaign: what was really spent, and the kinds of numbers they come in."""

import numpy as np
import pytest

import apportion as ap

ARMS = ("a", "b")


@pytest.fixture
def campaign(sqlite):
    return ap.Campaign.create("c", ARMS, budget=100, b=0.75, sigma=1, seed=1, db=sqlite)


def test_amounts_really_spent_are_what_counts(campaign):
    ticket = campaign.split().ticket
    campaign.record(ticket, {"a": 30.0, "b": 10.0}, amounts={"a": 60.0, "b": 20.0})
    beliefs = campaign.beliefs()
    assert (beliefs["a"].resource, beliefs["b"].resource) == (60.0, 20.0)
    assert beliefs["a"].mean == pytest.approx(0.5)
    line = campaign.history()[0]
    assert (line.advised, line.amount) == (50.0, 60.0)


def test_a_series_and_numpy_numbers_will_do(campaign):
    import pandas as pd

    ticket = campaign.split().ticket
    campaign.record(ticket, pd.Series({"a": np.float64(2.0), "b": np.int64(3)}))
    assert campaign.events()[-1].payload["outcomes"] == {"a": 2.0, "b": 3.0}


def test_money_spent_where_none_was_advised_is_in_the_history(campaign):
    campaign.add_arm("c", 0.0, 0.0)
    campaign.pause_arm("c")
    for _ in range(3):
        campaign.record(campaign.split().ticket, {"a": 1.0, "c": 2.0}, {"c": 4.0})
    lines = [line for line in campaign.history() if line.arm == "c"]
    assert [(line.ticket, line.advised, line.amount, line.outcome) for line in lines] == [
        (ticket, 0.0, 4.0, 2.0) for ticket in (1, 2, 3)
    ]

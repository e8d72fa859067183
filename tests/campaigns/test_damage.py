"""Databases that are not whole: a sentence, whatever is asked of them."""

import sqlite3
from contextlib import closing

import pytest

import apportion as ap
from apportion.campaigns.storage import database
from apportion.campaigns.storage.store import open_store

QUESTIONS = {
    "period": lambda campaign: campaign.period,
    "status": lambda campaign: campaign.status(),
    "history": lambda campaign: campaign.history(),
    "events": lambda campaign: campaign.events(),
    "explain": lambda campaign: campaign.explain(1),
    "over time": lambda campaign: campaign.beliefs_over_time(),
    "split": lambda campaign: campaign.split(),
    "record": lambda campaign: campaign.record(1, {"y": 1.0}),
}


@pytest.fixture
def file(sqlite):
    campaign = ap.Campaign.create("c", ("x", "y"), budget=10, b=0.5, sigma=1, db=sqlite)
    campaign.record(campaign.split().ticket, {"x": 1.0})
    open_store(sqlite).close()
    return sqlite


def change(file, statement):
    with closing(sqlite3.connect(file)) as plain:
        plain.execute(statement)
        plain.commit()


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("content", ["{", "[]", "null", "{}"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_damaged_event_gets_a_sentence(file, question, content, number):
    change(file, f"UPDATE events SET payload = '{content}' WHERE number = {number}")
    change(file, "DELETE FROM snapshots")
    campaign = ap.Campaign.open("c", db=file)
    if (question, number) == ("history", 1) or (question, content) == ("events", "{}"):  # it reads no more than that
        QUESTIONS[question](campaign)
    else:
        with pytest.raises(ap.IncompatibleState, match=f"Event {number} of this campaign is damaged: .* from a copy"):
            QUESTIONS[question](campaign)
    assert not campaign.check().ok


def test_a_split_that_is_missing_gets_a_sentence(file):
    change(file, "UPDATE events SET ticket = 9 WHERE number = 2")
    campaign = ap.Campaign.open("c", db=file)
    change(file, "UPDATE snapshots SET number = 3, state = replace(state, '\"issued\": 0', '\"issued\": 1')")
    for question in (lambda: campaign.history(1, 1), lambda: campaign.period, lambda: campaign.explain(1)):
        with pytest.raises(ap.IncompatibleState):
            question()


@pytest.mark.parametrize("statement", ["DELETE FROM alembic_version", "DROP TABLE alembic_version"])
def test_tables_without_a_schema_number_get_a_sentence(file, statement):
    change(file, statement)
    for act in (lambda: ap.Campaign.open("c", db=file), lambda: database.upgrade(file)):
        with pytest.raises(ap.IncompatibleState, match=r"has tables, but no schema number: .* Nothing was changed\."):
            act()

"""How SQLite finds what is asked: never by reading all events of a campaign, but where all are wanted."""

import sqlalchemy as sa

import apportion as ap
from apportion.campaigns.storage import database
from apportion.campaigns.storage.store import open_store

# A number above or below says little: all events of the campaign may be there.
WHOLE = (
    "SEARCH events USING PRIMARY KEY (campaign=?)",
    "SEARCH events USING PRIMARY KEY (campaign=? AND number<?)",
    "SCAN events",
)


def test_the_questions_of_every_day_use_an_index(sqlite):
    campaign = ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.5, sigma=1, db=sqlite)
    with campaign.together():
        for _ in range(100):
            campaign.record(campaign.split().ticket, {"a": 1.0, "b": 2.0})
    engine, asked = database.engine_for(open_store(sqlite).url), {}

    @sa.event.listens_for(engine, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, context, many):
        if statement.startswith("SELECT") and " events" in statement:
            asked[statement] = parameters

    open_store(sqlite).shared.clear()
    campaign = ap.Campaign.open("ads", db=sqlite)
    campaign.status()
    campaign.history(1, 3)
    campaign.explain(2)
    campaign.record(campaign.split(key="k").ticket, {"a": 1.0}, key="l")
    campaign.amend(3, {"a": 1.5})
    campaign.imports()
    campaign.archive()
    assert not ap.Campaign.names(sqlite)
    with open_store(sqlite).reading() as reading:
        assert reading.heads() == {"ads": reading.head(campaign._id)}
    assert campaign.version
    assert campaign.tag
    assert len(asked) > 6
    with engine.connect() as connection:
        for statement, parameters in asked.items():
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            whole = [row[3] for row in rows if row[3].startswith(WHOLE)]
            newest = "max(events.number)" in statement or "ORDER BY events.number DESC" in statement
            assert not whole or newest, (statement, rows)

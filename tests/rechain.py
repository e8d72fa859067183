"""The chain of digests written anew, after a test has changed stored events as another program might have."""

import sqlalchemy as sa

from apportion.campaigns.storage import chain
from apportion.campaigns.storage.schema import events


def rechain(connection, campaign=1):
    """Give every event of a campaign the digest that follows from what is stored."""
    own, before = events.c.campaign == campaign, ""
    for row in connection.execute(sa.select(events).where(own).order_by(events.c.number)).mappings().all():
        before = chain.digest(before, row)
        connection.execute(sa.update(events).where(own, events.c.number == row["number"]).values(digest=before))

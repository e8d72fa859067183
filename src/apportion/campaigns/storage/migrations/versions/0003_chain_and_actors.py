"""Who did it, and a chain of digests over the events; tokens that expire."""

from __future__ import annotations

import hashlib
import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

BATCH = 1000

# Written out here, as all that a migration does: what the program does later may change, what it did then may not.
_events = sa.table(
    "events",
    *(sa.column(name) for name in ("campaign", "number", "at", "kind", "ticket", "key", "payload", "digest")),
)


def upgrade() -> None:
    """Events get columns, and those that are there the digests they would have; tokens an end."""
    with op.batch_alter_table("events") as batch:
        batch.add_column(sa.Column("actor", sa.String(200)))
        batch.add_column(sa.Column("request", sa.String(100)))
        batch.add_column(sa.Column("digest", sa.String(64)))
    op.add_column("tokens", sa.Column("expires", sa.String(40)))
    connection = op.get_bind()
    for (campaign,) in connection.execute(sa.text("SELECT id FROM campaigns")).all():
        _chain(connection, campaign)


def _chain(connection: sa.Connection, campaign: int) -> None:
    own, digest, last = _events.c.campaign == campaign, "", 0
    write = sa.update(_events).where(own, _events.c.number == sa.bindparam("of")).values(digest=sa.bindparam("value"))
    while True:
        query = sa.select(_events).where(own, _events.c.number > last).order_by(_events.c.number).limit(BATCH)
        rows = connection.execute(query).all()
        if not rows:
            return
        changes = []
        for row in rows:
            content = [digest, row.number, row.at, row.kind, row.ticket, row.key, None, None, row.payload]
            digest = hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()
            changes.append({"of": row.number, "value": digest})
        connection.execute(write, changes)
        last = rows[-1].number

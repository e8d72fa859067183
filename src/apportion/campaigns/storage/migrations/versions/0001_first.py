"""Campaigns, events and snapshots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The first release."""
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.UniqueConstraint("name", name="uq_campaigns_name"),
    )
    op.create_table(
        "events",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_events_campaign"), nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("ticket", sa.BigInteger),
        sa.Column("key", sa.String(200)),
        sa.Column("payload", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "number", name="pk_events"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_events_ticket", "events", ["campaign", "ticket", "number"])
    op.create_index(
        "uq_events_key",
        "events",
        ["campaign", "key"],
        unique=True,
        sqlite_where=sa.text("key IS NOT NULL"),
        postgresql_where=sa.text("key IS NOT NULL"),
    )
    op.create_table(
        "snapshots",
        sa.Column(
            "campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_snapshots_campaign"), nullable=False
        ),
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "number", name="pk_snapshots"),
    )

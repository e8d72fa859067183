"""Rights on single campaigns, and webhooks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Three new tables; campaigns and events stay as they are."""
    op.create_table(
        "rights",
        sa.Column("token", sa.Integer, sa.ForeignKey("tokens.id", name="fk_rights_token"), nullable=False),
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_rights_campaign"), nullable=False),
        sa.Column("level", sa.String(10), nullable=False),
        sa.Column("granted", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("token", "campaign", name="pk_rights"),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("url", sa.String(2000), nullable=False),
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_webhooks_campaign")),
        sa.Column("topics", sa.String(100), nullable=False),
        sa.Column("secret", sa.String(100), nullable=False),
        sa.Column("internal", sa.Boolean, nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.UniqueConstraint("name", name="uq_webhooks_name"),
    )
    op.create_table(
        "deliveries",
        sa.Column("webhook", sa.Integer, sa.ForeignKey("webhooks.id", name="fk_deliveries_webhook"), nullable=False),
        sa.Column(
            "campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_deliveries_campaign"), nullable=False
        ),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("findings", sa.Text),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("due", sa.String(40), nullable=False),
        sa.Column("error", sa.String(500)),
        sa.PrimaryKeyConstraint("webhook", "campaign", name="pk_deliveries"),
    )

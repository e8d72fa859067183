"""Tokens and browser sessions, for the service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two new tables; campaigns and events stay as they are."""
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("scope", sa.String(10), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("last_used", sa.String(40)),
        sa.Column("revoked", sa.String(40)),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_index(
        "uq_tokens_name",
        "tokens",
        ["name"],
        unique=True,
        sqlite_where=sa.text("revoked IS NULL"),
        postgresql_where=sa.text("revoked IS NULL"),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("token", sa.Integer, sa.ForeignKey("tokens.id", name="fk_sessions_token"), nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("expires", sa.String(40), nullable=False),
    )

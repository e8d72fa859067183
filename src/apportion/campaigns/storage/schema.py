"""The tables. `migrations/` makes them; the tests hold that both agree."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

# The newest revision in `migrations/versions`: what this release reads and writes.
REVISION = "0002"

metadata = MetaData()

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("created", String(40), nullable=False),
    UniqueConstraint("name", name="uq_campaigns_name"),
)

events = Table(
    "events",
    metadata,
    Column("campaign", Integer, ForeignKey("campaigns.id", name="fk_events_campaign"), nullable=False),
    Column("number", BigInteger, nullable=False, autoincrement=False),
    Column("at", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("ticket", BigInteger),
    Column("key", String(200)),
    Column("payload", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "number", name="pk_events"),
    sqlite_with_rowid=False,
)
Index("ix_events_ticket", events.c.campaign, events.c.ticket, events.c.number)
Index(
    "uq_events_key",
    events.c.campaign,
    events.c.key,
    unique=True,
    sqlite_where=events.c.key.is_not(None),
    postgresql_where=events.c.key.is_not(None),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("campaign", Integer, ForeignKey("campaigns.id", name="fk_snapshots_campaign"), nullable=False),
    Column("number", BigInteger, nullable=False, autoincrement=False),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "number", name="pk_snapshots"),
)

# Who may use the service. Secrets are kept as SHA-256 only; a revoked token stays, its name may be used again.
tokens = Table(
    "tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("scope", String(10), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("created", String(40), nullable=False),
    Column("last_used", String(40)),
    Column("revoked", String(40)),
    UniqueConstraint("hash", name="uq_tokens_hash"),
)
Index(
    "uq_tokens_name",
    tokens.c.name,
    unique=True,
    sqlite_where=tokens.c.revoked.is_(None),
    postgresql_where=tokens.c.revoked.is_(None),
)

# Browsers that signed in with a token.
sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("token", Integer, ForeignKey("tokens.id", name="fk_sessions_token"), nullable=False),
    Column("csrf", String(64), nullable=False),  # not used: writes are checked by their headers
    Column("created", String(40), nullable=False),
    Column("expires", String(40), nullable=False),
)

"""The tables. `migrations/` makes them; the tests hold that both agree."""

import sqlalchemy as sa

REVISION = "0004"  # the newest revision in `migrations/versions`: what this release reads and writes

metadata = sa.MetaData()

campaigns = sa.Table(
    "campaigns",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("created", sa.String(40), nullable=False),
    sa.UniqueConstraint("name", name="uq_campaigns_name"),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_events_campaign"), nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("ticket", sa.BigInteger),
    sa.Column("key", sa.String(200)),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("actor", sa.String(200)),  # who did it; NULL before there was this column
    sa.Column("request", sa.String(100)),  # the id of the request, where one was made
    sa.Column("digest", sa.String(64)),  # of this event and the digest of the one before (`chain`)
    sa.PrimaryKeyConstraint("campaign", "number", name="pk_events"),
    sqlite_with_rowid=False,
)
sa.Index("ix_events_ticket", events.c.campaign, events.c.ticket, events.c.number)
_has_key = events.c.key.is_not(None)
sa.Index(
    "uq_events_key", events.c.campaign, events.c.key, unique=True, sqlite_where=_has_key, postgresql_where=_has_key
)

snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_snapshots_campaign"), nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("campaign", "number", name="pk_snapshots"),
)

# Who may use the service. Secrets are kept as SHA-256 only; a revoked token stays, its name may be used again.
tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("scope", sa.String(10), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("created", sa.String(40), nullable=False),
    sa.Column("last_used", sa.String(40)),
    sa.Column("revoked", sa.String(40)),
    sa.Column("expires", sa.String(40)),
    sa.UniqueConstraint("hash", name="uq_tokens_hash"),
)
_in_use = tokens.c.revoked.is_(None)
sa.Index("uq_tokens_name", tokens.c.name, unique=True, sqlite_where=_in_use, postgresql_where=_in_use)

# What a token may do with one campaign, beyond its scope.
rights = sa.Table(
    "rights",
    metadata,
    sa.Column("token", sa.Integer, sa.ForeignKey("tokens.id", name="fk_rights_token"), nullable=False),
    sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_rights_campaign"), nullable=False),
    sa.Column("level", sa.String(10), nullable=False),
    sa.Column("granted", sa.String(40), nullable=False),
    sa.PrimaryKeyConstraint("token", "campaign", name="pk_rights"),
)

# Addresses that are told of what happens, and how far each is with each campaign.
webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("url", sa.String(2000), nullable=False),
    sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_webhooks_campaign")),  # NULL: all
    sa.Column("topics", sa.String(100), nullable=False),
    sa.Column("secret", sa.String(100), nullable=False),  # as it is: every message is signed with it
    sa.Column("internal", sa.Boolean, nullable=False),  # may be a private address
    sa.Column("created", sa.String(40), nullable=False),
    sa.UniqueConstraint("name", name="uq_webhooks_name"),
)
deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("webhook", sa.Integer, sa.ForeignKey("webhooks.id", name="fk_deliveries_webhook"), nullable=False),
    sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id", name="fk_deliveries_campaign"), nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),  # of the last event that was told
    sa.Column("findings", sa.Text),  # of the health of its data, as they were told last
    sa.Column("tries", sa.Integer, nullable=False),  # in vain, of the next message
    sa.Column("due", sa.String(40), nullable=False),  # not to be tried before
    sa.Column("error", sa.String(500)),
    sa.PrimaryKeyConstraint("webhook", "campaign", name="pk_deliveries"),
)

# Browsers that signed in with a token.
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("token", sa.Integer, sa.ForeignKey("tokens.id", name="fk_sessions_token"), nullable=False),
    sa.Column("csrf", sa.String(64), nullable=False),  # not used: writes are checked by their headers
    sa.Column("created", sa.String(40), nullable=False),
    sa.Column("expires", sa.String(40), nullable=False),
)

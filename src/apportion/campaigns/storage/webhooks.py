"""Webhooks: addresses that are told of what happens in campaigns, and how far each of them is.

Only who has the database at hand, the administrator, names an address: no request over HTTP can. Events are kept
anyway, so nothing is queued: of each webhook and campaign the number of the last event that was told is kept, and a
message that was not taken is tried again from there. A message may come twice, with the same id; none is left out.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from apportion._common import validation
from apportion.campaigns.events import now
from apportion.campaigns.storage.address import Address, database_url, explained_errors, require_exists
from apportion.campaigns.storage.database import engine_for
from apportion.campaigns.storage.schema import campaigns, deliveries, webhooks
from apportion.campaigns.storage.session import Session
from apportion.campaigns.storage.tokens import token_name
from apportion.errors import Conflict, InvalidValue, UnknownName

TOPICS = ("split", "record", "health")
SECRET_PREFIX = "whsec_"
LONGEST_URL = 2000
LONGEST_ERROR = 500


class Webhook(NamedTuple):
    """An address that is told of something."""

    id: int
    name: str
    url: str
    campaign: str | None
    """The only one that it is told of; None: all."""
    topics: tuple[str, ...]
    internal: bool
    created: str


class Delivery(NamedTuple):
    """How far a webhook is with a campaign, and how its next message fares."""

    webhook: str
    campaign: str
    number: int
    tries: int
    due: str
    error: str | None


class Due(NamedTuple):
    """A campaign of which a webhook is to be told something now."""

    webhook: Webhook
    secret: str
    campaign_id: int
    campaign: str
    number: int
    findings: str | None
    tries: int
    due: str


class Webhooks:
    """The webhooks of a database; for several threads and processes at once."""

    def __init__(self, db: Address = None) -> None:
        self._url = database_url(db)
        require_exists(self._url)
        engine_for(self._url)

    def create(
        self,
        name: str,
        url: str,
        *,
        campaign: str | None = None,
        topics: tuple[str, ...] = TOPICS,
        internal: bool = False,
    ) -> str:
        """Tell an address of what happens from now on; the secret that signs its messages, shown only here.

        `internal`: it may be an address of the own network, or of this machine, and plain http.
        """
        title = token_name(name)
        wanted = tuple(dict.fromkeys(validation.choice("topic", topic, TOPICS) for topic in topics))
        if not wanted:
            raise validation.refuse("topics", f"some of {', '.join(TOPICS)}", topics)
        row = {
            "name": title, "url": address(url, internal), "topics": ",".join(wanted), "internal": internal,
            "secret": SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode(), "created": now(),
        }  # fmt: skip
        with self._writing() as connection:
            session = Session(connection)
            only = None if campaign is None else session.campaign_id(campaign)
            try:
                done = connection.execute(sa.insert(webhooks).values(**row, campaign=only))
            except IntegrityError as error:
                raise Conflict(f"Webhook '{title}' is there already; remove it or choose another name.") from error
            (identity,) = done.inserted_primary_key or (0,)
            for known in session.campaigns():  # what happened before is not told
                if only is None or known.id == only:
                    _begin(connection, identity, known.id, session.last_number(known.id))
        return str(row["secret"])

    def list(self) -> tuple[Webhook, ...]:
        """All webhooks, by name; never their secrets."""
        with self._reading() as connection:
            return tuple(_webhook(row) for row in connection.execute(_WEBHOOKS.order_by(webhooks.c.name)))

    def deliveries(self) -> tuple[Delivery, ...]:
        """How far each webhook is with each campaign."""
        query = (
            sa.select(webhooks.c.name, campaigns.c.name.label("campaign"), deliveries)
            .join_from(deliveries, webhooks, deliveries.c.webhook == webhooks.c.id)
            .join(campaigns, deliveries.c.campaign == campaigns.c.id)
            .order_by(webhooks.c.name, campaigns.c.name)
        )
        with self._reading() as connection:
            rows = connection.execute(query).mappings().all()
        return tuple(
            Delivery(row[webhooks.c.name], row["campaign"], row["number"], row["tries"], row["due"], row["error"])
            for row in rows
        )

    def remove(self, name: str) -> None:
        """Tell an address no more; `UnknownName` with those there are."""
        title = token_name(name)
        with self._writing() as connection:
            found = connection.execute(sa.select(webhooks.c.id).where(webhooks.c.name == title)).scalar()
            if found is None:
                known = ", ".join(connection.execute(sa.select(webhooks.c.name)).scalars()) or "none"
                raise UnknownName(f"Webhook '{title}' is not known; there are: {known}.")
            connection.execute(sa.delete(deliveries).where(deliveries.c.webhook == found))
            connection.execute(sa.delete(webhooks).where(webhooks.c.id == found))

    # Deliveries

    def due(self) -> tuple[Due, ...]:
        """The campaigns of which some webhook is to be told something now."""
        with self._reading() as connection:
            found = [(_webhook(row), row.secret) for row in connection.execute(_WEBHOOKS)]
            if not found:
                return ()
            session = Session(connection)
            # In one question, however many campaigns there are.
            last = {head.campaign: (name, head.number) for name, head in session.heads().items()}
            told = {(row.webhook, row.campaign): row for row in connection.execute(sa.select(deliveries))}
        moment, result = now(), []
        for webhook, secret in found:
            for identity, (name, number) in last.items():
                if webhook.campaign not in (None, name):
                    continue
                row = told.get((webhook.id, identity))
                if row is None:  # a campaign that began since
                    result.append(Due(webhook, secret, identity, name, 0, None, 0, ""))
                elif row.number < number and row.due <= moment:
                    result.append(Due(webhook, secret, identity, name, row.number, row.findings, row.tries, row.due))
        return tuple(result)

    def claim(self, due: Due, seconds: float) -> bool:
        """Take a delivery for so long; False where another worker has it, or it was done."""
        until = _later(seconds)
        with self._writing() as connection:
            if not due.due:
                try:
                    _begin(connection, due.webhook.id, due.campaign_id, 0, until)
                except IntegrityError:
                    return False
                return True
            own = _own(due) & (deliveries.c.due == due.due) & (deliveries.c.number == due.number)
            return connection.execute(sa.update(deliveries).where(own).values(due=until)).rowcount == 1

    def done(self, due: Due, number: int, findings: str | None) -> None:
        """It was told up to an event."""
        values = {"number": number, "findings": findings, "tries": 0, "due": now(), "error": None}
        with self._writing() as connection:
            connection.execute(sa.update(deliveries).where(_own(due)).values(values))

    def failed(self, due: Due, number: int, findings: str | None, error: str, wait: float) -> None:
        """It was told up to an event, and what follows was not taken: it is tried again after so many seconds."""
        tries = 1 if number > due.number else due.tries + 1
        values = {"number": number, "findings": findings, "tries": tries, "due": _later(wait),
                  "error": error[:LONGEST_ERROR]}  # fmt: skip
        with self._writing() as connection:
            connection.execute(sa.update(deliveries).where(_own(due)).values(values))

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained_errors(self._url), engine_for(self._url).connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._reading() as connection, connection.execution_options(apportion_writing=True).begin():
            yield connection


_WEBHOOKS = sa.select(webhooks, campaigns.c.name.label("only")).join_from(
    webhooks, campaigns, webhooks.c.campaign == campaigns.c.id, isouter=True
)


def _webhook(row: Any) -> Webhook:
    topics = tuple(row.topics.split(","))
    return Webhook(row.id, row.name, row.url, row.only, topics, bool(row.internal), row.created)


def _begin(connection: Connection, webhook: int, campaign: int, number: int, due: str | None = None) -> None:
    row = {"webhook": webhook, "campaign": campaign, "number": number, "tries": 0, "due": due or now()}
    connection.execute(sa.insert(deliveries).values(row))


def _own(due: Due) -> sa.ColumnElement[bool]:
    return (deliveries.c.webhook == due.webhook.id) & (deliveries.c.campaign == due.campaign_id)


def _later(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def address(url: str, internal: bool) -> str:
    """`url` if messages may go there: https, without a password; http only within the own network.

    >>> address("https://hooks.example.org/apportion", internal=False)
    'https://hooks.example.org/apportion'
    """
    allowed = "an address such as https://hooks.example.org/path, without user and fragment"
    try:
        parts = urlsplit(url)
        sound = bool(parts.hostname) and parts.port != 0 and not (parts.username or parts.password or parts.fragment)
    except (ValueError, TypeError, AttributeError):
        raise validation.refuse("url", allowed, url) from None
    if not sound or not url.isascii() or not url.isprintable() or " " in url or len(url) > LONGEST_URL:
        raise validation.refuse("url", allowed, url)
    if parts.scheme == "http" and not internal:
        raise InvalidValue("`url` must begin with https; plain http goes within the own network only (`--internal`).")
    if parts.scheme not in ("http", "https"):
        raise validation.refuse("url", allowed, url)
    return os.fspath(url)

"""Who may use the service: tokens with a scope, and the browsers that signed in with one.

A secret is 256 random bits and is shown once. The database keeps its SHA-256 only: who reads the database cannot
use the service with what is in it. Random secrets of this length need no salt and no slow hash.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from apportion._common import validation
from apportion.campaigns.events import now
from apportion.campaigns.storage.address import Address, database_url, explained_errors
from apportion.campaigns.storage.database import engine_for
from apportion.campaigns.storage.schema import sessions, tokens
from apportion.errors import Conflict, StoreUnavailable, UnknownName

SCOPES = ("read", "write")

PREFIX = "apt_"

SECRET_BYTES = 32
LONGEST_NAME = 100
LONGEST_DAYS = 3650.0

SESSION_LENGTH = timedelta(days=14)  # a browser signs in again after this long
LAST_USED_EVERY_SECONDS = 60.0  # `last_used` is for people: it is written no oftener, so that reading stays reading


class TokenRow(NamedTuple):
    """A token in a list. The secret is not there: nobody can see it again."""

    name: str
    scope: str
    created: str
    last_used: str | None
    revoked: str | None
    expires: str | None = None

    @property
    def expired(self) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= now()


class NewSession(NamedTuple):
    """A browser that has just signed in: `value` goes into its cookie and is not kept anywhere else."""

    value: str
    expires: str


class SessionRow(NamedTuple):
    """A browser that signed in: by which token, and until when."""

    token: TokenRow
    expires: str


_ROW = tuple(tokens.c[name] for name in TokenRow._fields)
_BY_HASH = sa.select(*_ROW, tokens.c.id, tokens.c.hash).where(tokens.c.hash == sa.bindparam("hash"))
_SESSION = (
    sa.select(*_ROW, tokens.c.id, sessions.c.expires.label("ends"), sessions.c.hash)
    .join_from(sessions, tokens, sessions.c.token == tokens.c.id)
    .where(sessions.c.hash == sa.bindparam("hash"))
)


class Tokens:
    """The tokens of a database; for several threads and processes at once.

    >>> import tempfile, pathlib
    >>> known = Tokens(pathlib.Path(tempfile.mkdtemp()) / "campaigns.db")
    >>> secret = known.create("dashboard", scope="read")
    >>> secret[:4], known.check(secret).scope
    ('apt_', 'read')
    >>> known.revoke("dashboard")
    >>> known.check(secret) is None
    True
    """

    def __init__(self, db: Address = None) -> None:
        self._url = database_url(db)
        engine_for(self._url)
        self._last_used: dict[int, float] = {}
        self._lock = threading.Lock()

    # Tokens

    def create(self, name: str, scope: str = "write", days: float | None = None) -> str:
        """A new token's secret, shown only here; it ends after `days`. `Conflict` where the name is taken."""
        title, allowed = token_name(name), validation.choice("scope", scope, SCOPES)
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        row = {"name": title, "scope": allowed, "hash": _hash(secret), "created": now(), "expires": _end(days)}
        with self._writing() as connection:
            try:
                connection.execute(sa.insert(tokens).values(row))
            except IntegrityError as error:
                sentence = f"Token '{title}' is there already; revoke it first or choose another name."
                raise Conflict(sentence) from error
        return secret

    def list(self) -> tuple[TokenRow, ...]:
        """Every token there ever was, in the order of making."""
        with self._reading() as connection:
            return tuple(TokenRow(*row) for row in connection.execute(sa.select(*_ROW).order_by(tokens.c.id)))

    def revoke(self, name: str) -> None:
        """End a token and every browser session that came by it, at once; `UnknownName` with those there are."""
        title = token_name(name)
        with self._writing() as connection:
            query = sa.select(tokens.c.id).where(tokens.c.name == title, tokens.c.revoked.is_(None))
            found = connection.execute(query).scalar()
            if found is None:
                raise self._not_in_use(connection, title)
            connection.execute(sa.delete(sessions).where(sessions.c.token == found))
            connection.execute(sa.update(tokens).where(tokens.c.id == found).values(revoked=now()))

    def rotate(self, name: str, days: float | None = None) -> str:
        """A new secret for a token, in place of its old one, which ends at once with its sessions; shown only here.

        Name, scope and rights stay. It ends after so many days; by default as long after now as it was made for.
        """
        title, secret = token_name(name), PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        with self._writing() as connection:
            query = sa.select(*_ROW, tokens.c.id).where(tokens.c.name == title, tokens.c.revoked.is_(None))
            found = connection.execute(query).first()
            if found is None:
                raise self._not_in_use(connection, title)
            end = _end(days)
            if days is None and found.expires is not None:
                made = datetime.fromisoformat(found.created)
                end = _end((datetime.fromisoformat(found.expires) - made) / timedelta(days=1))
            connection.execute(sa.delete(sessions).where(sessions.c.token == found.id))
            changed = {"hash": _hash(secret), "created": now(), "expires": end}
            connection.execute(sa.update(tokens).where(tokens.c.id == found.id).values(changed))
        return secret

    @staticmethod
    def _not_in_use(connection: Connection, title: str) -> UnknownName:
        usable = connection.execute(sa.select(tokens.c.name).where(tokens.c.revoked.is_(None)))
        known = ", ".join(sorted(row.name for row in usable)) or "none"
        return UnknownName(f"Token '{title}' is not in use; in use are: {known}.")

    def check(self, secret: str) -> TokenRow | None:
        """The token of a secret; None where there is none, it was revoked, or its time is over."""
        if not isinstance(secret, str) or not secret.startswith(PREFIX):
            return None
        row = self._find(_BY_HASH, secret)
        if row is None:
            return None
        self._mark_used(row.id)
        return TokenRow(*row[: len(TokenRow._fields)])

    def any(self) -> bool:
        """Whether there ever was a token. A service once guarded stays so: revoking the last one opens nothing."""
        with self._reading() as connection:
            return connection.execute(sa.select(tokens.c.id).limit(1)).first() is not None

    def usable(self) -> bool:
        """Whether anyone can come in by a token: one at least is not revoked."""
        lasts = tokens.c.expires.is_(None) | (tokens.c.expires > now())
        query = sa.select(tokens.c.id).where(tokens.c.revoked.is_(None), lasts).limit(1)
        with self._reading() as connection:
            return connection.execute(query).first() is not None

    # Browsers

    def begin_session(self, secret: str) -> NewSession | None:
        """Sign a browser in with a token's secret; None where the secret is not good."""
        if self.check(secret) is None:
            return None
        expires = (datetime.now(UTC) + SESSION_LENGTH).isoformat(timespec="microseconds")
        session = NewSession(secrets.token_urlsafe(SECRET_BYTES), expires)
        with self._writing() as connection:
            identity = connection.execute(_BY_HASH, {"hash": _hash(secret)}).one().id
            connection.execute(sa.delete(sessions).where(sessions.c.expires < now()))
            row = {"hash": _hash(session.value), "token": identity, "created": now(), "expires": session.expires}
            connection.execute(sa.insert(sessions).values(**row, csrf=secrets.token_urlsafe(SECRET_BYTES)))
        return session

    def session(self, value: str) -> SessionRow | None:
        """The session of a cookie's value; None where it is not known, has expired, or its token was revoked."""
        row = self._find(_SESSION, value) if isinstance(value, str) and value else None
        if row is None or row.ends < now():
            return None
        self._mark_used(row.id)
        return SessionRow(TokenRow(*row[: len(TokenRow._fields)]), row.ends)

    def end_session(self, value: str) -> None:
        """Sign a browser out; one that is not known is out already."""
        if isinstance(value, str) and value:
            with self._writing() as connection:
                connection.execute(sa.delete(sessions).where(sessions.c.hash == _hash(value)))

    # The database

    def _find(self, query: sa.Select[Any], secret: str) -> sa.Row[Any] | None:
        """The row of a secret or a cookie's value; None where there is none, or its token was revoked."""
        digest = _hash(secret)
        with self._reading() as connection:
            row = connection.execute(query, {"hash": digest}).first()
        # Found by its hash, which tells nothing of the secret however long the look-up took; compared once more in
        # constant time, so that no collation of the database can make two hashes alike.
        if row is None or not hmac.compare_digest(row.hash, digest) or row.revoked is not None:
            return None
        return None if TokenRow(*row[: len(TokenRow._fields)]).expired else row

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained_errors(self._url), engine_for(self._url).connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._reading() as connection, connection.execution_options(apportion_writing=True).begin():
            yield connection

    def _mark_used(self, identity: int) -> None:
        """Write that a token was used, once a minute; a database that cannot be written now locks nobody out."""
        moment = time.monotonic()
        with self._lock:
            last = self._last_used.get(identity)
            if last is not None and moment - last < LAST_USED_EVERY_SECONDS:
                return
            self._last_used[identity] = moment
        with suppress(StoreUnavailable), self._writing() as connection:
            connection.execute(sa.update(tokens).where(tokens.c.id == identity).values(last_used=now()))


def token_name(name: str) -> str:
    """`name` if a token may be called that."""
    if isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME and name == name.strip() and name.isprintable():
        return name
    allowed = f"printable text of at most {LONGEST_NAME} characters without blanks at either end"
    raise validation.refuse("name", allowed, name)


def _end(days: float | None) -> str | None:
    """The moment after so many days; None where there is no end."""
    if days is None:
        return None
    length = validation.number("days", days, above=0.0, high=LONGEST_DAYS)
    return (datetime.now(UTC) + timedelta(days=length)).isoformat(timespec="microseconds")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

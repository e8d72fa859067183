"""Who may use the service: tokens with a scope, and the browsers that signed in with one.

A secret is 256 random bits and is shown once. The database keeps its SHA-256 only: who reads the database cannot
use the service with what is in it. Random secrets of this length need no salt and no slow hash.

A person is a row of the same table without a secret: who they are is said by the provider that the service trusts
(`web.guard.openid`). Scope, rights, end and revocation are those of a token. In place of the hash stands a mark that
is the hash of nothing.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from apportion._common import validation
from apportion.campaigns.events import now
from apportion.campaigns.storage.address import (
    LOCK_TIMEOUT_SECONDS,
    Address,
    database_url,
    explained_errors,
    require_exists,
)
from apportion.campaigns.storage.database import engine_for
from apportion.campaigns.storage.rights import NO_RIGHTS, RIGHTS, SCOPES, all_rights, allows, rights_of, set_right
from apportion.campaigns.storage.schema import sessions, tokens
from apportion.errors import Conflict, StoreUnavailable, UnknownName

PREFIX = "apt_"
PERSON_MARK = "person:"  # begins what stands in place of a person's hash
SUBJECT = "sub:"  # begins the name of a person whom the provider knows by a number only

SECRET_BYTES = 32
LONGEST_NAME = 100
LONGEST_DAYS = 3650.0

SESSION_LENGTH = timedelta(days=14)  # a browser signs in again after this long
PERSON_SESSION_LENGTH = timedelta(hours=12)  # and one of a person: whoever left the company is out the same day
LAST_USED_EVERY_SECONDS = 60.0  # `last_used` is for people: it is written no oftener, so that reading stays reading


class TokenRow(NamedTuple):
    """A token in a list. The secret is not there: nobody can see it again."""

    name: str
    scope: str
    created: str
    last_used: str | None
    revoked: str | None
    expires: str | None = None
    rights: Mapping[str, str] = NO_RIGHTS
    """What it may do with single campaigns, by name, beyond its scope."""
    person: bool = False
    """Whether it is a person, who signs in with the provider and has no secret."""

    @property
    def expired(self) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= now()

    def may(self, wanted: str, campaign: str) -> bool:
        """Whether it has a right on a campaign, by its scope or on this one."""
        return allows(self.scope, self.rights.get(campaign), wanted)


class NewSession(NamedTuple):
    """A browser that has just signed in: `value` goes into its cookie and is not kept anywhere else."""

    value: str
    expires: str
    length: timedelta


class SessionRow(NamedTuple):
    """A browser that signed in: by which token, and until when."""

    token: TokenRow
    expires: str


_ROW = (
    *(tokens.c[name] for name in ("name", "scope", "created", "last_used", "revoked", "expires")),
    tokens.c.hash.startswith(PERSON_MARK).label("person"),
)
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

    def __init__(self, db: Address = None, *, create: bool = True) -> None:
        self._url = database_url(db)
        if not create:
            require_exists(self._url)
        engine_for(self._url)
        self._last_used: dict[int, float] = {}
        self._lock = threading.Lock()

    # Tokens

    def create(self, name: str, scope: str = "write", days: float | None = None) -> str:
        """A new token's secret, shown only here; it ends after `days`. `Conflict` where the name is taken."""
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        self._insert(token_name(name), scope, _hash(secret), days)
        return secret

    def create_person(self, name: str, scope: str = "write", days: float | None = None) -> str:
        """Let a person in who signs in with the provider, until `days` are over; returns the name as it is kept.

        >>> import tempfile, pathlib
        >>> Tokens(pathlib.Path(tempfile.mkdtemp()) / "campaigns.db").create_person("Anna@example.org", "read")
        'anna@example.org'
        """
        title = person_name(name)
        self._insert(title, scope, PERSON_MARK + secrets.token_hex(28), days)
        return title

    def _insert(self, title: str, scope: str, digest: str, days: float | None) -> None:
        allowed = validation.choice("scope", scope, SCOPES)
        row = {"name": title, "scope": allowed, "hash": digest, "created": now(), "expires": _end(days)}
        with self._writing() as connection:
            try:
                connection.execute(sa.insert(tokens).values(row))
            except IntegrityError as error:
                sentence = f"Token '{title}' is there already; revoke it first or choose another name."
                raise Conflict(sentence) from error

    def list(self) -> tuple[TokenRow, ...]:
        """Every token there ever was, in the order of making."""
        with self._reading() as connection:
            rights = all_rights(connection)
            rows = connection.execute(sa.select(*_ROW, tokens.c.id).order_by(tokens.c.id)).all()
            return tuple(_token(row, rights.get(row.id, NO_RIGHTS)) for row in rows)

    def grant(self, name: str, campaign: str, right: str) -> None:
        """Let a token do something with one campaign (`rights`), in place of what it could do with it before."""
        self._set_right(name, campaign, validation.choice("right", right, RIGHTS))

    def withdraw(self, name: str, campaign: str) -> None:
        """Take a token's right on a campaign away; its scope stays."""
        self._set_right(name, campaign, None)

    def _set_right(self, name: str, campaign: str, right: str | None) -> None:
        with self._writing() as connection:
            set_right(connection, self._in_use(connection, token_name(name)).id, campaign, right)

    def revoke(self, name: str) -> None:
        """End a token and every browser session that came by it, at once; `UnknownName` with those there are."""
        with self._writing() as connection:
            found = self._in_use(connection, token_name(name)).id
            connection.execute(sa.delete(sessions).where(sessions.c.token == found))
            connection.execute(sa.update(tokens).where(tokens.c.id == found).values(revoked=now()))

    def rotate(self, name: str, days: float | None = None) -> str:
        """A new secret for a token, in place of its old one, which ends at once with its sessions; shown only here.

        Name, scope and rights stay. It ends after so many days; by default as long after now as it was made for.
        """
        title, secret = token_name(name), PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        with self._writing() as connection:
            found = self._in_use(connection, title)
            if found.person:
                raise Conflict(
                    f"'{title}' is a person, who signs in with the provider: there is no secret to rotate."
                )
            end = _end(days)
            if days is None and found.expires is not None:
                made = datetime.fromisoformat(found.created)
                end = _end((datetime.fromisoformat(found.expires) - made) / timedelta(days=1))
            connection.execute(sa.delete(sessions).where(sessions.c.token == found.id))
            changed = {"hash": _hash(secret), "created": now(), "expires": end}
            connection.execute(sa.update(tokens).where(tokens.c.id == found.id).values(changed))
        return secret

    @staticmethod
    def _in_use(connection: Connection, title: str) -> Any:
        """The row of a token by its name; `UnknownName` with those there are."""
        usable = sa.select(*_ROW, tokens.c.id).where(tokens.c.revoked.is_(None))
        found = connection.execute(usable.where(tokens.c.name == title)).first()
        if found is None:
            known = ", ".join(sorted(row.name for row in connection.execute(usable))) or "none"
            raise UnknownName(f"Token '{title}' is not in use; in use are: {known}.")
        return found

    def check(self, secret: str) -> TokenRow | None:
        """The token of a secret; None where there is none, it was revoked, or its time is over."""
        if not isinstance(secret, str) or not secret.startswith(PREFIX):
            return None
        found = self._find(_BY_HASH, secret)
        if found is None:
            return None
        self._mark_used(found[1].id)
        return found[0]

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
        with self._writing() as connection:
            identity = connection.execute(_BY_HASH, {"hash": _hash(secret)}).one().id
            return _new_session(connection, identity, SESSION_LENGTH)

    def begin_person_session(self, names: Sequence[str]) -> NewSession | None:
        """Sign in a person whom the provider knows by these names: the first that is let in; None where none is."""
        query = sa.select(*_ROW, tokens.c.id).where(tokens.c.revoked.is_(None))
        with self._writing() as connection:
            for name in names:
                row = connection.execute(query.where(tokens.c.name == name)).first()
                # A token of that name is no person. The name once more: a database may take two spellings for one.
                if row is not None and row.person and row.name == name and not _token(row, NO_RIGHTS).expired:
                    return _new_session(connection, row.id, PERSON_SESSION_LENGTH)
        return None

    def session(self, value: str) -> SessionRow | None:
        """The session of a cookie's value; None where it is not known, has expired, or its token was revoked."""
        found = self._find(_SESSION, value) if isinstance(value, str) and value else None
        if found is None or found[1].ends < now():
            return None
        self._mark_used(found[1].id)
        return SessionRow(found[0], found[1].ends)

    def end_session(self, value: str) -> None:
        """Sign a browser out; one that is not known is out already."""
        if isinstance(value, str) and value:
            with self._writing() as connection:
                connection.execute(sa.delete(sessions).where(sessions.c.hash == _hash(value)))

    # The database

    def _find(self, query: sa.Select[Any], secret: str) -> tuple[TokenRow, sa.Row[Any]] | None:
        """The token of a secret or a cookie's value, and its row; None where there is none, or it has ended."""
        digest = _hash(secret)
        with self._reading() as connection:
            row = connection.execute(query, {"hash": digest}).first()
            # Found by its hash, which tells nothing of the secret however long the look-up took; compared once more
            # in constant time, so that no collation of the database can make two hashes alike.
            if row is None or not hmac.compare_digest(row.hash, digest) or row.revoked is not None:
                return None
            # Who may manage everything needs no more rights, and costs no second look.
            rights = NO_RIGHTS if row.scope == "write" else rights_of(connection, row.id)
        token = _token(row, rights)
        return None if token.expired else (token, row)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained_errors(self._url), engine_for(self._url).connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._reading() as connection, connection.execution_options(apportion_writing=True).begin():
            yield connection

    @contextmanager
    def _writing_at_once(self) -> Iterator[Connection]:
        """`_writing`, given up where another holds the database."""
        with self._reading() as connection:
            file = connection.dialect.name == "sqlite"
            driver: Any = connection.connection.driver_connection
            if file:
                driver.execute("PRAGMA busy_timeout = 0")
            try:
                with connection.execution_options(apportion_writing=True).begin():
                    if not file:
                        connection.execute(sa.text("SET LOCAL lock_timeout = '100ms'"))
                    yield connection
            finally:
                if file:
                    driver.execute(f"PRAGMA busy_timeout = {1000 * LOCK_TIMEOUT_SECONDS:.0f}")

    def _mark_used(self, identity: int) -> None:
        """Write that a token was used, once a minute; a database that cannot be written now keeps nobody waiting."""
        moment = time.monotonic()
        with self._lock:
            last = self._last_used.get(identity)
            if last is not None and moment - last < LAST_USED_EVERY_SECONDS:
                return
            self._last_used[identity] = moment
        with suppress(StoreUnavailable), self._writing_at_once() as connection:
            connection.execute(sa.update(tokens).where(tokens.c.id == identity).values(last_used=now()))


def _new_session(connection: Connection, token: int, length: timedelta) -> NewSession:
    expires = (datetime.now(UTC) + length).isoformat(timespec="microseconds")
    session = NewSession(secrets.token_urlsafe(SECRET_BYTES), expires, length)
    connection.execute(sa.delete(sessions).where(sessions.c.expires < now()))
    row = {"hash": _hash(session.value), "token": token, "created": now(), "expires": session.expires}
    connection.execute(sa.insert(sessions).values(**row, csrf=secrets.token_urlsafe(SECRET_BYTES)))
    return session


def _token(row: Any, rights: Mapping[str, str]) -> TokenRow:
    return TokenRow(*row[: len(_ROW) - 1])._replace(rights=rights, person=row.person)


def token_name(name: str) -> str:
    """`name` if a token may be called that."""
    if isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME and name == name.strip() and name.isprintable():
        return name
    allowed = f"printable text of at most {LONGEST_NAME} characters without blanks at either end"
    raise validation.refuse("name", allowed, name)


def person_name(name: str) -> str:
    """The name of a person as it is kept: an email address in small letters, or `sub:` and the provider's number.

    Letters beyond ASCII stay as they are: in small letters, some of them would be others'.
    """
    title = token_name(name)
    if title.startswith(SUBJECT):
        allowed = len(title) > len(SUBJECT)
    else:
        local, _, domain = title.rpartition("@")
        allowed = bool(local and domain) and " " not in title
        title = title.lower() if title.isascii() else title
    if not allowed:
        raise validation.refuse("name", "an email address, or `sub:` and the number of the provider", name)
    return title


def _end(days: float | None) -> str | None:
    """The moment after so many days; None where there is no end."""
    if days is None:
        return None
    length = validation.number("days", days, above=0.0, high=LONGEST_DAYS)
    return (datetime.now(UTC) + timedelta(days=length)).isoformat(timespec="microseconds")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

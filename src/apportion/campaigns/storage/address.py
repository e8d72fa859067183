"""Where a database is: its URL from what the user gave, and its errors as sentences for people."""

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from apportion.errors import InvalidValue, StoreUnavailable, UnknownName

Address = str | os.PathLike[str] | None
"""A database as users name it: a URL, the path of a file, or None for `APPORTION_DB` or the default file."""

VARIABLE = "APPORTION_DB"

# The options of a PostgreSQL address that say where and how to connect, and nothing secret.
_HARMLESS = {"host", "hostaddr", "port", "dbname", "user", "sslmode", "connect_timeout", "application_name",
             "client_encoding", "target_session_attrs"}  # fmt: skip

_EXAMPLES = "a URL such as sqlite:///campaigns.db or postgresql://user@host/name"

LOCK_TIMEOUT_SECONDS = 60.0  # how long a writer waits for another program to let go of the database


def default_file() -> Path:
    """The database in the user's data folder."""
    if sys.platform == "darwin":  # where the first releases put it, also with XDG_DATA_HOME
        first = Path.home() / "Library" / "Application Support" / "apportion" / "campaigns.db"
        if first.exists():
            return first
    return platformdirs.user_data_path("apportion", appauthor=False) / "campaigns.db"


def database_url(db: Address = None) -> URL:
    """A database's URL: from a URL, a file's path, `APPORTION_DB`, or the default file."""
    if isinstance(db, os.PathLike):
        return _file_url(Path(db))
    given = db or os.environ.get(VARIABLE)
    if not given:
        return _file_url(default_file())
    if not isinstance(given, str) or "\0" in given:
        raise InvalidValue("`db` must be a URL or the path of a file.")
    if "://" not in given:
        if (
            given.startswith(("postgres:", "postgresql:")) or "password=" in given
        ):  # no name for a file, nor to be shown
            raise InvalidValue(f"`db` must be {_EXAMPLES}, or the path of a file.")
        return _file_url(Path(given))
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise InvalidValue(f"`db` must be {_EXAMPLES}.") from None
    kind = url.get_backend_name()
    if "@" in (url.host or ""):  # what is taken for the host begins with the end of a password
        raise InvalidValue(f"`db` must be {_EXAMPLES}; an @ in a password is written %40.")
    if kind == "sqlite":
        if not url.database or url.database == ":memory:" or url.query or url.host:
            raise InvalidValue("`db` must name a file, sqlite:///campaigns.db; a database in memory keeps nothing.")
        return _file_url(Path(url.database))
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise InvalidValue(f"`db` must be a sqlite:// or postgresql:// URL; got {kind}://.")


def _file_url(path: Path) -> URL:
    return URL.create("sqlite", database=str(path.expanduser().absolute()))


def exists(url: URL) -> bool:
    """Whether there is such a database, as far as can be seen without connecting."""
    return url.get_backend_name() != "sqlite" or Path(str(url.database)).exists()


def require_exists(url: URL) -> None:
    """Refuse to read a file that is not there: a mistyped path must not make an empty database."""
    if not exists(url):
        raise UnknownName(
            f"There is no database at {display_url(url)}: is the path right? `apportion new` begins a campaign, and "
            "its database."
        )


def display_url(url: URL) -> str:
    """A database's name for people: a path, or a URL without its secrets and the driver's name."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    shown = {name: value for name, value in url.query.items() if not _is_secret(name)}
    return url.set(drivername=url.get_backend_name(), query=shown).render_as_string(hide_password=True)


def _is_secret(option: str) -> bool:
    # Any other option may hold what nobody should read: `options` sets anything on the server.
    return option.lower() not in _HARMLESS


def has_secret(url: URL) -> bool:
    """Whether the address holds something that must not be shown, or copied along."""
    return bool(secrets_of(url))


def secrets_of(url: URL) -> tuple[str, ...]:
    """What must not be shown of an address: the password before the host, and what may be secret of its options."""
    options = [value for name, value in url.query.items() if _is_secret(name)]
    given = (str(url.password) if url.password is not None else "", *(str(value) for value in options))
    return tuple(value for value in given if value)


@contextlib.contextmanager
def explained_errors(url: URL) -> Iterator[None]:
    """Turn errors of the database into sentences for people."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise unavailable(url, error) from error


def unavailable(url: URL, error: BaseException, kind: type[StoreUnavailable] = StoreUnavailable) -> StoreUnavailable:
    """The error for the caller; what others may read of it holds no address."""
    made = kind(explain_error(url, error))
    if kind is StoreUnavailable and url.get_backend_name() == "sqlite":
        made.public = _file_sentence("", _cause(error)) or StoreUnavailable.public
    return made


def _cause(error: BaseException) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return " ".join(str(cause).split()).rstrip(".?! ")


def explain_error(url: URL, error: BaseException) -> str:
    """An error of the database as a sentence for people."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    text, name = _cause(error), display_url(url)
    for secret in secrets_of(url):  # a driver may quote what it was given
        text = text.replace(secret, "***")
    if not isinstance(error, (SQLAlchemyError, sqlite3.Error, OSError)):
        return (
            f"The database {name} was interrupted by another write of this program, in the middle of a commit: look "
            "whether this one was kept, and send it again where it was not."
        )
    if isinstance(error, OSError):
        return f"The database {name} cannot be used: {error.strerror or text}. Nothing was changed."
    if url.get_backend_name() != "sqlite":
        return f"The database {name} answered: {text or type(cause).__name__}."
    return _file_sentence(f" {name}", text) or f"The database {name} answered: {text}. Nothing was changed."


def _file_sentence(name: str, text: str) -> str | None:
    """What is known of an error of SQLite, by its text; `name` is that of the file, after a blank, or nothing."""
    file = name or " its file"
    known = {
        "readonly": f"The database{name} is read-only: give this user the right to write it and its folder.",
        "full": f"The disk is full: make room where{file} is, and try again.",
        "disk I/O error": f"The disk refused to write or read{file}: it may be full or failing.",
        "unable to open": f"The database{name} cannot be opened: is its folder there, and may this user use it?",
        "locked": f"The database{name} was busy for {LOCK_TIMEOUT_SECONDS:.0f} seconds: another program holds it; "
        "try again.",
        "not a database": f"The file{name} is not a database of apportion.",
        "malformed": f"The database{name} is damaged: restore it from a copy.",
    }
    for sign, sentence in known.items():
        if sign in text:
            return f"{sentence} Nothing was changed."
    return None

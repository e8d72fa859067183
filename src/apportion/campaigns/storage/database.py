"""Where campaigns are kept: addresses, engines, schema versions, and errors as sentences."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import shutil
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import QueuePool
from sqlalchemy.util.queue import Empty, Full, QueueCommon

from apportion._common import optional
from apportion.campaigns.events import now
from apportion.campaigns.storage.schema import REVISION
from apportion.errors import IncompatibleState, InvalidValue
from apportion.errors import StoreUnavailable as StoreUnavailable

VARIABLE = "APPORTION_DB"

# How long a writer waits for its turn before it gives up.
PATIENCE = 60.0

MIGRATIONS = Path(__file__).parent / "migrations"


def default_file() -> Path:
    """The database in the user's data folder."""
    home = Path.home()
    if sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return folder / "apportion" / "campaigns.db"


def address(db: str | os.PathLike[str] | None = None) -> URL:
    """A database's URL: from a URL, a file's path, `APPORTION_DB`, or the default file."""
    if isinstance(db, os.PathLike):
        return _file(Path(db))
    given = db or os.environ.get(VARIABLE)
    if not given:
        return _file(default_file())
    if not isinstance(given, str) or "\0" in given:
        raise InvalidValue("`db` must be a URL or the path of a file.")
    if "://" not in given:
        return _file(Path(given))
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise InvalidValue(
            "`db` must be a URL such as sqlite:///campaigns.db or postgresql://user@host/name."
        ) from None
    kind = url.get_backend_name()
    if kind == "sqlite":
        if not url.database or url.database == ":memory:" or url.query:
            raise InvalidValue("`db` must name a file, sqlite:///campaigns.db; a database in memory keeps nothing.")
        return _file(Path(url.database))
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise InvalidValue(f"`db` must be a sqlite:// or postgresql:// URL; got {kind}://.")


def _file(path: Path) -> URL:
    return URL.create("sqlite", database=str(path.expanduser().absolute()))


def shown(url: URL) -> str:
    """An address for people: a path, or a URL without its password and the driver's name."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


class _Idle(QueueCommon[Any]):
    """The connections that nobody uses, in a queue that Ctrl-C does not break.

    SQLAlchemy's own takes its lock in Python. Interrupted there it leaves it taken, and other threads wait for ever.
    """

    def __init__(self, maxsize: int = 0, use_lifo: bool = False) -> None:
        self.maxsize, self.use_lifo = maxsize, use_lifo
        self._kept: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def qsize(self) -> int:
        """How many there are."""
        return self._kept.qsize()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Add one, unless there are enough."""
        if 0 < self.maxsize <= self._kept.qsize():
            raise Full
        self._kept.put(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the one that has waited longest."""
        try:
            return self._kept.get(block, timeout)
        except queue.Empty:
            raise Empty from None


class _Pool(QueuePool):
    _queue_class = _Idle


def make_engine(url: URL) -> Engine:
    """An engine whose every commit is on disk when it returns."""
    if url.get_backend_name() == "sqlite":
        # No bound: a connection that Ctrl-C hits as the pool hands it out is counted as in use for ever.
        given: dict[str, Any] = {"timeout": PATIENCE, "check_same_thread": False}
        engine = sa.create_engine(url, connect_args=given, poolclass=_Pool, pool_size=16, max_overflow=-1)
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        sa.event.listen(engine, "handle_error", _keep_connection)
        return engine
    given = {"connect_timeout": 10, "application_name": "apportion"}
    if "options" not in url.query:
        given["options"] = f"-c synchronous_commit=on -c lock_timeout={PATIENCE:.0f}s"
    try:
        return sa.create_engine(url, poolclass=_Pool, pool_size=16, pool_pre_ping=True, connect_args=given)
    except (ImportError, NoSuchModuleError):
        raise StoreUnavailable(optional.sentence("postgres")) from None


def _prepare_sqlite(connection: sqlite3.Connection, record: Any) -> None:
    del record
    connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its place at once: to begin as a reader and become a writer later can fail midway.
    writing = connection.get_execution_options().get("apportion_writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _keep_connection(context: ExceptionContext) -> None:
    # After Ctrl-C in a statement, SQLAlchemy would drop the connection as broken. A file's connection is sound: its
    # transaction is rolled back and it is used again. Dropped, it would hold the file's lock until it is collected.
    if not isinstance(context.original_exception, Exception):
        context.is_disconnect = False


@contextlib.contextmanager
def in_words(url: URL) -> Iterator[None]:
    """Turn errors of the database into sentences for people."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise StoreUnavailable(sentence(url, error)) from error


def sentence(url: URL, error: BaseException) -> str:
    """An error of the database in words."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    text = " ".join(str(cause).split()).rstrip(".?! ")
    name = shown(url)
    if not isinstance(error, (SQLAlchemyError, sqlite3.Error, OSError)):
        return (
            f"The database {name} was interrupted by another write of this program, in the middle of a commit: look "
            "whether this one was kept, and send it again where it was not."
        )
    if isinstance(error, OSError):
        return f"The database {name} cannot be used: {error.strerror or text}. Nothing was changed."
    if url.get_backend_name() != "sqlite":
        return f"The database {name} answered: {text or type(cause).__name__}."
    known = {
        "readonly": f"The database {name} is read-only: give this user the right to write it and its folder.",
        "full": f"The disk is full: make room where {name} is, and try again.",
        "disk I/O error": f"The disk refused to write or read {name}: it may be full or failing.",
        "unable to open": f"The database {name} cannot be opened: is its folder there, and may this user use it?",
        "locked": f"The database {name} was busy for {PATIENCE:.0f} seconds: another program holds it; try again.",
        "not a database": f"The file {name} is not a database of apportion.",
        "malformed": f"The database {name} is damaged: restore it from a copy.",
    }
    for mark, said in known.items():
        if mark in text:
            return f"{said} Nothing was changed."
    return f"The database {name} answered: {text}. Nothing was changed."


# Schema


def ensure_schema(engine: Engine) -> None:
    """Make the tables of a new database; refuse one of another schema with a sentence that says what to do."""
    with in_words(engine.url):
        if engine.dialect.name == "sqlite":
            path = Path(str(engine.url.database))
            path.parent.mkdir(parents=True, exist_ok=True)
        found = _found(engine)
        if found is None:
            _create(engine)
            found = _found(engine)
    if found == REVISION:
        return
    if found is None or found in known_revisions():
        raise IncompatibleState(
            f"The database {shown(engine.url)} was made by an older release (schema {found}); this one needs "
            f"{REVISION}: run `apportion upgrade --db {shown(engine.url)}` once."
        )
    raise IncompatibleState(
        f"The database {shown(engine.url)} was made by a newer release (schema {found}); this one knows "
        f"{REVISION}: update apportion with `pip install --upgrade apportion`."
    )


def revision(connection: Connection) -> str | None:
    """The schema of a database; None where it has none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _found(engine: Engine) -> str | None:
    """The schema of a database, None for a new one; one whose tables have no schema is refused."""
    with engine.connect() as connection:
        # The tables first: another program may be making both at this moment, in one transaction.
        begun = sa.inspect(connection).has_table("campaigns")
        found = revision(connection)
    if begun and found is None:
        raise IncompatibleState(
            f"The database {shown(engine.url)} has tables, but no schema number: it is damaged, or of another "
            "program; restore it from a copy, or choose another. Nothing was changed."
        )
    return found


def known_revisions() -> set[str]:
    """The schemas that this release can upgrade from."""
    from alembic.script import ScriptDirectory

    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def upgrade(db: str | os.PathLike[str] | None = None) -> tuple[str | None, str]:
    """Bring a database to the schema of this release; a SQLite file is copied beside itself first.

    Returns the schema before and after.
    """
    url = address(db)
    engine = make_engine(url)
    try:
        with in_words(url):
            found = _found(engine)
            if found is not None and found != REVISION:
                if found not in known_revisions():
                    ensure_schema(engine)
                if engine.dialect.name == "sqlite":
                    _copy(url, f"before-{REVISION}")
            if found != REVISION:
                _create(engine)
        ensure_schema(engine)
    finally:
        engine.dispose()
    return found, REVISION


def _copy(url: URL, suffix: str) -> None:
    """A copy of a SQLite database, complete also where its log was not yet written back."""
    source = Path(str(url.database))
    target = source.with_name(f"{source.name}.{suffix}")
    if target.exists():
        target = source.with_name(f"{source.name}.{suffix}.{now().replace(':', '')}")
    with contextlib.closing(sqlite3.connect(source)) as old, contextlib.closing(sqlite3.connect(target)) as new:
        old.backup(new)
    shutil.copymode(source, target)


def _config() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _create(engine: Engine) -> None:
    """Run the migrations that are missing; where several programs try, one does it and the rest wait."""
    from alembic import command

    config = _config()
    if engine.dialect.name == "sqlite":
        # Kept in the file: readers and the one writer do not wait on each other.
        with contextlib.closing(sqlite3.connect(str(engine.url.database), timeout=PATIENCE)) as plain:
            plain.execute("PRAGMA journal_mode = WAL")
    with engine.connect().execution_options(apportion_writing=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7205759403792793)"))
        if revision(connection) != REVISION:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


# Engines of this process

_engines: dict[str, Engine] = {}
_lock = threading.Lock()


def engine_for(url: URL) -> Engine:
    """The engine of a database in this process, its schema checked once."""
    name = url.render_as_string(hide_password=False)
    with _lock:
        if name not in _engines:
            engine = make_engine(url)
            try:
                ensure_schema(engine)
            except BaseException:
                engine.dispose()
                raise
            _engines[name] = engine
        return _engines[name]


def forget_engine(url: URL) -> None:
    """Close the connections of this process to a database."""
    with _lock:
        engine = _engines.pop(url.render_as_string(hide_password=False), None)
    if engine is not None:
        engine.dispose()


def _after_fork() -> None:
    """A child must not use its parent's connections, nor close them."""
    global _lock
    _lock = threading.Lock()
    for engine in _engines.values():
        engine.dispose(close=False)
    _engines.clear()


@atexit.register
def _close_all() -> None:
    for engine in _engines.values():
        engine.dispose()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

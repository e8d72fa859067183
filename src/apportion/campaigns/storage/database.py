"""The databases of this process: connections whose every commit is on disk when it returns, schemas, upgrades."""

import atexit
import collections
import contextlib
import functools
import os
import queue
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, ExceptionContext
from sqlalchemy.exc import NoSuchModuleError
from sqlalchemy.pool import QueuePool
from sqlalchemy.util.queue import Empty, Full, QueueCommon

from apportion._common import optional
from apportion.campaigns.events import now
from apportion.campaigns.storage.address import (
    LOCK_TIMEOUT_SECONDS,
    database_url,
    display_url,
    explained_errors,
    require_exists,
)
from apportion.campaigns.storage.schema import REVISION
from apportion.errors import IncompatibleState, StoreUnavailable

MIGRATIONS = Path(__file__).parent / "migrations"

UPGRADE_LOCK = 7205759403792793
"""The advisory lock that programs upgrading one PostgreSQL database take; any number nobody else uses."""

IDLE_CONNECTIONS = 16  # so many unused connections of a process stay open
PRIVATE_FILE = 0o600  # the rights of a new database file
CONNECT_TIMEOUT_SECONDS = 10  # how long PostgreSQL may take to answer the first word

# Connections


class _IdleQueue(QueueCommon[Any]):
    """The unused connections, in a queue that Ctrl-C does not break.

    SQLAlchemy's own takes its lock in Python: of 40 moments at which Ctrl-C can come as a connection is taken and
    returned, 6 leave that lock taken, and all other threads wait for ever; of this queue's none. It is not quicker.
    """

    def __init__(self, maxsize: int = 0, use_lifo: bool = False) -> None:
        self.maxsize, self.use_lifo = maxsize, use_lifo
        self._connections: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def qsize(self) -> int:
        """How many there are."""
        return self._connections.qsize()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Add one, unless there are enough."""
        if 0 < self.maxsize <= self._connections.qsize():
            raise Full
        self._connections.put(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the one that has waited longest."""
        try:
            return self._connections.get(block, timeout)
        except queue.Empty:
            raise Empty from None


class _Pool(QueuePool):
    _queue_class = _IdleQueue


def make_engine(url: URL) -> Engine:
    """An engine whose every commit is on disk when it returns."""
    if url.get_backend_name() == "sqlite":
        # No bound: a connection that Ctrl-C hits as the pool hands it out is counted as in use for ever.
        given: dict[str, Any] = {"timeout": LOCK_TIMEOUT_SECONDS, "check_same_thread": False}
        if _only_readable(Path(str(url.database))):
            more: dict[str, Any] = {"creator": _reader_of(Path(str(url.database)), given)}
        else:
            more = {"connect_args": given}
        engine = sa.create_engine(url, poolclass=_Pool, pool_size=IDLE_CONNECTIONS, max_overflow=-1, **more)
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        sa.event.listen(engine, "handle_error", _keep_connection)
        return engine
    given = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, "application_name": "apportion"}
    if "options" not in url.query:
        given["options"] = f"-c synchronous_commit=on -c lock_timeout={LOCK_TIMEOUT_SECONDS:.0f}s"
    try:
        return sa.create_engine(
            url, poolclass=_Pool, pool_size=IDLE_CONNECTIONS, pool_pre_ping=True, connect_args=given
        )
    except (ImportError, NoSuchModuleError):
        raise StoreUnavailable(optional.missing_sentence("postgres")) from None


def _only_readable(path: Path) -> bool:
    """Whether a database is where nothing can be written, a read-only mount say: its log cannot be made there."""
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _reader_of(path: Path, given: dict[str, Any]) -> Callable[[], sqlite3.Connection]:
    """Connects to a file to read it alone. Without the files of its log, which cannot be made, nobody writes it."""
    begun = path.with_name(f"{path.name}-wal")
    rest = begun.exists() and begun.stat().st_size > 0 and path.with_name(f"{path.name}-shm").exists()
    address = f"file:{quote(str(path))}?mode=ro" + ("" if rest else "&immutable=1")
    return lambda: sqlite3.connect(address, uri=True, **given)


# One flipped bit can make a text no text any more: it is read all the same, so that `check` can name its event, and
# the other campaigns can be listed.
_as_text = functools.partial(str, encoding="utf-8", errors="replace")


def _prepare_sqlite(connection: sqlite3.Connection, record: Any) -> None:
    del record
    connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
    connection.text_factory = _as_text
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


# Schema


def ensure_schema(engine: Engine) -> None:
    """Make the tables of a new database; refuse one of another schema with a sentence that says what to do."""
    with explained_errors(engine.url):
        if engine.dialect.name == "sqlite":
            path = Path(str(engine.url.database))
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():  # others on the machine are not to read it; its log is made like it
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
        found = _schema_of(engine)
        if found is None:
            _migrate(engine)
            found = _schema_of(engine)
    if found == REVISION:
        return
    if found is None or found in known_revisions():
        raise IncompatibleState(
            f"The database {display_url(engine.url)} was made by an older release (schema {found}); this one needs "
            f"{REVISION}: run `apportion upgrade --db {display_url(engine.url)}` once."
        )
    raise IncompatibleState(
        f"The database {display_url(engine.url)} was made by a newer release (schema {found}); this one knows "
        f"{REVISION}: update apportion with `pip install --upgrade apportion`."
    )


def revision(connection: Connection) -> str | None:
    """The schema of a database; None where it has none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _schema_of(engine: Engine) -> str | None:
    """The schema of a database, None for a new one; one whose tables have no schema is refused."""
    with engine.connect() as connection:
        # The tables first: another program may be making both at this moment, in one transaction.
        begun = sa.inspect(connection).has_table("campaigns")
        found = revision(connection)
    if begun and found is None:
        raise IncompatibleState(
            f"The database {display_url(engine.url)} has tables, but no schema number: it is damaged, or of another "
            "program; restore it from a copy, or choose another. Nothing was changed."
        )
    return found


def known_revisions() -> set[str]:
    """The schemas that this release can upgrade from."""
    from alembic.script import ScriptDirectory

    return {script.revision for script in ScriptDirectory.from_config(_alembic_config()).walk_revisions()}


def upgrade(db: str | os.PathLike[str] | None = None) -> tuple[str | None, str]:
    """Bring a database to the schema of this release; a SQLite file is copied beside itself first.

    Returns the schema before and after.
    """
    url = database_url(db)
    require_exists(url)
    engine = make_engine(url)
    try:
        with explained_errors(url):
            found = _schema_of(engine)
            if found is not None and found != REVISION:
                if found not in known_revisions():
                    ensure_schema(engine)
                if engine.dialect.name == "sqlite":
                    _copy(url, f"before-{REVISION}")
            if found != REVISION:
                _migrate(engine)
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


def _alembic_config() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _migrate(engine: Engine) -> None:
    """Run the migrations that are missing; where several programs try, one does it and the rest wait."""
    from alembic import command

    config = _alembic_config()
    if engine.dialect.name == "sqlite":
        # Kept in the file: readers and the one writer do not wait on each other.
        with contextlib.closing(sqlite3.connect(str(engine.url.database), timeout=LOCK_TIMEOUT_SECONDS)) as plain:
            plain.execute("PRAGMA journal_mode = WAL")
    with engine.connect().execution_options(apportion_writing=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": UPGRADE_LOCK})
        if revision(connection) != REVISION:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


# Engines of this process

_engines: dict[str, Engine] = {}
_lock = threading.Lock()
_retired: collections.deque[URL] = collections.deque()


def engine_for(url: URL) -> Engine:
    """The engine of a database in this process, its schema checked once."""
    while _retired:
        close_engine(_retired.popleft())
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


def retire_engine(url: URL) -> None:
    """Close the connections to a database before the next one is opened.

    For the garbage collector, which comes at any moment, also while this very thread holds the lock.
    """
    _retired.append(url)


def close_engine(url: URL) -> None:
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
    _retired.clear()


@atexit.register
def _close_all() -> None:
    for engine in _engines.values():
        engine.dispose()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

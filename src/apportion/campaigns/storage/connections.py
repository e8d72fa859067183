"""Connections to SQLite and PostgreSQL whose every commit is on disk when it returns."""

from __future__ import annotations

import queue
import sqlite3
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, ExceptionContext
from sqlalchemy.exc import NoSuchModuleError
from sqlalchemy.pool import QueuePool
from sqlalchemy.util.queue import Empty, Full, QueueCommon

from apportion._common import optional
from apportion.campaigns.storage.address import LOCK_TIMEOUT_SECONDS
from apportion.errors import StoreUnavailable

IDLE_CONNECTIONS = 16  # so many unused connections of a process stay open
CONNECT_TIMEOUT_SECONDS = 10  # how long PostgreSQL may take to answer the first word


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
        engine = sa.create_engine(
            url, connect_args=given, poolclass=_Pool, pool_size=IDLE_CONNECTIONS, max_overflow=-1
        )
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

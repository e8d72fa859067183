"""The databases of this process: their schema checked, upgraded where asked, and one engine for each."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from apportion.campaigns.events import now
from apportion.campaigns.storage.address import LOCK_TIMEOUT_SECONDS, database_url, display_url, explained_errors
from apportion.campaigns.storage.connections import make_engine
from apportion.campaigns.storage.schema import REVISION
from apportion.errors import IncompatibleState

MIGRATIONS = Path(__file__).parent / "migrations"

UPGRADE_LOCK = 7205759403792793
"""The advisory lock that programs upgrading one PostgreSQL database take; any number nobody else uses."""

# Schema


def ensure_schema(engine: Engine) -> None:
    """Make the tables of a new database; refuse one of another schema with a sentence that says what to do."""
    with explained_errors(engine.url):
        if engine.dialect.name == "sqlite":
            path = Path(str(engine.url.database))
            path.parent.mkdir(parents=True, exist_ok=True)
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


@atexit.register
def _close_all() -> None:
    for engine in _engines.values():
        engine.dispose()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

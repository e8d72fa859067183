"""What `apportion doctor` checks of a database, without changing it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sqlite3
from collections.abc import Generator, Iterator
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection

from apportion.campaigns.storage.address import database_url, display_url, explained_errors
from apportion.campaigns.storage.database import ensure_schema, make_engine, revision
from apportion.campaigns.storage.schema import REVISION, campaigns, tokens
from apportion.cli.doctor import ATTENTION, NOTE, Finding, free_disk, megabytes, unwritable
from apportion.errors import ApportionError

GROUP = "database"

LOCK_TIMEOUT_SECONDS = 5.0  # long enough for a writer to finish, short enough to wait for
FAULTS_LISTED = 5
LONGEST_FAULT = 300


def database(db: str | None) -> Iterator[Finding]:
    """Can it be reached and written, what schema has it, what is in it, and is it whole."""
    url = database_url(db)
    return _file(url) if url.get_backend_name() == "sqlite" else _server(url)


def _file(url: URL) -> Iterator[Finding]:
    path = Path(str(url.database))
    if not path.exists():
        reason = unwritable(path.parent)
        if reason:
            advice = "choose another file with --db or APPORTION_DB, or give this user the right to write there."
            yield Finding(GROUP, "file", f"{path} cannot be made: {reason}", ATTENTION, advice)
        else:
            yield Finding(GROUP, "file", f"{path} is not there yet", NOTE, "the first `apportion new` makes it.")
        yield free_disk(GROUP, path.parent)
        return
    log = path.with_name(path.name + "-wal")
    waiting = f", {megabytes(log.stat().st_size)} in its log" if log.exists() else ""
    yield Finding(GROUP, "file", f"{path}, {megabytes(path.stat().st_size)}{waiting}")
    whole = yield from _integrity(path)
    if whole:
        yield from _writing(path)
        yield from _content(url)
    yield free_disk(GROUP, path.parent)


def _integrity(path: Path) -> Generator[Finding, None, bool]:
    """Yields faults of the file itself; returns whether it can be read further."""
    try:
        with contextlib.closing(_connected(path)) as plain:
            mode = plain.execute("PRAGMA journal_mode").fetchone()[0]
            faults = [row[0] for row in plain.execute(f"PRAGMA quick_check({FAULTS_LISTED})")]
    except sqlite3.Error as error:
        faults, mode = [str(error)], ""
    if faults != ["ok"]:
        text = "; ".join(" ".join(line.split()) for line in faults)[:LONGEST_FAULT]
        advice = (
            "keep a copy of the file as it is, then restore the newest good copy, or bring single campaigns "
            "back from their exports: apportion restore FILE."
        )
        if "not a database" in text:
            advice = "this file belongs to something else: name the right one with --db or APPORTION_DB."
        elif "unable to open" in text:
            advice = "give this user the right to read and write the file and its folder."
        yield Finding(GROUP, "integrity", text, ATTENTION, advice)
        return False
    yield Finding(GROUP, "integrity", "quick_check: ok")
    if mode == "wal":
        yield Finding(GROUP, "journal", "WAL: readers and the writer do not wait on each other")
    else:
        repair = f'import sqlite3; sqlite3.connect({json.dumps(str(path))}).execute("PRAGMA journal_mode = WAL")'
        advice = f"readers and the writer wait on each other; once: python -c {shlex.quote(repair)}"
        yield Finding(GROUP, "journal", f"{mode}, not WAL", ATTENTION, advice)
    return True


def _connected(path: Path) -> sqlite3.Connection:
    address = f"file:{path.as_posix().replace('%', '%25').replace('?', '%3f')}?mode=rw"
    return sqlite3.connect(address, timeout=LOCK_TIMEOUT_SECONDS, uri=True)


def _writing(path: Path) -> Iterator[Finding]:
    try:
        with contextlib.closing(_connected(path)) as plain:
            plain.isolation_level = None
            plain.execute("BEGIN IMMEDIATE")
            plain.execute("ROLLBACK")
        fault = "" if os.access(path, os.W_OK) else "the file is read-only"
    except sqlite3.Error as error:
        fault = str(error)
    if not fault:
        yield Finding(GROUP, "writing", "possible")
    elif "locked" in fault:
        advice = "another program has been writing for seconds: if that goes on, end it or look at what it does."
        yield Finding(GROUP, "writing", "busy", ATTENTION, advice)
    else:
        advice = f"give this user the right to write {path} and its folder."
        yield Finding(GROUP, "writing", f"not possible: {fault}", ATTENTION, advice)


def _server(url: URL) -> Iterator[Finding]:
    try:
        with _connection(url) as connection:
            version = connection.execute(sa.text("SHOW server_version")).scalar()
            standby = connection.execute(sa.text("SELECT pg_is_in_recovery()")).scalar()
            size = connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one()
    except ApportionError as error:
        advice = "is the server running, and are host, port, user and password right? Try the same address with psql."
        if "pip install" in str(error):
            advice = str(error).partition(": ")[2]
        yield Finding(GROUP, "server", str(error), ATTENTION, advice)
        return
    yield Finding(GROUP, "server", f"{display_url(url)}, PostgreSQL {version}, {megabytes(size)}")
    if standby:
        advice = "this server is a standby and takes no writes: name the primary with --db."
        yield Finding(GROUP, "writing", "not possible", ATTENTION, advice)
    else:
        yield Finding(GROUP, "writing", "possible")
    yield from _content(url)


@contextlib.contextmanager
def _connection(url: URL) -> Iterator[Connection]:
    """A connection of its own, for reading: nothing is made, errors are sentences."""
    engine = make_engine(url)
    try:
        with explained_errors(url), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def _content(url: URL) -> Iterator[Finding]:
    """Schema, campaigns and tokens, of either kind of database."""
    try:
        with _connection(url) as connection:
            yield from list(_tables(connection))
    except ApportionError as error:
        advice = "give this user the right to read all tables, and look whether the address is the right one."
        yield Finding(GROUP, "content", str(error), ATTENTION, advice)


def _tables(connection: Connection) -> Iterator[Finding]:
    found = revision(connection)
    if found is None:
        yield Finding(GROUP, "schema", "none: no tables of apportion", NOTE, "the first `apportion new` makes them.")
        return
    if found == REVISION:
        yield Finding(GROUP, "schema", f"{found}, the newest")
    else:
        try:
            ensure_schema(connection.engine)  # only says what is to be done: there is a schema, so nothing is made
        except ApportionError as error:
            yield Finding(GROUP, "schema", f"{found}; this release needs {REVISION}", ATTENTION, str(error))
    inspector = sa.inspect(connection)
    if inspector.has_table(campaigns.name):
        number = connection.execute(sa.select(sa.func.count()).select_from(campaigns)).scalar_one()
        yield Finding(GROUP, "campaigns", str(number))
    if inspector.has_table(tokens.name):
        usable = sa.select(sa.func.count()).select_from(tokens).where(tokens.c.revoked.is_(None))
        number = connection.execute(usable).scalar_one()
        if number:
            yield Finding(GROUP, "tokens", f"{number} in use")
        else:
            advice = "only this machine may use the service; for a team: apportion token create NAME"
            yield Finding(GROUP, "tokens", "none", NOTE, advice)

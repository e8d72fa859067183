"""A copy of a database that is in use: whole, checked, and there under its name only when it is both."""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
from pathlib import Path
from typing import NamedTuple

from apportion._common.files import replacement
from apportion.campaigns.storage.address import Address, database_url, display_url, exists, explained_errors
from apportion.campaigns.storage.database import PRIVATE_FILE, engine_for, make_engine
from apportion.campaigns.storage.session import Session
from apportion.errors import IncompatibleState, InvalidValue

PAGES_PER_STEP = 1000  # so many pages are copied before writers may go on


class Backup(NamedTuple):
    """A copy that was made: where, and what is in it."""

    file: str
    campaigns: int
    events: int


def backup(target: str | os.PathLike[str], db: Address = None, *, force: bool = False) -> Backup:
    """Copy a SQLite database while it is in use, and check the copy: every event's digest, and the file itself.

    A plain copy of the file would miss what is still in its log. A PostgreSQL server has a tool of its own.
    """
    url, file = database_url(db), Path(target)
    if url.get_backend_name() != "sqlite":
        server = display_url(url._replace(password=None))  # which the tool asks for
        command = f"pg_dump --format=custom --file={shlex.quote(str(file))} {shlex.quote(server)}"
        raise InvalidValue(f"A PostgreSQL database is copied by its own tool: {command}")
    if not exists(url):
        raise InvalidValue(f"There is no database at {display_url(url)}: nothing to copy.")
    if file.exists() and (not force or file.samefile(str(url.database))):
        raise InvalidValue(f"The file {str(file)!r} is there already; choose another name, or --force to replace it.")
    engine_for(url)  # its schema is ours
    try:
        with replacement(file, durable=True) as draft:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
            with explained_errors(url):
                _copy(Path(str(url.database)), draft)
            campaigns, events = _checked(draft)
    except OSError as error:
        raise InvalidValue(f"The file {str(file)!r} cannot be written: {error.strerror}.") from error
    return Backup(str(file), campaigns, events)


def _copy(source: Path, target: Path) -> None:
    with contextlib.closing(sqlite3.connect(source)) as old, contextlib.closing(sqlite3.connect(target)) as new:
        old.backup(new, pages=PAGES_PER_STEP, sleep=0.01)
        new.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it


def _checked(copy: Path) -> tuple[int, int]:
    """How many campaigns and events are in a copy, which is refused where anything in it is not as it was written."""
    with contextlib.closing(sqlite3.connect(copy)) as plain:
        (found,) = plain.execute("PRAGMA integrity_check").fetchone()
    if found != "ok":
        raise IncompatibleState(f"The copy is damaged, and so may the database be: {found}.")
    engine = make_engine(database_url(copy))
    try:
        with engine.connect() as connection:
            session, events = Session(connection), 0
            campaigns = session.campaigns()
            for campaign in campaigns:
                for link in session.links(campaign.id, session.last_number(campaign.id)):
                    if not link.sound:
                        raise IncompatibleState(
                            f"Event {link.row.number} of campaign '{campaign.name}' is not as it was written: "
                            "nothing was copied. `apportion check` says more."
                        )
                    events += 1
            return len(campaigns), events
    finally:
        engine.dispose()

"""Group commit: writes of several threads that share one commit.

A commit waits for the disk, and SQLite takes one writer at a time. Each write is acknowledged only when it is on
disk, but the disk is asked once for all that waited meanwhile. Measured on one disk in one run: against one commit
per write, 8 threads write 9 times as much and 32 threads 5 times; against that and a plain lock, 4 and 2 times; a
single thread the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from apportion.campaigns.storage.fair_lock import Latch
from apportion.campaigns.storage.session import Session

MAX_WRITES_PER_COMMIT = 64


class GroupedSession(Session):
    """A write that shares its commit with others."""

    def __init__(self, group: WriteGroup) -> None:
        super().__init__(group.connection)
        self._group = group

    @property
    def committed(self) -> Latch:
        """Set once what this session wrote is on disk, or was rolled back."""
        return self._group.done

    def on_failure(self, undo: Callable[[], None]) -> None:
        """What to do in memory if the commit fails."""
        self._group.undo.append(undo)


class WriteGroup:
    """Writes that share one transaction: each is acknowledged only when all are on disk."""

    def __init__(self, connection: Connection, campaign: int | None) -> None:
        self.connection = connection
        self.campaign = campaign
        self.writes = 0  # how many writes are complete
        self.current: GroupedSession | None = None  # the write in progress
        self.done = Latch()
        self.error: BaseException | None = None
        self.uncertain = False  # whether a commit was sent and got no answer
        self.undo: list[Callable[[], None]] = []

    def finish(self, error: BaseException | None = None) -> None:
        """Commit, or roll everything back where something failed; then let the threads that wait go on."""
        try:
            try:
                if error is None:
                    self.connection.commit()
                else:
                    self.connection.rollback()
            except (SQLAlchemyError, sqlite3.Error, OSError) as failure:
                self.uncertain = error is None and _may_be_kept(failure)
                error = error or failure
            except BaseException as failure:
                self.uncertain = error is None
                error = error or self._interrupted(failure)
                hidden = failure.__context__  # SQLAlchemy may put an assertion of its own over Ctrl-C
                raise (failure if hidden is None or isinstance(hidden, Exception) else hidden) from None
            finally:
                with suppress(SQLAlchemyError):
                    self.connection.close()
        finally:
            self.error = error
            if error is not None:
                self.discard_memory()
            self.done.set()

    def _interrupted(self, failure: BaseException) -> BaseException | None:
        """Ctrl-C in the thread that commits is no reason to fail the others; a file can be asked to commit again."""
        if self.connection.dialect.name != "sqlite":
            return failure
        try:
            driver: Any = self.connection.connection.driver_connection
            driver.commit()  # does nothing where it was done already
        except Exception as error:
            return error
        return None

    def rollback_current(self) -> bool:
        """Undo the write in progress, and leave those before it; False where the database cannot."""
        if self.current is None or self.writes == 0:
            return False
        try:
            self.connection.exec_driver_sql("ROLLBACK TO SAVEPOINT current_write")
        except (SQLAlchemyError, sqlite3.Error):
            return False
        self.discard_memory()
        return True

    def discard_memory(self) -> None:
        """What is in memory may not be on disk: it is read again."""
        for undo in self.undo:
            undo()


def _may_be_kept(failure: BaseException) -> bool:
    """Whether a commit that failed so may be on disk all the same: the connection broke, or the disk did."""
    broken = isinstance(failure, DBAPIError) and failure.connection_invalidated
    return broken or isinstance(failure, OSError) or "disk I/O error" in str(failure)

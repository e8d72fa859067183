"""The line of writers: the threads of a process that wait to write, whose turn it is, and who waits for a commit."""

from __future__ import annotations

import contextlib
import threading

from apportion.errors import Conflict


class Place:
    """A place in the line of writers: `with place.lock` holds it, to the end of the write.

    The interpreter itself lets go of a lock at the end of a block. A method of ours could be interrupted by Ctrl-C
    before its first line, and the line would stand still for ever.
    """

    __slots__ = ("before", "lock", "thread")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.before: Place | None = None
        """Whom it still waits for; None once its turn has come."""
        self.thread = threading.get_ident()
        """Whose it is; 0 once it was left."""


class Turn:
    """A lock that is handed over in the order of asking: under load nobody waits longer than those who came before.

    A plain lock goes to whichever thread runs, and a thread that sleeps in line may be passed by again and again.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.holder = self._last = Place()
        """Whose turn it is, or was last."""
        self._last.thread = 0

    @property
    def waiting(self) -> int:
        """How many stand in line behind the one whose turn it is."""
        count, place = 0, self._last
        while place is not self.holder:
            count += place.thread != 0
            if place.before is None:
                break
            place = place.before
        return count

    def wait(self, place: Place) -> None:
        """Wait for the turn of a place whose lock is held; `Conflict` where the thread would wait for itself.

        Whoever leaves the line early leaves `before` as it is: the next one waits for that one instead.
        """
        if self.holder.thread == place.thread and self.holder.lock.locked():
            raise Conflict(
                "A write of this thread is not finished: within `together`, only the campaign that it was begun on "
                "can be changed, by the same object."
            )
        with self._guard:
            place.before, self._last = self._last, place
        while (before := place.before) is not None:
            with before.lock:
                place.before = before.before
        self.holder = place


class Sign:
    """That something is done: a `threading.Event` that Ctrl-C does not break.

    An `Event` takes its lock in Python. Interrupted there, `set` leaves it taken, and the next call waits for ever.
    """

    __slots__ = ("_gate", "_given")

    def __init__(self) -> None:
        self._given = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def is_set(self) -> bool:
        """Whether it was given."""
        return self._given

    def set(self) -> None:
        """Give it; once more does nothing."""
        self._given = True
        self._open()

    def wait(self, seconds: float) -> bool:
        """Whether it was given; wait for it so long at most."""
        if not self._given and self._gate.acquire(timeout=seconds):
            self._open()  # for the next who waits
        return self._given

    def _open(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is open
            self._gate.release()

"""Who is acting: every event says so. The service says it for each request; else it is the user of the machine."""

from __future__ import annotations

import functools
import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

LONGEST_ACTOR = 200
LONGEST_REQUEST = 100


class Actor(NamedTuple):
    """Who does something, in words, and the id of the request they do it by."""

    name: str
    request: str | None = None


_current: ContextVar[Actor | None] = ContextVar("apportion_actor", default=None)


def actor() -> Actor:
    """Who is acting now: as was said, or the user of this machine."""
    return _current.get() or Actor(_machine_user())


def act_as(name: str, request: str | None = None) -> None:
    """From here on, in this thread or task, it is them."""
    _current.set(Actor(name[:LONGEST_ACTOR], request))


@contextmanager
def acting(name: str, request: str | None = None) -> Iterator[None]:
    """What is done in this block is done by them.

    >>> with acting("nightly import"):
    ...     actor().name
    'nightly import'
    """
    token = _current.set(Actor(name[:LONGEST_ACTOR], request))
    try:
        yield
    finally:
        _current.reset(token)


@functools.cache
def _machine_user() -> str:
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have no such user
        name = "unknown"
    name = "".join(letter for letter in name if letter.isprintable())
    return f"user {name or 'unknown'}"[:LONGEST_ACTOR]

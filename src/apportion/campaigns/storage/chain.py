"""A chain of digests over the events of a campaign: whoever changes, drops or inserts one breaks all that follow.

digest(n) = SHA-256 of digest(n − 1) and everything that is stored of event n, as JSON. So `check` finds bits that
flipped and events that somebody edited. It is no proof against one who writes the whole chain anew: note the digest
of the last event elsewhere (`apportion check --json` has it), and compare.

A snapshot is sealed: its last line is the SHA-256 of the digest of the event that it was taken after, and of what it
holds. So `check` finds one that was changed without repeating all events before it.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

FIELDS = ("number", "at", "kind", "ticket", "key", "actor", "request", "payload")

SEAL = "\nsealed "  # what the last line of a snapshot begins with

_write = json.JSONEncoder(separators=(",", ":")).encode


def digest(before: str, row: Mapping[str, Any]) -> str:
    """The digest of a row of the table of events, after the digest of the one before: "" before the first."""
    content = [before, *(row[name] for name in FIELDS)]
    return hashlib.sha256(_write(content).encode()).hexdigest()


def sealed(after: str, state: str) -> str:
    """A snapshot as it is stored, taken after the event of that digest."""
    return f"{state}{SEAL}{_seal(after, state)}"


def unsealed(text: str) -> str:
    """What a snapshot that is stored holds; those of earlier releases have no seal."""
    return text.partition(SEAL)[0]


def has_seal(text: str) -> bool:
    """Whether a snapshot is sealed."""
    return SEAL in text


def is_intact(after: str, text: str) -> bool:
    """Whether a snapshot that is stored was taken after the event of that digest, and is as it was then."""
    state, _, seal = text.partition(SEAL)
    return seal == _seal(after, state)


def _seal(after: str, state: str) -> str:
    return hashlib.sha256(f"{after}\n{state}".encode()).hexdigest()

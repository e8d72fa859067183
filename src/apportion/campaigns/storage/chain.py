"""A chain of digests over the events of a campaign: whoever changes, drops or inserts one breaks all that follow.

digest(n) = SHA-256 of digest(n − 1) and everything that is stored of event n, as JSON. So `check` finds bits that
flipped and events that somebody edited. It is no proof against one who writes the whole chain anew: note the digest
of the last event elsewhere (`apportion check --json` has it), and compare.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

FIELDS = ("number", "at", "kind", "ticket", "key", "actor", "request", "payload")

_write = json.JSONEncoder(separators=(",", ":")).encode


def digest(before: str, row: Mapping[str, Any]) -> str:
    """The digest of a row of the table of events, after the digest of the one before: "" before the first."""
    content = [before, *(row[name] for name in FIELDS)]
    return hashlib.sha256(_write(content).encode()).hexdigest()

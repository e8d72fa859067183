"""Writes that wait for a person's word: drafted first, and done once when they are confirmed.

A draft changes nothing. It is bound to the campaign as it was: where anything happened since, it is refused, and has
to be drafted anew. Confirmed twice it is done once, by its key.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from apportion.campaigns.protocol import CampaignVerbs
from apportion.errors import Conflict, UnknownName

MOST_DRAFTS = 100
DRAFT_SECONDS = 3600.0


class Draft(NamedTuple):
    """A write that nobody confirmed yet."""

    key: str
    campaign: CampaignVerbs
    version: int
    """Of the campaign when it was drafted."""
    action: Callable[[str, bool], Any]
    """Does it, under a key; the flag says that unlikely numbers are right."""
    made: float


class Drafts:
    """The drafts of one session."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[str, Draft] = {}
        self._done: dict[str, Any] = {}

    def add(self, campaign: CampaignVerbs, action: Callable[[str, bool], Any]) -> str:
        """Keep a draft; its key."""
        key = f"mcp-{secrets.token_hex(8)}"
        self._waiting[key] = Draft(key, campaign, campaign.version, action, self._clock())
        while len(self._waiting) > MOST_DRAFTS:
            del self._waiting[next(iter(self._waiting))]
        return key

    def confirm(self, key: str, sure: bool) -> Any:
        """Do what was drafted, and forget the draft; done before, it gives the same answer."""
        if key in self._done:
            return self._done[key]
        draft = self._find(key)
        if draft.campaign.version != draft.version:
            del self._waiting[key]
            raise Conflict(f"Campaign '{draft.campaign.name}' has changed since this was drafted: draft it anew.")
        result = draft.action(key, sure)
        del self._waiting[key]
        self._done[key] = result
        while len(self._done) > MOST_DRAFTS:
            del self._done[next(iter(self._done))]
        return result

    def discard(self, key: str) -> None:
        """Forget a draft."""
        self._find(key)
        del self._waiting[key]

    def _find(self, key: str) -> Draft:
        draft = self._waiting.get(key)
        if draft is None or self._clock() - draft.made > DRAFT_SECONDS:
            raise UnknownName(f"Draft '{key}' is not known, or is older than an hour: draft it anew.")
        return draft

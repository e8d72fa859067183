"""What can happen to a campaign. Events are only ever added; everything else can be rebuilt from them.

============  ==========================================================================================
`created`     the options it began with
`split`       a ticket: budget, amounts and shares by arm; what the policy remembers, where the generator stands
`outcome`     what came back for a ticket, by arm, None for no data; amounts really spent, where they differ;
              `provisional` where these are totals so far, which the next `outcome` of an arm replaces
`amended`     the same once more, corrected, with the old values beside the new
`arm`         one arm was added, paused, resumed, removed or bounded
`setting`     settings that changed, with the old values
`imported`    a file was taken in: its digest, and how many rows
`cancelled`   a split was taken back, with what was recorded of it; `import` where all of a file was
`undone`      an import was taken back: the number of its event, the arms that went with it
`renamed`     the campaign has another name, with the old one
`archived`    the campaign is put away; `unarchived`: it is in use again
`cloned`      the campaign is a copy of another one, as that was then
`forecast`    what the next periods were expected to bring, to be held against what came; changes nothing else
============  ==========================================================================================
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from apportion.allocation.tickets import Ticket
from apportion.errors import ApportionError, IncompatibleState

# What reading something damaged raises, whatever is wrong with it.
DAMAGE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)

KINDS = (
    "created", "split", "outcome", "amended", "arm", "setting", "imported", "cancelled", "undone", "renamed",
    "archived", "unarchived", "cloned", "forecast",
)  # fmt: skip


class Event(NamedTuple):
    """One thing that happened. Numbers count from 1 in each campaign, without gaps."""

    number: int
    at: str
    kind: str
    ticket: int | None
    payload: dict[str, Any]
    key: str | None = None

    @property
    def period_date(self) -> str:
        """Of a split: the date of its period, which is the moment it was asked for where no other was given."""
        date: str = self.payload.get("date", self.at)
        return date

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return self._asdict()


def now() -> str:
    """The moment, in UTC, as text that sorts."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


_write = json.JSONEncoder(allow_nan=False, ensure_ascii=True, separators=(",", ":")).encode


def payload_text(payload: Mapping[str, Any]) -> str:
    """A payload as text; numbers to the last bit."""
    return _write(payload)


@contextmanager
def intact(number: int) -> Iterator[None]:
    """Around the reading of an event: what is damaged in it gets a sentence. Refusals pass as they are."""
    try:
        yield
    except ApportionError:
        raise
    except DAMAGE as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split()).rstrip(".")
        raise IncompatibleState(
            f"Event {number} of this campaign is damaged: {why}. Restore the database from a copy."
        ) from error


def ticket_from_events(number: int, events: Iterable[Event], indices: Mapping[str, int]) -> Ticket:
    """A ticket as it stands after these events of its own; `indices` are those of the arms, by name."""
    ticket: Ticket | None = None
    for event in events:
        with intact(event.number):
            payload = event.payload
            if event.kind == "split":
                amounts = np.zeros(payload["width"])
                for name, amount in payload["amounts"].items():
                    amounts[indices[name]] = amount
                ticket = Ticket(number, amounts)
            elif ticket is not None and event.kind == "cancelled":
                ticket.cancel()
            elif ticket is not None:
                for name, outcome in payload["outcomes"].items():
                    ticket.outcomes[indices[name]] = math.nan if outcome is None else outcome
                    ticket.recorded[indices[name]] = True
                    ticket.provisional[indices[name]] = payload.get("provisional", False)
                for name, amount in payload.get("amounts", {}).items():
                    ticket.amounts[indices[name]] = amount
    if ticket is None:
        raise IncompatibleState(f"The split of ticket {number} is missing: the database is damaged.")
    return ticket

"""What can happen to a campaign. Events are only ever added; everything else can be rebuilt from them.

`PAYLOADS` declares what each kind holds, once: a new kind, or a new field of one, is a line there. Events that come
from outside (`restore`) are held to it; a field that is not declared is refused.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion._common.dates import period_date
from apportion.allocation.tickets import Ticket
from apportion.campaigns.actor import LONGEST_ACTOR, LONGEST_REQUEST, actor
from apportion.errors import ApportionError, IncompatibleState, InvalidValue
from apportion.model.sums import Floats

# What reading something damaged raises, whatever is wrong with it.
DAMAGE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)

LONGEST_TEXT = 1000  # characters of a text in a payload: a sentence, the name of a file

Check = Callable[[str, Any], object]
"""Refuses a value with `InvalidValue`: called with what it is called, and the value."""


class Field(NamedTuple):
    """One field of a payload: what it may hold, and whether it can be missing."""

    check: Check
    required: bool = True


def number(low: float = -math.inf) -> Check:
    """A finite number."""
    return lambda name, value: validation.number(name, value, low=low)


def whole(low: int = 0) -> Check:
    """A whole number."""
    return lambda name, value: validation.whole(name, value, low=low, high=2**62)


def text(name: str, value: Any) -> None:
    """Printable text."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_TEXT or not value.isprintable():
        raise validation.refuse(name, f"printable text of at most {LONGEST_TEXT} characters", value)


def arm_name(name: str, value: Any) -> None:
    """The name of an arm, which older releases kept at any length."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise validation.refuse(name, "printable text", value)


def one_of(*options: str) -> Check:
    """One of some words."""
    return lambda name, value: validation.choice(name, value, options)


def date(name: str, value: Any) -> None:
    """The date of a period, as it is kept."""
    del name
    if period_date(value) != value:
        raise validation.refuse("date", "without blanks at either end", value)


def flag(name: str, value: Any) -> None:
    """True or False."""
    validation.flag(name, value)


def maybe(check: Check) -> Check:
    """None, or what another check takes."""
    return lambda name, value: None if value is None else check(name, value)


def listed(check: Check) -> Check:
    """A list of such."""

    def checked(name: str, value: Any) -> None:
        if not isinstance(value, list):
            raise validation.refuse(name, "a list", value)
        for each in value:
            check(name, each)

    return checked


def by_arm(check: Check) -> Check:
    """Such by the name of an arm."""

    def checked(name: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise validation.refuse(name, "an object with names and values", value)
        for arm, each in value.items():
            arm_name(name, arm)
            check(f"{name} of '{arm[:50]}'", each)

    return checked


def remembered(name: str, value: Any) -> None:
    """What a policy remembers of an arm: a number, where JSON has none of it as text."""
    if value not in ("inf", "-inf", "nan"):
        validation.number(name, value)


def plain(name: str, value: Any) -> None:
    """Plain data by name, whatever it is: the verb that reads it refuses what it does not know."""
    if not isinstance(value, dict):
        raise validation.refuse(name, "an object with names and values", value)
    payload_text(value)


_OUTCOMES = by_arm(maybe(number()))
_AMOUNTS = by_arm(number(0.0))


def record(fields: dict[str, Field]) -> Check:
    """An object with these fields."""

    def checked(name: str, value: Any) -> None:
        plain(name, value)
        require_fields(value, fields)

    return checked


def _sigma(name: str, value: Any) -> None:
    kinds: dict[type, Check] = {list: listed(number(0.0)), dict: by_arm(number(0.0))}
    kinds.get(type(value), number(0.0))(name, value)


def _pulls(name: str, value: Any) -> None:
    """How hard each rule pulled, by its text, which may be long."""
    plain(name, value)
    for each in value.values():
        validation.number(name, each)


_OLD = record({"outcomes": Field(_OUTCOMES), "amounts": Field(_AMOUNTS, False)})
_ARM_FORECAST = record({
    "arm": Field(arm_name), **{name: Field(number()) for name in ("amount", "share", "share_low", "share_high")},
})  # fmt: skip
_PERIOD_FORECAST = record({
    "date": Field(maybe(date)), "budget": Field(number(0.0)), "arms": Field(listed(_ARM_FORECAST), False),
    **{name: Field(number()) for name in ("returned", "returned_low", "returned_high")},
})  # fmt: skip
_POLICY_FORECAST = record({
    "policy": Field(text),
    **{f"{name}{end}": Field(number()) for name in ("earned", "regret") for end in ("", "_low", "_high")},
})  # fmt: skip


PAYLOADS: dict[str, dict[str, Field]] = {
    "created": {"options": Field(plain), "settings": Field(plain), "program": Field(text, False)},
    "split": {
        "budget": Field(number(0.0)), "amounts": Field(_AMOUNTS), "shares": Field(listed(number())),
        "width": Field(whole(1)), "wanted": Field(listed(number()), False), "generator": Field(plain, False),
        "memory": Field(listed(remembered), False), "date": Field(date, False),
        "source": Field(one_of("import"), False), "rules": Field(_pulls, False),
    },
    "outcome": {
        "outcomes": Field(_OUTCOMES), "amounts": Field(_AMOUNTS, False), "provisional": Field(flag, False),
    },
    "amended": {"outcomes": Field(_OUTCOMES), "amounts": Field(_AMOUNTS, False), "old": Field(_OLD, False)},
    "arm": {
        "action": Field(one_of("add", "pause", "resume", "remove", "bound")), "arm": Field(arm_name),
        "minimum": Field(maybe(number(0.0)), False), "maximum": Field(maybe(number(0.0)), False),
        "sigma": Field(maybe(number(0.0)), False),
    },
    "setting": {"changes": Field(plain), "old": Field(plain, False)},
    "imported": {
        "file": Field(text), "rows": Field(whole()), "tickets": Field(whole()), "digest": Field(text),
        "arms_added": Field(listed(arm_name), False), "notes": Field(listed(text), False),
    },
    "cancelled": {"import": Field(whole(1), False)},
    "undone": {
        "event": Field(whole(1)), "file": Field(text), "tickets": Field(whole()),
        "arms_removed": Field(listed(arm_name)),
    },
    "renamed": {"name": Field(text), "old": Field(text, False)},
    "archived": {},
    "unarchived": {},
    "cloned": {"source": Field(text), "history": Field(flag), "events": Field(whole())},
    "forecast": {
        "periods": Field(whole(1)), "worlds": Field(whole(1)), "budget": Field(number(0.0)), "b": Field(number(0.0)),
        "sigma": Field(_sigma), "prospects": Field(listed(_POLICY_FORECAST)), "actual": Field(maybe(number()), False),
        "c": Field(number(0.0), False), "calendar": Field(listed(_PERIOD_FORECAST), False),
        "first": Field(maybe(whole(1)), False), "sentences": Field(listed(text), False),
        "assumes": Field(listed(text), False),
    },
}  # fmt: skip
"""The fields of each kind's payload. What older releases wrote passes: a field that came later is not required."""

KINDS = tuple(PAYLOADS)

OF_TICKETS = ("split", "outcome", "amended", "cancelled")  # the kinds that belong to a ticket


def require_fields(payload: Mapping[str, Any], fields: Mapping[str, Field]) -> None:
    """Refuse what is missing, what is not declared, and what is not as declared."""
    for name, field in fields.items():
        if name in payload:
            field.check(name, payload[name])
        elif field.required:
            raise InvalidValue(f"`{name}` must be given.")
    for name in payload:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise InvalidValue(f"`{validation.shown(name)}` is not known here; known are: {known}.")


class Event(NamedTuple):
    """One thing that happened. Numbers count from 1 in each campaign, without gaps."""

    number: int
    at: str
    kind: str
    ticket: int | None
    payload: dict[str, Any]
    key: str | None = None
    actor: str | None = None
    """Who did it: a token, or a user of the machine; None where an older release wrote it."""
    request: str | None = None
    """The id of the request it was done by; None where there was none."""

    @property
    def period_date(self) -> str:
        """Of a split: the date of its period, which is the moment it was asked for where no other was given."""
        date: str = self.payload.get("date", self.at)
        return date

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return self._asdict()


def new_event(
    number: int, kind: str, payload: dict[str, Any], ticket: int | None = None, key: str | None = None
) -> Event:
    """Something that happens now, done by whoever is acting."""
    return Event(number, now(), kind, ticket, payload, key, *actor())


def now() -> str:
    """The moment, in UTC, as text that sorts."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


_write = json.JSONEncoder(allow_nan=False, ensure_ascii=True, separators=(",", ":")).encode


def payload_text(payload: Mapping[str, Any]) -> str:
    """A payload as text; numbers to the last bit."""
    return _write(payload)


def require_sound(event: Event, number: int) -> None:
    """Refuse an event from outside that no verb could have written as the event of that number."""
    try:
        if validation.whole("number", event.number) != number:
            raise validation.refuse("number", f"{number}: events count from 1 without gaps", event.number)
        _require_moment(event.at)
        validation.choice("kind", event.kind, KINDS)
        if event.kind in OF_TICKETS:
            validation.whole("ticket", event.ticket, low=1, high=2**62)
        elif event.ticket is not None:
            raise validation.refuse("ticket", f"none for an event of the kind '{event.kind}'", event.ticket)
        for name, longest in (("actor", LONGEST_ACTOR), ("request", LONGEST_REQUEST)):
            value = getattr(event, name)
            maybe(text)(name, value)
            if value is not None and len(value) > longest:
                raise validation.refuse(name, f"text of at most {longest} characters", value)
        plain("payload", event.payload)
        require_fields(event.payload, PAYLOADS[event.kind])
    except (ApportionError, *DAMAGE) as error:
        why = " ".join(str(error).split())
        raise IncompatibleState(f"The exported campaign is damaged at event {number}: {why}") from error


def _require_moment(at: Any) -> None:
    try:
        sound = isinstance(at, str) and at == datetime.fromisoformat(at).astimezone(UTC).isoformat(
            "T", "microseconds"
        )
    except (ValueError, OverflowError):
        sound = False
    if not sound:
        raise validation.refuse("at", "a moment in UTC such as 2026-01-31T09:30:00.000000+00:00", at)


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


def placed(values: Mapping[str, float | None], indices: Mapping[str, int], where: Floats) -> Floats:
    """`where`, with values by the names of arms at their places; None, which is no data, as NaN."""
    where[[indices[name] for name in values]] = np.array(list(values.values()), dtype=np.float64)
    return where


def ticket_from_events(number: int, events: Iterable[Event], indices: Mapping[str, int]) -> Ticket:
    """A ticket as it stands after these events of its own; `indices` are those of the arms, by name."""
    ticket: Ticket | None = None
    for event in events:
        with intact(event.number):
            payload = event.payload
            if event.kind == "split":
                ticket = Ticket(number, placed(payload["amounts"], indices, np.zeros(payload["width"])))
            elif ticket is not None and event.kind == "cancelled":
                ticket.cancel()
            elif ticket is not None:
                named = [indices[name] for name in payload["outcomes"]]
                placed(payload["outcomes"], indices, ticket.outcomes)
                ticket.recorded[named], ticket.provisional[named] = True, payload.get("provisional", False)
                placed(payload.get("amounts", {}), indices, ticket.amounts)
    if ticket is None:
        raise IncompatibleState(f"The split of ticket {number} is missing: the database is damaged.")
    return ticket

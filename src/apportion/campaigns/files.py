"""Campaigns as files: everything as JSON or CSV and back, and the history as CSV."""

import csv
import io
import itertools
import json
import operator
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from apportion._common import parsing, validation
from apportion._common.tables import harmless, unescaped
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.creation import add_campaign
from apportion.campaigns.events import DAMAGE, Event, require_sound
from apportion.campaigns.history import Line
from apportion.campaigns.restoring import Restoring
from apportion.campaigns.storage.address import Address
from apportion.campaigns.storage.store import open_store
from apportion.campaigns.transactions import is_write_key, write_key
from apportion.errors import ApportionError, Conflict, IncompatibleState

FORMAT = "apportion.campaign"
VERSION = 1

LOG_COLUMNS = ("number", "at", "kind", "ticket", "key", "arm", "amount", "outcome", "details", "actor", "request")
OLDER_LOG_COLUMNS = LOG_COLUMNS[:-2]  # before events said who did it
HISTORY_COLUMNS = ("ticket", "date", "arm", "advised", "amount", "outcome", "state", "recorded", "by")
NO_DATA = "no data"

PIECE = 64_000  # characters of an export that are handed on at once
EVENTS_AT_ONCE = 200
TICKETS_AT_ONCE = 50


def export(campaign: Campaign, kind: str = "json") -> str:
    """Everything as json or log, which `restore_json` and `restore_log` take; the history as csv."""
    return "".join(export_parts(campaign, kind))


def export_parts(campaign: Campaign, kind: str = "json") -> Iterator[str]:
    """`export` piece by piece, as of one moment: however long the campaign, little of it is in memory at once."""
    return _in_pieces(EXPORTS[validation.choice("kind", kind, tuple(EXPORTS))](campaign))


def begun_export(campaign: Campaign, kind: str) -> Iterator[str]:
    """`export_parts`, with the first part made: what cannot be read is refused before anything is sent."""
    parts = export_parts(campaign, kind)
    return itertools.chain((next(parts),), parts)


def _in_pieces(parts: Iterable[str]) -> Iterator[str]:
    """The same text in fewer pieces."""
    held: list[str] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= PIECE:
            yield "".join(held)
            held, size = [], 0
    if held:
        yield "".join(held)


def _all_events(campaign: Campaign) -> Iterator[Event]:
    """The log up to now, read piece by piece: no transaction is open while somebody downloads."""
    number, last = 0, campaign.version
    while number < last:
        for event in campaign.events(number, min(EVENTS_AT_ONCE, last - number)):
            yield event
            number = event.number


# Everything, to JSON and back


def export_json(campaign: Campaign) -> str:
    """Everything that ever happened to a campaign; `restore_json` brings it back with identical state."""
    return "".join(_json_parts(campaign))


def _json_parts(campaign: Campaign) -> Iterator[str]:
    head = json.dumps({"format": FORMAT, "version": VERSION, "name": campaign.name, "events": []}, indent=1)
    yield head.removesuffix("[]\n}") + "["
    between = "\n"
    for event in _all_events(campaign):
        yield between + textwrap.indent(json.dumps(event.to_dict(), indent=1, allow_nan=False), "  ")
        between = ",\n"
    yield "\n ]\n}"


def restore_json(text: str, *, db: Address = None, name: str | None = None, key: str | None = None) -> Campaign:
    """The campaign that `export_json` wrote, under its own name or another; done once under a key."""
    with _undamaged("campaign"):
        content = json.loads(text, parse_constant=_no_number)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise IncompatibleState("This is not an exported campaign.")
        if content.get("version") != VERSION:
            raise IncompatibleState(f"`version` of the export must be {VERSION}; got {content.get('version')!r}.")
        events = [Event(**event) for event in content["events"]]
        return _restore(events, name or content["name"], db, key)


def _no_number(given: str) -> float:
    raise ValueError(f"{given} is no number")


@contextmanager
def _undamaged(what: str) -> Iterator[None]:
    """Around the reading of an export: what is damaged in it gets a sentence. Refusals pass as they are."""
    try:
        yield
    except ApportionError:
        raise
    except (*DAMAGE, csv.Error) as error:
        raise IncompatibleState(f"The exported {what} is damaged: {' '.join(str(error).split())}.") from error


def _restore(events: list[Event], name: str, db: Address, key: str | None = None) -> Campaign:
    if not events:
        raise IncompatibleState("The exported campaign is damaged: it has no events.")
    for number, event in enumerate(events, 1):
        require_sound(event, number)
        if not is_write_key(event.key):
            raise IncompatibleState(f"The exported campaign is damaged at event {number}: its key cannot be one.")
    if write_key(key) is None:
        return _begin(db, name, events)
    if any(event.key == key for event in events[1:]):
        raise Conflict(f"The key '{key}' was used before for something else.")
    keyed = [events[0]._replace(key=key), *events[1:]]  # the beginning, in this database, is this restoring
    try:
        return _begin(db, name, keyed)
    except Conflict:
        known = Campaign.open(name, db)
        if known.events(limit=len(keyed)) != keyed:
            raise
        return known


def _begin(db: Address, name: str, events: list[Event]) -> Campaign:
    store = open_store(db)
    return Campaign(store, add_campaign(store, name, events, Restoring()), name)


# Everything, to CSV and back


def export_log(campaign: Campaign) -> str:
    """Every event as CSV, a line per arm; `restore_log` brings it back with identical state."""
    return "".join(_log_parts(campaign))


def _log_parts(campaign: Campaign) -> Iterator[str]:
    yield _csv_text([LOG_COLUMNS])
    for event in _all_events(campaign):
        rows: list[Sequence[Any]] = []
        rest = dict(event.payload)
        outcomes, amounts = rest.pop("outcomes", None), rest.pop("amounts", None)
        rest["has"] = [name for name, given in (("outcomes", outcomes), ("amounts", amounts)) if given is not None]
        names: list[str] = list(dict.fromkeys((*(outcomes or ()), *(amounts or ())))) or [""]
        head = _harmless(event.number, event.at, event.kind, event.ticket, event.key)
        last = _harmless(json.dumps(rest, allow_nan=False), event.actor, event.request)
        for name in names:
            amount = repr(amounts[name]) if amounts and name in amounts else ""
            outcome = ""
            if outcomes and name in outcomes:
                outcome = NO_DATA if outcomes[name] is None else repr(outcomes[name])
            rows.append((*head, harmless(name), amount, outcome, *last))
            last = ("", "", "")
        yield _csv_text(rows)


def _harmless(*cells: Any) -> tuple[Any, ...]:
    return tuple("" if cell is None else harmless(cell) if isinstance(cell, str) else cell for cell in cells)


def _csv_text(rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def restore_log(text: str, *, name: str, db: Address = None, key: str | None = None) -> Campaign:
    """The campaign that `export_log` wrote, under a name; done once under a key."""
    with _undamaged("log"):
        rows = csv.DictReader(io.StringIO(text))
        if tuple(rows.fieldnames or ()) not in (LOG_COLUMNS, OLDER_LOG_COLUMNS):
            raise IncompatibleState("This is not the exported log of a campaign.")
        return _restore(list(_events(rows)), name, db, key)


def _events(rows: Iterable[dict[str, str]]) -> Iterator[Event]:
    event: Event | None = None
    for cells in rows:
        row = {name: unescaped(cell or "") if "actor" in cells else cell for name, cell in cells.items()}
        if row["details"]:
            if event is not None:
                yield event
            payload = json.loads(row["details"], parse_constant=_no_number)
            payload.update({part: {} for part in payload.pop("has")})
            ticket = int(row["ticket"]) if row["ticket"] else None
            who = (row.get("actor") or None, row.get("request") or None)
            event = Event(int(row["number"]), row["at"], row["kind"], ticket, payload, row["key"] or None, *who)
        if event is None or str(event.number) != row["number"]:
            raise IncompatibleState("The exported log is damaged: a line does not belong to its event.")
        if row["amount"]:
            event.payload["amounts"][row["arm"]] = float(row["amount"])
        if row["outcome"]:
            outcome = None if row["outcome"] == NO_DATA else float(row["outcome"])
            event.payload["outcomes"][row["arm"]] = outcome
    if event is not None:
        yield event


# The history, for people and spreadsheets


def export_csv(campaign: Campaign) -> str:
    """The history as CSV, a line per split and arm; `import_history` reads it.

    `amount` is what was spent, and adds up to what `status` says: empty or 0 for advice that waits, was closed
    without a word, or cancelled.
    """
    return "".join(_csv_parts(campaign))


def _csv_parts(campaign: Campaign) -> Iterator[str]:
    yield _csv_text([HISTORY_COLUMNS])
    for first in range(1, campaign.period + 1, TICKETS_AT_ONCE):
        lines = campaign.history(first, first + TICKETS_AT_ONCE - 1)
        yield _csv_text([*map(_cell, _history_cells(line))] for line in lines)


_values_of = operator.attrgetter(*HISTORY_COLUMNS)
_AMOUNT = HISTORY_COLUMNS.index("amount")


def _history_cells(line: Line) -> list[str | float | None]:
    values = [*_values_of(line)]
    if line.amount > 0.0:
        values[_AMOUNT] = line.spent
    return values


def _cell(value: str | float | None) -> str:
    if isinstance(value, float):
        return parsing.plain(value)  # whatever else is in the file, it is read back as it was
    return harmless(value) if isinstance(value, str) else "" if value is None else str(value)


EXPORTS = {"csv": _csv_parts, "json": _json_parts, "log": _log_parts}

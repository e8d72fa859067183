"""Campaigns as files: everything as JSON or CSV and back, the history as CSV, and the import of old histories."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from apportion._common import parsing, validation
from apportion._common.dates import moment
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.events import KINDS, Event
from apportion.campaigns.history import Line
from apportion.campaigns.storage.store import open_store
from apportion.campaigns.transactions import Transaction, write_key
from apportion.errors import ApportionError, Conflict, IncompatibleState, InvalidValue

FORMAT = "apportion.campaign"
VERSION = 1

LOG_COLUMNS = ("number", "at", "kind", "ticket", "key", "arm", "amount", "outcome", "details")
HISTORY_COLUMNS = ("ticket", "date", "arm", "advised", "amount", "outcome", "state", "recorded")
NO_DATA = "no data"

# Cells that mean "no outcome will come".
_NOTHING = {"", "no data", "na", "n/a", "nan", "none", "null"}


def export(campaign: Campaign, kind: str = "json") -> str:
    """Everything as json or log, which `restore_json` and `restore_log` take; the history as csv."""
    writers = {"csv": export_csv, "json": export_json, "log": export_log}
    return writers[validation.choice("kind", kind, tuple(writers))](campaign)


# Everything, to JSON and back


def export_json(campaign: Campaign) -> str:
    """Everything that ever happened to a campaign; `restore_json` brings it back with identical state."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "name": campaign.name,
        "events": [event.to_dict() for event in campaign.events()],
    }
    return json.dumps(content, indent=1, allow_nan=False)


def restore_json(
    text: str, *, db: str | os.PathLike[str] | None = None, name: str | None = None, key: str | None = None
) -> Campaign:
    """The campaign that `export_json` wrote, under its own name or another; done once under a key."""
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise IncompatibleState("This is not an exported campaign.")
        if content.get("version") != VERSION:
            raise IncompatibleState(f"`version` of the export must be {VERSION}; got {content.get('version')!r}.")
        events = [Event(**event) for event in content["events"]]
        return _restore(events, name or content["name"], db, key)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, ArithmeticError) as error:
        if isinstance(error, ApportionError):
            raise
        raise IncompatibleState(f"The exported campaign is damaged: {' '.join(str(error).split())}.") from error


def _restore(events: list[Event], name: str, db: str | os.PathLike[str] | None, key: str | None = None) -> Campaign:
    if not events:
        raise IncompatibleState("The exported campaign is damaged: it has no events.")
    for place, event in enumerate(events, 1):
        sound = (
            event.number == place
            and event.kind in KINDS
            and isinstance(event.payload, dict)
            and isinstance(event.at, str)
            and len(event.at) <= 40
            and event.at.isprintable()
            and (event.key is None or (isinstance(event.key, str) and 1 <= len(event.key) <= 200))
            and (event.key is None or event.key.isprintable())
            and (event.ticket is None or validation.is_whole(event.ticket))
        )
        if not sound:
            raise IncompatibleState(f"The exported campaign is damaged at event {place}.")
    if write_key(key) is None:
        return Campaign._begin(open_store(db), name, events)
    if any(event.key == key for event in events[1:]):
        raise Conflict(f"The key '{key}' was used before for something else.")
    keyed = [events[0]._replace(key=key), *events[1:]]  # the beginning, in this database, is this restoring
    try:
        return Campaign._begin(open_store(db), name, keyed)
    except Conflict:
        known = Campaign.open(name, db)
        if known.events(limit=len(keyed)) != keyed:
            raise
        return known


# Everything, to CSV and back


def export_log(campaign: Campaign) -> str:
    """Every event as CSV, a line per arm; `restore_log` brings it back with identical state."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(LOG_COLUMNS)
    for event in campaign.events():
        rest = dict(event.payload)
        outcomes, amounts = rest.pop("outcomes", None), rest.pop("amounts", None)
        rest["has"] = [name for name, given in (("outcomes", outcomes), ("amounts", amounts)) if given is not None]
        names: list[str] = list(dict.fromkeys((*(outcomes or ()), *(amounts or ())))) or [""]
        details = json.dumps(rest, allow_nan=False)
        for name in names:
            amount = repr(amounts[name]) if amounts and name in amounts else ""
            outcome = ""
            if outcomes and name in outcomes:
                outcome = NO_DATA if outcomes[name] is None else repr(outcomes[name])
            head = (event.number, event.at, event.kind, "" if event.ticket is None else event.ticket, event.key or "")
            writer.writerow((*head, name, amount, outcome, details))
            details = ""
    return out.getvalue()


def restore_log(
    text: str, *, name: str, db: str | os.PathLike[str] | None = None, key: str | None = None
) -> Campaign:
    """The campaign that `export_log` wrote, under a name; done once under a key."""
    try:
        rows = csv.DictReader(io.StringIO(text))
        if tuple(rows.fieldnames or ()) != LOG_COLUMNS:
            raise IncompatibleState("This is not the exported log of a campaign.")
        return _restore(list(_events(rows)), name, db, key)
    except (LookupError, TypeError, ValueError, AttributeError, csv.Error, RecursionError, ArithmeticError) as error:
        if isinstance(error, ApportionError):
            raise
        raise IncompatibleState(f"The exported log is damaged: {' '.join(str(error).split())}.") from error


def _events(rows: Iterable[dict[str, str]]) -> Iterator[Event]:
    event: Event | None = None
    for row in rows:
        if row["details"]:
            if event is not None:
                yield event
            payload = json.loads(row["details"])
            payload.update({part: {} for part in payload.pop("has")})
            ticket = int(row["ticket"]) if row["ticket"] else None
            event = Event(int(row["number"]), row["at"], row["kind"], ticket, payload, row["key"] or None)
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
    """The history as CSV, a line per split and arm; `import_history` reads it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HISTORY_COLUMNS)
    for line in campaign.history():
        writer.writerow([_cell(line, column) for column in HISTORY_COLUMNS])
    return out.getvalue()


def _cell(line: Line, column: str) -> str:
    value = getattr(line, column)
    if column == "arm" and value[:1] in "=+-@":
        return "'" + str(value)  # a spreadsheet would take it for a formula
    if isinstance(value, float):
        return parsing.plain(value)  # whatever else is in the file, it is read back as it was
    return "" if value is None else str(value)


# Import


class Observation(NamedTuple):
    """One line of a history file."""

    row: int
    date: str
    arm: str
    amount: float
    outcome: float | None


class Imported(NamedTuple):
    """What an import did."""

    file: str
    rows: int
    tickets: int
    arms_added: tuple[str, ...]
    digest: str


def read_history(
    path: str | os.PathLike[str],
    *,
    date: str = "date",
    arm: str = "arm",
    amount: str = "amount",
    outcome: str = "outcome",
    delimiter: str | None = None,
    decimal: str | None = None,
) -> tuple[list[Observation], str]:
    """The lines of a CSV file and its digest. Every fault is named with its row; columns are mapped by name.

    Lines come in the order of their dates; in that of the file where one of these is no date but a name ("week 3").
    `decimal` is "point" or "comma"; by default the file tells it, see `apportion._common.parsing`.
    """
    file, given = Path(path), parsing.decimal_name(decimal)
    try:
        content = file.read_bytes()
        text = content.decode("utf-8-sig")
    except UnicodeError as error:
        raise InvalidValue(f"The file {file.name!r} cannot be read: {parsing.NOT_UTF8}.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or error
        raise InvalidValue(f"The file {str(path)!r} cannot be read: {why}.") from error
    if "\0" in text:
        raise InvalidValue(f"The file {file.name!r} is not a text file.")
    if not text.strip():
        raise InvalidValue(f"The file {file.name!r} is empty.")
    mark = delimiter or _delimiter(text)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
        header = [name.strip() for name in next(reader, [])]
        places = {}
        for label, column in (("date", date), ("arm", arm), ("amount", amount), ("outcome", outcome)):
            place = parsing.column_place(header, column)
            if place is None:
                raise InvalidValue(
                    f"Row 1: one column named '{column}' is needed, or say which one is the {label} "
                    f"(`--{label}-column` on the command line); found are {', '.join(header[:20]) or 'none'}."
                )
            places[label] = place
        rows = list(_rows(reader, places, len(header)))
    except csv.Error as error:
        raise InvalidValue(f"The file {file.name!r} is not CSV: {error}.") from error
    except TypeError as error:
        raise InvalidValue("`delimiter` must be one character.") from error
    if not rows:
        raise InvalidValue(f"The file {file.name!r} has no rows.")
    marks = parsing.decimals([[value[label] for _, value in rows] for label in ("amount", "outcome")], given)
    return _in_order(list(_observations(rows, *marks))), hashlib.sha256(content).hexdigest()


def _delimiter(text: str) -> str:
    first = text.partition("\n")[0]
    return max((",", ";", "\t"), key=first.count)


def _rows(reader: Any, places: Mapping[str, int], width: int) -> Iterator[tuple[int, dict[str, str]]]:
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != width:
            raise InvalidValue(f"Row {reader.line_num}: {width} cells are needed; got {len(cells)}.")
        yield reader.line_num, {label: cells[place].strip() for label, place in places.items()}


def _observations(
    rows: Iterable[tuple[int, dict[str, str]]], of_amounts: str | None, of_outcomes: str | None
) -> Iterator[Observation]:
    seen: dict[tuple[str, str], int] = {}
    for row, value in rows:
        if not value["date"] or len(value["date"]) > 40 or not value["date"].isprintable():
            raise InvalidValue(f"Row {row}: the date must be a short printable text; got {value['date'][:50]!r}.")
        name = value["arm"][1:] if value["arm"][:1] == "'" and value["arm"][1:2] in "=+-@" else value["arm"]
        if not name or not name.isprintable():
            raise InvalidValue(f"Row {row}: the arm must be a printable name; got {name[:50]!r}.")
        if (value["date"], name) in seen:
            before = seen[value["date"], name]
            raise InvalidValue(f"Row {row}: arm '{name}' on {value['date']} was there before, in row {before}.")
        seen[value["date"], name] = row
        amount = _number(value["amount"], "amount", row, of_amounts)
        if amount < 0:
            raise InvalidValue(f"Row {row}: the amount must be a number of at least 0; got {value['amount']}.")
        nothing = value["outcome"].lower() in _NOTHING
        outcome = None if nothing else _number(value["outcome"], "outcome", row, of_outcomes)
        if amount == 0 and outcome:
            raise InvalidValue(f"Row {row}: an outcome of {value['outcome']} from an amount of 0 cannot be.")
        yield Observation(row, value["date"], name, amount, outcome)


def _number(text: str, label: str, row: int, decimal: str | None) -> float:
    value = parsing.cell(text, decimal, f"Row {row}: the {label} {text[:50]!r}")
    if value is None or abs(value) > 1e100 or 0 < abs(value) < 1e-100:
        raise InvalidValue(f"Row {row}: the {label} must be a number; got {text[:50]!r}.")
    return value


def _in_order(found: list[Observation]) -> list[Observation]:
    """By date where all are dates, else as in the file."""
    moments = {}
    for line in found:
        if line.date not in moments:
            moments[line.date] = moment(line.date, line.row)
    known = {date: when for date, when in moments.items() if when is not None}
    return sorted(found, key=lambda line: known[line.date]) if len(known) == len(moments) else found


def import_history(
    campaign: Campaign,
    path: str | os.PathLike[str],
    *,
    add_arms: bool = False,
    again: bool = False,
    key: str | None = None,
    **columns: Any,
) -> Imported:
    """Take in a history file: each date becomes a split that was spent, with its outcomes. All or nothing.

    Splits follow each other as their dates do, or as in the file where these are names such as "week 3". `columns`
    maps the names of the columns, and says `delimiter` and `decimal` (see `read_history`). Arms that are not known
    are refused, or added with `add_arms`. A file that was imported before is refused unless `again`; under a `key`
    that was used for it, nothing is done and the answer is the same.
    """
    found, digest = read_history(path, **columns)
    name = Path(path).name[:200]
    with campaign.transactions.write() as transaction:
        known = transaction.done_before(key, "imported", file=name, digest=digest)
        if known is not None:
            return Imported(**{**known.payload, "arms_added": tuple(known.payload.get("arms_added", ()))})
        for event in transaction.session.of_kind(campaign.transactions.campaign, "imported"):
            if event.payload["digest"] == digest and not again:
                raise Conflict(
                    f"The file '{name}' was imported before, on {event.at[:10]} as '{event.payload['file']}'."
                )
        allocator = transaction.state.allocator
        added = []
        for line in sorted(found):  # as in the file
            if line.arm not in allocator.indices:
                if not add_arms:
                    arms = ", ".join(list(allocator.indices)[:20])
                    raise InvalidValue(f"Row {line.row}: arm '{line.arm}' is not known; the arms are {arms}.")
                campaign.add_arm(line.arm)
                added.append(line.arm)
        by_date: dict[str, list[Observation]] = {}
        for line in found:
            by_date.setdefault(line.date, []).append(line)
        for date, day in by_date.items():
            _take_in(transaction, date, day)
        imported = Imported(name, len(found), len(by_date), tuple(added), digest)
        transaction.append("imported", {**imported._asdict(), "arms_added": added}, key=key)
    return imported


def _take_in(transaction: Transaction, date: str, day: list[Observation]) -> None:
    budget = math.fsum(line.amount for line in day)
    if not 1e-100 <= budget <= 1e100:
        raise InvalidValue(f"Row {day[0].row}: the amounts of {date} must add up to more than 0; got {budget:g}.")
    allocator = transaction.state.allocator
    payload = {
        "budget": budget,
        "amounts": {line.arm: line.amount for line in day},
        "shares": [line.amount / budget for line in day],
        "width": len(allocator.indices),
        "date": date,
        "source": "import",
    }
    ticket = allocator.commit(allocator.decision_from(payload))
    transaction.append("split", payload, ticket)
    outcomes = {line.arm: line.outcome for line in day}
    allocator.tell(ticket, outcomes)
    transaction.append("outcome", {"outcomes": outcomes}, ticket)

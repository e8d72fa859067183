"""The import of a history: each date becomes a split that was spent, with its outcomes."""

import math
from typing import Any, NamedTuple

from apportion._common.dates import parse_date
from apportion._common.faults import Faults
from apportion._common.formatting import counted
from apportion._common.tables import Source, read_content
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.creation import LONGEST_NAME
from apportion.campaigns.transactions import Transaction
from apportion.campaigns.undo import imports
from apportion.errors import Conflict, InvalidValue
from apportion.inference.history import Observation, Reading, read_history

LONGEST_FILE_NAME = 200
ARMS_LISTED = 20  # so many arms are listed where one is not known


class Imported(NamedTuple):
    """What an import did."""

    file: str
    rows: int
    """Of the file, without those of totals or captions."""
    tickets: int
    arms_added: tuple[str, ...]
    digest: str
    notes: tuple[str, ...] = ()
    """What was done with the rows, in sentences (`inference.history`)."""


def import_history(
    campaign: Campaign,
    source: Source,
    *,
    add_arms: bool = False,
    again: bool = False,
    key: str | None = None,
    **columns: Any,
) -> Imported:
    """Import a history file: each date becomes a split that was spent, with its outcomes. All or nothing.

    Splits follow each other as their dates do, or as in the file where these are names such as "week 3". `columns`
    has the options of `read_history`: the names of the columns, `period`, `decimal`, `delimiter`, `sheet`. Arms that
    are not known are refused, or added with `add_arms`. A file that was imported before is refused unless `again`;
    so is one with rows of dates and arms that an earlier import brought, which would count twice. Under a `key` that
    was used for it, nothing is done and the answer is the same.
    """
    file = read_content(source)
    reading = read_history(file, **columns)
    if not reading.observations:
        raise InvalidValue(f"The file {file.name!r} has no rows with an amount above 0.")
    name, digest = file.name[:LONGEST_FILE_NAME], reading.digest
    by_date: dict[str, list[Observation]] = {}
    for line in reading.observations:
        by_date.setdefault(line.date, []).append(line)

    def take_in(transaction: Transaction) -> Imported:
        known = transaction.done_before(key, "imported", file=name, digest=digest)
        if known is not None:
            return imported_from(known.payload)
        for event, undone in imports(transaction.session, campaign.transactions.campaign):
            if event.payload["digest"] == digest and not again and not undone:
                before = f"on {event.at[:10]} as '{event.payload['file']}'"
                raise Conflict(f"The file '{name}' was imported before, {before}.")
        if not again:
            _refuse_repeated(transaction, campaign, reading, name)
        added = _new_arms(transaction, reading, add_arms)
        for arm in added:
            campaign.add_arm(arm)
        for date, day in by_date.items():
            _append_period(transaction, date, day)
        summary = reading.summary
        rows = summary.rows - summary.totals - summary.captions
        imported = Imported(name, rows, len(by_date), tuple(added), digest, summary.sentences())
        payload = {**imported._asdict(), "arms_added": added, "notes": list(imported.notes)}
        transaction.append("imported", payload, key=key)
        return imported

    return campaign.transactions.write_prepared(take_in)


def imported_from(payload: dict[str, Any]) -> Imported:
    """What an import did, from its event."""
    lists = {name: tuple(payload.get(name, ())) for name in ("arms_added", "notes")}
    return Imported(**{**{name: payload[name] for name in Imported._fields if name in payload}, **lists})


def _refuse_repeated(transaction: Transaction, campaign: Campaign, reading: Reading, name: str) -> None:
    """`Conflict` where rows are of dates and arms that were imported before, as of a sheet that has grown."""
    state = transaction.state
    known = {
        (_day(str(split.payload["date"])), arm)
        for split in transaction.session.events_of_kind(campaign.transactions.campaign, "split")
        if split.payload.get("source") == "import" and split.ticket not in state.tickets.cancelled
        for arm, amount in split.payload["amounts"].items()
        if amount > 0.0
    }
    twice = [line for line in reading.observations if (_day(line.date), line.arm) in known] if known else []
    if twice:
        dates = list(dict.fromkeys(line.date for line in twice))
        all_of_them = len({line.date for line in reading.observations})
        raise Conflict(
            f"{len(dates):,} of {counted(all_of_them, 'date')} in '{name}' were imported before for the same arms, "
            f"from {dates[0]} on: they would count twice. Leave their rows out; or say `again`, if it is further "
            "spending on those dates."
        )


def _day(date: str) -> object:
    """A date however it is written; a name as it is."""
    return parse_date(date) or date


def _new_arms(transaction: Transaction, reading: Reading, add_arms: bool) -> list[str]:
    """The arms of the file that the campaign does not have, in the order of the file."""
    known = transaction.state.allocator.indices
    new: dict[str, int] = {}
    for line in sorted(reading.observations):
        if line.arm not in known:
            new.setdefault(line.arm, line.row)
    faults = Faults()
    arms = ", ".join(list(known)[:ARMS_LISTED])
    alike = {_spelling(arm): arm for arm in known}
    for arm, row in new.items():
        if not add_arms:
            meant = alike.get(_spelling(arm))
            perhaps = "" if meant is None else f" Perhaps it is '{meant}'."
            faults.add(row, f"arm '{arm[:50]}' is not known; the arms are {arms}.{perhaps}")
        elif len(arm) > LONGEST_NAME:
            faults.add(row, f"the name of an arm has at most {LONGEST_NAME} characters; got {arm[:50]!r}….")
    faults.refuse()
    return list(new)


def _spelling(arm: str) -> str:
    """A name without what people write now so, now so: capitals, spaces, marks between words."""
    return "".join(letter for letter in arm.casefold() if letter.isalnum())


def _append_period(transaction: Transaction, date: str, day: list[Observation]) -> None:
    budget = math.fsum(line.amount for line in day)
    allocator = transaction.state.allocator
    payload = {
        "budget": budget, "amounts": {line.arm: line.amount for line in day},
        "shares": [line.amount / budget for line in day], "width": len(allocator.indices), "date": date,
        "source": "import",
    }  # fmt: skip
    ticket = allocator.commit(allocator.decision_from(payload))
    transaction.append("split", payload, ticket)
    outcomes = {line.arm: line.outcome for line in day if line.amount > 0.0}
    allocator.tell(ticket, outcomes)
    transaction.append("outcome", {"outcomes": outcomes}, ticket)

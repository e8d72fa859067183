"""What can be taken back: a split that was not spent, an import. Each is an event; nothing is overwritten."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from apportion._common import validation
from apportion.campaigns.events import Event
from apportion.campaigns.state import CampaignState
from apportion.campaigns.storage.session import Session
from apportion.errors import ApportionError, Conflict, UnknownName

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.transactions import Transaction

LOOKED_AT = 3  # so many of the last tickets are looked at for one that is not spent


class ImportRecord(NamedTuple):
    """An import: the number of its event, when, what of; whether it was undone."""

    event: int
    at: str
    file: str
    rows: int
    tickets: int
    undone: bool


class UndoneImport(NamedTuple):
    """What undoing an import did: the tickets that were cancelled, and the arms that went with them."""

    event: int
    file: str
    tickets: int
    arms_removed: tuple[str, ...]


def unspent_tickets(state: CampaignState) -> tuple[int, ...]:
    """Open tickets of which nothing was recorded: as far as is known, they were not spent. Of the last ones only."""
    tickets = state.tickets
    last = range(max(1, tickets.issued - LOOKED_AT + 1), tickets.issued + 1)
    return tuple(number for number in last if tickets.waits(number) and not tickets.find(number).recorded.any())


def cancel(campaign: Campaign, ticket: int, key: str | None) -> None:
    """Take a split back that was not spent."""
    with campaign.transactions.write() as transaction:
        if transaction.done_before(key, "cancelled", ticket, cancel=True) is not None:
            return
        held = transaction.state.tickets.find(ticket)
        if held.cancelled:
            return
        if held.recorded.any():
            raise Conflict(
                f"Ticket {held.number} has outcomes, so it was spent and cannot be cancelled: `amend` corrects them, "
                "`close` ends what is open; an import is undone as a whole."
            )
        transaction.state.allocator.cancel(held.number)
        transaction.append("cancelled", {}, held.number, key)


def imports(session: Session, campaign: int) -> list[tuple[Event, bool]]:
    """The imports of a campaign, and whether each was undone."""
    found = session.events_of_kind(campaign, "imported", "undone")
    undone = {event.payload["event"] for event in found if event.kind == "undone"}
    return [(event, event.number in undone) for event in found if event.kind == "imported"]


def import_records(campaign: Campaign) -> tuple[ImportRecord, ...]:
    """The imports of a campaign, oldest first."""
    with campaign.transactions.reading() as session:
        return tuple(
            ImportRecord(
                event.number, event.at, event.payload["file"], event.payload["rows"], event.payload["tickets"], undone
            )
            for event, undone in imports(session, campaign.transactions.campaign)
        )


def undo_import(campaign: Campaign, event: int | None, key: str | None) -> UndoneImport:
    """Take back all that an import brought: its tickets, and the arms that it added, where nothing else used them."""
    wanted = None if event is None else validation.whole("event", event, low=1)

    def take_back(transaction: Transaction) -> UndoneImport:
        known = transaction.done_before(key, "undone", event=wanted)
        if known is not None:
            return _undone(known)
        own = _import_to_undo(transaction, campaign, wanted)
        splits = transaction.session.events_of_kind(campaign.transactions.campaign, "split")
        brought = [split for split in splits if split.number < own.number and split.payload.get("source") == "import"]
        brought = brought[len(brought) - own.payload["tickets"] :]
        numbers = {split.ticket: None for split in brought if split.ticket is not None}
        for number in numbers:
            if number not in transaction.state.tickets.cancelled:
                transaction.state.allocator.cancel(number)
                transaction.append("cancelled", {"import": own.number}, number)
        elsewhere = {
            arm
            for split in splits
            if split.ticket not in numbers and split.ticket not in transaction.state.tickets.cancelled
            for arm, amount in split.payload["amounts"].items()
            if amount > 0.0
        }
        removed = []
        for arm in own.payload.get("arms_added", ()):
            if arm in transaction.state.allocator.arms and arm not in elsewhere:
                with contextlib.suppress(ApportionError):  # the last one stays
                    campaign.remove_arm(arm)
                    removed.append(arm)
        payload = {"event": own.number, "file": own.payload["file"], "tickets": len(numbers), "arms_removed": removed}
        return _undone(transaction.append("undone", payload, key=key))

    return campaign.transactions.write_prepared(take_back)


def _undone(event: Event) -> UndoneImport:
    payload = event.payload
    return UndoneImport(payload["event"], payload["file"], payload["tickets"], tuple(payload["arms_removed"]))


def _import_to_undo(transaction: Transaction, campaign: Campaign, wanted: int | None) -> Event:
    """The import that is meant: the last one that is left where none was named."""
    found = imports(transaction.session, campaign.transactions.campaign)
    left = [event for event, undone in found if not undone]
    listed = ", ".join(f"{event.number} ({event.payload['file']})" for event in left[-10:]) or "none"
    if wanted is None:
        if not left:
            raise Conflict("There is no import to undo.")
        return left[-1]
    for event, undone in found:
        if event.number == wanted:
            if undone:
                raise Conflict(f"The import of event {wanted} was undone before; left are {listed}.")
            return event
    raise UnknownName(f"Event {wanted} is no import; left to undo are {listed}.")

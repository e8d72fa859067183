"""The statements of one transaction: what is read and written of campaigns, events and snapshots."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from apportion.campaigns.events import Event, intact, payload_text
from apportion.campaigns.storage.schema import campaigns, events, snapshots
from apportion.errors import Conflict, UnknownName

SNAPSHOT_EVERY = 64  # a snapshot is written when the event number passes a multiple of this
SNAPSHOT_KEPT_EVERY = 1024
"""Of older snapshots the last in each stretch of so many events stays, so that any past state is near one."""

EVENTS_PER_FETCH = 500  # so many events are in memory at once while a log is read
NAMES_LISTED = 20  # so many campaigns are listed where a name is not known
_COLUMNS = [events.c[name] for name in Event._fields]
_OWN = events.c.campaign == sa.bindparam("campaign")
_LAST_NUMBER = sa.select(sa.func.max(events.c.number)).where(_OWN)
_MOMENT = sa.select(events.c.at).where(_OWN, events.c.number == sa.bindparam("number"))
_LAST_NUMBER_AND_MOMENT = sa.select(_LAST_NUMBER.scalar_subquery(), _MOMENT.scalar_subquery())
_EVENTS_AFTER = sa.select(*_COLUMNS).where(_OWN, events.c.number > sa.bindparam("after")).order_by(events.c.number)
_EVENT_BY_KEY = sa.select(*_COLUMNS).where(_OWN, events.c.key == sa.bindparam("key"))
_ADD_EVENTS = sa.insert(events)


class CampaignRow(NamedTuple):
    """A campaign in a list."""

    id: int
    name: str
    created: str


class Snapshot(NamedTuple):
    """A saved state, and the number of the last event in it."""

    number: int
    state: str


class Session:
    """One transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.wrote = False  # whether anything was written

    # Reading

    def last_number(self, campaign: int) -> int:
        """The number of the last event; 0 before any."""
        return self._connection.execute(_LAST_NUMBER, {"campaign": campaign}).scalar() or 0

    def last_number_and_moment(self, campaign: int, number: int) -> tuple[int, str | None]:
        """The number of the last event, and the moment of the one of that number; None where there is none."""
        last, at = self._connection.execute(_LAST_NUMBER_AND_MOMENT, {"campaign": campaign, "number": number}).one()
        return last or 0, at

    def events(
        self, campaign: int, after: int = 0, *, upto: int | None = None, limit: int | None = None
    ) -> Iterator[Event]:
        """Events in order, those after a number."""
        query = _EVENTS_AFTER
        if upto is not None:
            query = query.where(events.c.number <= upto)
        if limit is not None:
            query = query.limit(limit)
        rows = self._connection.execute(query, {"campaign": campaign, "after": after})
        return map(_event, rows.yield_per(EVENTS_PER_FETCH))

    def events_of_ticket(self, campaign: int, ticket: int, upto: int | None = None) -> list[Event]:
        """The events of one ticket, in order."""
        query = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.ticket == ticket)
        if upto is not None:
            query = query.where(events.c.number <= upto)
        return [_event(row) for row in self._connection.execute(query.order_by(events.c.number))]

    def events_of_tickets(self, campaign: int, first: int, last: int) -> list[Event]:
        """The events of a range of tickets, ticket by ticket, each in order."""
        query = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.ticket.between(first, last))
        # As the index has them: in the order of numbers alone, all events of the campaign would be read.
        return [_event(row) for row in self._connection.execute(query.order_by(events.c.ticket, events.c.number))]

    def events_of_kind(self, campaign: int, *kinds: str) -> list[Event]:
        """The events of some kinds, in order."""
        query = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.kind.in_(kinds))
        return [_event(row) for row in self._connection.execute(query.order_by(events.c.number))]

    def event_by_key(self, campaign: int, key: str) -> Event | None:
        """The event that carries a key; its payload has what was `asked` for, too."""
        row = self._connection.execute(_EVENT_BY_KEY, {"campaign": campaign, "key": key}).first()
        return None if row is None else _event(row, asked=True)

    def snapshot(self, campaign: int, upto: int | None = None) -> Snapshot | None:
        """The newest saved state, or the newest up to an event."""
        query = sa.select(snapshots.c.number, snapshots.c.state).where(snapshots.c.campaign == campaign)
        if upto is not None:
            query = query.where(snapshots.c.number <= upto)
        row = self._connection.execute(query.order_by(snapshots.c.number.desc()).limit(1)).first()
        return None if row is None else Snapshot(*row)

    def snapshots(self, campaign: int, upto: int) -> dict[int, str]:
        """All saved states up to an event, by number."""
        query = sa.select(snapshots).where(snapshots.c.campaign == campaign, snapshots.c.number <= upto)
        return {row.number: row.state for row in self._connection.execute(query)}

    def campaigns(self) -> list[CampaignRow]:
        """All campaigns by name."""
        found = self._connection.execute(sa.select(campaigns).order_by(campaigns.c.name))
        return sorted((CampaignRow(row.id, row.name, row.created) for row in found), key=lambda row: row.name)

    def campaign_id(self, name: str) -> int:
        """A campaign's id; `UnknownName` with the names there are."""
        query = sa.select(campaigns.c.id).where(campaigns.c.name == name)
        found = self._connection.execute(query).scalar()
        if found is None:
            known = [row.name for row in self.campaigns()]
            listed = ", ".join(known[:NAMES_LISTED]) + (", …" if len(known) > NAMES_LISTED else "")
            raise UnknownName(f"Campaign '{name}' is not known; there are: {listed or 'none yet'}.")
        return int(found)

    # Writing

    def add_campaign(self, name: str, created: str) -> int:
        """A new campaign's id; `Conflict` where the name is taken."""
        self.wrote = True
        try:
            done = self._connection.execute(sa.insert(campaigns).values(name=name, created=created))
        except IntegrityError as error:
            raise Conflict(f"Campaign '{name}' is there already; choose another name.") from error
        (key,) = done.inserted_primary_key or (0,)
        return int(key)

    def append(self, campaign: int, new: Sequence[Event]) -> None:
        """Add events; `Conflict` where a number or a key is taken."""
        rows = [{"campaign": campaign, **event._asdict(), "payload": payload_text(event.payload)} for event in new]
        self.wrote = True
        try:
            self._connection.execute(_ADD_EVENTS, rows if len(rows) > 1 else rows[0])
        except IntegrityError as error:
            raise Conflict("The campaign has moved on, or the key was used before; nothing was changed.") from error

    def save_snapshot(self, campaign: int, number: int, state: str) -> None:
        """Keep a snapshot, and forget those that it makes needless."""
        self.wrote = True
        mine = snapshots.c.campaign == campaign
        passed = snapshots.c.number.between(number - number % SNAPSHOT_KEPT_EVERY, number)
        self._connection.execute(sa.delete(snapshots).where(mine, passed))
        self._connection.execute(sa.insert(snapshots).values(campaign=campaign, number=number, state=state))

    def drop_snapshots(self, campaign: int) -> None:
        """Forget all snapshots: they are rebuilt from the events."""
        self.wrote = True
        self._connection.execute(sa.delete(snapshots).where(snapshots.c.campaign == campaign))


def _event(row: Any, asked: bool = False) -> Event:
    number, at, kind, ticket, payload, key = row
    with intact(number):
        content = json.loads(payload)
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
    if not asked:  # of use to compare keys only, and no part of what happened
        content.pop("asked", None)
    return Event(number, at, kind, ticket, content, key)

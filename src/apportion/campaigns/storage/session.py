"""The statements of one transaction: what is read and written of campaigns, events and snapshots."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from apportion.campaigns.events import OF_TICKETS, Event, intact, payload_text
from apportion.campaigns.storage import chain
from apportion.campaigns.storage.schema import campaigns, deliveries, events, rights, snapshots, webhooks
from apportion.errors import Conflict, UnknownName

SNAPSHOT_EVERY = 64  # a snapshot is written when the event number passes a multiple of this
SNAPSHOT_KEPT_EVERY = 1024
"""Of older snapshots the last in each stretch of so many events stays, so that any past state is near one."""

MOST_EVENTS = 2**62  # more than any campaign has; a database can count so far
EVENTS_PER_FETCH = 500  # so many events are in memory at once while a log is read
NAMES_LISTED = 20  # so many campaigns are listed where a name is not known
DELETED = "deleted/"  # what the name of a deleted campaign begins with; that of no other can
_COLUMNS = [events.c[name] for name in Event._fields]
_OWN = events.c.campaign == sa.bindparam("campaign")
_LAST_NUMBER = sa.select(sa.func.max(events.c.number)).where(_OWN)
_MOMENT = sa.select(events.c.at).where(_OWN, events.c.number == sa.bindparam("number"))
_DIGEST = sa.select(events.c.digest).where(_OWN, events.c.number == sa.bindparam("number"))
_HEAD = sa.select(events.c.number, events.c.digest).where(_OWN).order_by(events.c.number.desc()).limit(1)
_LAST_NUMBER_AND_MOMENT = sa.select(
    _LAST_NUMBER.scalar_subquery(), _MOMENT.scalar_subquery(), _DIGEST.scalar_subquery()
)
_SNAPSHOT = (
    sa.select(snapshots.c.number, snapshots.c.state)
    .where(snapshots.c.campaign == sa.bindparam("campaign"), snapshots.c.number <= sa.bindparam("upto"))
    .order_by(snapshots.c.number.desc())
    .limit(1)
)
_CAMPAIGN_ID = sa.select(campaigns.c.id).where(campaigns.c.name == sa.bindparam("name"))
_EVENTS_AFTER = sa.select(*_COLUMNS).where(_OWN, events.c.number > sa.bindparam("after")).order_by(events.c.number)
_EVENT_BY_KEY = sa.select(*_COLUMNS).where(_OWN, events.c.key == sa.bindparam("key"))
_ADD_EVENTS = sa.insert(events)


class CampaignRow(NamedTuple):
    """A campaign in a list."""

    id: int
    name: str
    created: str


class Head(NamedTuple):
    """The last event of a campaign: its number and its digest, which no other campaign has."""

    campaign: int
    number: int
    digest: str

    @property
    def tag(self) -> str:
        """A short text for the campaign as it is now: another one whenever anything happened, here or elsewhere."""
        return f"{self.number}-{self.digest[:12]}"


class Snapshot(NamedTuple):
    """A saved state, and the number of the last event in it."""

    number: int
    state: str


class Link(NamedTuple):
    """An event as it is stored, and whether its digest follows from it and from those before."""

    row: Any
    sound: bool

    @property
    def digest(self) -> str:
        """Its digest, as it is stored."""
        return self.row.digest or ""

    def event(self) -> Event:
        """The event, read."""
        return _event(self.row[:-1])


def event_rows(campaign: int, before: str, new: Sequence[Event]) -> list[dict[str, Any]]:
    """The rows of new events, each with its digest; `before` is that of the last event there is."""
    rows: list[dict[str, Any]] = []
    for event in new:
        row = {"campaign": campaign, **event._asdict(), "payload": payload_text(event.payload)}
        before = row["digest"] = chain.digest(before, row)
        rows.append(row)
    return rows


class Session:
    """One transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.wrote = False  # whether anything was written
        self.last_written: tuple[int, int, str] | None = None
        """The last event that was added: its campaign, its number, its digest."""
        self._known_digest: tuple[int, int, str] | None = None  # of a campaign's event, found on the way
        self.pending: Sequence[Event] = ()
        """Events of the campaign that is being written, not yet in the database: reading events finds them, too."""
        self._sorted: list[Event] = []  # those of them that are sorted by ticket
        self._of_tickets: dict[int | None, list[Event]] = {}

    # Reading

    def last_number(self, campaign: int) -> int:
        """The number of the last event; 0 before any."""
        if self.pending:
            return self.pending[-1].number
        return self._connection.execute(_LAST_NUMBER, {"campaign": campaign}).scalar() or 0

    def head(self, campaign: int) -> Head:
        """The number and the digest of the last event."""
        row = self._connection.execute(_HEAD, {"campaign": campaign}).first()
        return Head(campaign, 0, "") if row is None else Head(campaign, row.number, row.digest or "")

    def last_number_and_moment(self, campaign: int, number: int) -> tuple[int, str | None]:
        """The number of the last event, and the moment of the one of that number; None where there is none."""
        given = {"campaign": campaign, "number": number}
        last, at, digest = self._connection.execute(_LAST_NUMBER_AND_MOMENT, given).one()
        self._known_digest = None if digest is None else (campaign, number, digest)
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
        found = map(_event, rows.yield_per(EVENTS_PER_FETCH))
        if not self.pending:
            return found
        return itertools.islice(itertools.chain(found, self._pending(after + 1, upto)), limit)

    def _pending(self, first: int = 1, upto: int | None = None) -> Iterator[Event]:
        return (event for event in self.pending if first <= event.number and (upto is None or event.number <= upto))

    def events_of_ticket(self, campaign: int, ticket: int, upto: int | None = None) -> list[Event]:
        """The events of one ticket, in order."""
        query = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.ticket == ticket)
        # Always with a bound on the number: without one, SQLite would read all events of the campaign.
        query = query.where(events.c.number <= (MOST_EVENTS if upto is None else upto))
        found = [_event(row) for row in self._connection.execute(query.order_by(events.c.number))]
        if self.pending:
            found += [event for event in self._pending_of(ticket) if upto is None or event.number <= upto]
        return found

    def _pending_of(self, ticket: int) -> list[Event]:
        """Those of one ticket: where an import is undone there are very many, and each ticket is asked for."""
        if self._sorted and self._sorted[-1] not in self.pending[len(self._sorted) - 1 : len(self._sorted)]:
            self._sorted, self._of_tickets = [], {}  # some were taken back
        for event in self.pending[len(self._sorted) :]:
            self._sorted.append(event)
            self._of_tickets.setdefault(event.ticket, []).append(event)
        return self._of_tickets.get(ticket, [])

    def events_of_tickets(self, campaign: int, first: int, last: int) -> list[Event]:
        """The events of a range of tickets, ticket by ticket, each in order."""
        query = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.ticket.between(first, last))
        # As the index has them: in the order of numbers alone, all events of the campaign would be read.
        found = [_event(row) for row in self._connection.execute(query.order_by(events.c.ticket, events.c.number))]
        more = [event for event in self.pending if event.ticket is not None and first <= event.ticket <= last]
        return sorted([*found, *more], key=lambda event: (event.ticket, event.number)) if more else found

    def tickets_changed(self, campaign: int, after: int, upto: int) -> set[int]:
        """The tickets of the events after a number up to another."""
        query = sa.select(events.c.ticket).where(_OWN, events.c.number.between(after + 1, upto))
        found = self._connection.execute(query, {"campaign": campaign})
        return {row.ticket for row in found if row.ticket is not None}

    def events_by_ticket(self, campaign: int) -> Iterator[Event]:
        """The events of all tickets, ticket by ticket, each in order."""
        if self.pending:
            return iter(self.events_of_tickets(campaign, 1, MOST_EVENTS))
        query = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.ticket >= 1)
        rows = self._connection.execute(query.order_by(events.c.ticket, events.c.number))
        return map(_event, rows.yield_per(EVENTS_PER_FETCH))

    def events_of_kind(self, campaign: int, *kinds: str) -> list[Event]:
        """The events of some kinds, in order."""
        query = sa.select(*_COLUMNS).where(events.c.campaign == campaign, events.c.kind.in_(kinds))
        if set(kinds).isdisjoint(OF_TICKETS):
            # By the index of tickets, which has the numbers of these: SQLite would read all events of the campaign.
            without = sa.select(events.c.number).where(events.c.campaign == campaign, events.c.ticket.is_(None))
            query = query.where(events.c.number.in_(without))
        found = [_event(row) for row in self._connection.execute(query.order_by(events.c.number))]
        return [*found, *(event for event in self.pending if event.kind in kinds)]

    def event_by_key(self, campaign: int, key: str) -> Event | None:
        """The event that carries a key; its payload has what was `asked` for, too."""
        for event in self.pending:
            if event.key == key:
                return event._replace(payload=dict(event.payload))
        row = self._connection.execute(_EVENT_BY_KEY, {"campaign": campaign, "key": key}).first()
        return None if row is None else _event(row, asked=True)

    def snapshot(self, campaign: int, upto: int | None = None) -> Snapshot | None:
        """The newest saved state, or the newest up to an event."""
        given = {"campaign": campaign, "upto": MOST_EVENTS if upto is None else upto}
        row = self._connection.execute(_SNAPSHOT, given).first()
        return None if row is None else Snapshot(row.number, chain.unsealed(row.state))

    def snapshot_numbers(self, campaign: int) -> list[int]:
        """After which events states were saved, in order."""
        query = sa.select(snapshots.c.number).where(snapshots.c.campaign == campaign)
        return [int(row.number) for row in self._connection.execute(query.order_by(snapshots.c.number))]

    def tickets_of_many_events(self, campaign: int, most: int) -> list[int]:
        """The last tickets with more events than a split and its outcomes: told in parts, or corrected."""
        query = sa.select(events.c.ticket).where(events.c.campaign == campaign, events.c.ticket >= 1)
        query = query.group_by(events.c.ticket).having(sa.func.count() > 2)  # the index of tickets has all of it
        found = self._connection.execute(query.order_by(events.c.ticket.desc()).limit(most))
        return sorted(int(row.ticket) for row in found)

    def snapshots(self, campaign: int) -> dict[int, str]:
        """All saved states, by number, as they are stored: with their seals (`chain.unsealed`)."""
        query = sa.select(snapshots).where(snapshots.c.campaign == campaign)
        return {row.number: row.state for row in self._connection.execute(query)}

    def campaigns(self) -> list[CampaignRow]:
        """All campaigns by name."""
        query = sa.select(campaigns).where(campaigns.c.name.not_like(f"{DELETED}%"))
        found = self._connection.execute(query.order_by(campaigns.c.name))
        return sorted((CampaignRow(row.id, row.name, row.created) for row in found), key=lambda row: row.name)

    def heads(self) -> dict[str, Head]:
        """The last event of each campaign, by name: in one question, with one look into the index for each."""
        own = events.c.campaign == campaigns.c.id
        last = sa.select(sa.func.max(events.c.number)).where(own).correlate(campaigns).scalar_subquery()
        query = sa.select(campaigns.c.id, campaigns.c.name, events.c.number, events.c.digest)
        query = query.select_from(campaigns.outerjoin(events, own & (events.c.number == last)))
        found = self._connection.execute(query.where(campaigns.c.name.not_like(f"{DELETED}%")))
        return {row.name: Head(row.id, row.number or 0, row.digest or "") for row in found}

    def archived(self) -> set[int]:
        """The ids of the campaigns that are put away."""
        about = events.c.ticket.is_(None) & events.c.kind.in_(("archived", "unarchived"))
        # From the left, so that SQLite looks up what each campaign has in the index of tickets: for a plain join it
        # would read all events there are.
        query = sa.select(campaigns.c.id, events.c.kind)
        query = query.select_from(campaigns.outerjoin(events, (events.c.campaign == campaigns.c.id) & about))
        last = {row.id: row.kind for row in self._connection.execute(query.order_by(events.c.number))}
        return {campaign for campaign, kind in last.items() if kind == "archived"}

    def find_campaign(self, name: str) -> int | None:
        """A campaign's id; None where there is none of that name."""
        found = self._connection.execute(_CAMPAIGN_ID, {"name": name}).scalar()
        return None if found is None else int(found)

    def campaign_id(self, name: str) -> int:
        """A campaign's id; `UnknownName` with the names there are."""
        found = self.find_campaign(name)
        if found is None:
            known = [row.name for row in self.campaigns()]
            listed = ", ".join(known[:NAMES_LISTED]) + (", …" if len(known) > NAMES_LISTED else "")
            raise UnknownName(f"Campaign '{name}' is not known; there are: {listed or 'none yet'}.")
        return found

    def is_deleted(self, campaign: int) -> bool:
        """Whether a campaign was deleted."""
        query = sa.select(campaigns.c.name).where(campaigns.c.id == campaign)
        return str(self._connection.execute(query).scalar() or DELETED).startswith(DELETED)

    # Writing

    def rename_campaign(self, campaign: int, name: str) -> None:
        """Another name for a campaign; `Conflict` where it is taken."""
        if self.find_campaign(name) is not None:
            raise Conflict(f"Campaign '{name}' is there already; choose another name.")
        self.wrote = True
        try:
            self._connection.execute(sa.update(campaigns).where(campaigns.c.id == campaign).values(name=name))
        except IntegrityError as error:
            raise Conflict(f"Campaign '{name}' is there already; choose another name.") from error

    def delete_campaign(self, campaign: int) -> None:
        """Everything of a campaign goes, but for its number: another one must never get it."""
        self.wrote = True
        own = sa.select(webhooks.c.id).where(webhooks.c.campaign == campaign)
        self._connection.execute(sa.delete(deliveries).where(deliveries.c.webhook.in_(own)))
        for table in (events, snapshots, rights, deliveries, webhooks):
            self._connection.execute(sa.delete(table).where(table.c.campaign == campaign))
        gone = {"name": f"{DELETED}{campaign}", "created": ""}
        self._connection.execute(sa.update(campaigns).where(campaigns.c.id == campaign).values(**gone))

    def add_campaign(self, name: str, created: str) -> int:
        """A new campaign's id; `Conflict` where the name is taken."""
        self.wrote = True
        try:
            done = self._connection.execute(sa.insert(campaigns).values(name=name, created=created))
        except IntegrityError as error:
            raise Conflict(f"Campaign '{name}' is there already; choose another name.") from error
        (key,) = done.inserted_primary_key or (0,)
        return int(key)

    def append(self, campaign: int, new: Sequence[Event], rows: list[dict[str, Any]] | None = None) -> None:
        """Add events; `Conflict` where a number or a key is taken. `rows`: what `event_rows` made of them before."""
        if rows is None:
            rows = event_rows(campaign, self._digest_of(campaign, new[0].number - 1), new)
        digest = rows[-1]["digest"]
        self.wrote = True
        try:
            self._connection.execute(_ADD_EVENTS, rows if len(rows) > 1 else rows[0])
        except IntegrityError as error:
            raise Conflict("The campaign has moved on, or the key was used before; nothing was changed.") from error
        self._known_digest = self.last_written = (campaign, new[-1].number, digest)

    def digest(self, campaign: int, number: int) -> str | None:
        """The digest of an event; None where there is none of that number."""
        return self._connection.execute(_DIGEST, {"campaign": campaign, "number": number}).scalar()

    def _digest_of(self, campaign: int, number: int) -> str:
        """The digest of an event; none before the first."""
        if number == 0:
            return ""
        if self._known_digest is not None and self._known_digest[:2] == (campaign, number):
            return self._known_digest[2]
        return self.digest(campaign, number) or ""

    def links(self, campaign: int, upto: int, after: int = 0) -> Iterator[Link]:
        """The events after a number up to another, not yet read, each with whether it follows from those before."""
        query = sa.select(*_COLUMNS, events.c.digest).where(_OWN, events.c.number.between(after + 1, upto))
        before = self._digest_of(campaign, after)
        rows = self._connection.execute(query.order_by(events.c.number), {"campaign": campaign})
        for row in rows.yield_per(EVENTS_PER_FETCH):
            sound = chain.digest(before, row._asdict()) == row.digest
            before = row.digest or ""
            yield Link(row, sound)

    def save_snapshot(self, campaign: int, number: int, state: str) -> None:
        """Keep a snapshot, and forget those that it makes needless."""
        self.wrote = True
        mine = snapshots.c.campaign == campaign
        passed = snapshots.c.number.between(number - number % SNAPSHOT_KEPT_EVERY, number)
        self._connection.execute(sa.delete(snapshots).where(mine, passed))
        text = chain.sealed(self._digest_of(campaign, number), state)
        self._connection.execute(sa.insert(snapshots).values(campaign=campaign, number=number, state=text))

    def drop_snapshots(self, campaign: int) -> None:
        """Forget all snapshots: they are rebuilt from the events."""
        self.wrote = True
        self._connection.execute(sa.delete(snapshots).where(snapshots.c.campaign == campaign))


def _event(row: Any, asked: bool = False) -> Event:
    number, at, kind, ticket, payload, key, actor, request = row
    with intact(number):
        content = json.loads(payload)
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
    if not asked:  # of use to compare keys only, and no part of what happened
        content.pop("asked", None)
    return Event(number, at, kind, ticket, content, key, actor, request)

"""A campaign: a real budget, split every period, with everything that ever happened kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from apportion._common import validation
from apportion._common.dates import period_date
from apportion._common.tables import Source
from apportion.allocation.arms import Arm
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.outcomes import Amounts, Outcomes
from apportion.allocation.split import Split
from apportion.campaigns import changing, lifecycle, recording, undo
from apportion.campaigns.bounds import Bound
from apportion.campaigns.check import Check, compare
from apportion.campaigns.cost_of_doubt import cost_of_doubt
from apportion.campaigns.creation import (
    add_campaign,
    campaign_name,
    creation_payload,
)
from apportion.campaigns.events import Event, new_event
from apportion.campaigns.history import History, lines
from apportion.campaigns.protocol import CampaignVerbs, Key
from apportion.campaigns.replay import Replay
from apportion.campaigns.settings import ChangedSettings, NewSettings, Settings, takes_new_settings, with_defaults
from apportion.campaigns.state import CampaignState
from apportion.campaigns.status import Status, status_of
from apportion.campaigns.storage.address import Address, database_url, exists, has_secret
from apportion.campaigns.storage.session import Session
from apportion.campaigns.storage.store import Store, open_store
from apportion.campaigns.transactions import Transactions, find_done, request_digest, write_key
from apportion.campaigns.undo import ImportRecord, UndoneImport, unspent_tickets
from apportion.errors import Conflict, IncompatibleState, InvalidValue

if TYPE_CHECKING:
    from apportion.campaigns.calendar import Budgets
    from apportion.campaigns.forecast import Forecast
    from apportion.campaigns.importing import Imported
    from apportion.campaigns.past_forecasts import PastForecasts
    from apportion.campaigns.plan import Plan
    from apportion.inference.health.findings import Health

MOST = 2**62  # more events or tickets than any campaign has; a database can count so far


class Campaign(CampaignVerbs):
    """A budget that is really being split, kept in a database; for several threads and processes at once.

    `split` gives the next split with a ticket, `record` takes outcomes by ticket and arm name; the semantics
    are those of `Allocator`. Every verb is on disk when it returns. `db` is a file or a URL (SQLite, PostgreSQL);
    by default `APPORTION_DB`, or a file in the user's data folder. A `key` names a write: sent again with the same
    key, it is done once.

    >>> import tempfile, pathlib
    >>> db = pathlib.Path(tempfile.mkdtemp()) / "campaigns.db"
    >>> campaign = Campaign.create("ads", ("search", "social"), budget=5000, unit="EUR", db=db, b=0.75, sigma=40)
    >>> split = campaign.split()
    >>> dict(split.amounts)
    {'search': 2500.0, 'social': 2500.0}
    >>> campaign.record(split.ticket, {"search": 812.0, "social": 410.5})
    >>> Campaign.open("ads", db=db).beliefs().leader
    'search'
    """

    def __init__(self, store: Store, identity: int, name: str) -> None:
        self._store = store
        self._id = identity
        self.transactions = Transactions(store, identity, name)
        """How the state is read and written; for the other modules of this package."""

    @property
    def name(self) -> str:
        """What it is called; where somebody renames it, it goes on under its new name."""
        return self.transactions.name

    @name.setter
    def name(self, name: str) -> None:
        """Call it so here: `rename` says it to everybody."""
        self.transactions.name = name

    # Making and finding

    @classmethod
    @takes_new_settings
    def create(
        cls, name: str, arms: Iterable[str], *, db: Address = None, key: Key = None, **settings: Unpack[NewSettings]
    ) -> Campaign:
        """Begin a campaign with a `budget` and any other settings (`campaigns.settings` declares them).

        `Conflict` where there is one of that name, unless it was begun with the same `key`.
        """
        title, given = campaign_name(name), with_defaults(settings)
        content = creation_payload(arms, given)
        # A seed that was drawn was not asked for.
        asked: dict[str, Any] = {"begun": {**content["options"], **content["settings"], "seed": given["seed"]}}
        if key is not None:
            content["asked"] = request_digest("created", None, asked)
        store = open_store(db)
        try:
            return cls._begin(store, title, [new_event(1, "created", content, key=write_key(key))])
        except Conflict:
            if title not in cls.names(db, archived=True):  # refused, but not for its name
                raise
            with store.reading() as session:
                known = cls(store, session.campaign_id(title), title)
                if find_done(session, known._id, key, "created", None, asked) is None:
                    raise
            return known

    @classmethod
    def _begin(cls, store: Store, name: str, events: list[Event]) -> Campaign:
        return cls(store, add_campaign(store, name, events), name)

    @classmethod
    def open(cls, name: str, db: Address = None) -> Campaign:
        """The campaign of that name; `UnknownName` with those there are."""
        store = open_store(db, create=False)
        with store.reading() as session:
            return cls(store, session.campaign_id(campaign_name(name)), name)

    @staticmethod
    def names(db: Address = None, *, archived: bool = False) -> tuple[str, ...]:
        """The names of the campaigns in use; with `archived` of those that are put away, too."""
        if not exists(database_url(db)):  # to look must not make one
            return ()
        with open_store(db).reading() as session:
            away = set() if archived else session.archived()
            return tuple(row.name for row in session.campaigns() if row.id not in away)

    def __repr__(self) -> str:
        return f"Campaign.open({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        url = self._store.url
        if has_secret(url):
            raise InvalidValue(
                "A campaign cannot be pickled or copied where the address of its database has a password: "
                "the copy would hold it. Open the campaign by its name instead."
            )
        db = Path(str(url.database)) if url.get_backend_name() == "sqlite" else str(url)
        return type(self).open, (self.name, db)

    # The verbs

    def split(self, budget: float | None = None, *, date: str | None = None, key: Key = None) -> Split:
        dated: dict[str, Any] = {} if date is None else {"date": period_date(date)}
        with self.transactions.write() as transaction:
            known = transaction.done_before(key, "split", budget=budget, **dated)
            if known is not None:
                return self.transactions.restore_split(transaction.session, known)
            if transaction.state.archived:
                raise Conflict(f"Campaign '{self.name}' is archived: `unarchive` it before it is split again.")
            amount = transaction.state.settings_budget if budget is None else budget
            allocator = transaction.state.allocator
            decision = allocator.decide(amount)
            split = allocator.explain(decision)
            split.unit, split.unspent = transaction.state.settings_unit, unspent_tickets(transaction.state)
            allocator.commit(decision)
            event = transaction.append("split", {**decision.to_payload(), **dated}, split.ticket, key)
            split.date = event.period_date
            return split

    def record(
        self,
        ticket: int,
        outcomes: Outcomes,
        amounts: Amounts | None = None,
        *,
        provisional: bool = False,
        confirm: bool = False,
        key: Key = None,
    ) -> None:
        recording.record(self, ticket, outcomes, amounts, provisional, confirm, key)

    def amend(
        self,
        ticket: int,
        outcomes: Outcomes,
        amounts: Amounts | None = None,
        *,
        confirm: bool = False,
        key: Key = None,
    ) -> None:
        recording.amend(self, ticket, outcomes, amounts, confirm, key)

    def cancel(self, ticket: int, *, key: Key = None) -> None:
        undo.cancel(self, ticket, key)

    def close(self, ticket: int, *, key: Key = None) -> None:
        recording.close(self, ticket, key)

    def _change_arm(
        self,
        action: str,
        arm: str,
        minimum: Bound | None = None,
        maximum: Bound | None = None,
        key: Key = None,
        sigma: float | None = None,
    ) -> None:
        changing.change_arm(self, action, arm, minimum, maximum, key, sigma)

    def change(self, *, key: Key = None, **changes: Unpack[ChangedSettings]) -> Settings:
        return changing.change_settings(self, changes, key)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several verbs as one write: all are kept at the end of the block, or none."""
        with self.transactions.write():
            yield

    # Files and futures

    def import_history(
        self, path: Source, *, add_arms: bool = False, again: bool = False, key: Key = None,
        **columns: str | int | None,
    ) -> Imported:  # fmt: skip
        from apportion.campaigns.importing import import_history

        return import_history(self, path, add_arms=add_arms, again=again, key=key, **columns)

    def imports(self) -> tuple[ImportRecord, ...]:
        return undo.import_records(self)

    def undo_import(self, event: int | None = None, *, key: Key = None) -> UndoneImport:
        return undo.undo_import(self, event, key)

    # The campaign as a whole

    def rename(self, name: str, *, key: Key = None) -> None:
        lifecycle.rename(self, name, key)

    def archive(self, *, key: Key = None) -> None:
        lifecycle.put_away(self, True, key)

    def unarchive(self, *, key: Key = None) -> None:
        lifecycle.put_away(self, False, key)

    def clone(self, name: str, *, history: bool = True, key: Key = None) -> Self:
        return type(self)(self._store, lifecycle.clone(self, name, history, key), name)

    def delete(self, confirm: str) -> None:
        lifecycle.delete(self, confirm)

    def export(self, kind: str = "json") -> str:
        from apportion.campaigns.files import export

        return export(self, kind)

    def plan(self, budget: float | None = None, *, target: float | None = None, goal: float | None = None) -> Plan:
        from apportion.campaigns.plan import plan

        return plan(self, budget, target=target, goal=goal)

    def forecast(
        self,
        *,
        periods: int | None = None,
        budgets: Budgets | None = None,
        worlds: int = 24,
        policies: Sequence[str] | None = None,
        seed: int = 0,
        keep: bool = True,
        key: Key = None,
    ) -> Forecast:
        from apportion.campaigns.past_forecasts import make_forecast

        options: dict[str, Any] = {
            "periods": periods, "budgets": budgets, "worlds": worlds, "policies": policies, "seed": seed,
        }  # fmt: skip
        return make_forecast(self, validation.flag("keep", keep), key, options)

    def forecasts(self) -> PastForecasts:
        from apportion.campaigns.past_forecasts import past_forecasts

        return past_forecasts(self)

    # Reading, each time as of one moment

    @property
    def settings(self) -> Settings:
        return self.transactions.read(lambda state, session: state.settings)

    @property
    def unit(self) -> str | None:
        return self.transactions.read(lambda state, session: state.settings_unit)

    @property
    def arms(self) -> tuple[Arm, ...]:
        return self.transactions.read(lambda state, session: state.allocator.all_arms)

    @property
    def period(self) -> int:
        return self.transactions.read(lambda state, session: state.allocator.period)

    @property
    def version(self) -> int:
        with self.transactions.reading() as session:
            return session.last_number(self._id)

    @property
    def tag(self) -> str:
        """A short text for the campaign as it is now: as `version`, and another one for every other campaign."""
        with self.transactions.reading() as session:
            return session.head(self._id).tag

    @property
    def open_tickets(self) -> tuple[int, ...]:
        return self.transactions.read(lambda state, session: state.allocator.open_tickets)

    def beliefs(self, at: int | None = None) -> Beliefs:
        if at is not None:
            with self.transactions.reading() as session:
                number = min(validation.whole("at", at, low=1), MOST)
                return self.transactions.state_at(session, number).allocator.beliefs()
        return self.transactions.read(lambda state, session: state.allocator.beliefs())

    def beliefs_over_time(self, every: int = 1) -> list[tuple[int, Beliefs]]:
        often, found, replay = validation.whole("every", every, low=1), [], self.replay()
        for step in replay.steps():
            if step.before is not None and step.ended and step.ended % often == 0:
                found.append((step.ended, step.before.allocator.beliefs()))
        if replay.state is not None:
            found.append((replay.state.allocator.period, replay.state.allocator.beliefs()))
        return found

    def explain(self, ticket: int) -> Split:
        def found(state: CampaignState, session: Session) -> Event:
            return _split_event(session, self._id, state.tickets.find(ticket).number)

        event = self.transactions.read(found)
        with self.transactions.reading() as session:
            return self.transactions.restore_split(session, event)

    def status(self, *, health: bool = True) -> Status:
        def found(state: CampaignState, session: Session) -> tuple[Status, dict[str, int]]:
            beliefs = state.allocator.beliefs()
            totals = self.transactions.totals(state, session)
            status = status_of(self.name, state, beliefs, cost_of_doubt(state, beliefs), totals)
            return status, dict(state.allocator.indices) if health else {}

        status, indices = self.transactions.read(found)
        return status._replace(health=self._health(status, indices)) if health else status

    def _health(self, status: Status, indices: dict[str, int]) -> Health:
        """Worked out once after each event, and outside of the lock: others need not wait for it."""
        from apportion.campaigns.health import check_campaign

        shared = self.transactions.shared
        last = shared.checked
        if last is not None and last.version == status.version:
            return last.health
        with self.transactions.reading() as session:
            settled = not session.pending and session.last_number(self._id) >= status.version
            found = check_campaign(session, self._id, status, indices, last if settled else None)
        if settled:
            shared.checked = found
        return found.health

    def history(self, first: int | None = None, last: int | None = None) -> History:
        low = 1 if first is None else min(validation.whole("first", first, low=1), MOST)
        high = MOST if last is None else min(validation.whole("last", last, low=low), MOST)
        with self.transactions.reading() as session:
            return History(self.name, lines(session.events_of_tickets(self._id, low, high)))

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        start = min(validation.whole("after", after, low=0), MOST)
        most = None if limit is None else min(validation.whole("limit", limit, low=0), MOST)
        with self.transactions.reading() as session:
            return list(session.events(self._id, start, limit=most))

    def state(self, b: float | None = None, c: float | None = None) -> str:
        """The whole state as text, to the last bit: equal states are equal texts. `b`, `c`: as it were for those."""
        return self.transactions.read(lambda state, session: state.text() if b is None else state.text_for(b, c))

    def check(self, repair: bool = False, *, full: bool = False) -> Check:
        whole = validation.flag("full", full) or validation.flag("repair", repair)
        with self.transactions.reading() as session:
            found, rebuilt = compare(session, self._id, whole)
        if repair and not found.ok and rebuilt is not None:
            with self._store.writing(self._id) as session:
                session.drop_snapshots(self._id)
            self.transactions.shared.forget()
        return found

    def replay(self) -> Replay:
        """The campaign once more, event by event."""
        return Replay(self._store, self._id)


def _split_event(session: Session, campaign: int, ticket: int) -> Event:
    found = session.events_of_ticket(campaign, ticket)
    if not found:
        raise IncompatibleState(f"The split of ticket {ticket} is missing: the database is damaged.")
    return found[0]
